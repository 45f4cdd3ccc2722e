"""Settings of the catalogue."""

from __future__ import annotations

from ...conf import Setting, Settings


class CatalogueSettings(Settings):
    """The settings of the app."""

    DATASETS = Setting(
        "",
        "The dotted path of the function that returns the portal's [own "
        "datasets](catalogue.md#datasets-of-the-portals-own). Without it each resource is "
        "its own dataset.",
        is_import=True,
    )


conf = CatalogueSettings()
