"""The figures of a chart: groups of the matches of a question, in the order of the axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from django.utils.translation import gettext as _

from ....filters.names import SortKey
from ....messages import shorten
from ....messages.bidi import show_bidi_controls
from ....search import ConsistentRead, Query
from ...analysis.aggregates import AggregateQuery, read_aggregate
from ...analysis.errors import TooManyChartGroups
from ...analysis.groups import INTERVALS, GroupBy
from ...analysis.metrics import Metric
from ..table.columns import Column
from ..table.records import Digits, format_number, format_value, parse_record, shorten_number
from .query import RANGES, ChartQuery

#: Groups along the axis: values of a text, and periods, ranges or other values.
MAX_CATEGORIES = 50
MAX_STEPS = 400

#: Values of the field that splits the groups.
MAX_SERIES = 8

#: Groups that one statement gives; more would be copied out.
_MAX_ROWS = 1_000

#: Letters of a label.
_MAX_LABEL_LENGTH = 60

#: Figures of a mean or a median.
_MAX_FIGURES = 6

#: What can be drawn: the span of larger doubles may be infinite.
_MAX_SIZE = 1e300

#: A value of a field, as ``parse_record`` gives it; it can be compared and hashed.
Key = str | bool | None


@dataclass(frozen=True, slots=True)
class Point:
    """A figure: its digits, as people read it, and as a number for the drawing."""

    digits: str
    text: str
    size: float


@dataclass(frozen=True, slots=True)
class Group:
    """
    A group along the axis, with a point of each series, None where there is none.

    ``language`` is the label's language, empty if it is unknown or the page's.  A group without a
    value is not ``is_on_axis`` where the axis has an order.
    """

    key: Key
    label: str
    points: tuple[Point | None, ...]
    record_count: int
    is_on_axis: bool
    language: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """A value that splits the groups, as people read it, and the language of its text."""

    label: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class ChartData:
    """
    The figures of a chart.

    ``series`` are the values that split the groups, or a single one without a label.  There
    are ``group_total`` groups and ``series_total`` series, of which the largest are shown.
    """

    groups: tuple[Group, ...]
    series: tuple[Series, ...]
    group_total: int
    series_total: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A group of the answer."""

    key: Key
    series: Key
    value: object
    record_count: int


def read_chart(read: ConsistentRead, query: Query, chart: ChartQuery) -> ChartData:
    """
    Compute the figures of a chart from the matches of a query.

    Raises: ``TooManyChartGroups``, and as ``analysis.read_aggregate``.
    """
    rows, total = _read_rows(read, query, chart)
    counts: Counter[Key] = Counter()
    for row in rows:
        counts[row.series] += row.record_count
    series = [key for key, _count in counts.most_common(MAX_SERIES)]
    found: dict[Key, dict[Key, _Row]] = {}
    for row in rows:
        if row.series in series:
            found.setdefault(row.key, {})[row.series] = row
    steps = _order_steps(chart, found)
    groups = [
        _build_group(chart, key, label, found.get(key, {}), series) for key, label in steps.items()
    ]
    return ChartData(
        tuple(groups), _name_series(chart, series), max(total, len(groups)), len(counts)
    )


def _name_series(chart: ChartQuery, keys: Sequence[Key]) -> tuple[Series, ...]:
    split = chart.split
    if not split:
        return (Series(""),)
    return tuple(Series(_label(split, key), _get_language(split, key)) for key in keys)


def _read_rows(read: ConsistentRead, query: Query, chart: ChartQuery) -> tuple[list[_Row], int]:
    """Read the groups, and their number where only the largest were read."""
    is_cut = chart.has_categories and not chart.split
    group_by = {"group": chart.group}
    if chart.split:
        group_by["split"] = GroupBy(chart.split.name)
    page_query = Query(
        limit=MAX_CATEGORIES if is_cut else _MAX_ROWS,
        q=query.q,
        filters=query.filters,
        sort=(SortKey("value", descending=True, nulls_first=False),) if is_cut else (),
    )
    metrics = chart.metric, Metric("records", "count")
    with closing(read_aggregate(read, AggregateQuery(page_query, group_by, metrics))) as page:
        total = page.total or 0
        if total > _MAX_ROWS and not is_cut:
            raise TooManyChartGroups
        rows = [
            _Row(
                _get_key(record, "group"),
                _get_key(record, "split"),
                record["value"],
                int(str(record["records"])),
            )
            for record in map(parse_record, page.texts)
        ]
    return rows, total if is_cut else 0


def _get_key(record: Mapping[str, object], name: str) -> Key:
    value = record.get(name)
    return value if value is None or isinstance(value, str | bool) else str(value)


def _build_group(
    chart: ChartQuery, key: Key, label: str, rows: Mapping[Key, _Row], series: Sequence[Key]
) -> Group:
    # The count and the sum of no records are 0.
    missing = Point("0", "0", 0.0) if chart.figure in {"count", "sum"} else None
    points = tuple(_build_point(chart, rows[each]) if each in rows else missing for each in series)
    count = sum(row.record_count for row in rows.values())
    language = _get_language(chart.by, key)
    return Group(key, label, points, count, _is_on_axis(chart, key), language=language)


