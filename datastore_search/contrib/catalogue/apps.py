"""The app that lists what is published."""

from __future__ import annotations

from ...apps import ContribAppConfig


class CatalogueConfig(ContribAppConfig):
    """The catalogue for programs and machines."""

    def register(self) -> None:
        """Add the actions, the members of new resources, the addresses, and a part of the admin."""
        from ...admin import parts
        from ...api.actions import register
        from ...api.new_resources import catalogue
        from ...web import routes
        from .actions.datasets import catalogue_actions
        from .actions.resources import resource_actions, show_resource, store_metadata
        from .admin import metadata_of_resource
        from .resource_members import NewMembers
        from .sync import has_dataset

        register(*catalogue_actions, *resource_actions)
        catalogue.members, catalogue.show = NewMembers, show_resource
        catalogue.store, catalogue.has_name = store_metadata, has_dataset
        parts.register(metadata_of_resource)
        routes.register(f"{self.name}.urls")
