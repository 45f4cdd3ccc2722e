"""The app that lists what is published."""

from __future__ import annotations

from collections.abc import Iterator

from ...apps import ContribAppConfig
from ...contributions import Contribution


class CatalogueConfig(ContribAppConfig):
    def contribute(self) -> Iterator[Contribution]:
        from ...admin.parts import parts
        from ...api.actions import actions
        from ...api.new_resources import CatalogueOfResources, catalogue
        from ...database.findings import cleanups
        from ...web.addresses import routes
        from .actions import catalogue_actions
        from .admin import metadata_of_resource
        from .contents import clean_up
        from .groups import group_actions
        from .packages import package_actions
        from .resources import (
            NewMembers,
            check_may_add,
            find_dataset,
            is_published,
            place_resource,
            resource_actions,
            show_resource,
            store_metadata,
        )
        from .sync import has_dataset

        yield actions.entries(
            *catalogue_actions, *group_actions, *resource_actions, *package_actions
        )
        yield catalogue.entries(
            CatalogueOfResources(
                NewMembers,
                show_resource,
                find_dataset,
                place_resource,
                store_metadata,
                has_dataset,
                check_may_add,
                is_published,
            )
        )
        yield parts.entries(metadata_of_resource)
        yield cleanups.entries(clean_up)
        yield routes.entries(f"{self.name}.urls")
