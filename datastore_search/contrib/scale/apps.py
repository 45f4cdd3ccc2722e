"""The app for portals on more than one machine."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connections, router
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, post_save, pre_delete, pre_save

from ...apps import ContribAppConfig


class ScaleConfig(ContribAppConfig):
    """A cache in front of the portal, replicas behind it, and workers of Citus."""

    def register(self) -> None:
        """Report changes, purge caches, read from replicas and place tables, as settings say."""
        from ...database.findings import finders
        from ...signals import answers_changed
        from ...web.views import Answering
        from .conf import conf
        from .moving import find_dead_workers
        from .purging import purge, report_row
        from .reading import route_request
        from .routers import limit_waits
        from .writes import remember_write, watch_changes

        Answering.route_request = route_request if conf.REPLICAS else None
        finders["workers"] = find_dead_workers
        connection_created.connect(limit_waits)
        watch_changes()
        if conf.CACHE_ADDRESSES:
            if conf.REPLICAS:
                answers_changed.connect(remember_write)  # before the purge
            answers_changed.connect(purge)
        for model in apps.get_models():
            if hasattr(model, "resource_paths"):
                for signal in (pre_save, post_save, pre_delete):
                    signal.connect(report_row, sender=model)
        core = apps.get_app_config("datastore_search")  # an app without models sends no signal
        post_migrate.connect(_prepare_workers, sender=core)


def _prepare_workers(*, using: str, **_options: Any) -> None:
    """Give the workers of Citus what statements on records call, after a migration."""
    from ...database import placement

    if placement.is_wanted() and router.allow_migrate(using, "datastore_search"):
        placement.prepare_server(connections[using])
