"""The chart of a question: its page, its drawing as SVG, and its figures as a file."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from ....downloads.text_rows import disarm
from ....messages import shorten
from ....messages.numbers import format_count
from ....search import ConsistentRead, Query
from ...analysis.errors import TooManyChartGroups
from ..drawings import DrawingView, File, Option, QuestionDrawing, list_options
from ..question import Pair, QueryString
from ..values import Phrase, compose_phrase, format_number, join_phrases, mark_text, write_language
from .data import (
    FIGURES,
    FORMS,
    GROUPED,
    LINES,
    OTHERS,
    RANGES,
    SHARES,
    STACKED,
    STEPS,
    ChartData,
    ChartParser,
    ChartQuery,
    Group,
    Value,
    read_chart,
)

#: The width of a file, the least for which labels are chosen, and that of a phone with fewer.
_WIDTH, _WIDE, _NARROW = 720, 620, 220
_HEIGHT, _LINE, _TOP, _RIGHT, _GAP = 300, 18, 8, 16, 6

#: A group of bars: its label, a bar alone, one of several, and the gap below.
_LABEL, _BAR, _SERIES_BAR, _BAR_GAP = 18, 14, 8, 9

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

#: Widths of letters in DejaVu Sans, a wide font, by the letter, or else by its kind.
_TYPE_SIZE, _LETTER_WIDTH = 12, 0.63
_WIDTHS = dict.fromkeys("ijlI.,:;'|! ", 0.35) | dict.fromkeys("frt()-[]1/", 0.45)
_WIDTHS |= dict.fromkeys("mwMW%@—WF", 0.95) | {"Mn": 0.0, "Lu": 0.72}


def measure_text(text: str) -> float:
    """Measure the width of a text, rather too wide than too narrow."""
    return _TYPE_SIZE * sum(map(_measure_letter, text))


@lru_cache(maxsize=1024)
def _measure_letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return _WIDTHS.get(letter, _WIDTHS.get(unicodedata.category(letter), _LETTER_WIDTH))


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

    The widest label beside the bars or the scale needs ``room``.
    """

    chart: ChartQuery
    groups: Sequence[Group]
    series: Sequence[DrawnSeries]
    title: str
    link: Callable[[Value, Value], str]
    lanes: int
    height: int = _HEIGHT
    room: float = 0.0
    lines: list[tuple[str, str, str, str]] = field(default_factory=list)
    labels: SafeString = field(default_factory=SafeString)

    @abstractmethod
    def draw(self, bars: Sequence[Sequence[_Bar]], scale: _Scale) -> None:
        """Draw the bars of each group, and what is around them."""

    @property
    @abstractmethod
    def margins(self) -> tuple[int, int]:
        """What is left and right of the drawing in a file."""

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """Where the drawing is in a file, below a title and a legend, and the size of the file."""
        left, right = self.margins
        top = _LINE * (len(self.series) + 2)
        return left, top, left + _WIDTH + right, top + self.height + _TOP

    @property
    def size(self) -> str:
        """The class of the style sheet that has the room on a page."""
        return next((name for name, most in _ROOMS.items() if self.room <= most), "widest")

    def add_mark(self, group: Group, number: int, shape: str) -> None:
        """Add a bar or a point of a group to a series, as the beginning of an SVG element."""
        each, point = self.series[number], group.points[number]
        words = [group.value.label, each.value.label, point.text if point else ""]
        lang = write_language(group.value.language or each.value.language)
        text = escape(" · ".join(filter(None, words)))
        mark = f"<{shape}{lang}><title>{text}</title></{shape.partition(' ')[0]}>"
        if link := self.link(group.value, each.value):
            mark = f'<a href="{escape(link)}" tabindex="-1">{mark}</a>'
        each.marks += SafeString(mark)


