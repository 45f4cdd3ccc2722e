"""The figures of a chart: groups of the matches of a question, in the order of the axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import cast

from django.utils.translation import gettext as _

from ....filters import In
from ....filters.names import SortKey
from ....messages import shorten
from ....messages.bidi import show_bidi_controls
from ....search import ConsistentRead, Query
from ...analysis.aggregates import AggregateQuery, read_aggregate
from ...analysis.errors import TooManyChartGroups
from ...analysis.groups import INTERVALS
from ...analysis.metrics import Metric
from ...analysis.steps import Bound, Key, list_steps
from ..table.query_string import Pair
from ..table.records import Digits, format_number, format_value, parse_record, shorten_number
from ..table.typed_values import write_value
from .query import EACH, ChartQuery, Grouping

#: Groups along the axis: values of a text, and periods, ranges or other values.
MAX_CATEGORIES = 50
MAX_STEPS = 400

#: Series: values of the field that splits the groups, of which the last may be all others.
MAX_SERIES = 8

#: Groups that are read, and that one statement gives.
_MAX_ROWS, _PAGE_ROWS = 5_000, 1_000

#: Letters of a label.
_MAX_LABEL_LENGTH = 60

#: Figures of a mean or a median.
_MAX_FIGURES = 6

#: Letters of the label of a period, and of one of days.
_LENGTHS, _DAY_LENGTH = {"year": 4, "month": 7, "hour": 16}, 10

#: What can be drawn: the span of larger doubles may be infinite.
_MAX_SIZE = 1e300

#: The key of all series that are not shown by themselves.
OTHERS = "\0"


@dataclass(frozen=True, slots=True)
class Point:
    """A figure: its digits, as people read it, and as a number for the drawing."""

    digits: str
    text: str
    size: float


@dataclass(frozen=True, slots=True)
class Value:
    """
    A value on the axis, or of the field that splits the groups, as people read it.

    ``language`` is the label's language, empty if it is unknown or the page's.  ``conditions`` find
    the records; they are None if an address cannot.  ``bounds`` are those of a period or a range.
    A value without a place in the order of an axis is not ``is_on_axis``.
    """

    key: Key = None
    label: str = ""
    language: str = ""
    conditions: tuple[Pair, ...] | None = ()
    bounds: tuple[Bound, Bound] | None = None
    is_on_axis: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """A value on the axis, with a point of each series, None where there is none."""

    value: Value
    points: tuple[Point | None, ...]
    record_count: int


@dataclass(frozen=True, slots=True)
class ChartData:
    """
    The figures of a chart.

    ``series`` are the values that split the groups, or a single one without a label.  There
    are ``group_total`` groups and ``series_total`` series, of which the largest are shown.
    """

    groups: tuple[Group, ...]
    series: tuple[Value, ...]
    group_total: int
    series_total: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A group of the answer; ``value`` is None where there is no number."""

    key: Key
    series: Key
    value: Decimal | None
    record_count: int

    def add(self, other: _Row) -> _Row:
        """Add the figures of another row."""
        values = [each.value for each in (self, other) if each.value is not None]
        value = sum(values, Decimal()) if values else None
        return _Row(self.key, OTHERS, value, self.record_count + other.record_count)


def read_chart(read: ConsistentRead, query: Query, chart: ChartQuery) -> ChartData:
    """
    Compute the figures of a chart from the matches of a query.

    Raises: ``TooManyChartGroups``, and as ``analysis.aggregates.read_aggregate``.
    """
    rows, total = _read_rows(read, query, chart)
    counts: Counter[Key] = Counter()
    for row in rows:
        counts[row.series] += row.record_count
    series = _choose_series(chart, [key for key, _count in counts.most_common()])
    keys = {each.key for each in series}
    found: dict[Key, dict[Key, _Row]] = {}
    for row in rows:
        group, key = found.setdefault(row.key, {}), row.series if row.series in keys else OTHERS
        group[key] = group[key].add(row) if key in group else row
    values = _list_values(chart.by, list(found))
    if len(values) > MAX_STEPS:
        raise TooManyChartGroups
    groups = [_build_group(chart, each, found.get(each.key, {}), series) for each in values]
    if chart.by.has_categories and chart.is_additive:
        groups.sort(key=lambda each: -sum(point.size for point in each.points if point))
    return ChartData(tuple(groups), tuple(series), max(total, len(groups)), len(counts))


def _choose_series(chart: ChartQuery, keys: Sequence[Key]) -> list[Value]:
    """Choose the first series, or the last periods, and the others as one if they add up."""
    split = chart.split
    if split is None:
        return [Value()]
    keys = keys[: MAX_SERIES + 1] if split.step == EACH else keys
    found = [each for each in _list_values(split, keys) if each.key in set(keys)]
    if len(found) <= MAX_SERIES:
        return found
    most = MAX_SERIES - chart.is_additive
    first = len(found) - most if split.group.interval else 0
    shown, others = found[first : first + most], [*found[:first], *found[first + most :]]
    conditions = _find_others(split, shown, others)
    return [*shown, *[Value(OTHERS, _("others"), "", conditions)] * chart.is_additive]


def _read_rows(read: ConsistentRead, query: Query, chart: ChartQuery) -> tuple[list[_Row], int]:
    """Read the groups, and their number where only the largest are read."""
    if not chart.by.has_categories:
        return _read_groups(read, query, chart, _MAX_ROWS)[0], 0
    rows, total = _read_groups(read, query, replace(chart, split=None), MAX_CATEGORIES)
    if chart.split:
        largest = In(chart.by.column.name, tuple(row.key for row in rows))
        query = replace(query, filters=(*query.filters, largest))
        rows, _number = _read_groups(read, query, chart, _MAX_ROWS)
    return rows, total


