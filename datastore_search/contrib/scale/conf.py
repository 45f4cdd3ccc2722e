"""Settings of portals on more than one machine."""

from __future__ import annotations

from ...conf import Settings


class ScaleSettings(Settings):
    """The settings of the app."""


conf = ScaleSettings()