def draw_chart(
    chart: ChartQuery, data: ChartData, title: str, link: Callable[[Value, Value], str]
) -> Drawing | None:
    """Draw a chart, whose marks have links; None if there is nothing to draw."""
    groups = data.groups  # those without a place on the axis come last
    if not any(point for group in groups for point in group.points):
        return None
    series = [DrawnSeries(value, *style) for value, style in zip(data.series, STYLES, strict=False)]
    lanes = len(series) if chart.form == GROUPED else 1
    drawing_class = BarDrawing if chart.by.has_categories else ColumnDrawing
    drawing = drawing_class(chart, groups, series, title, link, lanes)
    bars: list[list[_Bar]] = []
    for group in groups:
        # Bars on each other or beside each other; of several, none is empty.
        points = enumerate(group.points)
        can_be_empty = chart.form in {"", LINES}
        sizes = [(n, point.size) for n, point in points if point and (point.size or can_be_empty)]
        whole = sum(abs(size) for _number, size in sizes) / 100 if chart.form == SHARES else 1.0
        own, ends = list[_Bar](), {True: 0.0, False: 0.0}
        for number, size in sizes:
            start = ends[size < 0] if chart.form in {STACKED, SHARES} else 0.0
            ends[size < 0] = start + size / (whole or 1.0)
            own.append((number, start, ends[size < 0]))
        bars.append(own)
    unit, least = "%" if chart.form == SHARES else "", 1.0 if chart.figure == "count" else _MIN_STEP
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
        low, high = min(0.0, *sizes), min(max(0.0, *sizes), 100.0 if unit else math.inf)
        high = high if low < high else 1.0
        rough = max((high - low) / _SCALE_LINES, least)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next((each * power for each in (1, 2, 5) if each * power >= rough), 10 * power)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, step, unit)

    def place(self, size: float) -> float:
        return (size - self.low) / (self.high - self.low)

    @property
    def lines(self) -> Iterator[tuple[int, float, str]]:
        first, last = round(self.low / self.step), round(self.high / self.step)
        for number in range(first, last + 1):
            text = format_number(f"{number * self.step:.12g}".replace("e+", "e"))
            yield number, self.place(number * self.step), f"{text}{self.unit}"


# Drawings -----------------------------------------------------------------------------------------


class BarDrawing(Drawing):
    """Bars of categories, from the top to the bottom."""

    @property
    def margins(self) -> tuple[int, int]:
        return 12, max(80, math.ceil(self.room))

    def draw(self, bars: Sequence[Sequence[_Bar]], scale: _Scale) -> None:
        lanes = self.lanes
        thickness = _BAR if lanes == 1 else _SERIES_BAR
        row = _LABEL + thickness * lanes + _BAR_GAP
        bottom = row * len(bars)
        self.height = bottom + _LINE + 4
        for number, place, text in scale.lines:
            at, anchor = write_share(place), "middle" if place else "start"
            self.lines.append((at, at, "0", str(bottom)))
            self.labels += write_text(at, bottom + _LINE, text, anchor, _MINOR * (number % 2))
        for number, (group, own) in enumerate(zip(self.groups, bars, strict=True)):
            y, label = number * row + _LABEL, group.value.label
            while measure_text(label) > _NARROW + 100:
                label = shorten(label, len(label) - 2)
            lang = write_language(group.value.language)
            self.labels += write_text("0", y - 5, label, "start", lang)
            for position, *ends in own:
                left, right = sorted(map(scale.place, ends))
                top = y + (position * thickness if lanes > 1 else 0)
                box = write_box(left, top, right - left, thickness - (lanes > 1))
                self.add_mark(group, position, f"rect {box}")
            if lanes == 1 and own and not scale.unit:
                total = format_number(f"{sum(end - start for _number, start, end in own):.15g}")
                text = (
                    point.text if (point := group.points[0]) and len(group.points) == 1 else total
                )
                right = max(scale.place(max(start, end)) for _number, start, end in own)
                self.room = max(self.room, measure_text(f"\u2002{text}"))
                self.labels += write_text(write_share(right), y + 11, f"\u2002{text}", "start")


class ColumnDrawing(Drawing):
    """Columns or lines along an axis, from the left to the right."""

    @property
    def margins(self) -> tuple[int, int]:
        return max(70, math.ceil(self.room)), _RIGHT

    def draw(self, bars: Sequence[Sequence[_Bar]], scale: _Scale) -> None:
        bottom = _HEIGHT - 2 * _LINE
        groups, step = self.groups, 1 / len(bars)
        gap = min(0.005, step / 5)

        def place(size: float) -> float:
            return _TOP + (1 - scale.place(size)) * (bottom - _TOP)

        for _number, share, text in scale.lines:
            y = _TOP + (1 - share) * (bottom - _TOP)
            self.lines.append(("0", "100%", write_coordinate(y), write_coordinate(y)))
            self.labels += write_text("-6", y + 4, text, "end")
            self.room = max(self.room, measure_text(text) + 10)
        middle = 0.0 if self.chart.by.step == RANGES else 0.5
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
        for number, (group, own) in enumerate(zip(groups, bars, strict=True)):
            for position, start, end in own:
                if self.chart.form == LINES:
                    x, y = (number + 0.5) * step, place(end)
                    at = f"{write_coordinate(x * _WIDTH)} {write_coordinate(y)}"
                    # A line is interrupted where a group has no figure; one of no length is a dot.
                    before = groups[number - 1].points[position] if number else None
                    follows = before and group.value.is_on_axis
                    self.series[position].path += f"L{at}" if follows else f"M{at}h0"
                    if len(groups) <= _MAX_MARKS:
                        at = f'cx="{write_share(x)}" cy="{write_coordinate(y)}" r="4"'
                        self.add_mark(group, position, f"circle {at}")
                    continue
                top, low = sorted([place(start), place(end)])
                width = (step - gap) / self.lanes
                left = number * step + gap / 2 + (position * width if self.lanes > 1 else 0)
                self.add_mark(group, position, f"rect {write_box(left, top, width, low - top)}")


