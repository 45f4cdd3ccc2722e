"""
The outlines that maps show where records are: land, borders, names of countries and cities.

They are Natural Earth's, in the public domain.  ``make outlines`` makes their file.  Pages refer to
its paths, so that a browser has them once; they are in units of which a degree has ``SCALE``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse

from ....models.base import exclude_from_atomic_requests
from ..conf import conf
from .geometry import Position

SCALE = 25

_FILE = Path(__file__).with_name("outlines.svg.gz")

#: Languages of the names of countries, in the order of the file.
_LANGUAGES = ("en", "ar", "de", "es", "fr", "pt", "vi")

#: Cities are named from this zoom on; of each next 40, one zoom later.
_CITIES_ZOOM, _CITIES_PER_ZOOM = 2.5, 40


class Name(NamedTuple):
    """The name of a country or city, with the zoom of tiles from which it is written."""

    position: Position
    zoom: float
    text: str
    language: str
    is_city: bool = False


@lru_cache(maxsize=1)
def _read_outlines() -> str:
    return gzip.decompress(_FILE.read_bytes()).decode()


def list_layers() -> list[str]:
    """List what maps show of ``land``, ``borders`` and ``names``."""
    return conf.MAP_TILES.get("outlines", "land borders names").split()


@exclude_from_atomic_requests
def show_outlines(request: HttpRequest) -> HttpResponse:
    """Send the outlines, from the site of the page: browsers refer to no file of another site."""
    headers = {"Cache-Control": "public, max-age=86400", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return HttpResponse(_read_outlines(), "image/svg+xml", headers=headers)
    headers["Content-Encoding"] = "gzip"
    return HttpResponse(_FILE.read_bytes(), "image/svg+xml", headers=headers)


def read_path(layer: str) -> str:
    """Read the path of ``land`` or ``borders``."""
    return _read_outlines().partition(f'id="{layer}" d="')[2].partition('"')[0]


@lru_cache(maxsize=len(_LANGUAGES))
def read_names(language: str) -> Sequence[Name]:
    """Read the names, the most important ones first; those of cities are English."""
    found = json.loads(_read_outlines().partition("<metadata>")[2].partition("</metadata>")[0])
    column = _LANGUAGES.index(language) if language in _LANGUAGES else 0
    names = [
        Name((x, y), zoom, texts[column] or texts[0], language if texts[column] else "en")
        for x, y, zoom, *texts in found["countries"]
    ]
    names += [
        Name((x, y), _CITIES_ZOOM + rank / _CITIES_PER_ZOOM, text, "en", is_city=True)
        for rank, (x, y, text) in enumerate(found["cities"])
    ]
    return sorted(names, key=lambda name: name.zoom)
