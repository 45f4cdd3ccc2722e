"""The app for portals on more than one machine."""

from __future__ import annotations

from ...apps import ContribAppConfig


class ScaleConfig(ContribAppConfig):
    """A cache in front of the portal, and replicas behind it."""
