"""The chart of a question: its page, its drawing as SVG, and its figures as a file."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy

from ....downloads.text_rows import disarm
from ....filters import In
from ....messages.texts import format_count
from ....search import ConsistentRead, Query
from ...analysis.errors import TooManyChartGroups
from ..drawings import DrawingView, File, Option, QuestionDrawing, list_options
from ..maps.areas import AreaFigures, read_area_figures
from ..maps.map import draw_area_map
from ..question import Pair, QueryString, write_filters
from ..svg import (
    measure_text,
    wrap_text,
    write_box,
    write_coordinate,
    write_hatching,
    write_share,
    write_text,
)
from ..values import (
    Phrase,
    compose_phrase,
    format_compact,
    format_percent,
    format_period,
    join_list,
    join_phrases,
    mark_text,
    write_language,
    write_value,
)
from .data import EXACT, OTHERS, ChartData, Figure, Group, Point, Value, list_values, read_chart
from .query import FIGURES, TEXTS, ChartParser, ChartQuery, Form, Step

#: The width of a file, the least for which labels are chosen, and that of a phone with fewer.
_WIDTH, _WIDE, _NARROW = 720, 620, 220
_HEIGHT, _LINE, _TOP, _RIGHT, _GAP = 300, 18, 8, 16, 6

#: A group of bars: a line of its label, a bar alone, one of several, and the gap below.
_LABEL, _BAR, _SERIES_BAR, _BAR_GAP = 18, 14, 8, 9

#: The mark of a step without records, on the line of zero.
_MISSING = 4

#: Steps without records that are named.
_MAX_NAMED_STEPS = 5

_SCALE_LINES = 5

#: Classes of the style sheet, and their room in pixels beside a drawing.
_ROOMS = {"narrow": 72, "wide": 120, "wider": 168}
_MIN_STEP = 1e-300

#: A label that is left out on a phone.
_MINOR = ' class="minor"'

#: Steps up to which a line has a mark for each.
_MAX_MARKS = 60

#: Colours that differ for those who see fewer, on white, with the dashes of a line; the style sheet
#: has colours for the dark.
STYLES = (
    ("#0b5cad", ""), ("#c75000", ""), ("#00795a", ""), ("#b5478f", ""),
    ("#8a6d00", "6 3"), ("#6b4fbb", "2 3"), ("#a3322a", "8 3 2 3"), ("#6f6f6f", "4 4"),
)  # fmt: skip


@dataclass(slots=True)
class DrawnSeries:
    """
    A series with the SVG of its bars, or of its points and its line, a path with ``dashes``.

    A chart has hundreds of them: a template would take most of the page's time.
    """

    value: Value
    colour: str
    dashes: str
    marks: SafeString = field(default_factory=SafeString)
    path: str = ""


#: The number of a series, and where its bar begins and ends.
_Bar = tuple[int, float, float]


@dataclass(slots=True)
class Drawing(ABC):
    """
    Everything that the template writes, with ``lanes`` bars of a group side by side.

    The widest label beside the bars or the scale needs ``room``.  Below the bars and lines is the
    ``ground``; above them are ``marks`` of incomplete periods and of steps without records.  A file
    has the ``footer`` below it.
    """

    chart: ChartQuery
    groups: Sequence[Group]
    series: Sequence[DrawnSeries]
    footer: Sequence[str]
    link: Callable[[Value, Value], str]
    lanes: int
    height: int = _HEIGHT
    room: float = 0.0
    #: What is left and right of it in a file.
    margins: tuple[int, int] = (0, 0)
    lines: list[tuple[str, str, str, str]] = field(default_factory=list)
    labels: SafeString = field(default_factory=SafeString)
    ground: SafeString = field(default_factory=SafeString)
    marks: SafeString = field(default_factory=SafeString)

    @abstractmethod
    def draw(self, bars: Sequence[Sequence[_Bar]], scale: _Scale) -> None:
        """Draw the bars of each group, and what is around them."""

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """Where the drawing is in a file, below a title and a legend, and the size of the file."""
        left, right = self.margins
        top = _LINE * (len(self.series) + len(self.title_lines) + 1)
        bottom = top + self.height + _TOP + _LINE * len(self.footer_lines)
        return left, top, left + _WIDTH + right, bottom + _TOP * bool(self.footer)

    @property
    def title_lines(self) -> list[str]:
        return wrap_text(self.chart.title.text, _WIDTH / 1.1)  # it is bold

    @property
    def footer_lines(self) -> list[str]:
        return [line for text in self.footer for line in wrap_text(text, _WIDTH)]

    @property
    def size(self) -> str:
        """The class of the style sheet that has the room on a page."""
        return next((name for name, most in _ROOMS.items() if self.room <= most), "widest")

    def add_mark(self, group: Group, number: int, shape: str) -> None:
        """Add a bar or a point of a group to a series, as the beginning of an SVG element."""
        each, point = self.series[number], group.points[number]
        words = [group.value.label, each.value.label, point.text if point else "", self.chart.unit]
        words += [_("incomplete")] if self.is_incomplete(group, number) else []
        lang = write_language(group.value.language or each.value.language)
        text = escape(" · ".join(filter(None, words)))
        mark = f"<{shape}{lang}><title>{text}</title></{shape.partition(' ')[0]}>"
        if link := self.link(group.value, each.value):
            mark = f'<a href="{escape(link)}" tabindex="-1">{mark}</a>'
        each.marks += SafeString(mark)

    def add_bar(self, group: Group, number: int, box: str) -> None:
        """Add a bar, hatched if the data do not fill its period."""
        self.add_mark(group, number, f"rect {box}")
        if self.is_incomplete(group, number):
            self.marks += write_hatching(box)

    def is_incomplete(self, group: Group, number: int) -> bool:
        return bool(group.value.incomplete or self.series[number].value.incomplete)

    def add_zero(self, x: str, y: str, bottom: str) -> None:
        """Draw the line of zero, between positive and negative figures."""
        x2 = "100%" if y == bottom else x
        line = f'x1="{x}" x2="{x2}" y1="{y}" y2="{bottom}" stroke="#1b2530"'
        self.marks += SafeString(f'<line class="bar" {line}/>')

    def write_scale(self, scale: _Scale) -> Iterator[tuple[int, float, str]]:
        """Write the numbers of the scale, the last one with the unit."""
        first, last = round(scale.low / scale.step), round(scale.high / scale.step)
        style = self.chart.style
        for number in range(first, last + 1):
            size = number * scale.step
            digits = f"{size:.12g}".replace("e+", "e")
            text = format_percent(Decimal(digits)) if scale.unit else format_compact(digits, style)
            unit = self.chart.unit if number == last else ""
            yield number, scale.place(size), f"{text} {unit}".rstrip()


def draw_chart(
    data: ChartData,
    link: Callable[[Value, Value], str] = lambda *_values: "",
    footer: Sequence[str] = (),
) -> Drawing | None:
    """Draw a chart, whose marks may have links; None if there is nothing to draw."""
    chart, groups = data.chart, data.groups  # those without a place on the axis come last
    if not any(point for group in groups for point in group.points):
        return None
    series = [DrawnSeries(value, *style) for value, style in zip(data.series, STYLES, strict=False)]
    lanes = len(series) if chart.form == Form.GROUPED else 1
    drawing_class = BarDrawing if chart.by.has_categories else ColumnDrawing
    drawing = drawing_class(chart, groups, series, footer, link, lanes)
    bars: list[list[_Bar]] = []
    # Bars on each other or beside each other; of several, none is empty.
    is_stacked = chart.form in {Form.STACKED, Form.SHARES}
    can_be_empty = chart.form in {"", Form.LINES}
    for group in groups:
        own, ends = list[_Bar](), {True: 0.0, False: 0.0}
        for number, point in enumerate(group.points):
            if point and (can_be_empty or point.size):
                is_negative = point.size < 0
                start = ends[is_negative] if is_stacked else 0.0
                ends[is_negative] = start + point.size
                own.append((number, start, ends[is_negative]))
        bars.append(own)
    unit = "%" if chart.form == Form.SHARES else ""
    least = 1.0 if chart.figure == "count" else _MIN_STEP
    bounds = [end for own in bars for _number, *ends_of_bar in own for end in ends_of_bar]
    drawing.draw(bars, _Scale.of(bounds, unit, least))
    return drawing


# The scale ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """The values from ``low`` to ``high`` with a ``unit``, and lines ``step`` apart."""

    low: float
    high: float
    step: float
    unit: str = ""

    @classmethod
    def of(cls, sizes: Sequence[float], unit: str, least: float) -> _Scale:
        """Choose a scale with 0, whose lines are multiples of 1, 2 or 5, ``least`` or more."""
        # The sums of shares are not exact.
        low, high = min([0.0, *sizes]), min(max([0.0, *sizes]), 100.0 if unit else math.inf)
        high = high if low < high else 1.0
        rough = max((high - low) / _SCALE_LINES, least)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next((each * power for each in (1, 2, 5) if each * power >= rough), 10 * power)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, step, unit)

    def place(self, size: float) -> float:
        return (size - self.low) / (self.high - self.low)


# Drawings -----------------------------------------------------------------------------------------


class BarDrawing(Drawing):
    """Bars of categories, from the top to the bottom."""

    def draw(self, bars: Sequence[Sequence[_Bar]], scale: _Scale) -> None:
        lanes = self.lanes
        thickness = _BAR if lanes == 1 else _SERIES_BAR
        # On a phone, a label has no more room.
        labels = [wrap_text(group.value.label, _NARROW + 100) for group in self.groups]
        rows = [_LABEL * len(lines) + thickness * lanes + _BAR_GAP for lines in labels]
        bottom = sum(rows)
        self.height = bottom + _LINE + 4
        for number, place, text in self.write_scale(scale):
            at, anchor = write_share(place), "middle" if place else "start"
            self.lines.append((at, at, "0", str(bottom)))
            self.labels += write_text(at, bottom + _LINE, text, anchor, _MINOR * (number % 2))
        y = 0
        for group, lines, row, own in zip(self.groups, labels, rows, bars, strict=True):
            lang = write_language(group.value.language)
            for line in lines:
                y += _LABEL
                self.labels += write_text("0", y - 5, line, "start", lang)
            for position, *ends in own:
                left, right = sorted(map(scale.place, ends))
                top = y + (position * thickness if lanes > 1 else 0)
                box = write_box(left, top, right - left, thickness - (lanes > 1))
                self.add_bar(group, position, box)
            if lanes == 1 and own and not scale.unit:
                total = Decimal(f"{sum(end - start for _number, start, end in own):.15g}")
                point = group.points[0] if len(group.points) == 1 else None
                text = (point or Point(total, style=self.chart.style)).text
                right = max(scale.place(max(start, end)) for _number, start, end in own)
                self.room = max(self.room, measure_text(f"\u2002{text}"))
                self.labels += write_text(write_share(right), y + 11, f"\u2002{text}", "start")
            y += row - _LABEL * len(lines)
        self.margins = 12, max(80, math.ceil(self.room))
        if scale.low < 0:
            self.add_zero(write_share(scale.place(0)), "0", str(bottom))


class ColumnDrawing(Drawing):
    """Columns or lines along an axis, from the left to the right."""

    def draw(self, bars: Sequence[Sequence[_Bar]], scale: _Scale) -> None:
        bottom = _HEIGHT - 2 * _LINE
        groups, step = self.groups, 1 / len(bars)
        gap = min(0.005, step / 5)

        def place(size: float) -> float:
            return _TOP + (1 - scale.place(size)) * (bottom - _TOP)

        for _number, share, text in self.write_scale(scale):
            y = _TOP + (1 - share) * (bottom - _TOP)
            self.lines.append(("0", "100%", write_coordinate(y), write_coordinate(y)))
            self.labels += write_text("-6", y + 4, text, "end")
            self.room = max(self.room, measure_text(text) + 10)
        self.margins = max(70, math.ceil(self.room)), _RIGHT
        if scale.low < 0:
            self.add_zero("0", *[write_coordinate(place(0))] * 2)
        self.label_axis(bottom)
        for number, (group, own) in enumerate(zip(groups, bars, strict=True)):
            if not group.record_count:
                # A step without records has a mark on the line of zero.
                box = write_box(number * step, place(0) - 2, step, _MISSING)
                text = escape(" · ".join([group.value.label, _("no records")]))
                missing = f'<rect class="missing" {box} fill="#aab7c2"><title>{text}</title></rect>'
                self.marks += SafeString(missing)
            if self.chart.form == Form.LINES and group.value.incomplete:
                box = write_box(number * step, _TOP, step, bottom - _TOP)
                self.ground += write_hatching(box)
            for position, start, end in own:
                if self.chart.form == Form.LINES:
                    self.add_point(number, position, place(end))
                    continue
                top, low = sorted([place(start), place(end)])
                width = (step - gap) / self.lanes
                left = number * step + gap / 2 + (position * width if self.lanes > 1 else 0)
                self.add_bar(group, position, write_box(left, top, width, low - top))

    def add_point(self, number: int, position: int, y: float) -> None:
        """Add a point of a group to the line of a series."""
        group, x = self.groups[number], (number + 0.5) / len(self.groups)
        at = f"{write_coordinate(x * _WIDTH)} {write_coordinate(y)}"
        # A line is interrupted where a group has no figure; one of no length is a dot.
        before = self.groups[number - 1].points[position] if number else None
        follows = before and group.value.is_on_axis
        self.series[position].path += f"L{at}" if follows else f"M{at}h0"
        if len(self.groups) <= _MAX_MARKS:
            at = f'cx="{write_share(x)}" cy="{write_coordinate(y)}" r="4"'
            self.add_mark(group, position, f"circle {at}")

    def label_axis(self, bottom: int) -> None:
        """Write as many labels as have room, of which a phone has fewer."""
        groups, step = self.groups, 1 / len(self.groups)
        if self.chart.by.group.is_logarithmic:
            axis = self.chart.by.label.text
            self.labels += write_text("50%", bottom + 2 * _LINE - 2, axis, "middle")
        middle = 0.0 if self.chart.by.step == Step.RANGES else 0.5
        wide, margin = _choose_labels(self), float(_RIGHT)
        narrow = list(wide)[:: max(1, math.ceil(_measure_row(wide) / _NARROW))]
        if not (last := groups[-1].value).is_on_axis:
            margin = -measure_text(last.label) - _GAP
            lang = write_language(last.language)
            self.labels += write_text("100%", bottom + _LINE, last.label, "end", lang)
        for number, text in wide.items():
            x, half = (number + middle) * step, measure_text(text) / 2
            is_minor = number not in narrow or half > (1 - x) * _NARROW + margin
            attributes = write_language(groups[number].value.language) + _MINOR * is_minor
            if half <= (1 - x) * _WIDE + margin:
                self.labels += write_text(
                    write_share(x), bottom + _LINE, text, "middle", attributes
                )


#: The months between two labels, what they name, and its letters.
_CALENDAR = (
    *((months, "month", 7) for months in (1, 3, 6)),
    *((12 * years, "year", 4) for years in (1, 2, 5, 10, 20, 50, 100)),
)


def _choose_labels(drawing: Drawing) -> dict[int, str]:
    """Choose labels that fit: all, first months of periods, or each n-th; of ranges low ends."""
    groups = [group.value for group in drawing.groups if group.value.is_on_axis]
    by = drawing.chart.by
    labels = {number: value.label for number, value in enumerate(groups)}
    if by.step == Step.RANGES:
        labels = {number: label.partition("–")[0] for number, label in labels.items()}
    every = max(1, math.ceil(_measure_row(labels) / _WIDE))
    unit = by.periods.unit if by.periods else by.group.interval
    is_calendar = every > 1 and unit not in {"", "week", "financial year"}
    for months, step, length in _CALENDAR if is_calendar else ():
        firsts = {
            number: labels[number][:length] if by.periods else format_period(low, step)
            for number, value in enumerate(groups)
            if value.bounds and (low := value.bounds[0]).day == 1 and not low.hour
            if (low.year * 12 + low.month - 1) % months == 0
        }
        if len(firsts) > 1 and _measure_row(firsts) <= _WIDE:
            return firsts
    return {number: labels[number] for number in range(0, len(groups), every)}


def _measure_row(labels: Mapping[int, str]) -> float:
    return len(labels) * (max(map(measure_text, labels.values()), default=0.0) + _GAP)


# The chart and its page ---------------------------------------------------------------------------

#: A heading of the table, with the link that sorts by it, if any, and its direction.
Heading = tuple[Phrase, str, str]

#: The text of a figure, empty if there is none, the link to its records, and if it is negative.
Cell = tuple[str, str, bool]

#: The group of a row of the table, the link to its records, and its cells.
Row = tuple[Value, str, Sequence[Cell]]

#: Labels and options, by the name of the parameter.
Choices = dict[str, tuple[str, Sequence[Option]]]


class Chart(QuestionDrawing[ChartQuery, ChartData]):
    name = "chart"
    parser_class = ChartParser
    formats = ("svg", "png", "csv")
    label: ClassVar[str | Promise] = gettext_lazy("Chart")

    #: The areas of a map.
    areas: AreaFigures | None = None

    def read(self, read: ConsistentRead, query: Query, shown: ChartQuery) -> ChartData | None:
        """Read the figures, in the proposed steps where the chosen ones are too many."""
        if shown.form == Form.MAP:
            self.areas = read_area_figures(read, query, shown)
            return self.areas.data
        try:
            data = read_chart(read, query, shown)
        except TooManyChartGroups:
            chosen = {name: value for name, value in shown.pairs if name != "per"}
            proposed = self.parser.parse(chosen)
            if proposed in (shown, None):
                raise
            data = read_chart(read, query, proposed)
        if self.sent.get("format") == "csv" and not data.is_complete:
            raise TooManyChartGroups
        if "as" not in self.sent and Form.GROUPED == data.chart.form != data.chart.forms[-1]:
            data = replace(data, chart=replace(data.chart, form=Form.LINES))  # of texts like time
        self.shown = data.chart
        return data

    @property
    def title(self) -> Phrase:
        return self.shown.title if self.shown else mark_text(str(self.label))

    def describe(self) -> dict[str, Any]:
        chart, data = self.shown, self.data
        context = {"title": str(self.resource), "heading": self.title, "errors": self.errors}
        context |= {"chart": chart, "kind": self.name, "label": self.label}
        if not chart or not data:
            return context
        labels = [each.marked_label.html for each in data.series] if data.chart.split else []
        colours = [colour for colour, _dashes in STYLES]
        return context | {
            "drawing": self.drawing,
            "legend": [*zip(colours, self.areas.legend if self.areas else labels, strict=False)],
            "summary": join_phrases(" ", list(self.summarize(chart, data))).html,
            "headings": list(self.list_headings(chart, data)),
            "rows": list(self.list_rows(chart, data)),
            "unplaced": [self._describe_unplaced(chart, rows) for rows in (self.areas or ())[-2:]],
        }

    def _describe_unplaced(self, chart: ChartQuery, rows: Sequence[Figure]) -> tuple[object, ...]:
        """Count the records of values without an area, and link the first values."""
        values = list_values(chart.by, [row.key for row in rows[:_MAX_NAMED_STEPS]])
        number = format_count(sum(row.record_count for row in rows)) if rows else ""
        return number, [(each, self.link(each)) for each in values], len(rows) > len(values)

    def summarize(self, chart: ChartQuery, data: ChartData) -> Iterator[Phrase]:
        """Say what is highest and lowest of all, what is left out, and what is no real figure."""
        step = self.sent.get("per", "")
        if step and step not in {each.step for each in (chart.by, chart.split) if each}:
            text = _("There are too many groups “%(step)s”: longer steps are drawn.")
            yield compose_phrase(text, step=str(Step(step).label))
        if data.extremes:
            (lowest, *of_lowest), (highest, *of_highest) = data.extremes
            group, other = (
                join_list([value.marked_label for value in values if value.label])
                for values in (of_highest, of_lowest)
            )
            figures = {"highest": self.write(highest), "lowest": self.write(lowest)}
            text = _("The highest is %(highest)s (%(group)s), the lowest %(lowest)s (%(other)s).")
            if chart.split:  # bars on each other are higher
                text = _(
                    "The highest single value is %(highest)s (%(group)s), the lowest %(lowest)s"
                    " (%(other)s)."
                )
            yield compose_phrase(text, group=group, other=other, **figures)
        groups = data.group_count, data.group_total, data.extremes_of_hidden_groups
        named = sum(value.key != OTHERS for value in data.series)
        series = named, data.series_total, data.extremes_of_hidden_series
        for (shown, total, extremes), counted in (
            (groups, _("%(shown)s of %(total)s groups are shown.")),
            (series, _("%(shown)s of %(total)s values of %(field)s are shown.")),
        ):
            if shown < total:
                field = chart.split.column.marked_label if chart.split else ""
                counts = {"shown": format_count(shown), "total": format_count(total)}
                yield compose_phrase(counted, field=field, **counts)
            if shown < total and extremes:
                low, high = (self.write(point) for point, *_values in extremes)
                text = _("The figures of the others lie between %(low)s and %(high)s.")
                yield compose_phrase(text, low=low, high=high)
        missing = [group.value.marked_label for group in data.groups if not group.record_count]
        if missing:
            rest = [mark_text("…")] if len(missing) > _MAX_NAMED_STEPS else []
            yield compose_phrase(
                _("%(count)s of %(total)s steps have no records: %(steps)s."),
                count=format_count(len(missing)),
                total=format_count(sum(group.value.is_on_axis for group in data.groups)),
                steps=join_list(missing[:_MAX_NAMED_STEPS] + rest),
            )
        for value in (*(group.value for group in data.groups), *data.series):
            if value.incomplete:
                yield mark_text(value.incomplete)

    def write(self, point: Point) -> str:
        """Write a figure with its unit."""
        return f"{point.text} {self.shown.unit if self.shown else ''}".rstrip()

    def list_headings(self, chart: ChartQuery, data: ChartData) -> Iterator[Heading]:
        """List the headings of the table."""
        by, series = chart.by, [each.marked_label for each in data.series]
        labels = [by.label if by.group.is_logarithmic else by.column.marked_label]
        labels += series if chart.split else [chart.figure_label]
        labels += [mark_text(_("Records"))] if chart.figure != "count" else []
        yield from ((label, "", "") for label in labels)

    def list_rows(self, chart: ChartQuery, data: ChartData) -> Iterator[Row]:
        """List the rows of the page of the table."""
        for group in data.groups:
            cells = [(p.text, "", p.value < 0) if p else ("", "", False) for p in group.points]
            if chart.figure != "count":
                cells.append((format_count(group.record_count), "", False))
            yield group.value, self.link(group.value), cells

    def list_cells(self, chart: ChartQuery, data: ChartData) -> Iterator[Sequence[object]]:
        """List the names and the rows of the CSV file: values as the API has them."""
        figure = f"{chart.figure}_{chart.of.name}" if chart.of else chart.figure
        split = [chart.split.column.name] if chart.split else []
        share = ["percent"] if chart.form == Form.SHARES else []
        yield [chart.by.column.name, *split, figure, *share]
        for group in (*data.groups, *data.hidden_groups):
            for point, series in zip(group.points, data.series, strict=True):
                is_whole = type(series.key) is str and series.key != OTHERS and not series.code
                name = series.key if is_whole else series.code or series.label
                names = [str(name)] if split else []
                shares = [point and point.percent] if share else []
                yield [group.value.key, *names, point and point.value, *shares]

    def list_choices(self) -> Choices:
        """List what can be chosen."""
        measurable = list_options(self.parser.measurable)
        groupable = list_options(self.parser.groupable)
        figures, steps, forms = (
            [Option(name, str(label)) for name, label in choices]
            for choices in (FIGURES.items(), Step.choices, Form.choices)
        )
        none = Option("", _("no field"))
        return {
            "show": (_("Show"), figures if measurable else figures[:1]),
            "of": (_("of"), [none, *measurable]),
            "by": (_("by"), groupable),
            "per": (_("in steps"), [Option("", _("chosen by the field")), *steps]),
            "split": (_("split by"), [none, *groupable]),
            "as": (_("drawn as"), [Option("", _("proposed")), *forms]),
        }

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """Describe what can be chosen, with what the chart has, and propose other charts."""
        # A step or a form that was only proposed does not hold for other fields.
        proposed = {"per", "as"} - self.sent.keys()
        asked = dict(self.pairs) if self.shown else self.sent
        chosen = {name: value for name, value in asked.items() if name not in proposed}
        labels = dict(zip(TEXTS, (_("Title"), _("Unit"), _("Note")), strict=True))
        return {
            **({"present_tab": Form.MAP} if self.areas else {}),
            "choices": [
                (name, *choice, chosen.get(name, ""))
                for name, choice in self.list_choices().items()
            ],
            "texts": [
                (name, labels[name], chosen.get(name, ""), most) for name, most in TEXTS.items()
            ],
            "proposals": [
                (chart.title, QueryString((*self.question.pairs, *chart.pairs)).link)
                for chart in self.parser.propose(self.shown)
            ],
        }

    def build_drawing(self, *, is_file: bool) -> object | None:
        if not self.shown or not self.data:
            return None
        if self.areas:
            groups = self.areas.data.groups
            points = [(each.points[0], self.link(each.value)) for each in groups]
            figures = [(self.write(point) if point else "", link) for point, link in points]
            return draw_area_map(self, self.areas, figures, is_file=is_file)
        if not is_file:
            return draw_chart(self.data, self.link)
        note = [self.shown.note] if self.shown.note else []
        return draw_chart(self.data, footer=[*note, *self.describe_source()])

    def list_files(self) -> dict[str, Callable[[], File]]:
        """List them, with the figures as CSV: an empty cell for none."""
        files, chart, data = super().list_files(), self.shown, self.data
        if not chart or not data or not data.is_complete:
            return files

        def write_csv() -> File:
            lines = io.StringIO()
            rows = self.list_cells(chart, data)
            csv.writer(lines).writerows(map(_write_cell, cells) for cells in rows)
            return "text/csv; charset=utf-8", lines.getvalue()

        return {**files, "csv": write_csv}

    def link(self, *values: Value) -> str:
        """Link to the records of a mark; empty if an address cannot ask for them."""
        question, filters, pairs = self.question, self.filters, list[Pair]()
        for value in values:
            if self.page_path is None or value.conditions is None:
                return ""
            for name, text in value.conditions:
                operator, _dot, field = name.partition(".")
                # A field has one of its values, or is empty.
                if operator in {"field", EXACT} or (operator, text) == ("empty", "yes"):
                    question = question.remove(f"field.{field}", f"empty.{field}")
                filters += (In(field, (text,)),) if operator == EXACT else ()
                pairs += [(name, text)] if operator != EXACT else []
        if filters != self.filters:
            question = question.replace(*write_filters(filters))
        return f"{self.page_path}{QueryString((*question.pairs, *pairs)).query}"


def _write_cell(cell: object) -> object:
    """Write a cell of CSV: a text that a spreadsheet may calculate gets an apostrophe."""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if isinstance(cell, bool):
        return write_value(cell)
    return disarm(cell) if type(cell) is str else cell


class ChartView(DrawingView):
    template = "chart.html"
    drawing_class: ClassVar[type[Chart]] = Chart
