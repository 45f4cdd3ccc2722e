"""The app for portals on more than one machine."""

from __future__ import annotations

from ...apps import ContribAppConfig


class ScaleConfig(ContribAppConfig):
    """A cache in front of the portal, and replicas behind it."""

    def register(self) -> None:
        """Purge the caches in front and read from the replicas, if there are any."""
        from ...signals import answers_changed
        from ...web.views import Answering
        from .conf import conf
        from .purging import purge
        from .reading import route_request
        from .writes import watch_changes

        Answering.route_request = route_request if conf.REPLICAS else None
        watch_changes()
        if conf.CACHE_ADDRESSES:
            answers_changed.connect(purge, dispatch_uid="datastore_search.purge")
