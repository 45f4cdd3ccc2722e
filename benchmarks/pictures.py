"""
The pictures of the documentation, of a demo that is served.

``make demo`` in one terminal, and ``.venv/bin/python -m benchmarks.pictures`` in another.
"""

from __future__ import annotations

import argparse
import base64
from pathlib import Path

from tests.browsers import start_browser

_FOLDER = Path(__file__).parents[1] / "docs" / "images"
_SURVEY = "datastore/5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11/"
_CAPITALS = "datastore/d2a94c37-61f8-4e0b-9c75-8b13f6e2a540/"
_RIVERS = "?q=river&field.stage=active&field.subject=survey&field.subject=watershed"

#: The name of a picture, its address, the width and height of its window, and what it emulates.
_PICTURES: list[tuple[str, str, int, int, dict[str, str]]] = [
    ("data-page", f"en/{_SURVEY}{_RIVERS}", 1280, 960, {}),
    ("chart", f"en/{_SURVEY}chart/?q=river", 1280, 1100, {}),
    ("map", f"en/{_CAPITALS}map/", 1280, 960, {}),
    ("about", f"de/{_SURVEY}about/", 1280, 960, {}),
    ("record", f"en/{_CAPITALS}r/76/?field.continent=Europe&at=21", 1280, 640, {}),
    ("catalogue", "es/datastore/", 1280, 800, {}),
    ("phone", f"vi/{_SURVEY}?q=river", 360, 960, {}),
    ("right-to-left", f"ar/{_SURVEY}?q=river", 1024, 800, {}),
    ("dark", f"fr/{_SURVEY}?q=river", 1280, 900, {"prefers-color-scheme": "dark"}),
    ("own-colours", f"en/{_SURVEY}{_RIVERS}", 1280, 900, {"forced-colors": "active"}),
]


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--portal", default="http://127.0.0.1:8000")
    options = parser.parse_args()
    with start_browser() as browser:
        browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        for name, address, width, height, features in _PICTURES:
            if options.names and name not in options.names:
                continue
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            emulated = [{"name": key, "value": value} for key, value in features.items()]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": emulated})
            browser.get(f"{options.portal}/{address}")
            kind = {"format": "webp", "quality": 80}
            picture = browser.execute_cdp_cmd("Page.captureScreenshot", kind)["data"]
            (_FOLDER / f"{name}.webp").write_bytes(base64.b64decode(picture))


if __name__ == "__main__":
    main()
