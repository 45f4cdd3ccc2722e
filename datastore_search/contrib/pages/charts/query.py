"""What a chart shows: the parameters ``show``, ``of``, ``by``, ``per``, ``split`` and ``as``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ...analysis.errors import InvalidChartChoice, UngroupableField, UnsupportedOption
from ...analysis.groups import INTERVALS, GroupBy
from ...analysis.metrics import Metric
from ..facets.choice import FacetKind, describe_fields, find_kind, is_skewed, list_useful
from ..languages import Phrase, capitalize_phrase, compose_phrase, mark_text
from ..table.columns import Column, find_column
from ..table.query_string import Pair

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

#: Ranges of numbers where the profile proposes no width.
_BINS = 20

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
        """The name of the steps."""
        return self.group.interval or (RANGES if self.group.width or self.group.bins else EACH)

    @property
    def has_categories(self) -> bool:
        """Return whether groups have no order of their own: the largest come first."""
        return self.column.field_type.is_text

    @property
    def label(self) -> Phrase:
        """The field and its periods in words."""
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
    def metric(self) -> Metric:
        """The figure, as the column ``value``."""
        return Metric("value", self.figure, self.of.name if self.of else "")

    @property
    def is_additive(self) -> bool:
        """Return whether the figures of groups have a sum that says something."""
        return self.figure in {"count", "sum"}

    @property
    def figure_label(self) -> Phrase:
        """What is measured, in words."""
        if self.of is None:
            return mark_text(str(FIGURES["count"]))
        figure = str(FIGURES[self.figure])
        return compose_phrase(
            _("%(figure)s of %(field)s"), figure=figure, field=self.of.marked_label
        )

    @property
    def title(self) -> Phrase:
        """The chart in words."""
        title = compose_phrase(
            _("%(figure)s by %(field)s"), figure=self.figure_label, field=self.by.label
        )
        if self.split:
            field = self.split.label
            title = compose_phrase(_("%(title)s, split by %(field)s"), title=title, field=field)
        return capitalize_phrase(title)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The parameters of its address."""
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
        """Take the columns of all fields."""
        self._columns = columns
        self.groupable = [column for column in columns if not column.field_type.is_nested]
        self.measurable = [column for column in columns if column.field_type.is_number]
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
                raise UngroupableField(parameter=name, field=column.name, type=column.type)
        figure = sent.get("show", "")
        _check_choice("show", figure, FIGURES if self.measurable else ["count"])
        if of and of not in self.measurable and figure not in {"", "count"}:
            option = str(FIGURES[figure])
            raise UnsupportedOption(parameter="of", field=of.name, type=of.type, option=option)
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
        """Propose other charts than the one shown."""
        charts = [chart for chart in dict.fromkeys(self._propose(shown)) if chart != shown]
        return charts[:_MAX_PROPOSALS]

    def _propose(self, shown: ChartQuery | None) -> Iterator[ChartQuery]:
        """Propose charts by a date and a category, that of a chart first, then by a number."""
        fields = list_useful(describe_fields(self.groupable, self._profiles), self._profiles)
        useful = [each.column for each in fields]
        known = [each for each in fields if not each.is_guessed]
        values = [each.column for each in known if each.kind is FacetKind.VALUES]
        if shown and shown.by.column in values:
            values.insert(0, shown.by.column)
        dates = [each for each in useful if each.field_type.has_day][:1]
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
        forms = [each for each in FORMS if _fits(each, chart)]
        _check_choice("as", form, forms)
        if not form:
            form = forms[0 if chart.is_additive else -1] if series else ""
        return replace(chart, form=form)

    def _group(self, column: Column, step: str, most: int) -> Grouping:
        profile = self._profiles.get(column.name, {})
        if not _suits(column, step):
            has_values = find_kind(column, profile or None) is FacetKind.VALUES
            step = RANGES if column.field_type.is_number and not has_values else EACH
            if column.field_type.has_day:
                step = _choose_interval(profile, most)
        if step != RANGES:
            return Grouping(column, GroupBy(column.name, step if step in INTERVALS else ""))
        is_logarithmic = is_skewed(column, profile)
        width = None if is_logarithmic else _find_width(profile)
        bins = None if width else _BINS
        return Grouping(column, GroupBy(column.name, "", "", width, bins, is_logarithmic))


def _check_choice(name: str, value: str, choices: Collection[str]) -> None:
    if value and value not in choices:
        known = ", ".join(islice(choices, _MAX_NAMED)) or _("none without “split”")
        raise InvalidChartChoice(parameter=name, name=name, value=value[:100], known=known)


def _choose_interval(profile: Mapping[str, Any], most: int) -> str:
    """Choose an interval that gives as few periods as fit, or years."""
    try:
        ends = [date.fromisoformat(str(profile[name])[:10]) for name in ("min", "max")]
    except (KeyError, ValueError):
        return "year"
    days = (ends[1] - ends[0]).days
    return next((step for step, each in _DAYS.items() if days <= most * each), "year")


def _find_width(profile: Mapping[str, Any]) -> Decimal | None:
    """Find the width of the ranges of a profile, whose bounds people can read."""
    bounds = profile.get("histogram", {}).get("bounds", (0, 0))
    first, second, *_others = map(Decimal, map(str, bounds))
    # What ``datastore_aggregate`` takes.
    return second - first if Decimal("1E-30") <= second - first <= Decimal("1E+30") else None


def _fits(form: str, chart: ChartQuery) -> bool:
    if form == LINES:
        return not chart.by.has_categories
    return chart.split is not None and (form == GROUPED or chart.is_additive)


def _suits(by: Column, step: str) -> bool:
    kind = by.field_type
    if step in INTERVALS:
        return by.field_type.has_day and not (step == "hour" and not by.field_type.is_timestamp)
    if step == RANGES:
        return by.field_type.is_number
    return step == EACH and not kind.is_timestamp and (kind.is_integer or not kind.is_number)
