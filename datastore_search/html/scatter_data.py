"""
The points of a chart of two fields: those of the matches of a question, or how dense they are.

Few records are read with both values.  Of many, PostgreSQL counts those in each cell of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..analysis import AggregateQuery, GroupBy, Metric, read_aggregate
from ..filters import Comparison
from ..search import ID, ConsistentRead, Query, read_page
from .chart_data import MAX_SIZE, ChartData, Group, Point, Series, round_digits
from .chart_query import ChartQuery
from .columns import Column
from .record_keys import encode_key, list_key_fields
from .records import format_number, format_value, parse_record
from .typed_values import NUMBERS

#: Records that are points of their own.
MAX_POINTS = 500

#: Cells of the grid along each side, whose product is at most that of the groups of a statement.
GRID_CELLS = 25

Record = Mapping[str, object]


def read_scatter(read: ConsistentRead, query: Query, chart: ChartQuery) -> ChartData:
    """
    Read the points of the matches of a query, each as a group with one figure.

    Raises: as ``search.read_page`` and ``analysis.read_aggregate``.
    """
    if chart.of is None:
        raise TypeError("Points are of two fields.")
    return _ScatterReader(read, query, chart.by, chart.of).read_groups()


def compute_place(column: Column, key: object) -> float | None:
    """Compute the place of a value on an axis: a number, or days; None where it has none."""
    text = str(key)
    try:
        if column.type in NUMBERS:
            place = float(text)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            place = (moment - _EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return place if math.isfinite(place) and abs(place) <= MAX_SIZE else None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _ScatterReader:
    read: ConsistentRead
    query: Query
    x: Column
    y: Column

    def read_groups(self) -> ChartData:
        total = self._count()
        groups: list[Group] = []
        # The cells know the number of their records, which is not counted before.
        if total > MAX_POINTS:
            groups = sorted(self._read_cells(), key=lambda cell: -cell.record_count)
        if sum(group.record_count for group in groups) <= MAX_POINTS:
            groups = list(self._read_points())
        return ChartData(tuple(groups), (Series(""),), len(groups), 1, total)

    def _count(self) -> int:
        query = Query(limit=0, q=self.query.q, filters=self.query.filters)
        with closing(read_page(self.read, query)) as page:
            return page.total or 0

    def _build_query(self, limit: int, *fields: str) -> Query:
        filled = (Comparison(each.name, "isnull", value=False) for each in (self.x, self.y))
        return Query(
            limit=limit,
            q=self.query.q,
            filters=(*self.query.filters, *filled),
            fields=tuple(dict.fromkeys(fields)),
            include_total=False,
        )

    def _read_points(self) -> Iterator[Group]:
        keys = list_key_fields(self.read.resource)
        query = self._build_query(MAX_POINTS, ID, *keys, self.x.name, self.y.name)
        with closing(read_page(self.read, query)) as page:
            for text in page.texts:
                record = parse_record(text)
                x, y = record[self.x.name], str(record[self.y.name])
                if self._has_place(x, y):
                    point = Point(y, format_value(self.y, record[self.y.name]), float(y))
                    key = encode_key(self.read.resource, record)
                    yield Group(
                        str(x),
                        format_value(self.x, x),
                        (point,),
                        1,
                        is_on_axis=True,
                        record_key=key,
                    )

    def _has_place(self, x: object, y: object) -> bool:
        return compute_place(self.x, x) is not None and compute_place(self.y, y) is not None

    def _read_cells(self) -> Iterator[Group]:
        groups = {
            "column": GroupBy(self.x.name, bins=GRID_CELLS),
            "row": GroupBy(self.y.name, bins=GRID_CELLS),
        }
        middle = "avg" if self.x.type in NUMBERS else "min"
        metrics = [Metric("count", "count"), Metric("x", middle, self.x.name)]
        metrics += [Metric("y", "avg", self.y.name)]
        for name, column in (("x", self.x), ("y", self.y)):
            metrics += [Metric(f"{end}_{name}", end, column.name) for end in ("min", "max")]
        query = self._build_query(GRID_CELLS**2)
        aggregate = AggregateQuery(query, groups, tuple(metrics))
        with closing(read_aggregate(self.read, aggregate)) as page:
            for text in page.texts:
                cell = parse_record(text)
                if self._has_place(cell["x"], cell["y"]):
                    yield self._build_cell(cell)

    def _build_cell(self, cell: Record) -> Group:
        y = round_digits(str(cell["y"]))
        x = round_digits(str(cell["x"])) if self.x.type in NUMBERS else str(cell["x"])
        label = format_number(x) if self.x.type in NUMBERS else format_value(self.x, x)
        bounds = tuple(
            (f"{operator}.{column.name}", format_value(column, cell[f"{end}_{name}"]))
            for name, column in (("x", self.x), ("y", self.y))
            for operator, end in (("from", "min"), ("to", "max"))
        )
        point = Point(y, format_number(y), float(y))
        count = int(str(cell["count"]))
        return Group(x, label, (point,), count, is_on_axis=True, bounds=bounds)
