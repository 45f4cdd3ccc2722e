"""What a chart shows: the parameters ``show``, ``of``, ``by``, ``per`` and ``split``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ...analysis.groups import INTERVALS, GroupBy
from ...analysis.metrics import Metric
from ..facets.choice import FacetKind, find_kind
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

#: Ranges of numbers where the profile proposes no width.
_BINS = 20

#: Days up to which an axis has days, months and quarters, if no step is chosen.
_MAX_DAYS = {"day": 62, "month": 5 * 366, "quarter": 15 * 366}

_MAX_PROPOSALS = 5


@dataclass(frozen=True, slots=True)
class ChartQuery:
    """
    One chart.

    ``figure`` is one of ``FIGURES``, ``of`` the field that it is of (None for
    ``count``).  ``step`` is one of ``STEPS``, which ``width`` completes for ranges of numbers, if
    it is known.
    """

    figure: str
    of: Column | None
    by: Column
    step: str
    width: Decimal | None = None
    split: Column | None = None

    @property
    def group(self) -> GroupBy:
        """The groups along the axis."""
        name = self.by.name
        if self.step in INTERVALS:
            return GroupBy(name, interval=self.step)
        if self.step == RANGES:
            return GroupBy(name, width=self.width, bins=None if self.width else _BINS)
        return GroupBy(name)

    @property
    def metric(self) -> Metric:
        """The figure, as the column ``value``."""
        return Metric("value", self.figure, self.of.name if self.of else "")

    @property
    def has_categories(self) -> bool:
        """Return whether groups have no order of their own: the largest come first."""
        return self.by.type == "text"

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
        words = {"figure": self.figure_label, "field": self.by.marked_label}
        if self.step in INTERVALS:
            step = str(STEPS[self.step])
            title = compose_phrase(_("%(figure)s by %(field)s, %(step)s"), **words, step=step)
        else:
            title = compose_phrase(_("%(figure)s by %(field)s"), **words)
        if self.split:
            field = self.split.marked_label
            title = compose_phrase(_("%(title)s, split by %(field)s"), title=title, field=field)
        return capitalize_phrase(title)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The parameters of its address."""
        values = {
            "show": self.figure,
            "of": self.of.name if self.of else "",
            "by": self.by.name,
            "per": self.step,
            "split": self.split.name if self.split else "",
        }
        return tuple((name, value) for name, value in values.items() if value)


class ChartParser:
    """Reads what a chart shows from an address, or proposes it."""

    def __init__(
        self, columns: Sequence[Column], profiles: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Take the columns of all fields."""
        self.groupable = [column for column in columns if not column.field_type.is_nested]
        self.measurable = [column for column in columns if column.field_type.is_number]
        self._profiles = profiles

    def parse(self, sent: Mapping[str, str]) -> ChartQuery | None:
        """
        Read a chart; without a field for its groups, propose one.  None if no field suits.

        Raises: ``UnknownField``.
        """
        by = find_column(sent.get("by", ""), self.groupable)
        of = find_column(sent.get("of", ""), self.measurable)
        split = find_column(sent.get("split", ""), self.groupable)
        figure = sent.get("show", "")
        if not by:
            proposed = next(self._propose(), None)
            by = proposed.by if proposed else None
        if not by:
            return None
        if figure not in FIGURES or not self.measurable:
            figure = "count"
        if figure == "count":
            of = None
        elif not of:
            of = next((each for each in self.measurable if each != by), self.measurable[0])
        return self._build(figure, of, by, sent.get("per", ""), split if split != by else None)

    def propose(self, shown: ChartQuery | None) -> list[ChartQuery]:
        """Propose other charts than the one shown."""
        charts = [chart for chart in dict.fromkeys(self._propose()) if chart != shown]
        return charts[:_MAX_PROPOSALS]

    def _propose(self) -> Iterator[ChartQuery]:
        """Propose counts by the first fields of each kind, then a sum of the first number."""
        values = [each for each in self.groupable if self._has_few_values(each)]
        dates = [each for each in self.groupable if each.field_type.has_day]
        numbers = [each for each in self.measurable if each not in values]
        for by in [*values[:1], *dates[:1], *numbers[:1]]:
            yield self._build("count", None, by)
        for by in [*dates[:1], *values[:1]]:
            for of in numbers[:1]:
                yield self._build("sum", of, by)
        for by in self.groupable[:1]:
            yield self._build("count", None, by)

    def _has_few_values(self, column: Column) -> bool:
        profile = self._profiles.get(column.name)
        return profile is not None and find_kind(column, profile) is FacetKind.VALUES

    def _build(
        self,
        figure: str,
        of: Column | None,
        by: Column,
        step: str = "",
        split: Column | None = None,
    ) -> ChartQuery:
        """Build a chart; a step that does not suit the field is chosen anew."""
        if not _suits(by, step):
            step = self._choose_step(by)
        width = self._find_width(by) if step == RANGES and by.field_type.is_number else None
        return ChartQuery(figure, of, by, step, width, split)

    def _choose_step(self, by: Column) -> str:
        if by.field_type.has_day:
            return self._choose_interval(by)
        return RANGES if by.field_type.is_number and not self._has_few_values(by) else EACH

    def _choose_interval(self, by: Column) -> str:
        """Choose an interval that gives a few dozen periods, or years."""
        profile = self._profiles.get(by.name, {})
        try:
            ends = [date.fromisoformat(str(profile[name])[:10]) for name in ("min", "max")]
        except (KeyError, ValueError):
            return "year"
        days = (ends[1] - ends[0]).days
        return next((step for step, most in _MAX_DAYS.items() if days <= most), "year")

    def _find_width(self, by: Column) -> Decimal | None:
        """Find the width of the ranges of a profile, whose bounds people can read."""
        histogram = self._profiles.get(by.name, {}).get("histogram")
        if not histogram:
            return None
        first, second, *_others = histogram["bounds"]
        try:
            width = Decimal(str(second)) - Decimal(str(first))
        except InvalidOperation:
            return None
        # What ``datastore_aggregate`` takes.
        return width if Decimal("1E-30") <= width <= Decimal("1E+30") else None


def _suits(by: Column, step: str) -> bool:
    if step in INTERVALS:
        return by.field_type.has_day and not (step == "hour" and by.type == "date")
    if step == RANGES:
        return by.field_type.is_number
    return step == EACH and by.type not in {"numeric", "float8", "timestamp", "timestamptz"}
