"""Where records are: pairs of fields with degrees, and fields with GeoJSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from ....field_types import NotOfType, dump_json_as_sent, field_types, refuse_constant
from ....filters.words import remove_diacritics
from ..columns import Column, find_column
from ..question import Pair

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

#: Words in ``siteLat``, ``site_lat`` and ``Vĩ độ``.
_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


class PlaceFields(NamedTuple):
    """The names of the fields with the places of records: a pair with degrees, or GeoJSON."""

    lat: str = ""
    lon: str = ""
    geometry: str = ""


def find_place_fields(
    types: Mapping[str, str], profiles: Mapping[str, Mapping[str, Any]]
) -> PlaceFields | None:
    """
    Find the first pair of latitude and longitude, such as ``start_lat`` and ``start_lon``.

    Without one, find the first field whose name is one of GeoJSON.
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


# GeoJSON ------------------------------------------------------------------------------------------

#: Longitude and latitude, in degrees.
Position = tuple[float, float]

#: Objects within each other.
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Path:
    """A point, a line or, if it ``is_area``, a ring of an area, by its positions."""

    positions: tuple[Position, ...]
    is_area: bool = False


def list_paths(geometry: object, depth: int = 0) -> Iterator[Path]:
    """
    List the paths of a GeoJSON object; what is none, and what is beyond the globe, is left out.

    Source: RFC 7946, sections 3 and 4.
    """
    if not isinstance(geometry, Mapping) or depth > _MAX_DEPTH:
        return
    kind, coordinates = str(geometry.get("type")), geometry.get("coordinates")
    if kind in _PATHS:
        for path in _PATHS[kind](coordinates):
            yield from _build_path(path, is_area=kind.endswith("Polygon"))
        return
    for member in (
        geometry.get("geometry"),
        *_get_list(geometry.get("features")),
        *_get_list(geometry.get("geometries")),
    ):
        yield from list_paths(member, depth + 1)


def _get_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


#: Lists of positions in the coordinates of each type.
_PATHS: Mapping[str, Callable[[object], list[Any]]] = {
    "Point": lambda point: [[point]],
    "MultiPoint": lambda points: [[point] for point in _get_list(points)],
    "LineString": lambda line: [line],
    "MultiLineString": _get_list,
    "Polygon": _get_list,
    "MultiPolygon": lambda areas: [ring for area in _get_list(areas) for ring in _get_list(area)],
}


def _build_path(coordinates: object, *, is_area: bool) -> Iterator[Path]:
    positions = []
    for each in _get_list(coordinates):
        try:
            longitude, latitude = float(each[0]), float(each[1])
        except (TypeError, ValueError, LookupError, OverflowError):
            return
        # NaN is not within.
        if not (abs(longitude) <= MAX_LONGITUDE and abs(latitude) <= MAX_LATITUDE):
            return
        positions.append((longitude, latitude))
    if positions:
        yield Path(tuple(positions), is_area=is_area)


_GEOMETRY_TYPES = frozenset({*_PATHS, "GeometryCollection"})


def build_point(latitude: str | None, longitude: str | None) -> str | None:
    """Build a GeoJSON point from the texts of two numbers; None for what is beyond the globe."""
    if latitude is None or longitude is None:
        return None
    # NaN is not within.
    if not (abs(float(latitude)) <= MAX_LATITUDE and abs(float(longitude)) <= MAX_LONGITUDE):
        return None
    return f'{{"type":"Point","coordinates":[{longitude},{latitude}]}}'


def read_geometry(text: str | None) -> str | None:
    """Read the GeoJSON text of a geometry, or of the one in a feature; None for no place."""
    if text is None:
        return None
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=refuse_constant
        )
        is_feature = isinstance(value, dict) and value.get("type") == "Feature"
        geometry = value.get("geometry") if is_feature else value
        if not isinstance(geometry, dict) or str(geometry.get("type")) not in _GEOMETRY_TYPES:
            return None
        if not any(list_paths(geometry)):
            return None
        return dump_json_as_sent(geometry) if is_feature else text
    except (ValueError, ArithmeticError, RecursionError, NotOfType):
        return None


# A map of a question ------------------------------------------------------------------------------

PARAMETERS = ("lat", "lon", "geometry", "title")

#: Names of fields with the titles of records, the best first.
_TITLES = ("title", "name", "label", "tên", "nom", "nombre")


@dataclass(frozen=True, slots=True)
class MapQuery:
    """One map: of a pair of fields with degrees, or of a field with GeoJSON."""

    latitude: Column | None
    longitude: Column | None
    geometry: Column | None
    title: Column | None

    @property
    def pairs(self) -> tuple[Pair, ...]:
        columns = (self.latitude, self.longitude, self.geometry, self.title)
        return tuple(
            (name, column.name)
            for name, column in zip(PARAMETERS, columns, strict=True)
            if column is not None
        )


class MapParser:
    """Reads what a map shows from an address, or proposes it."""

    def __init__(
        self, columns: Sequence[Column], profiles: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.numbers = [column for column in columns if column.type.is_number]
        self.geometries = [column for column in columns if column.type.name in GEOMETRIES]
        self.titles = [column for column in columns if column.type.is_text]
        self._columns, self._profiles = columns, profiles

    def parse(self, sent: Mapping[str, str]) -> MapQuery | None:
        """
        Read a map; without fields for the places, propose them.  None if no field suits.

        Raises: ``UnknownField``.
        """
        latitude = find_column(sent.get("lat", ""), self.numbers)
        longitude = find_column(sent.get("lon", ""), self.numbers)
        geometry = find_column(sent.get("geometry", ""), self.geometries)
        title = find_column(sent.get("title", ""), self.titles)
        if not geometry and not (latitude and longitude):
            types = {column.name: column.type.name for column in self._columns}
            found = find_place_fields(types, self._profiles)
            if not found:
                return None
            latitude, longitude, geometry = (find_column(name, self._columns) for name in found)
        if geometry:
            latitude = longitude = None
        titles = [column for column in self.titles if column != geometry]
        names = {column.name.casefold(): column for column in reversed(titles)}
        best = [names[name] for name in _TITLES if name in names]
        proposed = next(iter([*best, *titles]), None)
        return MapQuery(latitude, longitude, geometry, title or proposed)


def has_map(columns: Sequence[Column], profiles: Mapping[str, Mapping[str, Any]]) -> bool:
    types = {column.name: column.type.name for column in columns}
    return find_place_fields(types, profiles) is not None