#: Letters of the label of a month, a year and so on, and how many months are between two labels.
_CALENDAR = ((7, 1), (7, 3), (7, 6), *((4, 12 * years) for years in (1, 2, 5, 10, 20, 50, 100)))


def _choose_labels(drawing: Drawing) -> dict[int, str]:
    """Choose labels that fit: all, first months of periods, or each n-th; of ranges low ends."""
    groups = [group.value for group in drawing.groups if group.value.is_on_axis]
    labels = {number: value.label.partition("–")[0] for number, value in enumerate(groups)}
    every = max(1, math.ceil(_measure_row(labels) / _WIDE))
    is_calendar = every > 1 and drawing.chart.by.group.interval not in {"", "week"}
    for length, months in _CALENDAR if is_calendar else ():
        firsts = {
            number: labels[number][:length]
            for number, value in enumerate(groups)
            if value.bounds and (low := value.bounds[0]).day == 1 and not low.hour
            if (low.year * 12 + low.month - 1) % months == 0
        }
        if len(firsts) > 1 and _measure_row(firsts) <= _WIDE:
            return firsts
    return {number: labels[number] for number in range(0, len(groups), every)}


def _measure_row(labels: Mapping[int, str]) -> float:
    return len(labels) * (max(map(measure_text, labels.values()), default=0.0) + _GAP)


def write_text(x: str, y: float, text: str, anchor: str, attributes: str = "") -> SafeString:
    """Write a text at a point, which is its ``start``, its ``middle`` or its ``end``."""
    place = f'x="{x}" y="{write_coordinate(y)}" text-anchor="{anchor}"'
    return SafeString(f"<text {place}{attributes}>{escape(text)}</text>")


def write_coordinate(number: float) -> str:
    """Write a coordinate with a point, whatever the language."""
    return f"{number:.1f}".removesuffix(".0")


