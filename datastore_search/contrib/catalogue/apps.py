"""The app that lists what is published."""

from __future__ import annotations

from datastore_search.apps import ContribAppConfig


class CatalogueConfig(ContribAppConfig):
    """The catalogue for programs and machines."""

    default = True
    name = "datastore_search.contrib.catalogue"
    label = "datastore_search_catalogue"
    verbose_name = "datastore_search: catalogue"

    def register(self) -> None:
        """Add the actions and the addresses."""
        from datastore_search.api.actions import register
        from datastore_search.api.new_resources import catalogue
        from datastore_search.web import routes

        from .actions.datasets import catalogue_actions
        from .actions.resources import resource_actions, show_resource
        from .portal import has_portal_dataset

        register(*catalogue_actions, *resource_actions)
        catalogue.show, catalogue.has_name = show_resource, has_portal_dataset
        routes.register("datastore_search.contrib.catalogue.urls")