def _is_on_axis(chart: ChartQuery, key: Key) -> bool:
    """Return whether a key has a place on the axis, as an empty or infinite one may not have."""
    if chart.step in INTERVALS:
        return _parse_moment(key) is not None
    if chart.step == RANGES:
        return _parse_number(key) is not None
    return chart.has_categories or key is not None


def _build_point(chart: ChartQuery, row: _Row) -> Point | None:
    if not isinstance(row.value, Digits):
        return None
    digits = str(row.value)
    size = float(digits)
    if abs(size) > _MAX_SIZE:
        return None
    shown = _round_digits(digits) if chart.figure in {"avg", "median"} else digits
    return Point(digits, format_number(shorten_number(shown)), size)


def _round_digits(digits: str) -> str:
    """Round a computed number to a few figures, or to a whole number if that has more."""
    number = Decimal(digits)
    decimals = max(0, _MAX_FIGURES - 1 - number.adjusted())
    return _drop_zeros(f"{number:.{decimals}f}")


def _drop_zeros(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


# The axis -----------------------------------------------------------------------------------------


def _order_steps(chart: ChartQuery, found: Mapping[Key, Mapping[Key, _Row]]) -> dict[Key, str]:
    """List the keys of the axis with their labels, also of steps between them without records."""
    keys = list(found)
    if chart.has_categories:
        if chart.split:
            keys.sort(key=lambda key: -sum(row.record_count for row in found[key].values()))
        return {key: _label(chart.by, key) for key in keys[:MAX_CATEGORIES]}
    if chart.step in INTERVALS:
        steps = _list_periods(chart, keys)
    elif chart.step == RANGES:
        steps = _list_ranges(chart, keys)
    else:
        steps = {}
    # What has no place on the axis comes last.
    labels = steps | {key: _label(chart.by, key) for key in keys if key not in steps}
    if len(labels) > MAX_STEPS:
        raise TooManyChartGroups
    return labels


def _list_periods(chart: ChartQuery, keys: Sequence[Key]) -> dict[Key, str]:
    """List all periods from the first to the last."""
    moments = {moment: key for key in keys if (moment := _parse_moment(key))}
    steps: dict[Key, str] = {}
    if not moments:
        return steps
    moment, last = min(moments), max(moments)
    while moment <= last and len(steps) <= MAX_STEPS:
        key = moments.get(moment) or _write_moment(chart.by, moment)
        steps[key] = _label_period(chart, moment)
        moment = _find_next(moment, chart.step)
    return steps


def _parse_moment(key: Key) -> datetime | None:
    """Parse the beginning of a period; None for a date that does not exist."""
    try:
        return datetime.fromisoformat(str(key)[:19])
    except ValueError:
        return None


def _write_moment(column: Column, moment: datetime) -> str:
    """Write the beginning of a period as a key has it."""
    if column.type == "date":
        return moment.date().isoformat()
    zone = "+00:00" if column.type == "timestamptz" else ""
    return f"{moment.isoformat()}.000{zone}"


_MONTHS = {"year": 12, "quarter": 3, "month": 1}


def _find_next(moment: datetime, step: str) -> datetime:
    """Find the beginning of the next period; the end of the calendar ends the steps."""
    try:
        if step not in _MONTHS:
            return moment + timedelta(**{f"{step}s": 1})
        months = moment.year * 12 + moment.month - 1 + _MONTHS[step]
        return moment.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        return moment.max


def _label_period(chart: ChartQuery, moment: datetime) -> str:
    """Label a period in a form that sorts, and that every language reads: ``2020-05``."""
    if chart.step == "quarter":
        return f"{moment.year} Q{(moment.month + 2) // 3}"
    lengths = {"year": 4, "month": 7, "hour": 16}
    return moment.isoformat(" ")[: lengths.get(chart.step, 10)]


def _list_ranges(chart: ChartQuery, keys: Sequence[Key]) -> dict[Key, str]:
    """List the ranges of numbers from the first to the last, each as its bounds."""
    bounds = {bound: key for key in keys if (bound := _parse_number(key)) is not None}
    if not bounds:
        return {}
    if chart.width is None:
        lows = sorted(bounds)
        highs: Sequence[Decimal | None] = [*lows[1:], None]
    else:
        number = int((max(bounds) - min(bounds)) / chart.width) + 1
        if number > MAX_STEPS:
            raise TooManyChartGroups
        lows = [min(bounds) + chart.width * each for each in range(number)]
        highs = [low + chart.width for low in lows]
    return {
        bounds.get(low, str(low)): _label_range(low, high)
        for low, high in zip(lows, highs, strict=True)
    }


def _parse_number(key: Key) -> Decimal | None:
    try:
        number = Decimal(str(key))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _label_range(low: Decimal, high: Decimal | None) -> str:
    first = _format_bound(low)
    return f"{first}–{_format_bound(high)}" if high is not None else f"≥ {first}"


def _format_bound(bound: Decimal) -> str:
    return format_number(shorten_number(_drop_zeros(f"{bound:f}")))


def _label(column: Column, key: Key) -> str:
    if key is None:
        return _("empty")
    return shorten(show_bidi_controls(format_value(column, key)), _MAX_LABEL_LENGTH)


def _get_language(column: Column, key: Key) -> str:
    """Return the language of a value's label; without a value, the page's."""
    return "" if key is None else column.value_language
