"""The app that lists what is published."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from ...apps import ContribAppConfig
from ...contributions import Contribution, receive


class CatalogueConfig(ContribAppConfig):
    verbose_name = _("Catalogue")

    def contribute(self) -> Iterator[Contribution]:
        from ...admin.parts import parts
        from ...api.actions import actions
        from ...api.new_resources import catalogue
        from ...database.findings import cleanups
        from ...models import has_dataset
        from ...signals import request_answered
        from ...web.addresses import routes
        from .actions import catalogue_actions
        from .admin import metadata_of_resource
        from .contents import clean_up
        from .groups import group_actions
        from .packages import package_actions
        from .resources import catalogue_of_resources, resource_actions
        from .sync import is_dataset
        from .uses import clean_up as clean_up_uses, count_use

        yield actions.entries(
            *catalogue_actions, *group_actions, *resource_actions, *package_actions
        )
        yield catalogue.entries(catalogue_of_resources)
        yield has_dataset.entries(is_dataset)
        yield parts.entries(metadata_of_resource)
        yield cleanups.entries(clean_up, clean_up_uses)
        yield receive(request_answered, count_use)
        yield routes.entries(f"{self.name}.urls")
