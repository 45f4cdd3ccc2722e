"""Two groups or periods side by side: both figures of every group, the difference, the change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple, cast

from django.core.paginator import Page, Paginator
from django.http import HttpResponse
from django.utils.translation import get_language_bidi, gettext as _, gettext_lazy, pgettext

from ....filters.names import SortKey
from ....messages.texts import format_count
from ....search import ConsistentRead, Query
from ...analysis.aggregates import AggregateQuery, Metric, read_aggregate
from ...analysis.comparison import Compare
from ...analysis.errors import TooManyChartGroups
from ...analysis.groups import GroupBy
from ..columns import Column, FacetKind, count_most
from ..drawings import Option
from ..question import QueryString
from ..records import parse_record
from ..sections import PageQuestion
from ..table import paginate
from ..values import (
    Digits,
    Phrase,
    compose_phrase,
    format_number,
    format_percent,
    has_variants,
    join_list,
    mark_text,
    shorten_number,
    write_value,
)
from .chart import Chart, ChartView, Choices, Heading, Row as TableRow
from .data import MAX_SERIES, ChartData, Group, Value, build_point, list_values, read_figures
from .periods import Key, TextPeriods
from .query import (
    MAX_STEPS,
    ChartParser,
    ChartQuery,
    Form,
    Grouping,
    Step,
    check_choice,
    read_texts,
    suits_step,
)

#: Groups that are compared, those of a page of the table, and bars.
MAX_COMPARED, PAGE_ROWS, MAX_BARS = 10_000, 100, 30

#: Values of a text from which both are chosen: the most common ones.
MAX_SIDES = 1_000

#: Periods that are proposed.
_MAX_PERIODS = 8

#: Larger changes have an exponent.
_MAX_PERCENT = Decimal("1e15")

#: The name of the empty value in addresses.
_EMPTY = "~"

#: The parameter of the form with the field and the step whose values it offers.
_OFFERED = "offered"

#: The columns of the table, by which it is sorted.
COLUMNS = ("group", "from", "to", "difference", "change")

#: The drawings, by the names of addresses.
BARS, SLOPE = "bars", "slope"
DRAWINGS = {BARS: gettext_lazy("bars of the difference"), SLOPE: gettext_lazy("lines")}


# What is compared ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompareQuery(ChartQuery):
    """
    A chart whose split has the two values that are compared, by their names in an address.

    ``order`` is one of ``COLUMNS``, after a minus for descending; if empty, the largest differences
    come first.  ``sides`` are both values, once these are known.
    """

    start: str = ""
    end: str = ""
    order: str = ""
    sides: tuple[Value, ...] = field(default=(), compare=False)

    @property
    def over(self) -> Grouping:
        return cast("Grouping", self.split)

    @property
    def title(self) -> Phrase:
        own = dict(self.texts).get("title")
        if own or not self.sides:
            return mark_text(own or _("Compare"))
        start, end = (mark_text(side.label, side.language) for side in self.sides)
        title = ChartQuery(self.figure, self.of, self.by).title
        text = _("%(title)s: %(start)s compared with %(end)s")
        return compose_phrase(text, title=title, start=start, end=end)

    @property
    def parameters(self) -> dict[str, str]:
        return {
            "show": self.figure,
            "of": self.of.name if self.of else "",
            "by": self.by.column.name,
            "compare": self.over.column.name,
            "per": self.over.step,
            "from": self.start,
            "to": self.end,
            "as": self.form,
            "order": self.order,
        }


class CompareParser(ChartParser):
    """Reads what is compared from an address, or proposes it."""

    def parse(self, sent: Mapping[str, str]) -> ChartQuery | None:
        """
        Read what is compared; None if there are no two fields that suit.

        Raises: as ``ChartParser.parse``.
        """
        names = [column.name for column in self.groupable]
        by, compared = sent.get("by", ""), sent.get("compare", "")
        check_choice("by", by, names)
        check_choice("compare", compared, [name for name in names if name != by])
        # Times come first, and groups of texts.
        useful = self._list_useful()
        values = [each.column for each in useful if each.kind is FacetKind.VALUES]
        sides = [each.column for each in useful if self._is_time(each.column)]
        sides.sort(key=lambda each: not each.type.has_day)
        integers = [each for each in values if each.type.is_integer]
        sides += [each for each in integers if not each.is_key]
        texts = [each.column for each in useful if each.column.type.is_text]
        numbers = self._list_numbers(useful)
        others = [*numbers, *(each.column for each in useful)]  # degrees of places last
        proposed, groups = (
            [column.name for column in (*first, *values, *others, *self.groupable)]
            for first in (sides, texts)
        )
        compared = compared or next((name for name in proposed if name != by), "")
        by = by or next((name for name in groups if name != compared), "")
        if not by or not compared:
            return None
        asked = {**dict(sent.items()), "by": by, "split": compared}
        group, side = (next(e for e in self.groupable if e.name == n) for n in (by, compared))
        # The mean of a number has another side where both fields repeat, and neither is the number.
        has_sides = all(
            each not in numbers
            and (not each.type.is_text or count_most(self._profiles.get(each.name, {})) > 1)
            for each in (group, side)
        )
        has_one = self._is_even(side) or self._is_panel(side, group)
        if numbers and has_sides and has_one and not (sent.get("show") or sent.get("of")):
            asked |= {"show": "avg", "of": numbers[0].name}
        return super().parse(asked)

    def _build(
        self,
        figure: str,
        of: Column | None,
        by: Column,
        split: Column | None = None,
        sent: Mapping[str, str] = {},
    ) -> CompareQuery:
        over = cast("Column", split)
        place, offered = str(self.groupable.index(over)), sent.get(_OFFERED, "").split()
        # Values that the form has offered for another field, or for other steps, do not hold.
        step = sent.get("per", "") if not offered or offered[0] == place else ""
        check_choice("per", step, [each for each in Step.values if suits_step(over, each)])
        grouping = self._group(over, step, _MAX_PERIODS)
        holds = not offered or offered == [place, grouping.step]
        start, end = (sent.get(each, "") if holds else "" for each in ("from", "to"))
        form, order = sent.get("as", ""), sent.get("order", "")
        check_choice("as", form, DRAWINGS)
        check_choice("order", order, [*COLUMNS, *(f"-{each}" for each in COLUMNS)])
        axis, form = self._group(by), form if form == SLOPE else ""
        return CompareQuery(figure, of, axis, grouping, form, read_texts(sent), start, end, order)

    def propose(self, shown: ChartQuery | None) -> list[ChartQuery]:
        return []


# What is found ------------------------------------------------------------------------------------


class Row(NamedTuple):
    """
    A group of both sides: their figures, the difference, and the change in per cent, if known.

    It has no label before it is shown: there may be thousands.
    """

    key: Key
    start: Decimal | None
    end: Decimal | None
    difference: Decimal | None
    change: Decimal | None


def list_largest(rows: Sequence[Row]) -> list[Row]:
    """List the rows with a difference, the largest first."""
    known = [row for row in rows if row.difference is not None]
    return sorted(known, key=lambda row: abs(row.difference or Decimal()), reverse=True)


def read_sides(read: ConsistentRead, query: Query, over: Grouping) -> dict[str, Value]:
    """
    Read the values of which two are compared, by their names in an address.

    Raises: ``TooManyChartGroups``.
    """
    figures, total = read_figures(read, query, ChartQuery("count", None, over), MAX_SIDES)
    if total > MAX_STEPS and not over.has_categories:
        raise TooManyChartGroups
    keys, sides = list(dict.fromkeys(figure.key for figure in figures)), dict[str, Value]()
    if over.column.type.is_text and TextPeriods.find(keys):
        keys.sort(key=str)
    over = replace(over, is_exact=has_variants(keys))
    for value in list_values(over, keys, figures, "group"):
        # The parameters have no empty text, and steps without records cannot be compared.
        if value.key not in {"", None} and value.key in keys:
            sides.setdefault(value.code or write_value(value.key), value)
    if None in keys:
        name = _EMPTY
        while name in sides:
            name += _EMPTY
        (sides[name],) = list_values(over, [None])
    return sides


def read_rows(read: ConsistentRead, query: Query, shown: CompareQuery) -> list[Row]:
    """
    Compare the two sides of a chart in every group.

    Raises: ``TooManyChartGroups``, and as ``analysis.aggregates.read_aggregate``.
    """
    name, is_reversed = shown.order.removeprefix("-"), shown.order.startswith("-")
    name = name if name in {"", "group"} else f"value_{name}"
    sort = (SortKey(name, descending=is_reversed, nulls_first=False),) if name else ()
    limited = replace(query, limit=MAX_COMPARED + 1, sort=sort, include_total=False)
    figure = Metric("value", shown.figure, shown.of.name if shown.of else "")
    groups = {"group": shown.by.group, "side": shown.over.group}
    compare = Compare("side", *(side.key for side in shown.sides))
    asked = AggregateQuery(limited, groups, (figure,), compare=compare)
    with closing(read_aggregate(read, asked)) as page:
        if page.record_count > MAX_COMPARED:
            raise TooManyChartGroups
        records = cast("list[dict[str, object]]", parse_record(page.text))
    rows = []
    for record in records:
        found = [record[f"value_{name}"] for name in COLUMNS[1:]]
        *numbers, change = (Decimal(each) if isinstance(each, Digits) else None for each in found)
        points = [build_point(shown, number) for number in numbers]
        start, end, difference = (point.value if point else None for point in points)
        rows.append(Row(cast("Key", record["group"]), start, end, difference, change))
    if not shown.order:
        return [*list_largest(rows), *(row for row in rows if row.difference is None)]
    return rows


def list_groups(shown: CompareQuery, rows: Sequence[Row], chosen: Sequence[Row]) -> list[Group]:
    """List some of the rows as groups with labels: points of both sides, and of the difference."""
    # Bins begin and end with each other, other periods and ranges are without those between them.
    is_bins, keys = shown.by.group.bins, [row.key for row in rows]
    values = {value.key: value for value in list_values(shown.by, keys)} if is_bins else {}
    groups = []
    for row in chosen:
        value = values[row.key] if is_bins else list_values(shown.by, [row.key])[0]
        points = tuple(build_point(shown, number) for number in row[1:4])
        groups.append(Group(value, points, 1))
    return groups


def build_chart(shown: CompareQuery, rows: Sequence[Row]) -> ChartData:
    """Build the chart of the largest differences, or of both figures of these groups."""
    is_slope = shown.form == SLOPE
    chosen = list_largest(rows)[: MAX_SERIES if is_slope else MAX_BARS]
    if not is_slope:
        chosen.sort(key=lambda row: row.difference or Decimal(), reverse=True)
    found = list_groups(shown, rows, chosen)
    by, split = (
        Grouping(each.column, GroupBy(each.column.name), has_order=is_slope)
        for each in ((shown.over, shown.by) if is_slope else (shown.by, shown.over))
    )
    texts = tuple((dict(shown.texts) | {"title": shown.title.text}).items())
    chart = ChartQuery(shown.figure, shown.of, by, None, "", texts)
    if is_slope:
        groups = [
            Group(replace(side, is_on_axis=True), tuple(group.points[place] for group in found), 1)
            for place, side in enumerate(shown.sides)
        ]
        series = tuple(group.value for group in found)
        return ChartData(replace(chart, split=split, form=Form.LINES), tuple(groups), series, 2, 0)
    groups = [replace(group, points=group.points[2:]) for group in found]
    return ChartData(chart, tuple(groups), (Value(),), len(groups), 1)


# The page -----------------------------------------------------------------------------------------


def _sign(text: str, number: Decimal) -> str:
    # The sign is at the left of its digits, also between words that run to the left.
    mark = "\u200e" if get_language_bidi() else ""
    return f"{mark}+{text}" if number > 0 else mark + text


def _write_change(change: Decimal) -> str:
    if abs(change) < _MAX_PERCENT:
        return _sign(format_percent(change), change)
    return _sign(f"{format_number(shorten_number(f'{change:f}'))}%", change)


class CompareChart(Chart):
    """A chart of two sides; ``sides`` are the values of which both can be chosen."""

    name = "compare"
    parser_class = CompareParser
    label = gettext_lazy("Compare")
    sides: Mapping[str, Value] = {}
    rows: Sequence[Row] = ()

    def read(self, read: ConsistentRead, query: Query, shown: ChartQuery) -> ChartData | None:
        asked = cast("CompareQuery", shown)
        self.sides = read_sides(read, query, asked.over)
        check_choice("from", asked.start, self.sides)
        check_choice("to", asked.end, self.sides)
        # The last values that are complete are proposed, or the most common texts.
        names = [name for name, value in self.sides.items() if value.key is not None]
        complete = [name for name in names if not self.sides[name].incomplete]
        names = complete if len(complete) > 1 else names
        is_category = asked.over.column.type.is_text and not TextPeriods.find(names)
        names = names[1::-1] if is_category else names[-2:]
        proposed = [each for each in names if each not in {asked.start, asked.end}]
        end = asked.end or (proposed.pop() if proposed else "")
        start = asked.start or (proposed.pop() if proposed else "")
        if not start or not end:  # there is nothing to compare
            return None
        sides = self.sides[start], self.sides[end]
        self.shown = asked = replace(asked, start=start, end=end, sides=sides)
        self.rows = read_rows(read, query, asked)
        is_exact = has_variants([row.key for row in self.rows])
        self.shown = asked = replace(asked, by=replace(asked.by, is_exact=is_exact))
        return build_chart(asked, self.rows)

    @property
    def compared(self) -> CompareQuery:
        return cast("CompareQuery", self.shown)

    @property
    def page(self) -> Page[Row]:
        """The page of the table that is asked for, or the nearest that there is."""
        return Paginator(self.rows, PAGE_ROWS).get_page(self.sent.get("page"))

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"page": self.page}

    def summarize(self, chart: ChartQuery, data: ChartData) -> Iterator[Phrase]:
        """Say which group changed most, of all groups, and what is not shown."""
        rows = list_largest(self.rows)
        rising = [row for row in rows if row.difference and row.difference > 0]
        falling = [row for row in rows if row.difference and row.difference < 0]
        increase = _("The largest increase is %(figure)s (%(group)s).")
        decrease = _("The largest decrease is %(figure)s (%(group)s).")
        for changed, text in ((rising, increase), (falling, decrease)):
            if not changed:
                continue
            (group,) = list_groups(self.compared, self.rows, changed[:1])
            figure, change = group.points[2], changed[0].change
            words = [_sign(self.write(figure), figure.value)] if figure else []
            words += [_write_change(change)] if change is not None else []
            figure_text = join_list([*map(mark_text, words)])
            yield compose_phrase(text, figure=figure_text, group=group.value.marked_label)
        counts = {
            "total": len(self.rows),
            "rising": len(rising),
            "falling": len(falling),
            "unknown": len(self.rows) - len(rows),
        }
        texts = {name: format_count(number) for name, number in counts.items()}
        text = _("Of %(total)s groups, %(rising)s increased and %(falling)s decreased.")
        yield compose_phrase(text, **texts)
        if counts["unknown"]:
            text = _("%(unknown)s of them cannot be compared: a side has no figure.")
            yield compose_phrase(text, **texts)
        drawn = len(data.series) if data.chart.split else len(data.groups)
        if drawn < len(self.rows):
            text = _("The %(drawn)s groups with the largest differences are drawn.")
            yield compose_phrase(text, drawn=format_count(drawn))
        for side in self.compared.sides:
            if side.incomplete:
                yield mark_text(side.incomplete)

    def list_headings(
        self, chart: ChartQuery, data: ChartData, address: QueryString | None = None
    ) -> Iterator[Heading]:
        shown = self.compared
        labels = [
            shown.by.column.marked_label,
            *(side.marked_label for side in shown.sides),
            mark_text(_("Difference")),
            mark_text(_("Change in %")),
        ]
        for name, label in zip(COLUMNS, labels, strict=True):
            first, second = (name, f"-{name}") if name == "group" else (f"-{name}", name)
            link = address and address.replace("order", second if shown.order == first else first)
            direction = ""
            if shown.order.removeprefix("-") == name:
                direction = "descending" if shown.order.startswith("-") else "ascending"
            yield label, link.link if link else "", direction

    def list_rows(self, chart: ChartQuery, data: ChartData) -> Iterator[TableRow]:
        rows = list(self.page)
        for row, group in zip(rows, list_groups(self.compared, self.rows, rows), strict=True):
            value, (*points, difference), change = group.value, group.points, row.change
            sides = zip(points, self.compared.sides, strict=True)
            cells = [
                (point.text if point else "", self.link(value, side) if point else "", False)
                for point, side in sides
            ]
            is_negative = difference is not None and difference.value < 0
            signed = _sign(difference.text, difference.value) if difference else ""
            texts = signed, "" if change is None else _write_change(change)
            yield value, self.link(value), [*cells, *((text, "", is_negative) for text in texts)]

    def list_cells(self, chart: ChartQuery, data: ChartData) -> Iterator[Sequence[object]]:
        sides = (side.code or side.label for side in self.compared.sides)
        yield [chart.by.column.name, *sides, "difference", "change_percent"]
        yield from self.rows

    def list_choices(self) -> Choices:
        choices = super().list_choices()
        sides = [Option(name, each.label, each.language) for name, each in self.sides.items()]
        drawings = [Option(name, str(label)) for name, label in DRAWINGS.items()]
        choices["compare"] = _("compare"), choices["by"][1]
        choices["from"] = pgettext("comparison", "from"), sides
        choices["to"] = pgettext("comparison", "to"), sides
        choices["as"] = _("drawn as"), drawings
        names = ("show", "of", "by", "compare", "per", "from", "to", "as")
        return {name: choices[name] for name in names}

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """Describe what can be chosen, and the headings, which sort the table."""
        context = super().describe_page(address)
        if not self.rows or not self.data:
            return context
        over = self.compared.over
        offered = (_OFFERED, f"{self.parser.groupable.index(over.column)} {over.step}")
        headings = list(self.list_headings(self.compared, self.data, address))
        return context | {"hidden": [*self.question.pairs, offered], "headings": headings}


class CompareView(ChartView):
    drawing_class = CompareChart

    def build_context(self, question: PageQuestion) -> dict[str, Any] | HttpResponse:
        context = super().build_context(question)
        if isinstance(context, dict) and (page := context["page"]).has_other_pages():
            size, pairs, total = PAGE_ROWS, self.shared_parameters, page.paginator.count
            context["pagination"] = paginate(self.request, pairs, page.number, size, total)
        return context
