"""
The places of the matching records on a map, one by one or in clusters.

Few records are read with their places.  Of many, PostgreSQL counts those in each cell of a grid, so
that no more than the cells are ever in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from ....filters import Comparison, Condition
from ....messages import shorten
from ....messages.bidi import show_bidi_controls
from ....messages.numbers import format_count
from ....search import ID, ConsistentRead, Query, read_answer
from ...analysis.aggregates import AggregateQuery, read_aggregate
from ...analysis.groups import GroupBy
from ...analysis.metrics import Metric
from ..columns import Column
from ..question import QueryString
from ..records import encode_key, list_key_fields, parse_record
from ..values import format_number, format_value
from .geometry import MAX_LATITUDE, MAX_LONGITUDE, MapQuery, Path, list_paths

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
    longitude as people read them.
    """

    paths: tuple[Path, ...]
    title: str
    position: str
    link: str
    table_link: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class MapData:
    """
    What a map shows.

    ``total`` is the number of matches; those in ``places`` are on the map, as clusters if it
    ``is_clustered``.  ``missing`` records have no place; others are left out, as they are too many.
    ``title_language`` is the titles' language; empty if it is unknown, or if they are numbers.
    """

    places: tuple[MapPlace, ...]
    total: int
    missing: int
    is_clustered: bool = False
    title_language: str = ""

    @property
    def record_count(self) -> int:
        return sum(place.count for place in self.places)


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
        """
        Read the places.

        Raises: as ``search.read_answer`` and ``analysis.aggregates.read_aggregate``.
        """
        latitude, longitude = self.shown.latitude, self.shown.longitude
        if not latitude or not longitude:
            return self._read_shapes()
        located = self._add_conditions(
            Comparison(latitude.name, "gte", -MAX_LATITUDE),
            Comparison(latitude.name, "lte", MAX_LATITUDE),
            Comparison(longitude.name, "gte", -MAX_LONGITUDE),
            Comparison(longitude.name, "lte", MAX_LONGITUDE),
        )
        total = self._count(self.query)
        # The clusters know the number of their records, which is not counted before.
        if total > MAX_PLACES:
            clusters = self._read_clusters(located, latitude, longitude)
            found = sum(place.count for place in clusters)
            if found > MAX_PLACES:
                return MapData(clusters, total, total - found, is_clustered=True)
        places = self._read_records(located, latitude, longitude)
        return MapData(places, total, total - len(places), title_language=self.title_language)

    @property
    def title_language(self) -> str:
        return self.shown.title.value_language if self.shown.title else ""

    def _add_conditions(self, *conditions: Condition) -> Query:
        return replace(self.query, filters=(*self.query.filters, *conditions))

    def _count(self, query: Query) -> int:
        with closing(read_answer(self.read, replace(query, limit=0))) as found:
            return found.total or 0

    # One by one -----------------------------------------------------------------------------------

    def _read_texts(self, query: Query, limit: int, *columns: Column) -> Iterator[bytes]:
        names = [column.name for column in (*columns, self.shown.title) if column]
        fields = dict.fromkeys([ID, *list_key_fields(self.read.resource), *names])
        search = replace(query, limit=limit, fields=tuple(fields), include_total=False)
        with closing(read_answer(self.read, search)) as found:
            yield from found.texts

    def _read_records(
        self, query: Query, latitude: Column, longitude: Column
    ) -> tuple[MapPlace, ...]:
        places = []
        for text in self._read_texts(query, MAX_PLACES, latitude, longitude):
            record = parse_record(text)
            y, x = str(record[latitude.name]), str(record[longitude.name])
            path = Path(((float(x), float(y)),))
            places.append(self._build_place(record, (path,), _write_position(y, x)))
        return tuple(places)

    def _read_shapes(self) -> MapData:
        column = self.shown.geometry
        if not column:
            return MapData((), 0, 0)
        filled = self._add_conditions(Comparison(column.name, "isnull", value=False))
        total, found = self._count(self.query), self._count(filled)
        places, unread, size = [], 0, 0
        for text in self._read_texts(filled, MAX_SHAPES, column):
            size += len(text)
            if size > MAX_SHAPES_BYTES:
                break
            record = parse_record(text)
            paths = tuple(list_paths(_parse_geometry(record[column.name])))
            if paths:
                # The middle of the box around it.
                ends = zip(*(each for path in paths for each in path.positions), strict=True)
                x, y = (f"{(min(each) + max(each)) / 2:.4f}" for each in ends)
                places.append(self._build_place(record, paths, _write_position(y, x)))
            else:
                unread += 1
        missing = total - found + unread
        return MapData(tuple(places), total, missing, title_language=self.title_language)

    def _build_place(self, record: Record, paths: tuple[Path, ...], position: str) -> MapPlace:
        column = self.shown.title
        value = record[column.name] if column else None
        title = (
            f"{record[ID]}"
            if value in {None, ""} or not column
            else format_value(column.type, value)
        )
        link = self._link(f"r/{encode_key(self.read.resource, record)}/", self.question)
        return MapPlace(
            paths, shorten(show_bidi_controls(title), _MAX_TITLE_LENGTH), position, link, link
        )

    # Clusters -------------------------------------------------------------------------------------

    def _read_clusters(
        self, query: Query, latitude: Column, longitude: Column
    ) -> tuple[MapPlace, ...]:
        groups = {
            "row": GroupBy(latitude.name, bins=GRID_CELLS),
            "cell": GroupBy(longitude.name, bins=GRID_CELLS),
        }
        metrics = [Metric("count", "count")]
        for name, column in (("y", latitude), ("x", longitude)):
            metrics += [
                Metric(f"{metric}_{name}", metric, column.name) for metric in ("min", "max")
            ]
        asked = replace(query, limit=GRID_CELLS**2)
        aggregate = AggregateQuery(asked, groups, tuple(metrics))
        with closing(read_aggregate(self.read, aggregate)) as found:
            places = [
                self._build_cluster(latitude.name, longitude.name, parse_record(text))
                for text in found.texts
            ]
        return tuple(sorted(places, key=lambda place: -place.count))

    def _build_cluster(self, latitude: str, longitude: str, cell: Record) -> MapPlace:
        """
        Build the cluster of a cell, in the middle of the box around its places.

        PostgreSQL would take longer for the mean.
        """
        bounds = {
            f"from.{latitude}": str(cell["min_y"]),
            f"to.{latitude}": str(cell["max_y"]),
            f"from.{longitude}": str(cell["min_x"]),
            f"to.{longitude}": str(cell["max_x"]),
        }
        south, north, west, east = map(float, bounds.values())
        typed = [(name, format_number(digits)) for name, digits in bounds.items()]
        pairs = (*self.question.remove(*bounds).pairs, *typed)
        count = int(str(cell["count"]))
        y, x = (south + north) / 2, (west + east) / 2
        table_link = self._link("", QueryString(pairs))
        is_single_place = south == north and west == east
        map_link = self._link("map/", QueryString((*pairs, *self.shown.pairs)))
        return MapPlace(
            (Path(((x, y),)),),
            format_count(count),
            _write_position(f"{y:.4f}", f"{x:.4f}"),
            table_link if is_single_place else map_link,
            table_link,
            count,
        )

    def _link(self, page: str, address: QueryString) -> str:
        return "" if self.page_path is None else f"{self.page_path}{page}{address.query}"


def _write_position(latitude: str, longitude: str) -> str:
    return f"{format_number(latitude)}; {format_number(longitude)}"


def _parse_geometry(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
