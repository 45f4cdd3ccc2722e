"""The figures of a chart: all are read, some are shown, and what is said is true of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import MAX_EMAX, Context, Decimal
from functools import reduce
from typing import Any, cast

from django.utils.text import capfirst
from django.utils.translation import gettext as _, gettext_lazy

from ....field_types import dump_json
from ....filters.names import SortKey
from ....messages.parameters import InvalidParameter
from ....messages.texts import shorten
from ....search import ConsistentRead, Query
from ...analysis.aggregates import AggregateQuery, Metric, read_aggregate
from ...analysis.errors import TooManyChartGroups
from ...analysis.groups import INTERVALS
from ..question import Pair
from ..records import parse_record
from ..values import (
    PLAIN,
    Digits,
    NumberStyle,
    Phrase,
    format_day,
    format_number,
    format_percent,
    format_period,
    has_variants,
    join_list,
    mark_text,
    shorten_number,
    write_value,
)
from .periods import Bound, Key, TextPeriods, find_incomplete, list_steps
from .query import MAX_STEPS, ChartQuery, Form, Grouping, Step, check_choice

# Figures ------------------------------------------------------------------------------------------

#: Groups of a text that are shown.
MAX_CATEGORIES = 50

#: Series that a chart shows, or one less and all others.
MAX_SERIES = 8

#: Figures that are read, of each group or of each of its series, and those of the first page.
MAX_FIGURES, _PAGE_FIGURES = 10_000, 1_000

#: Letters of a label on the axis, and in a legend.
_MAX_LABEL_LENGTH, _MAX_LEGEND_LENGTH = 120, 60

#: Figures of a mean or a median.
_MAX_DIGITS = 6

#: Letters of the label of a period, and of one of days.
_LENGTHS, _DAY_LENGTH = {"decade": 4, "year": 4, "month": 7, "hour": 16}, 10

#: What can be drawn: the span of larger doubles may be infinite.
_MAX_SIZE = Decimal("1e300")

#: The key of all series that are not shown by themselves, and the operator of ``filters``, which
#: compare texts with their case.
OTHERS, EXACT = "\0", "exact"

#: Sums of numbers keep all digits, of doubles, too.
_EXACT = Context(prec=1_000, Emax=MAX_EMAX)


class NegativeShares(InvalidParameter):
    message = gettext_lazy(
        "This chart cannot have as=shares: a figure is negative. Possible: %(known)s."
    )


@dataclass(frozen=True, slots=True)
class Point:
    """A figure; of shares of 100%, its ``share`` of the group in per cent."""

    value: Decimal
    is_computed: bool = False
    style: NumberStyle = PLAIN
    share: Decimal | None = None

    @property
    def text(self) -> str:
        """The figure as people read it, with its share if it has one."""
        shown = f"{self.value:f}"
        if self.is_computed:
            # A computed number has a few figures, or is a whole number if that has more.
            decimals = max(0, _MAX_DIGITS - 1 - self.value.adjusted())
            shown = _write(Decimal(f"{self.value:.{decimals}f}"))
        text = format_number(shorten_number(shown), self.style)
        return text if self.share is None else f"{text} ({format_percent(self.share)})"

    @property
    def percent(self) -> Decimal | None:
        """The share with six decimals at most."""
        return None if self.share is None else round(self.share, 6)

    @property
    def size(self) -> float:
        """The length of its bar."""
        return float(self.value if self.share is None else self.share)


@dataclass(frozen=True, slots=True)
class Value:
    """
    A value on the axis, or of the field that splits the groups, as people read it.

    ``language`` is the label's language, empty if it is unknown or the page's.  ``conditions`` find
    the records; they are None if an address cannot.  ``bounds`` are those of a period or a range.
    Addresses and files have the ``code`` of a period, which sorts.
    A value without a place in the order of an axis is not ``is_on_axis``.  Of a period that the
    data do not fill, ``incomplete`` says where they begin or end.
    """

    key: Key = None
    label: str = ""
    language: str = ""
    conditions: tuple[Pair, ...] | None = ()
    bounds: tuple[Bound, Bound] | None = None
    is_on_axis: bool = True
    incomplete: str = ""
    code: str = ""

    @property
    def marked_label(self) -> Phrase:
        label = mark_text(self.label, self.language)
        if not self.incomplete:
            return label
        return join_list([label, mark_text(_("incomplete"))])


@dataclass(frozen=True, slots=True)
class Group:
    """
    A value on the axis, with a point of each series.

    A point is None where there are no records, or no number.
    """

    value: Value
    points: tuple[Point | None, ...]
    record_count: int


#: The lowest and the highest of some figures: each with the values of its group and its series.
Extremes = tuple[tuple[Point, Value, Value], tuple[Point, Value, Value]]


@dataclass(frozen=True, slots=True)
class ChartData:
    """
    The figures of a chart: its sentence, drawing, table and file are made of this one value.

    ``series`` are the values that split the groups, or a single one without a label.  Of
    ``group_total`` groups with records, the ``groups`` are shown; ``hidden_groups`` are the other
    ones, without labels, unless there are too many to read.  There are ``series_total`` series.
    ``extremes`` are of the figures of all groups and all series, before these become *others*.
    """

    chart: ChartQuery
    groups: tuple[Group, ...]
    series: tuple[Value, ...]
    group_total: int
    series_total: int
    extremes: Extremes | None = None
    hidden_groups: tuple[Group, ...] = ()
    extremes_of_hidden_groups: Extremes | None = None
    extremes_of_hidden_series: Extremes | None = None

    @property
    def group_count(self) -> int:
        """The number of groups with records that are shown."""
        return sum(bool(group.record_count) for group in self.groups)

    @property
    def is_complete(self) -> bool:
        """Return whether all groups are read."""
        return self.group_total == self.group_count + len(self.hidden_groups)


@dataclass(frozen=True, slots=True)
class Figure:
    """
    A group of the answer; ``value`` is None where there is no number.

    ``spans`` are the earliest and the latest value of a period on the axis, and of one that splits.
    """

    key: Key
    series: Key
    value: Decimal | None
    record_count: int
    spans: Mapping[str, tuple[str, str]]


def read_chart(read: ConsistentRead, query: Query, chart: ChartQuery) -> ChartData:
    """
    Read all figures of a chart from the matches of a query, and choose those that are shown.

    Raises: ``TooManyChartGroups``, ``InvalidChartChoice``, ``NegativeShares``, and as
    ``analysis.aggregates.read_aggregate``.
    """
    rows, total = read_figures(read, query, chart)
    chart = _find_text_periods(chart, rows)
    by, split = chart.by, chart.split
    lowest: list[Figure] = []
    if total > len(rows):  # the largest are read
        if split or not by.has_categories:
            raise TooManyChartGroups
        lowest = read_figures(read, query, chart, is_lowest=True)[0]
    if chart.form == Form.SHARES and any(row.value < 0 for row in rows if row.value is not None):
        known = ", ".join(form for form in chart.forms if form != Form.SHARES)
        raise NegativeShares(parameter="as", known=known)
    found: dict[Key, dict[Key, Figure]] = {}
    for row in rows:
        found.setdefault(row.key, {})[row.series] = row
    keys, hidden = _choose_groups(chart, found)
    axis = {each.key: each for each in list_values(by, keys, rows, "group")}
    if sum(each.is_on_axis for each in axis.values()) > MAX_STEPS:
        raise TooManyChartGroups
    shown, every = _choose_series(chart, rows)
    groups = [_build_group(chart, axis[key], found.get(key, {}), shown) for key in axis]
    others = [_build_group(chart, Value(key), found[key], shown) for key in hidden]

    def find_extremes(figures: Iterable[Figure]) -> Extremes | None:
        drawn = [(p, row) for row in figures if (p := build_point(chart, row.value))]
        if not drawn:
            return None
        numbers = [point.value for point, _row in drawn]
        least, most = (
            (
                point,
                axis.get(row.key) or list_values(by, [row.key])[0],
                every.get(row.series) or list_values(split or by, [row.series])[0],
            )
            for point, row in (drawn[numbers.index(end(numbers))] for end in (min, max))
        )
        return least, most

    series_keys = {each.key for each in shown}
    return ChartData(
        chart=chart,
        groups=tuple(groups),
        series=tuple(shown),
        group_total=max(total if lowest else 0, len(found)),
        series_total=len({row.series for row in rows}),
        extremes=find_extremes([*rows, *lowest]),
        hidden_groups=tuple(others),
        extremes_of_hidden_groups=find_extremes(
            [*(row for key in hidden for row in found[key].values()), *lowest]
        ),
        extremes_of_hidden_series=find_extremes(
            row for row in rows if row.series not in series_keys
        ),
    )


def add_numbers(numbers: Iterable[Decimal]) -> Decimal:
    return reduce(_EXACT.add, numbers, Decimal())


def build_point(chart: ChartQuery, value: Decimal | None) -> Point | None:
    if value is None or abs(value) > _MAX_SIZE:
        return None
    return Point(value, chart.figure in {"avg", "median"}, chart.style)


def _build_group(
    chart: ChartQuery, value: Value, own: Mapping[Key, Figure], series: Sequence[Value]
) -> Group:
    """Build a group of its figures: the series that are not shown are added up as *others*."""
    shown, numbers = {each.key for each in series}, {key: row.value for key, row in own.items()}
    if others := [n for key, n in numbers.items() if key not in shown and n is not None]:
        numbers[OTHERS] = add_numbers(others)
    points = [build_point(chart, numbers.get(each.key)) for each in series]
    if chart.form == Form.SHARES:
        whole = add_numbers(point.value for point in points if point)
        points = [
            replace(point, share=point.value * 100 / whole) if point and whole else point
            for point in points
        ]
    return Group(value, tuple(points), sum(row.record_count for row in own.values()))


def _choose_groups(
    chart: ChartQuery, found: Mapping[Key, Mapping[Key, Figure]]
) -> tuple[list[Key], list[Key]]:
    """Choose the groups that are shown, of a text the last periods or the largest; list others."""
    keys, shown = list(found), list[Key]()
    if periods := chart.by.periods:
        steps = list(periods.list_steps(keys, MAX_STEPS))
        shown = [*steps[-MAX_STEPS:], *(key for key in keys if not key)]
    elif chart.by.has_categories:
        # The largest sum, or the largest figure of a series; those without a number come last.
        sizes: dict[Key, Decimal] = {}
        for key, own in found.items():
            numbers = [row.value for row in own.values() if row.value is not None]
            if numbers:
                sizes[key] = add_numbers(numbers) if chart.is_additive else max(numbers)
        largest = sorted(sizes, key=lambda key: sizes[key], reverse=True)
        shown = [*largest, *(key for key in keys if key not in sizes)][:MAX_CATEGORIES]
    else:
        shown = keys
    chosen = set(shown)
    return shown, [key for key in keys if key not in chosen]


def _choose_series(
    chart: ChartQuery, rows: Sequence[Figure]
) -> tuple[list[Value], dict[Key, Value]]:
    """
    Choose the series with the largest figures, or the last periods, and all others if they add up.

    The second result has all values that are known by their keys.
    """
    split = chart.split
    if split is None:
        return [Value()], {None: Value()}
    sizes: dict[Key, Decimal] = {}
    for row in rows:
        point = build_point(chart, row.value)
        size = abs(point.value) if point else Decimal()
        sizes[row.series] = _EXACT.add(sizes.get(row.series, Decimal()), size)
    keys = sorted(sizes, key=lambda key: sizes[key], reverse=True)
    is_each = split.step == Step.EACH and not split.periods
    listed = keys[: MAX_SERIES + 1] if is_each else keys
    if is_each and split.column.type.is_number:
        listed.sort(key=lambda key: (key is None, Decimal(str(key or 0))))
    found = [each for each in list_values(split, listed, rows, "split") if each.key in sizes]
    every = {each.key: each for each in found}
    if len(found) <= MAX_SERIES:
        return found, every
    most = MAX_SERIES - chart.is_additive
    is_time = split.group.interval or split.periods
    chosen = {each.key for each in found[-most:]} if is_time else set(keys[:most])
    shown = [each for each in found if each.key in chosen]
    places = [place for place, each in enumerate(found) if each.key not in chosen]
    name, conditions = split.column.name, None
    if split.step == Step.EACH:
        if "" not in chosen and not split.is_exact:
            conditions = tuple(
                (f"empty.{name}", "no")
                if each.key is None
                else (f"not.{name}", write_value(each.key))
                for each in shown
            )
    elif places[-1] - places[0] == len(places) - 1:  # one range
        low, high = found[places[0]].bounds, found[places[-1]].bounds
        conditions = _find_between(split, low[0], high[1]) if low and high else None
    others = Value(OTHERS, _("others"), "", conditions)
    return [*shown, *[others] * chart.is_additive], every


def _find_text_periods(chart: ChartQuery, rows: Sequence[Figure]) -> ChartQuery:
    """Find whether texts sort like time; lines need an order."""
    found: dict[str, Any] = {}
    keys, series = ({getattr(row, name) for row in rows} for name in ("key", "series"))
    for name, by, texts in ("by", chart.by, keys), ("split", chart.split, series):
        if by and by.column.type.is_text:
            found[name] = replace(by, periods=TextPeriods.find(texts), is_exact=has_variants(texts))
    chart = replace(chart, **found)
    if chart.form:
        check_choice("as", chart.form, chart.forms)
    return chart


def read_figures(
    read: ConsistentRead, query: Query, chart: ChartQuery, most: int = 0, *, is_lowest: bool = False
) -> tuple[list[Figure], int]:
    """
    Read all figures, or some of the largest if there are too many, or the lowest one.

    There are too many above ``most``, or ``MAX_FIGURES``.

    The second result is their number.
    """
    grouped = {"group": chart.by} | ({"split": chart.split} if chart.split else {})
    is_sorted = is_lowest or (chart.by.has_categories and not chart.split)
    sort = (SortKey("value", descending=not is_lowest, nulls_first=False),) if is_sorted else ()
    ends = [
        Metric(f"{name}_{end}", end, each.column.name)
        for name, each in grouped.items()
        if each.group.interval
        for end in ("min", "max")
    ]
    figure = Metric("value", chart.figure, chart.of.name if chart.of else "")
    group_by = {name: each.group for name, each in grouped.items()}
    metrics = (figure, Metric("records", "count"), *ends)
    asked = replace(query, limit=1 if is_lowest else _PAGE_FIGURES, sort=sort)
    rows: list[Figure] = []
    while True:
        with closing(read_aggregate(read, AggregateQuery(asked, group_by, metrics))) as page:
            total, is_last = page.total or 0, is_lowest or not page.record_count
            for record in map(parse_record, page.texts):
                value = record["value"]
                number = Decimal(value) if isinstance(value, Digits) else None
                spans = {
                    name: (str(record[f"{name}_min"]), str(record[f"{name}_max"]))
                    for name in grouped
                    if f"{name}_min" in record
                }
                key, series = (cast("Key", record.get(name)) for name in ("group", "split"))
                rows.append(Figure(key, series, number, int(str(record["records"])), spans))
        if is_last or not len(rows) < total <= (most or MAX_FIGURES):
            return rows, total
        asked = replace(asked, limit=None, offset=len(rows))  # the others at once


def _write(number: Decimal) -> str:
    return f"{_EXACT.normalize(number):f}"


# Values -------------------------------------------------------------------------------------------


def list_values(
    by: Grouping, keys: Sequence[Key], rows: Sequence[Figure] = (), name: str = ""
) -> list[Value]:
    """
    List the values of an axis, with steps between them; those without a place come last.

    The ``rows`` have spans of the ``name``, which tell what the data do not fill.
    """
    values = dict[Key, Value]()
    if by.periods:
        for text, begin in by.periods.list_steps(keys, MAX_STEPS).items():
            asked = ((f"field.{by.column.name}", text),)
            values[text] = Value(text, text, "", asked, (begin, begin))
    steps = {} if by.step == Step.EACH else list_steps(by.group, keys, MAX_STEPS)
    for key, (low, high) in steps.items():
        code = f"{low.year}-Q{(low.month + 2) // 3}" if by.step == "quarter" else ""
        if by.step in INTERVALS:
            code = code or low.isoformat(" ")[: _LENGTHS.get(by.step, _DAY_LENGTH)]
            label = format_period(low, by.step)
        else:
            digits = [shorten_number(_write(each)) for each in (low, high) if each is not None]
            ends = "–".join(format_number(each, by.column.style) for each in digits)
            label = ends if high is not None else f"≥ {ends}"
        values[key] = Value(key, label, "", _find_between(by, low, high), (low, high), code=code)
    for key in keys:
        if key not in values:
            has_order = by.step == Step.EACH and key is not None and not by.periods
            label, language, column = _("empty"), "", by.column.name
            conditions: tuple[Pair, ...] | None = ((f"empty.{column}", "yes"),)
            if key is not None:
                text = by.column.write(key)
                most = _MAX_LEGEND_LENGTH if name == "split" else _MAX_LABEL_LENGTH
                label = shorten(text, most) if text.strip() else dump_json(text)
                operator = EXACT if by.is_exact or key == "" else "field"
                language = by.column.value_language
                pair = (f"{operator}.{column}", write_value(key))
                conditions = (pair,) if by.step == Step.EACH else None
            values[key] = Value(
                key, label, language, conditions, None, by.has_categories or has_order
            )
    if by.group.interval:
        _mark_incomplete(
            values, [(row.key if name == "group" else row.series, row.spans[name]) for row in rows]
        )
    return list(values.values())


def _mark_incomplete(
    values: dict[Key, Value], spans: Iterable[tuple[Key, tuple[str, str]]]
) -> None:
    """Say of the first and the last period where the data begin and end within them."""
    filled: dict[Key, tuple[datetime, datetime]] = {}
    for key, span in spans:
        if key in values and values[key].bounds:
            first, last = (datetime.fromisoformat(text[:19]) for text in span)
            others = filled.get(key, (first, last))
            filled[key] = min(first, others[0]), max(last, others[1])
    keys = [key for key in values if key in filled]
    periods = [(*cast("tuple[Bound, Bound]", values[key].bounds), *filled[key]) for key in keys]
    begin, end = find_incomplete(periods)
    texts = (
        (begin, _("%(period)s is incomplete: the data begin on %(day)s."), keys[:1]),
        (end, _("%(period)s is incomplete: the data end on %(day)s."), keys[-1:]),
    )
    for moment, text, marked in texts:
        day = moment and f"{format_day(moment)} {moment:%H:%M}".removesuffix(" 00:00")
        for key in marked if day else ():
            value = values[key]
            said = capfirst(text % {"period": value.label, "day": day})
            values[key] = replace(value, incomplete=f"{value.incomplete} {said}".lstrip())


# Records of values --------------------------------------------------------------------------------


def _find_between(by: Grouping, low: Bound, high: Bound) -> tuple[Pair, ...]:
    """List the parameters that find the records from a bound to before another."""
    first, last, other = (f"{each}.{by.column.name}" for each in ("from", "to", "not"))
    if not by.group.interval:
        ends = ((last, high), (other, high)) if high is not None else ()
        style = by.column.style
        return tuple(
            (name, format_number(_write(end), style)) for name, end in ((first, low), *ends)
        )
    # A day is a whole one.
    length = None if by.step == "hour" else _DAY_LENGTH
    ends = (first, low), (last, high - timedelta(microseconds=1))
    return tuple((name, moment.isoformat(" ")[:length]) for name, moment in ends)
