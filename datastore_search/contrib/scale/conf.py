"""Settings of portals on more than one machine."""

from __future__ import annotations

from collections.abc import Sequence

from ...conf import Setting, Settings


class ScaleSettings(Settings):
    """The settings of the app."""

    CACHE_ADDRESSES = Setting[Sequence[str]](
        (),
        "The [caches in front](../how-to/put-a-cache-in-front.md) that are purged after each"
        ' change, such as `"http://127.0.0.1:6081"`. They are read when Django starts.',
        pattern=r"http://[^/?#\s]+",
    )


conf = ScaleSettings()
