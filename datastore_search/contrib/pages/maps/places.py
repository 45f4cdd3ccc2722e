"""
Where records are: fields with degrees or GeoJSON, and the places of the matching records on a map.

Few records are read with their places.  Of many, PostgreSQL counts those in each cell of a grid, so
that no more than the cells are ever in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

from ....field_types import NotOfType, dump_json_as_sent, refuse_constant
from ....filters import Comparison, Condition
from ....filters.places import GEOMETRIES, MAX_LATITUDE, MAX_LONGITUDE, find_place_fields
from ....messages.texts import format_count, shorten
from ....search import ID, ConsistentRead, Profiles, Query, read_answer
from ...analysis.aggregates import AggregateQuery, Metric, read_aggregate
from ...analysis.groups import GroupBy
from ..columns import Column, find_column, find_name
from ..question import Pair, QueryString
from ..records import count_records, encode_key, list_key_fields, parse_record, write_name
from ..values import Digits, format_number

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
            try:
                positions = [_read_position(each) for each in _get_list(path)]
            except (TypeError, ValueError, LookupError, OverflowError):
                continue
            # NaN is not within.
            if positions and all(
                abs(longitude) <= MAX_LONGITUDE and abs(latitude) <= MAX_LATITUDE
                for longitude, latitude in positions
            ):
                yield Path(tuple(positions), is_area=kind.endswith("Polygon"))
        return
    for member in (
        geometry.get("geometry"),
        *_get_list(geometry.get("features")),
        *_get_list(geometry.get("geometries")),
    ):
        yield from list_paths(member, depth + 1)


def _read_position(position: object) -> Position:
    """Read longitude and latitude; a text or a truth value is not a number."""
    x, y, *_height = _get_list(position)
    if not {type(x), type(y)} <= {int, float, Decimal, Digits}:
        raise ValueError
    return float(x), float(y)


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


class MapQuery(NamedTuple):
    """One map, by its parameters: a pair of fields with degrees, or a field with GeoJSON."""

    lat: Column | None
    lon: Column | None
    geometry: Column | None
    title: Column | None

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple((name, column.name) for name, column in self._asdict().items() if column)


class MapParser:
    """Reads what a map shows from an address, or proposes it."""

    def __init__(self, columns: Sequence[Column], profiles: Profiles) -> None:
        self.numbers = [column for column in columns if column.type.is_number]
        self.geometries = [column for column in columns if column.type.name in GEOMETRIES]
        self.titles = [column for column in columns if column.type.is_text or column.is_name]
        self._columns, self._profiles = columns, profiles

    def parse(self, sent: Mapping[str, str]) -> MapQuery | None:
        """
        Read a map; without fields for the places, propose them.  None if no field suits.

        Raises: ``UnknownField``.
        """
        lat, lon = (find_column(sent.get(name, ""), self.numbers) for name in ("lat", "lon"))
        geometry = find_column(sent.get("geometry", ""), self.geometries)
        title = find_column(sent.get("title", ""), self.titles)
        if not geometry and not (lat and lon):
            types = {column.name: column.type.name for column in self._columns}
            found = find_place_fields(types, self._profiles)
            if not found:
                return None
            lat, lon, geometry = (find_column(name, self._columns) for name in found)
        if geometry:
            lat = lon = None
        titles = [column for column in self.titles if column != geometry]
        title = title or find_name(titles, self._profiles) or find_name(titles, self._profiles, 2)
        return MapQuery(lat, lon, geometry, title)


# The places of a map ------------------------------------------------------------------------------

#: Records that are drawn one by one.
MAX_PLACES = 500

#: Cells of the grid along each side, each with a cluster.
GRID_CELLS = 8

#: Records whose GeoJSON is read, their bytes together, and the positions of a map.
MAX_SHAPES = 250
MAX_SHAPES_BYTES = 4_000_000

_MAX_TITLE_LENGTH = 80

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class MapPlace:
    """
    A record on the map, or a cluster of ``count`` records around the middle of their places.

    ``link`` is that to the record, or to the map of the cluster alone; ``table_link`` leads to the
    records of a cluster.  Both are empty on a map without links.  ``position`` is latitude and
    longitude as people read them.  An area that values name has a ``kind``.
    """

    paths: tuple[Path, ...]
    title: str
    position: str
    link: str
    table_link: str
    count: int = 1
    kind: str = ""


@dataclass(frozen=True, slots=True)
class MapData:
    """
    What a map shows.

    ``total`` is the number of matches; those in ``places`` are on the map, as clusters if it
    ``is_clustered``.  ``missing`` records have no place; others are left out, as they are too many.
    ``title_language`` is the titles' language; empty if it is unknown, or if they are numbers.
    """

    places: Sequence[MapPlace]
    total: int
    missing: int
    is_clustered: bool = False
    title_language: str = ""

    @property
    def record_count(self) -> int:
        return sum(place.count for place in self.places)

    @property
    def is_cut(self) -> bool:
        """Return whether records with a place are left out."""
        return self.total > self.missing + self.record_count


@dataclass(frozen=True, slots=True)
class MapReader:
    """
    Reads the places of the matches of a query; ``question`` has the parameters of their page.

    Links lead to pages below ``page_path``, the path of the data page; with None there are none.
    """

    read: ConsistentRead
    query: Query
    shown: MapQuery
    question: QueryString
    page_path: str | None

    def read_places(self) -> MapData:
        """Read the places; raise what ``read_answer`` and ``read_aggregate`` do."""
        latitude, longitude, column, title = self.shown
        places: list[MapPlace] = []
        total = missing = count_records(self.read, self.query)
        if column:
            filled = self._add_conditions(Comparison(column.name, "isnull", value=False))
            missing = total - count_records(self.read, filled)
            for record, paths in self.read_shapes(filled, MAX_SHAPES, column):
                if not paths:
                    missing += 1
                    continue
                # The middle of the box around it.
                ends = zip(*(each for path in paths for each in path.positions), strict=True)
                x, y = (f"{(min(each) + max(each)) / 2:.4f}" for each in ends)
                places.append(self._build_place(record, paths, _write_position(y, x)))
        elif latitude and longitude:
            located = self._add_conditions(
                Comparison(latitude.name, "gte", -MAX_LATITUDE),
                Comparison(latitude.name, "lte", MAX_LATITUDE),
                Comparison(longitude.name, "gte", -MAX_LONGITUDE),
                Comparison(longitude.name, "lte", MAX_LONGITUDE),
            )
            # The clusters know the number of their records, which is not counted before.
            if total > MAX_PLACES:
                clusters = self._read_clusters(located, latitude, longitude)
                found = sum(place.count for place in clusters)
                if found > MAX_PLACES:
                    return MapData(clusters, total, total - found, is_clustered=True)
            for text in self._read_texts(located, MAX_PLACES, latitude, longitude):
                record = parse_record(text)
                y, x = str(record[latitude.name]), str(record[longitude.name])
                path = Path(((float(x), float(y)),))
                places.append(self._build_place(record, (path,), _write_position(y, x)))
            missing = total - len(places)
        language = title.value_language if title else ""
        return MapData(tuple(places), total, missing, title_language=language)

    def _add_conditions(self, *conditions: Condition) -> Query:
        return replace(self.query, filters=(*self.query.filters, *conditions))

    # One by one -----------------------------------------------------------------------------------

    def read_shapes(
        self, query: Query, limit: int, column: Column, *others: Column
    ) -> Iterator[tuple[Record, tuple[Path, ...]]]:
        """Read records with the paths of their GeoJSON, as far as it is not too long."""
        size = 0
        for text in self._read_texts(query, limit, column, *others):
            size += len(text)
            if size > MAX_SHAPES_BYTES:
                break
            record = parse_record(text)
            geometry = record[column.name]
            with suppress(ValueError, RecursionError):
                geometry = json.loads(geometry) if isinstance(geometry, str) else geometry
            yield record, tuple(list_paths(geometry))

    def _read_texts(self, query: Query, limit: int, *columns: Column) -> Iterator[bytes]:
        names = [column.name for column in (*columns, self.shown.title) if column]
        fields = dict.fromkeys([ID, *list_key_fields(self.read.resource), *names])
        search = replace(query, limit=limit, fields=tuple(fields), include_total=False)
        with closing(read_answer(self.read, search)) as found:
            yield from found.texts

    def _build_place(self, record: Record, paths: tuple[Path, ...], position: str) -> MapPlace:
        title = write_name(self.shown.title, record) or f"{record[ID]}"
        link = self._link(f"r/{encode_key(self.read.resource, record)}/", self.question)
        return MapPlace(paths, shorten(title, _MAX_TITLE_LENGTH), position, link, link)

    # Clusters -------------------------------------------------------------------------------------

    def _read_clusters(
        self, query: Query, latitude: Column, longitude: Column
    ) -> tuple[MapPlace, ...]:
        axes = {"y": latitude, "x": longitude}
        groups = {axis: GroupBy(each.name, bins=GRID_CELLS) for axis, each in axes.items()}
        metrics = [Metric("count", "count")]
        metrics += [
            Metric(f"{metric}_{axis}", metric, each.name)
            for axis, each in axes.items()
            for metric in ("min", "max")
        ]
        aggregate = AggregateQuery(replace(query, limit=GRID_CELLS**2), groups, tuple(metrics))
        places = []
        with closing(read_aggregate(self.read, aggregate)) as found:
            cells = [parse_record(text) for text in found.texts]
        for cell in cells:
            # The middle of the box around the places: PostgreSQL would take longer for the mean.
            bounds = {
                f"{end}.{column.name}": str(cell[f"{metric}_{axis}"])
                for axis, column in axes.items()
                for end, metric in (("from", "min"), ("to", "max"))
            }
            south, north, west, east = map(float, bounds.values())
            y, x = (south + north) / 2, (west + east) / 2
            typed = [(name, format_number(digits)) for name, digits in bounds.items()]
            pairs = (*self.question.remove(*bounds).pairs, *typed)
            count = int(str(cell["count"]))
            table_link = self._link("", QueryString(pairs))
            is_single_place = south == north and west == east
            map_link = self._link("map/", QueryString((*pairs, *self.shown.pairs)))
            places.append(
                MapPlace(
                    (Path(((x, y),)),),
                    format_count(count),
                    _write_position(f"{y:.4f}", f"{x:.4f}"),
                    table_link if is_single_place else map_link,
                    table_link,
                    count,
                )
            )
        return tuple(sorted(places, key=lambda place: -place.count))

    def _link(self, page: str, address: QueryString) -> str:
        return "" if self.page_path is None else f"{self.page_path}{page}{address.query}"


def _write_position(latitude: str, longitude: str) -> str:
    return f"{format_number(latitude)}; {format_number(longitude)}"
