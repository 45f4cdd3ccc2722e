"""The app for portals on more than one machine."""

from __future__ import annotations

from ...apps import ContribAppConfig


class ScaleConfig(ContribAppConfig):
    """A cache in front of the portal, and replicas behind it."""

    def register(self) -> None:
        """Purge the caches after each change, if there are any."""
        from ...signals import answers_changed
        from .conf import conf
        from .purging import purge

        if conf.CACHE_ADDRESSES:
            answers_changed.connect(purge, dispatch_uid="datastore_search.purge")
