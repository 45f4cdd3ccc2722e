"""The app for portals on more than one machine."""

from __future__ import annotations

from django.apps import apps
from django.db.models.signals import post_save, pre_delete, pre_save

from ...apps import ContribAppConfig


class ScaleConfig(ContribAppConfig):
    """A cache in front of the portal, and replicas behind it."""

    def register(self) -> None:
        """Report changes, purge caches and read from replicas, if there are any."""
        from ...signals import answers_changed
        from ...web.views import Answering
        from .conf import conf
        from .purging import purge, report_row
        from .reading import route_request
        from .writes import remember_write, watch_changes

        Answering.route_request = route_request if conf.REPLICAS else None
        watch_changes()
        if conf.CACHE_ADDRESSES:
            if conf.REPLICAS:
                answers_changed.connect(remember_write)  # before the purge
            answers_changed.connect(purge)
        for model in apps.get_models():
            if hasattr(model, "resource_paths"):
                for signal in (pre_save, post_save, pre_delete):
                    signal.connect(report_row, sender=model)
