"""The app that lists what is published."""

from __future__ import annotations

from ...apps import ContribAppConfig


class CatalogueConfig(ContribAppConfig):
    """The catalogue for programs and machines."""

    def register(self) -> None:
        """Add the actions and the addresses."""
        from ...api.actions import register
        from ...api.new_resources import catalogue
        from ...web import routes
        from .actions.datasets import catalogue_actions
        from .actions.resources import resource_actions, show_resource
        from .portal import has_portal_dataset

        register(*catalogue_actions, *resource_actions)
        catalogue.show, catalogue.has_name = show_resource, has_portal_dataset
        routes.register(f"{self.name}.urls")
