"""What a chart shows, by the parameters of its address."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext as _, gettext_lazy

from ....downloads.xml_rows import clean_xml
from ....filters.places import list_degree_fields
from ....messages.parameters import InvalidParameter
from ....messages.texts import show_bidi_controls
from ...analysis.errors import InvalidChartChoice, UngroupableField, UnsupportedOption
from ...analysis.groups import INTERVALS, GroupBy
from ..columns import (
    USEFUL_VALUES,
    Column,
    FacetField,
    FacetKind,
    count_most,
    find_kind,
    is_skewed,
    is_year,
    list_facet_fields,
    list_useful,
)
from ..question import Pair
from ..values import NumberStyle, Phrase, capitalize_phrase, compose_phrase, join_list, mark_text
from .periods import TextPeriods

#: The figures by the names of addresses: the metrics of ``analysis``.
FIGURES = {
    "count": gettext_lazy("number of records"),
    "sum": gettext_lazy("sum"),
    "avg": gettext_lazy("mean"),
    "min": gettext_lazy("minimum"),
    "max": gettext_lazy("maximum"),
    "median": gettext_lazy("median"),
}


class Step(TextChoices):
    """Steps of the axis, by the names of addresses; those of time are ``INTERVALS``."""

    DECADE = "decade", gettext_lazy("per decade")
    YEAR = "year", gettext_lazy("per year")
    QUARTER = "quarter", gettext_lazy("per quarter")
    MONTH = "month", gettext_lazy("per month")
    WEEK = "week", gettext_lazy("per week")
    DAY = "day", gettext_lazy("per day")
    HOUR = "hour", gettext_lazy("per hour")
    RANGES = "ranges", gettext_lazy("in ranges")
    EACH = "each", gettext_lazy("each value")


class Form(TextChoices):
    """Forms of a chart whose groups are split or areas, by the names of addresses."""

    STACKED = "stacked", gettext_lazy("stacked")
    SHARES = "shares", gettext_lazy("shares of 100%")
    GROUPED = "grouped", gettext_lazy("side by side")
    LINES = "lines", gettext_lazy("lines")
    MAP = "map", gettext_lazy("map")


#: Ranges of numbers where the profile proposes no width that ``datastore_aggregate`` takes, or one
#: that is too small beside the numbers.
_BINS, _MIN_WIDTH, _MAX_WIDTH, _MAX_WIDTHS = 20, Decimal("1E-30"), Decimal("1E+30"), 10**14

#: Days of the periods that an axis and a split may have, if no step is chosen, their number, and
#: the most steps of an axis that is not of texts.
_DAYS = {"day": 1, "month": 30.5, "quarter": 91.5, "year": 365.25}
_MAX_PERIODS, _MAX_SPLIT_PERIODS, MAX_STEPS = 62, 8, 400

_MAX_PROPOSALS = 6

#: Choices that a message names.
_MAX_NAMED = 20

#: What people may write themselves, with the most letters of each.
TEXTS = {"title": 200, "unit": 20, "note": 500}


class TextTooLong(InvalidParameter):
    message = gettext_lazy("The %(name)s of a chart has at most %(most)s characters.")


@dataclass(frozen=True, slots=True)
class Grouping:
    """A field by which records are grouped, in steps that are one of ``Step``."""

    column: Column
    group: GroupBy
    #: Of a text whose values sort like time, once these are read.
    periods: TextPeriods | None = field(default=None, compare=False)
    #: Whether groups are drawn in their order, if that does not depend on the type.
    has_order: bool | None = None
    #: Whether some texts differ only in their case.
    is_exact: bool = field(default=False, compare=False)

    @property
    def step(self) -> str:
        return self.group.interval or (
            Step.RANGES if self.group.width or self.group.bins else Step.EACH
        )

    @property
    def has_categories(self) -> bool:
        """Return whether groups have no order of their own: the largest come first."""
        if self.has_order is not None:
            return not self.has_order
        return self.column.type.is_text and not self.periods

    @property
    def label(self) -> Phrase:
        field, is_logarithmic = self.column.marked_label, self.group.is_logarithmic
        step = _("in logarithmic ranges") if is_logarithmic else str(Step(self.step).label)
        is_named = self.step in INTERVALS or is_logarithmic
        return join_list([field, mark_text(step)]) if is_named else field


@dataclass(frozen=True, slots=True)
class ChartQuery:
    """
    One chart.

    ``figure`` is one of ``FIGURES``, ``of`` the field that it is of (None for ``count``), and
    ``form`` one of ``Form``, empty for plain bars.  ``texts`` are those of ``TEXTS`` that the
    address has.
    """

    figure: str
    of: Column | None
    by: Grouping
    split: Grouping | None = None
    form: str = ""
    texts: tuple[Pair, ...] = ()

    @property
    def unit(self) -> str:
        """What the figures count, as it was written, or as the field has it."""
        return dict(self.texts).get("unit", self.of.unit if self.of else "")

    @property
    def note(self) -> str:
        return dict(self.texts).get("note", "")

    @property
    def is_additive(self) -> bool:
        """Return whether the figures of groups have a sum that says something."""
        return self.figure in {"count", "sum"}

    @property
    def style(self) -> NumberStyle:
        """How the figures are written: no count or sum is a year."""
        return self.of.style if self.of and not self.is_additive else NumberStyle(is_grouped=True)

    @property
    def forms(self) -> list[str]:
        """The forms that it can have, the proposed one of figures that add up first, or last."""
        forms: list[str] = [Form.STACKED, Form.SHARES] if self.split and self.is_additive else []
        if self.split or self.by.column.type.is_text:
            forms.append(Form.GROUPED if self.split else Form.MAP)
        return forms if self.by.has_categories else [*forms, Form.LINES]

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
        if own := dict(self.texts).get("title"):
            return mark_text(own)
        title = compose_phrase(
            _("%(figure)s by %(field)s"), figure=self.figure_label, field=self.by.label
        )
        if self.split:
            field = self.split.label
            title = compose_phrase(_("%(title)s, split by %(field)s"), title=title, field=field)
        return capitalize_phrase(title)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the address but ``texts``, which may be empty."""
        of_split = self.split and self.split.step in INTERVALS and self.by.column.type.is_text
        return {
            "show": self.figure,
            "of": self.of.name if self.of else "",
            "by": self.by.column.name,
            "per": self.split.step if self.split and of_split else self.by.step,
            "split": self.split.column.name if self.split else "",
            "as": self.form,
        }

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return (*(pair for pair in self.parameters.items() if pair[1]), *self.texts)


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

        Raises: ``UngroupableField``, ``UnsupportedOption``, ``InvalidChartChoice``,
        ``TextTooLong``.
        """
        by_name, columns = {each.name: each for each in self._columns}, list[Column | None]()
        groupable, measurable = self.groupable, self.measurable
        for name, suiting in (("by", groupable), ("of", measurable), ("split", groupable)):
            column = by_name.get(sent.get(name, ""))
            if not column:
                check_choice(name, sent.get(name, ""), [each.name for each in suiting])
            elif name != "of" and column not in suiting:
                raise UngroupableField(parameter=name, field=column.name, type=column.type.name)
            columns.append(column)
        by, of, split = columns
        figure = sent.get("show", "")
        check_choice("show", figure, FIGURES if self.measurable else ["count"])
        if of and of not in self.measurable and figure not in {"", "count"}:
            option = str(FIGURES[figure])
            raise UnsupportedOption(parameter="of", field=of.name, type=of.type.name, option=option)
        others = [column.name for column in self.groupable if column != by]
        check_choice("split", sent.get("split", ""), others)
        if not by:
            proposed = next((c for c in self._propose(None) if c.by.column != split), None)
            if not proposed:
                return None
            by, own = proposed.by.column, proposed.split
            split = own.column if own and "split" not in sent else split
            figure, of = (figure, of) if figure or of else (proposed.figure, proposed.of)
        if figure in {"", "count"}:
            figure, of = "count", None
        elif not of:
            keys_last = sorted(self.measurable, key=attrgetter("is_key"))
            of = next((each for each in keys_last if each != by), keys_last[0])
        return self._build(figure, of, by, split, sent)

    def propose(self, shown: ChartQuery | None) -> list[ChartQuery]:
        shown = shown and replace(shown, texts=())
        charts = [chart for chart in dict.fromkeys(self._propose(shown)) if chart != shown]
        return charts[:_MAX_PROPOSALS]

    def _propose(self, shown: ChartQuery | None) -> Iterator[ChartQuery]:
        """
        Propose charts by time and a category, that of a chart first, then by a number.

        None is by a field that most records lack, or by a text with nearly as many values as
        records.  The figure is a mean where each step of time or category has as many records.
        """
        profiles = self._profiles
        fields = [each for each in self._list_useful() if not each.is_sparse]
        times = [each.column for each in fields if self._is_time(each.column)]
        fields = [
            each
            for each in fields
            if each.is_guessed or each.kind is not FacetKind.TEXT or each.column in times
        ]
        others = [each for each in fields if each.column not in times]
        times = sorted(times, key=lambda each: not each.type.has_day)[:1]
        sizes = {name: each["distinct"] + bool(each["nulls"]) for name, each in profiles.items()}
        values = [each.column for each in others if each.kind is FacetKind.VALUES]
        values = [each for each in values if each.name in sizes]
        if shown and shown.by.column in values:
            values.insert(0, shown.by.column)
        splits = [each for each in values if sizes[each.name] < USEFUL_VALUES.stop]
        categories = [each for each in splits if sizes[each.name] in USEFUL_VALUES]
        axes = [*categories[:1], *times]
        numbers = self._list_numbers(others)[:1]
        pairs = list(zip(times, splits, strict=False))
        is_even = any(self._is_even(each) for each in axes[-1:])
        is_even = is_even or any(self._is_panel(*pair) for pair in pairs)
        figure, of = ("avg", numbers[0]) if is_even and numbers else ("count", None)
        for time, category in pairs:
            yield self._build(figure, of, time, category)
            if shown:
                yield self._build(figure, of, category, time)
        yield from (self._build(figure, of, by) for by in axes)
        known = [each.column for each in fields if each.column not in self.measurable]
        for by in [*numbers, *values[:1], *known[:1]]:
            yield self._build("count", None, by)
        for by in reversed(axes) if numbers else ():
            yield from (self._build(each, numbers[0], by) for each in ("avg", "sum"))

    def _list_useful(self) -> list[FacetField]:
        """List the fields that charts are proposed by, but moments with too many values to draw."""
        fields = list_useful(list_facet_fields(self.groupable, self._profiles), self._profiles)
        many = {name for name, facts in self._profiles.items() if facts["distinct"] > MAX_STEPS}
        days = [each.column for each in fields if each.column.type.has_day]
        hidden = [day for day in days if day.name in many and self._group(day).step == Step.EACH]
        return [each for each in fields if each.column not in hidden]

    def _is_time(self, column: Column) -> bool:
        """Return whether values are days, years, or texts that sort like time."""
        profile = self._profiles.get(column.name, {})
        texts = [each["value"] for each in profile.get("top", ()) if column.type.is_text]
        if profile.get("shortest") == profile.get("longest"):  # a few titles are years, too
            texts += profile.get("examples", ())
        return column.type.has_day or is_year(column, profile) or bool(TextPeriods.find(texts))

    def _list_numbers(self, fields: Iterable[FacetField]) -> list[Column]:
        """List the numbers of which a mean may say something."""
        degrees = list_degree_fields({each.name: each.type.name for each in self.measurable})
        numbers = [e.column for e in fields if e.kind is FacetKind.RANGE]
        numbers = [e for e in numbers if e.type.is_number and not self._is_time(e)]
        return [e for e in numbers if e.name not in degrees and not e.is_key]

    def _is_even(self, column: Column) -> bool:
        """Return whether each value, or each step of time, has as many records, within a tenth."""
        profile = self._profiles.get(column.name, {"count": 0, "distinct": 1})
        if column.type.has_day and "top" not in profile:  # the outer steps may be incomplete
            counts = profile.get("histogram", {}).get("counts", ())[1:-1]
            return bool(counts) and max(counts) - min(counts) <= max(1, max(counts) / 10)
        return bool(profile["distinct"] * count_most(profile) <= 1.1 * profile["count"])

    def _is_panel(self, time: Column, category: Column) -> bool:
        """Return whether a category has one record each time, as far as profiles say, or none."""
        nothing = {"distinct": 0}
        times, categories = (self._profiles.get(e.name, nothing) for e in (time, category))
        free = (
            times["distinct"] - count_most(categories),
            categories["distinct"] - count_most(times),
        )
        return not time.type.has_day and min(free) == 0

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
        check_choice(
            "per", step, [n for n in Step.values if any(suits_step(each, n) for each in fields)]
        )
        axis = self._group(by, step)
        # The step is that of the split if the axis has none.
        step = "" if axis.step == step else step
        series = split and self._group(split, step, _MAX_SPLIT_PERIODS)
        chart = ChartQuery(figure, of, axis, series or None)
        if form != Form.LINES or not axis.has_categories:  # texts may sort like time
            check_choice("as", form, chart.forms)
        if not form:
            form = chart.forms[0 if chart.is_additive else -1] if series else ""
        return replace(chart, form=form, texts=read_texts(sent))

    def _group(self, column: Column, step: str = "", most: int = _MAX_PERIODS) -> Grouping:
        profile = self._profiles.get(column.name, {})
        if not suits_step(column, step):
            has_values = find_kind(column, profile or None) is FacetKind.VALUES
            has_values = has_values or is_year(column, profile)
            step = Step.RANGES if column.type.is_number and not has_values else Step.EACH
            step = "year" if column.type.has_day else step
            if column.type.has_day:
                # As many periods as fit, or as few as leave the days apart.
                with suppress(KeyError, ValueError):
                    low, high = (date.fromisoformat(str(profile[n])[:10]) for n in ("min", "max"))
                    counts = {name: (high - low).days / days for name, days in _DAYS.items()}
                    fitting = [name for name in counts if counts[name] <= most]
                    few = (n for n in fitting[::-1] if 1.05 * counts[n] + 1 >= profile["distinct"])
                    step = next(few, (*fitting, "year")[0])
                    if counts["year"] > MAX_STEPS - 2:  # as up to 9999-12-31, for no end
                        step = "decade" if counts["year"] < 10 * (MAX_STEPS - 2) else Step.EACH
        if step != Step.RANGES:
            return Grouping(column, GroupBy(column.name, step if step in INTERVALS else ""))
        is_logarithmic = is_skewed(column, profile)
        # The ranges of a profile have bounds that people can read.
        bounds = profile.get("histogram", {}).get("bounds", (0, 0))
        first, second, *_others = map(Decimal, map(str, bounds))
        size = second - first
        has_width = _MIN_WIDTH <= size <= _MAX_WIDTH and abs(first) < _MAX_WIDTHS * size
        width, bins = (size, None) if has_width and not is_logarithmic else (None, _BINS)
        return Grouping(column, GroupBy(column.name, "", "", width, bins, is_logarithmic))


def read_texts(sent: Mapping[str, str]) -> tuple[Pair, ...]:
    """Read what people write themselves: as it is shown, in one line."""
    texts = []
    for name, most in TEXTS.items():
        text = show_bidi_controls(clean_xml(" ".join(sent.get(name, "").split())))
        if len(text) > most:
            raise TextTooLong(parameter=name, name=name, most=most)
        texts += [(name, text)] if text else []
    return tuple(texts)


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    if value and value not in choices:
        known = ", ".join(islice(choices, _MAX_NAMED)) or _("none without “split”")
        raise InvalidChartChoice(parameter=name, name=name, value=value[:100], known=known)


def suits_step(by: Column, step: str) -> bool:
    kind = by.type
    if step in INTERVALS:
        return kind.has_day and not (step == "hour" and not kind.is_timestamp)
    if step == Step.RANGES:
        return kind.is_number
    return step == Step.EACH and (kind.is_integer or not kind.is_number)