def write_share(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def write_box(x: float, y: float, width: float, height: float) -> str:
    top, size = write_coordinate(y), write_coordinate(height)
    return f'x="{write_share(x)}" y="{top}" width="{write_share(width)}" height="{size}"'


# The chart and its page ---------------------------------------------------------------------------


class Chart(QuestionDrawing[ChartQuery, ChartData]):
    name = "chart"
    parser_class = ChartParser
    formats = ("svg", "png", "csv")

    def read(self, read: ConsistentRead, query: Query, shown: ChartQuery) -> ChartData:
        """Read the figures, in the proposed steps where the chosen ones are too many."""
        try:
            return read_chart(read, query, shown)
        except TooManyChartGroups:
            chosen = {name: value for name, value in shown.pairs if name != "per"}
            self.shown = proposed = self.parser.parse(chosen)
            if proposed in (shown, None):
                raise
            return read_chart(read, query, proposed)

    @property
    def title(self) -> Phrase:
        return self.shown.title if self.shown else mark_text(_("Chart"))

    def describe(self) -> dict[str, Any]:
        chart, data = self.shown, self.data
        context = {"title": str(self.resource), "errors": self.errors, "chart": chart}
        if not chart or not data:
            return context
        series = [mark_text(each.label, each.language) for each in data.series]
        group_count, series_count = len(data.groups), len(data.series)
        points = [
            (point.size, point.text, (group.value, value))
            for group in data.groups
            for point, value in zip(group.points, data.series, strict=True)
            if point is not None
        ]
        summary = []
        if points:
            _size, highest, of_highest = max(points, key=itemgetter(0))
            _size, lowest, of_lowest = min(points, key=itemgetter(0))
            has_others = any(each.key == OTHERS for each in data.series)
            is_cut = has_others or data.series_total > series_count
            text = (
                _(
                    "Of those shown, the highest is %(highest)s (%(group)s), the lowest %(lowest)s"
                    " (%(other)s)."
                )
                if is_cut or data.group_total > group_count
                else _("The highest is %(highest)s (%(group)s), the lowest %(lowest)s (%(other)s).")
            )
            names = [
                join_phrases(
                    ", ",
                    [mark_text(value.label, value.language) for value in values if value.label],
                )
                for values in (of_highest, of_lowest)
            ]
            summary.append(
                compose_phrase(text, highest=highest, group=names[0], lowest=lowest, other=names[1])
            )
        if data.group_total > group_count:
            text = _("Only the %(shown)s largest of %(total)s groups are shown.")
            total = format_count(data.group_total)
            summary.append(compose_phrase(text, shown=format_count(group_count), total=total))
        if chart.split and not chart.is_additive and data.series_total > series_count:
            summary.append(
                compose_phrase(
                    _("Only %(shown)s of %(total)s values of %(field)s are shown."),
                    shown=format_count(series_count),
                    total=format_count(data.series_total),
                    field=chart.split.column.marked_label,
                )
            )
        return context | {
            "drawing": self.drawing,
            "legend": [
                (colour, label.html)
                for (colour, _dashes), label in zip(STYLES, series, strict=False)
                if chart.split
            ],
            "summary": join_phrases(" ", summary).html,
            "series": [each.html for each in (series if chart.split else [chart.figure_label])],
            "shows_records": chart.figure != "count",
            "rows": [
                (group, self._link(group.value), format_count(group.record_count))
                for group in data.groups
            ],
        }

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """Describe what can be chosen, with what the chart has, and propose other charts."""
        # A step or a form that was only proposed does not hold for other fields.
        proposed = {"per", "as"} - self.sent.keys()
        chosen = {name: value for name, value in self.pairs if name not in proposed}
        measurable = list_options(self.parser.measurable)
        groupable = list_options(self.parser.groupable)
        figures, steps, forms = (
            tuple(Option(name, str(label)) for name, label in table.items())
            for table in (FIGURES, STEPS, FORMS)
        )
        none = Option("", _("no field"))
        choices = [
            ("show", _("Show"), figures if measurable else figures[:1]),
            ("of", _("of"), (none, *measurable)),
            ("by", _("by"), groupable),
            ("per", _("in steps"), (Option("", _("chosen by the field")), *steps)),
            ("split", _("split by"), (none, *groupable)),
            ("as", _("drawn as"), (Option("", _("proposed")), *forms)),
        ]
        return {
            "choices": [(*each, chosen.get(each[0], "")) for each in choices],
            "proposals": [
                (chart.title, QueryString((*self.question.pairs, *chart.pairs)).link)
                for chart in self.parser.propose(self.shown)
            ],
        }

    def build_drawing(self, *, is_file: bool) -> Drawing | None:
        if not self.shown or not self.data:
            return None
        link = (lambda *_values: "") if is_file else self._link
        return draw_chart(self.shown, self.data, self.title.text, link)

    def list_files(self) -> dict[str, Callable[[], File]]:
        """List them, with the figures: values as the API has them, an empty cell for none."""
        files, chart, data = super().list_files(), self.shown, self.data
        if not chart or not data:
            return files

        def write_csv() -> File:
            lines = io.StringIO()
            writer = csv.writer(lines)
            figure = f"{chart.figure}_{chart.of.name}" if chart.of else chart.figure
            split = [chart.split.column.name] if chart.split else []
            # A text that a spreadsheet may calculate gets an apostrophe.
            writer.writerow(map(disarm, [chart.by.column.name, *split, figure]))
            for group in data.groups:
                key = "" if group.value.key is None else group.value.key
                key = disarm(key) if type(key) is str else key
                for point, series in zip(group.points, data.series, strict=True):
                    names = [disarm(series.label)] if chart.split else []
                    writer.writerow([key, *names, "" if point is None else point.digits])
            return "text/csv; charset=utf-8", lines.getvalue()

        return {**files, "csv": write_csv}

    def _link(self, *values: Value) -> str:
        """Link to the records of a mark; empty if an address cannot ask for them."""
        own: list[Pair] = []
        for value in values:
            if self.page_path is None or value.conditions is None:
                return ""
            own += value.conditions
        question = self.question
        for name, text in own:
            operator, _dot, field = name.partition(".")
            # A field has one of its values, or is empty.
            if operator == "field" or (operator, text) == ("empty", "yes"):
                question = question.remove(f"field.{field}", f"empty.{field}")
        return f"{self.page_path}{QueryString((*question.pairs, *own)).query}"


class ChartView(DrawingView):
    template = "chart.html"
    drawing_class = Chart
