"""Settings of pages."""

from collections.abc import Mapping, Sequence

from ...conf import Setting, Settings


class PagesSettings(Settings):
    PAGES_VERSION = Setting(
        "",
        "The version of the portal's templates and of everything that its data pages show besides"
        " records. With a version, the page of a resource has an `ETag` for readers who are not"
        " signed in, and is not rendered again for a reader who has it. Change it whenever the"
        " pages change. Without a version, pages have no `ETag`.",
    )
    FRAME_ANCESTORS = Setting[Sequence[str]](
        ("'self'",),
        "The sites that may show an [embedded table or "
        "chart](../how-to/embed-tables.md#in-a-frame) in a frame, as sources of a "
        'Content-Security-Policy: `"https://www.example.org"`. `"\'self\'"` is the portal '
        "itself. An empty list allows no site. For other pages the portal's own headers "
        "decide.",
        pattern=r"[^\s;,]+",
    )
    MAP_TILES = Setting[Mapping[str, str]](
        {},
        "[Map tiles](../how-to/deploy.md#map-tiles): their address as `url`, with `{z}`, "
        "`{x}` and `{y}`, and their `attribution` (HTML, shown unescaped). Without them, "
        "pages request nothing from other sites. `outlines` names what maps show else: "
        "`land borders names`, less what your state draws otherwise. `areas` names the "
        "resources with [areas of the portal](../how-to/deploy.md#areas-of-the-portal).",
    )


conf = PagesSettings()
