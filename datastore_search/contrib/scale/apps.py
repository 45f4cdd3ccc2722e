"""The app for portals on more than one machine."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, post_save, pre_delete, pre_save

from ...apps import ContribAppConfig
from ...contributions import Contribution, receive


class ScaleConfig(ContribAppConfig):
    def contribute(self) -> Iterator[Contribution]:
        from ...database.findings import finders
        from ...database.placement import prepare_server
        from ...signals import answers_changed
        from ...web.views import request_router
        from .conf import conf
        from .moving import find_dead_workers
        from .purging import purge, report_row
        from .reading import route_request
        from .routers import limit_waits
        from .writes import list_watched_changes, remember_write

        yield finders.entries(find_dead_workers)
        yield receive(connection_created, limit_waits)
        yield from list_watched_changes()
        if conf.REPLICAS:
            yield request_router.entries(route_request)
            if conf.CACHE_ADDRESSES:
                yield receive(answers_changed, remember_write)  # before the purge
        if conf.CACHE_ADDRESSES:
            yield receive(answers_changed, purge)
        described = [model for model in apps.get_models() if hasattr(model, "resource_paths")]
        for signal in (pre_save, post_save, pre_delete):
            yield receive(signal, report_row, *described)
        core = apps.get_app_config("datastore_search")  # an app without models sends no signal
        yield receive(post_migrate, prepare_server, core)
