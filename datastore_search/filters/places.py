"""The fields with the places of records: a pair of degrees, or GeoJSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..field_types import field_types
from ..messages.parameters import UnknownField
from ..messages.search import UnsuitablePlaceField
from ..messages.texts import shorten
from .words import remove_diacritics

MAX_LATITUDE, MAX_LONGITUDE = 90, 180

#: Words of names, without accents and in lower case, in some languages.
_LATITUDE = re.compile("lat|latitude|latitud|latitudine|breite|breitengrad|vi|lintang|العرض")
_LONGITUDE = re.compile(
    "lon|lng|long|longitude|longitud|longitudine|lange|langengrad|laenge|laengengrad|kinh|bujur"
    "|الطول"
)
_GEOMETRY_NAME = re.compile(
    "geometry|geom|geojson|geo_shape|geoshape|shape|the_geom|wkb_geometry|géometrie|geometrie"
    "|geometria|geopoint|geo_point"
)

#: The types of fields with GeoJSON.
GEOMETRIES = frozenset({"json", "text"})
NUMBERS = frozenset(name for name, kind in field_types.items() if kind.is_number)

#: The names of longitude and latitude in what geographic information systems export.
_EXPORTED = "X", "Y"

#: Words in ``siteLat``, ``site_lat`` and ``Vĩ độ``.
_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


class PlaceFields(NamedTuple):
    """The names of the fields with the places of records: a pair with degrees, or GeoJSON."""

    lat: str = ""
    lon: str = ""
    geometry: str = ""


def list_degree_fields(types: Mapping[str, str]) -> list[str]:
    """List the fields of numbers whose names are of latitudes or longitudes."""
    return [
        name
        for name, kind in types.items()
        if kind in NUMBERS
        and (
            name in _EXPORTED
            or any(any(_find_rest(name, each)) for each in (_LATITUDE, _LONGITUDE))
        )
    ]


def find_place_fields(
    types: Mapping[str, str], profiles: Mapping[str, Mapping[str, Any]]
) -> PlaceFields | None:
    """
    Find the first pair of latitude and longitude, such as ``start_lat`` and ``start_lon``.

    Without one, find ``X`` and ``Y`` that are known to be in degrees, or else the first field whose
    name is one of GeoJSON.
    """

    def is_within(name: str, size: int) -> bool:
        profile = profiles.get(name, {})
        try:
            return float(profile["min"]) >= -size and float(profile["max"]) <= size
        except (KeyError, TypeError, ValueError, OverflowError):
            return True

    names = [name for name in types if types[name] in NUMBERS]
    longitudes = {
        rest: name
        for name in reversed(names)
        for rest in _find_rest(name, _LONGITUDE)
        if is_within(name, MAX_LONGITUDE)
    }
    for name in names:
        for rest in _find_rest(name, _LATITUDE):
            if rest in longitudes and is_within(name, MAX_LATITUDE):
                return PlaceFields(name, longitudes[rest])
    x, y = _EXPORTED
    are_known = {x, y} <= profiles.keys() and {x, y} <= {*names}
    if are_known and is_within(x, MAX_LONGITUDE) and is_within(y, MAX_LATITUDE):
        return PlaceFields(y, x)
    for name, kind in types.items():
        if kind in GEOMETRIES and _GEOMETRY_NAME.fullmatch(name.strip().casefold()):
            return PlaceFields(geometry=name)
    return None


def _find_rest(name: str, words: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    """Find the other words of a name that has one of some words."""
    found = _WORD.findall(remove_diacritics(_HUMP.sub(" ", name)).casefold())
    for position, word in enumerate(found):
        if words.fullmatch(word):
            yield (*found[:position], "", *found[position + 1 :])


def check_place_fields(place: PlaceFields, types: Mapping[str, str], parameter: str = "") -> None:
    """Raise ``UnknownField`` or ``UnsuitablePlaceField`` about a parameter, or one of each name."""
    for role, name in place._asdict().items():
        suitable, sent = GEOMETRIES if role == "geometry" else NUMBERS, parameter or role
        if name and name not in types:
            raise UnknownField(parameter=sent, field=shorten(name, 100))
        if name and types[name] not in suitable:
            raise UnsuitablePlaceField(parameter=sent, field=name, type=types[name])