def _read_groups(
    read: ConsistentRead, query: Query, chart: ChartQuery, limit: int
) -> tuple[list[_Row], int]:
    """Read all groups in pages, or a few with the largest figures."""
    group_by = {"group": chart.by.group} | ({"split": chart.split.group} if chart.split else {})
    is_cut = limit == MAX_CATEGORIES
    sort = (SortKey("value", descending=True, nulls_first=False),) if is_cut else ()
    asked = Query(limit=min(limit, _PAGE_ROWS), q=query.q, filters=query.filters, sort=sort)
    metrics = chart.metric, Metric("records", "count")
    rows: list[_Row] = []
    while True:
        wanted = AggregateQuery(replace(asked, offset=len(rows)), group_by, metrics)
        with closing(read_aggregate(read, wanted)) as page:
            total = page.total or 0
            if total > limit and not is_cut:
                raise TooManyChartGroups
            rows += map(_read_row, map(parse_record, page.texts))
            if is_cut or len(rows) >= total or not page.record_count:
                return rows, total


def _read_row(record: Mapping[str, object]) -> _Row:
    key, series = (cast("Key", record.get(name)) for name in ("group", "split"))
    value = record["value"]
    number = Decimal(value) if isinstance(value, Digits) else None
    return _Row(key, series, number, int(str(record["records"])))


def _build_group(
    chart: ChartQuery, value: Value, rows: Mapping[Key, _Row], series: Sequence[Value]
) -> Group:
    # The count and the sum of no records are 0.
    missing = Decimal() if chart.is_additive else None
    figures = [rows[each.key].value if each.key in rows else missing for each in series]
    count = sum(row.record_count for row in rows.values())
    return Group(value, tuple(_build_point(chart, each) for each in figures), count)


def _build_point(chart: ChartQuery, value: Decimal | None) -> Point | None:
    if value is None or abs(size := float(value)) > _MAX_SIZE:
        return None
    digits = f"{value:f}"
    shown = _round_digits(value) if chart.figure in {"avg", "median"} else digits
    return Point(digits, format_number(shorten_number(shown)), size)


def _round_digits(number: Decimal) -> str:
    """Round a computed number to a few figures, or to a whole number if that has more."""
    decimals = max(0, _MAX_FIGURES - 1 - number.adjusted())
    return _write(Decimal(f"{number:.{decimals}f}"))


def _write(number: Decimal) -> str:
    return f"{number.normalize():f}"


# Values -------------------------------------------------------------------------------------------


def _list_values(by: Grouping, keys: Sequence[Key]) -> list[Value]:
    """List the values of an axis, with steps between them; those without a place come last."""
    steps = {} if by.step == EACH else list_steps(by.group, keys, MAX_STEPS)
    values = {
        key: Value(key, _label_step(by, *each), "", _find_between(by, *each), each)
        for key, each in steps.items()
    }
    for key in keys:
        if key not in values:
            is_on_axis = by.has_categories or (by.step == EACH and key is not None)
            label, language = _("empty"), ""
            if key is not None:
                text = show_bidi_controls(format_value(by.column, key))
                label, language = shorten(text, _MAX_LABEL_LENGTH), by.column.value_language
            values[key] = Value(key, label, language, _find_equal(by, key), None, is_on_axis)
    return list(values.values())


def _label_step(by: Grouping, low: Bound, high: Bound) -> str:
    """Label a step, periods in a form that sorts, and that every language reads: ``2020-05``."""
    match by.step:
        case "quarter":
            return f"{low.year} Q{(low.month + 2) // 3}"
        case step if step in INTERVALS:
            return str(low.isoformat(" ")[: _LENGTHS.get(step, _DAY_LENGTH)])
        case _:
            digits = [shorten_number(_write(each)) for each in (low, high) if each is not None]
            ends = "–".join(map(format_number, digits))
            return ends if high is not None else f"≥ {ends}"


# Records of values --------------------------------------------------------------------------------


def _find_equal(by: Grouping, key: Key) -> tuple[Pair, ...] | None:
    """List the parameters that find the records with a value; None if there are none."""
    name = by.column.name
    if key is None:
        return ((f"empty.{name}", "yes"),)
    return ((f"field.{name}", write_value(key)),) if by.step == EACH and key != "" else None


def _find_between(by: Grouping, low: Bound, high: Bound) -> tuple[Pair, ...]:
    """List the parameters that find the records from a bound to before another."""
    first, last, other = (f"{each}.{by.column.name}" for each in ("from", "to", "not"))
    if not by.group.interval:
        ends = ((last, high), (other, high)) if high is not None else ()
        return tuple((name, format_number(_write(end))) for name, end in ((first, low), *ends))
    # A day is a whole one.
    length = None if by.step == "hour" else _DAY_LENGTH
    ends = (first, low), (last, high - timedelta(microseconds=1))
    return tuple((name, moment.isoformat(" ")[:length]) for name, moment in ends)


def _find_others(
    split: Grouping, shown: Sequence[Value], others: Sequence[Value]
) -> tuple[Pair, ...] | None:
    """List the parameters that find the records of all values but those shown."""
    name, bounds = split.column.name, [each.bounds for each in others if each.bounds]
    if len(bounds) == len(others):
        return _find_between(split, bounds[0][0], bounds[-1][1])
    if split.step != EACH or any(each.key == "" for each in shown):
        return None
    return tuple(
        (f"empty.{name}", "no") if each.key is None else (f"not.{name}", write_value(each.key))
        for each in shown
    )
