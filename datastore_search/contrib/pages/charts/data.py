"""What a chart shows, by the parameters of its address, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import islice, zip_longest
from typing import Any, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ....filters import In
from ....filters.names import SortKey
from ....messages import shorten
from ....messages.bidi import show_bidi_controls
from ....search import ConsistentRead, Query
from ...analysis.aggregates import AggregateQuery, Metric, read_aggregate
from ...analysis.errors import (
    InvalidChartChoice,
    TooManyChartGroups,
    UngroupableField,
    UnsupportedOption,
)
from ...analysis.groups import INTERVALS, GroupBy
from ..columns import (
    Column,
    FacetKind,
    find_column,
    find_kind,
    is_skewed,
    list_facet_fields,
    list_useful,
)
from ..question import Pair
from ..records import parse_record
from ..values import (
    Digits,
    Phrase,
    capitalize_phrase,
    compose_phrase,
    format_number,
    format_value,
    mark_text,
    shorten_number,
    write_value,
)

#: The figures by the names of addresses: the metrics of ``analysis``.
FIGURES = {
    "count": gettext_lazy("number of records"),
    "sum": gettext_lazy("sum"),
    "avg": gettext_lazy("mean"),
    "min": gettext_lazy("minimum"),
    "max": gettext_lazy("maximum"),
    "median": gettext_lazy("median"),
}

#: Steps of the axis, by the names of addresses.
EACH, RANGES = "each", "ranges"
STEPS = {
    "year": gettext_lazy("per year"),
    "quarter": gettext_lazy("per quarter"),
    "month": gettext_lazy("per month"),
    "week": gettext_lazy("per week"),
    "day": gettext_lazy("per day"),
    "hour": gettext_lazy("per hour"),
    RANGES: gettext_lazy("in ranges"),
    EACH: gettext_lazy("each value"),
}

#: Forms of a chart whose groups are split, by the names of addresses.
LINES, STACKED, SHARES, GROUPED = "lines", "stacked", "shares", "grouped"
FORMS = {
    STACKED: gettext_lazy("stacked"),
    SHARES: gettext_lazy("shares of 100%"),
    GROUPED: gettext_lazy("side by side"),
    LINES: gettext_lazy("lines"),
}

#: Ranges of numbers where the profile proposes no width that ``datastore_aggregate`` takes.
_BINS, _MIN_WIDTH, _MAX_WIDTH = 20, Decimal("1E-30"), Decimal("1E+30")

#: Days of the periods that an axis and a split may have, if no step is chosen, and their number.
_DAYS = {"day": 1, "month": 30.5, "quarter": 91.5}
_MAX_PERIODS, _MAX_SPLIT_PERIODS = 62, 8

_MAX_PROPOSALS = 6

#: Choices that a message names.
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Grouping:
    """A field by which records are grouped, in steps that are one of ``STEPS``."""

    column: Column
    group: GroupBy

    @property
    def step(self) -> str:
        return self.group.interval or (RANGES if self.group.width or self.group.bins else EACH)

    @property
    def has_categories(self) -> bool:
        """Return whether groups have no order of their own: the largest come first."""
        return self.column.type.is_text

    @property
    def label(self) -> Phrase:
        field, is_logarithmic = self.column.marked_label, self.group.is_logarithmic
        step = _("in logarithmic ranges") if is_logarithmic else str(STEPS[self.step])
        is_named = self.step in INTERVALS or is_logarithmic
        template = "%(field)s, %(step)s" if is_named else "%(field)s"
        return compose_phrase(template, field=field, step=step)


@dataclass(frozen=True, slots=True)
class ChartQuery:
    """
    One chart.

    ``figure`` is one of ``FIGURES``, ``of`` the field that it is of (None for ``count``), and
    ``form`` one of ``FORMS``, empty for plain bars.
    """

    figure: str
    of: Column | None
    by: Grouping
    split: Grouping | None = None
    form: str = ""

    @property
    def is_additive(self) -> bool:
        """Return whether the figures of groups have a sum that says something."""
        return self.figure in {"count", "sum"}

    @property
    def figure_label(self) -> Phrase:
        if self.of is None:
            return mark_text(str(FIGURES["count"]))
        figure = str(FIGURES[self.figure])
        return compose_phrase(
            _("%(figure)s of %(field)s"), figure=figure, field=self.of.marked_label
        )

    @property
    def title(self) -> Phrase:
        title = compose_phrase(
            _("%(figure)s by %(field)s"), figure=self.figure_label, field=self.by.label
        )
        if self.split:
            field = self.split.label
            title = compose_phrase(_("%(title)s, split by %(field)s"), title=title, field=field)
        return capitalize_phrase(title)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        is_split_period = self.split and self.split.step in INTERVALS and self.by.has_categories
        values = {
            "show": self.figure,
            "of": self.of.name if self.of else "",
            "by": self.by.column.name,
            "per": self.split.step if self.split and is_split_period else self.by.step,
            "split": self.split.column.name if self.split else "",
            "as": self.form,
        }
        return tuple((name, value) for name, value in values.items() if value)


class ChartParser:
    """Reads what a chart shows from an address, or proposes it."""

    def __init__(
        self, columns: Sequence[Column], profiles: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._columns = columns
        self.groupable = [column for column in columns if not column.type.is_nested]
        self.measurable = [column for column in columns if column.type.is_number]
        self._profiles = profiles

    def parse(self, sent: Mapping[str, str]) -> ChartQuery | None:
        """
        Read a chart; without a field for its groups, propose one.  None if no field suits.

        Raises: ``UnknownField``, ``UngroupableField``, ``UnsupportedOption``,
        ``InvalidChartChoice``.
        """
        by, of, split = (find_column(sent.get(n, ""), self._columns) for n in ("by", "of", "split"))
        for name, column in (("by", by), ("split", split)):
            if column and column not in self.groupable:
                raise UngroupableField(parameter=name, field=column.name, type=column.type.name)
        figure = sent.get("show", "")
        _check_choice("show", figure, FIGURES if self.measurable else ["count"])
        if of and of not in self.measurable and figure not in {"", "count"}:
            option = str(FIGURES[figure])
            raise UnsupportedOption(parameter="of", field=of.name, type=of.type.name, option=option)
        others = [column.name for column in self.groupable if column != by]
        _check_choice("split", sent.get("split", ""), others)
        if not by:
            proposed = next((c for c in self._propose(None) if c.by.column != split), None)
            if not proposed:
                return None
            by = proposed.by.column
            if "split" not in sent and proposed.split:
                split = proposed.split.column
        if figure in {"", "count"}:
            figure, of = "count", None
        elif not of:
            of = next((each for each in self.measurable if each != by), self.measurable[0])
        return self._build(figure, of, by, split, sent)

    def propose(self, shown: ChartQuery | None) -> list[ChartQuery]:
        charts = [chart for chart in dict.fromkeys(self._propose(shown)) if chart != shown]
        return charts[:_MAX_PROPOSALS]

    def _propose(self, shown: ChartQuery | None) -> Iterator[ChartQuery]:
        """Propose charts by a date and a category, that of a chart first, then by a number."""
        fields = list_useful(list_facet_fields(self.groupable, self._profiles), self._profiles)
        useful = [each.column for each in fields]
        known = [each for each in fields if not each.is_guessed]
        values = [each.column for each in known if each.kind is FacetKind.VALUES]
        if shown and shown.by.column in values:
            values.insert(0, shown.by.column)
        dates = [each for each in useful if each.type.has_day][:1]
        numbers = [each for each in useful if each in self.measurable and each not in values][:1]
        for date_, category in zip(dates, values, strict=False):
            yield self._build("count", None, date_, category)
            if shown:
                yield self._build("count", None, category, date_)
        for by in [*values[:1], *dates, *numbers]:
            yield self._build("count", None, by)
        for by in [*dates, *values[:1]] if numbers else ():
            yield self._build("sum", numbers[0], by)
        for by in [*useful, *self.groupable][:1]:
            yield self._build("count", None, by)

    def _build(
        self,
        figure: str,
        of: Column | None,
        by: Column,
        split: Column | None = None,
        sent: Mapping[str, str] = {},
    ) -> ChartQuery:
        """Build a chart, in the proposed steps and form where none are sent."""
        step, form = sent.get("per", ""), sent.get("as", "")
        fields = [by, split] if split else [by]
        _check_choice("per", step, [n for n in STEPS if any(_suits(each, n) for each in fields)])
        axis = self._group(by, step, _MAX_PERIODS)
        # The step is that of the split if the axis has none.
        step = "" if axis.step == step else step
        series = split and self._group(split, step, _MAX_SPLIT_PERIODS)
        chart = ChartQuery(figure, of, axis, series or None)
        forms = [each for each in (STACKED, SHARES) if series and chart.is_additive]
        forms += [GROUPED] if series else []
        forms += [] if axis.has_categories else [LINES]
        _check_choice("as", form, forms)
        if not form:
            form = forms[0 if chart.is_additive else -1] if series else ""
        return replace(chart, form=form)

    def _group(self, column: Column, step: str, most: int) -> Grouping:
        profile = self._profiles.get(column.name, {})
        if not _suits(column, step):
            has_values = find_kind(column, profile or None) is FacetKind.VALUES
            step = RANGES if column.type.is_number and not has_values else EACH
            step = "year" if column.type.has_day else step
            if column.type.has_day:
                # As few periods as fit, or years.
                with suppress(KeyError, ValueError):
                    low, high = (date.fromisoformat(str(profile[n])[:10]) for n in ("min", "max"))
                    most_days = ((name, most * days) for name, days in _DAYS.items())
                    step = next(
                        (name for name, days in most_days if (high - low).days <= days), "year"
                    )
        if step != RANGES:
            return Grouping(column, GroupBy(column.name, step if step in INTERVALS else ""))
        is_logarithmic = is_skewed(column, profile)
        # The ranges of a profile have bounds that people can read.
        bounds = profile.get("histogram", {}).get("bounds", (0, 0))
        first, second, *_others = map(Decimal, map(str, bounds))
        has_width = _MIN_WIDTH <= second - first <= _MAX_WIDTH and not is_logarithmic
        width, bins = (second - first, None) if has_width else (None, _BINS)
        return Grouping(column, GroupBy(column.name, "", "", width, bins, is_logarithmic))


def _check_choice(name: str, value: str, choices: Collection[str]) -> None:
    if value and value not in choices:
        known = ", ".join(islice(choices, _MAX_NAMED)) or _("none without “split”")
        raise InvalidChartChoice(parameter=name, name=name, value=value[:100], known=known)


def _suits(by: Column, step: str) -> bool:
    kind = by.type
    if step in INTERVALS:
        return kind.has_day and not (step == "hour" and not kind.is_timestamp)
    if step == RANGES:
        return kind.is_number
    return step == EACH and not kind.is_timestamp and (kind.is_integer or not kind.is_number)


# Steps --------------------------------------------------------------------------------------------

#: The value of a group; it can be compared and hashed.
Key = str | bool | None

#: The beginning or the end of a step: a moment or a number.
Bound = Any

_MONTHS = {"year": 12, "quarter": 3, "month": 1}


def list_steps(group: GroupBy, keys: Iterable[Key], most: int) -> dict[Key, tuple[Bound, Bound]]:
    """
    List the keys and the bounds of all steps, also of those between the groups without records.

    The last range of a number of bins has no known end.  What is no moment or number has no step.

    Raises: ``TooManyChartGroups`` for more than ``most`` steps.
    """
    lows: dict[Bound, Key] = {}
    for key in keys:
        with suppress(ValueError, InvalidOperation):
            text = str(key)
            bound: Bound = datetime.fromisoformat(text[:19]) if group.interval else Decimal(text)
            if group.interval or bound.is_finite():
                lows[bound] = key
    if not lows:
        return {}
    if group.bins:
        ends = sorted(lows)
        return {lows[low]: (low, high) for low, high in zip_longest(ends, ends[1:])}
    low, last = min(lows), max(lows)
    first, steps = str(lows[low]), dict[Key, tuple[Bound, Bound]]()
    for _number in range(most):
        if not group.interval:
            high = low + group.width
        else:
            high = low.max  # after the last period is the end of the calendar
            with suppress(ValueError, OverflowError):
                if group.interval in _MONTHS:
                    months = low.year * 12 + low.month - 1 + _MONTHS[group.interval]
                    high = low.replace(year=months // 12, month=months % 12 + 1)
                else:
                    high = low + timedelta(**{f"{group.interval}s": 1})
        # As PostgreSQL writes the others.
        key = low.isoformat()[: len(first[:19])] + first[19:] if group.interval else str(low)
        steps[lows.get(low, key)] = low, high
        low = high
        if low > last:
            return steps
    raise TooManyChartGroups


# Figures ------------------------------------------------------------------------------------------

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

    @classmethod
    def of(cls, chart: ChartQuery, value: Decimal | None) -> Point | None:
        """Write a figure of a chart; None if it cannot be drawn."""
        if value is None or abs(size := float(value)) > _MAX_SIZE:
            return None
        digits = shown = f"{value:f}"
        if chart.figure in {"avg", "median"}:
            # A computed number has a few figures, or is a whole number if that has more.
            decimals = max(0, _MAX_FIGURES - 1 - value.adjusted())
            shown = _write(Decimal(f"{value:.{decimals}f}"))
        return cls(digits, format_number(shorten_number(shown)), size)


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
class _Figure:
    """A group of the answer; ``value`` is None where there is no number."""

    key: Key
    series: Key
    value: Decimal | None
    record_count: int


def read_chart(read: ConsistentRead, query: Query, chart: ChartQuery) -> ChartData:
    """
    Compute the figures of a chart from the matches of a query.

    Raises: ``TooManyChartGroups``, and as ``analysis.aggregates.read_aggregate``.
    """
    total, is_cut = 0, chart.by.has_categories
    if is_cut:  # only the largest groups are read
        rows, total = _read_groups(read, query, replace(chart, split=None), MAX_CATEGORIES)
        largest = In(chart.by.column.name, tuple(row.key for row in rows))
        query = replace(query, filters=(*query.filters, largest))
    if chart.split or not is_cut:
        rows, _number = _read_groups(read, query, chart, _MAX_ROWS)
    counts: Counter[Key] = Counter()
    for row in rows:
        counts[row.series] += row.record_count
    series = _choose_series(chart, [key for key, _count in counts.most_common()])
    keys = {each.key for each in series}
    found: dict[Key, dict[Key, _Figure]] = {}
    for row in rows:
        group, key = found.setdefault(row.key, {}), row.series if row.series in keys else OTHERS
        figure = row
        if key in group:  # one of the others
            both = (group[key], row)
            numbers = [each.value for each in both if each.value is not None]
            value = sum(numbers, Decimal()) if numbers else None
            figure = _Figure(row.key, key, value, sum(each.record_count for each in both))
        group[key] = figure
    values = _list_values(chart.by, list(found))
    if len(values) > MAX_STEPS:
        raise TooManyChartGroups
    missing = Decimal() if chart.is_additive else None  # the count and the sum of no records are 0
    groups = []
    for each in values:
        own = found.get(each.key, {})
        values_of_series = [own[one.key].value if one.key in own else missing for one in series]
        count = sum(row.record_count for row in own.values())
        points = tuple(Point.of(chart, value) for value in values_of_series)
        groups.append(Group(each, points, count))
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
    name, bounds = split.column.name, [each.bounds for each in others if each.bounds]
    conditions: tuple[Pair, ...] | None = None
    if len(bounds) == len(others):
        conditions = _find_between(split, bounds[0][0], bounds[-1][1])
    elif split.step == EACH and not any(each.key == "" for each in shown):
        conditions = tuple(
            (f"empty.{name}", "no") if each.key is None else (f"not.{name}", write_value(each.key))
            for each in shown
        )
    return [*shown, *[Value(OTHERS, _("others"), "", conditions)] * chart.is_additive]


def _read_groups(
    read: ConsistentRead, query: Query, chart: ChartQuery, limit: int
) -> tuple[list[_Figure], int]:
    """Read all groups in pages, or a few with the largest figures."""
    group_by = {"group": chart.by.group} | ({"split": chart.split.group} if chart.split else {})
    is_cut = limit == MAX_CATEGORIES
    sort = (SortKey("value", descending=True, nulls_first=False),) if is_cut else ()
    asked = replace(query, limit=min(limit, _PAGE_ROWS), sort=sort)
    figure = Metric("value", chart.figure, chart.of.name if chart.of else "")
    metrics = figure, Metric("records", "count")
    rows: list[_Figure] = []
    while True:
        wanted = AggregateQuery(replace(asked, offset=len(rows)), group_by, metrics)
        with closing(read_aggregate(read, wanted)) as page:
            total = page.total or 0
            if total > limit and not is_cut:
                raise TooManyChartGroups
            for record in map(parse_record, page.texts):
                value = record["value"]
                number = Decimal(value) if isinstance(value, Digits) else None
                key, series = (cast("Key", record.get(name)) for name in ("group", "split"))
                rows.append(_Figure(key, series, number, int(str(record["records"]))))
            if is_cut or len(rows) >= total or not page.record_count:
                return rows, total


def _write(number: Decimal) -> str:
    return f"{number.normalize():f}"


# Values -------------------------------------------------------------------------------------------


def _list_values(by: Grouping, keys: Sequence[Key]) -> list[Value]:
    """List the values of an axis, with steps between them; those without a place come last."""
    steps = {} if by.step == EACH else list_steps(by.group, keys, MAX_STEPS)
    values = {}
    for key, (low, high) in steps.items():
        # Periods have a form that sorts, and that every language reads: ``2020-05``.
        if by.step == "quarter":
            label = f"{low.year} Q{(low.month + 2) // 3}"
        elif by.step in INTERVALS:
            label = low.isoformat(" ")[: _LENGTHS.get(by.step, _DAY_LENGTH)]
        else:
            digits = [shorten_number(_write(each)) for each in (low, high) if each is not None]
            ends = "–".join(map(format_number, digits))
            label = ends if high is not None else f"≥ {ends}"
        values[key] = Value(key, label, "", _find_between(by, low, high), (low, high))
    for key in keys:
        if key not in values:
            is_on_axis = by.has_categories or (by.step == EACH and key is not None)
            label, language, name = _("empty"), "", by.column.name
            conditions: tuple[Pair, ...] | None = ((f"empty.{name}", "yes"),)
            if key is not None:
                text = show_bidi_controls(format_value(by.column.type, key))
                label, language = shorten(text, _MAX_LABEL_LENGTH), by.column.value_language
                can_be_asked = by.step == EACH and key != ""
                conditions = ((f"field.{name}", write_value(key)),) if can_be_asked else None
            values[key] = Value(key, label, language, conditions, None, is_on_axis)
    return list(values.values())


# Records of values --------------------------------------------------------------------------------


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
