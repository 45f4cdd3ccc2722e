"""Draw a chart as SVG: compute the places, which ``chart.svg`` writes (``docs/decisions/0030``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ....messages import shorten
from ..languages import write_language
from ..table.records import format_number
from .data import ChartData, Group, Series

_WIDTH, _HEIGHT = 720, 360
_LETTER = 7.2
_LINE = 18
_MARGIN = 12

#: The room of the labels beside bars at most, and letters of a label there and in the legend.
_MAX_LABELS_WIDTH = 220
_MAX_LEGEND_LETTERS = 22

_LEGEND_COLUMNS = 4
_BAR, _BAR_GAP = 16, 8
_SERIES_BAR = 9

#: Labels below columns at most, and lines of the scale.
_MAX_STEP_LABELS = 9
_SCALE_LINES = 5
_MIN_STEP = 1e-300

#: Colours that differ for those who see fewer, on white; the style sheet has those for the dark.
_COLOURS = (
    "#0b5cad", "#c75000", "#00795a", "#b5478f", "#8a6d00", "#6b4fbb", "#6f6f6f", "#a3322a",
)  # fmt: skip


#: Lines of the fifth series on are dashed.
_DASHES = ("", "", "", "", "6 3", "2 3", "8 3 2 3", "4 4")


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a point: ``anchor`` is ``start``, ``middle`` or ``end``."""

    x: str
    y: str
    text: str
    anchor: str = "start"
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle of a series, and what it says when it is pointed at."""

    series: int
    colour: str
    x: str
    y: str
    width: str
    height: str
    text: str
    lang: str


@dataclass(frozen=True, slots=True)
class Curve:
    """The line of a series, as an SVG path; ``dashes`` distinguish it beside its colour."""

    series: int
    colour: str
    path: str
    dashes: str


@dataclass(slots=True)
class Drawing:
    """Everything that the template writes, in a box of ``width`` and ``height``."""

    title: str
    width: int = _WIDTH
    height: int = _HEIGHT
    lines: list[str] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)

    def add_label(
        self, x: float, y: float, text: str, anchor: str = "start", language: str = ""
    ) -> None:
        """Add a text at a point."""
        lang = write_language(language)
        self.labels.append(Label(write_coordinate(x), write_coordinate(y), text, anchor, lang))

    def add_bar(self, series: int, box: Sequence[float], text: str, language: str) -> None:
        """Add a rectangle of a series, from 0; its box is x, y, width and height."""
        x, y, width, height = map(write_coordinate, box)
        lang = write_language(language)
        self.bars.append(Bar(series + 1, _COLOURS[series], x, y, width, height, text, lang))


def draw_chart(data: ChartData, title: str, *, has_categories: bool) -> Drawing | None:
    """Draw a chart; None if there is nothing to draw."""
    groups = [group for group in data.groups if group.is_on_axis]
    if not any(point for group in groups for point in group.points):
        return None
    drawing = Drawing(title)
    top = _draw_legend(drawing, data.series)
    scale = _Scale.of(groups)
    if has_categories:
        _draw_bars(drawing, groups, data.series, scale, top)
    else:
        _draw_steps(drawing, groups, data.series, scale, top)
    return drawing


def _draw_legend(drawing: Drawing, series: Sequence[Series]) -> int:
    """Draw the names of the series, and return where the chart begins."""
    if len(series) <= 1:  # one has no name
        return _MARGIN
    width = (_WIDTH - 2 * _MARGIN) // _LEGEND_COLUMNS
    for position, each in enumerate(series):
        row, column = divmod(position, _LEGEND_COLUMNS)
        x, y = _MARGIN + column * width, _MARGIN + row * _LINE
        drawing.add_bar(position, (x, y, 11, 11), each.label, each.language)
        label = shorten(each.label, _MAX_LEGEND_LETTERS)
        drawing.add_label(x + 17, y + 10, label, language=each.language)
    return _MARGIN + (len(series) - 1) // _LEGEND_COLUMNS * _LINE + 2 * _LINE


# The scale ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """The values from ``low`` to ``high``, with lines ``step`` apart."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, groups: Sequence[Group]) -> _Scale:
        """Choose a scale that includes 0, whose lines are multiples of 1, 2 or 5."""
        sizes = [point.size for group in groups for point in group.points if point]
        low, high = min(0.0, *sizes), max(0.0, *sizes)
        high = high if low < high else 1.0
        rough = max((high - low) / _SCALE_LINES, _MIN_STEP)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next((each * power for each in (1, 2, 5) if each * power >= rough), 10 * power)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, step)

    def place(self, size: float) -> float:
        """Return the place of a value, from 0 to 1."""
        return (size - self.low) / (self.high - self.low)

    @property
    def lines(self) -> Iterator[tuple[float, str]]:
        """The values of the lines, and their labels."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        for number in range(first, last + 1):
            value = number * self.step
            yield value, format_number(f"{value:.10g}".replace("e+", "e"))


# Bars of categories, from the top to the bottom ---------------------------------------------------


def _draw_bars(
    drawing: Drawing, groups: Sequence[Group], series: Sequence[Series], scale: _Scale, top: int
) -> None:
    thickness = _BAR if len(series) == 1 else _SERIES_BAR
    row = thickness * len(series) + _BAR_GAP
    letters = max(len(group.label) for group in groups)
    left = min(_MAX_LABELS_WIDTH, letters * _LETTER) + _MARGIN
    # Room for the figures behind the bars.
    right = _WIDTH - 80
    bottom = top + row * len(groups)
    drawing.height = bottom + 2 * _LINE

    def place(size: float) -> float:
        return left + 8 + scale.place(size) * (right - left - 8)

    for value, text in scale.lines:
        x = place(value)
        drawing.lines.append(f"M{write_coordinate(x)} {top}V{bottom}")
        drawing.add_label(x, bottom + _LINE, text, "middle")
    for number, group in enumerate(groups):
        y = top + number * row + _BAR_GAP / 2
        middle = y + thickness * len(series) / 2 + 4
        label = shorten(group.label, round((left - _MARGIN) / _LETTER))
        drawing.add_label(left, middle, label, "end", group.language)
        for position, point in enumerate(group.points):
            if point is None:
                continue
            start, end = sorted([place(0), place(point.size)])
            height = thickness - (1 if len(series) > 1 else 0)
            drawing.add_bar(
                position,
                (start, y + position * thickness, end - start, height),
                _describe(group, series[position].label, point.text),
                group.language or series[position].language,
            )
            if len(series) == 1:
                drawing.add_label(end + 5, middle, point.text)


# Columns and lines, from the left to the right ----------------------------------------------------


def _draw_steps(
    drawing: Drawing, groups: Sequence[Group], series: Sequence[Series], scale: _Scale, top: int
) -> None:
    lines = list(scale.lines)
    left = max(len(text) for _value, text in lines) * _LETTER + _MARGIN + 6
    drawing.height = top + _HEIGHT
    bottom = drawing.height - 2 * _LINE
    step = (_WIDTH - _MARGIN - left) / len(groups)

    def place(size: float) -> float:
        return bottom - scale.place(size) * (bottom - top)

    for value, text in lines:
        y = place(value)
        drawing.lines.append(f"M{write_coordinate(left)} {write_coordinate(y)}H{_WIDTH - _MARGIN}")
        drawing.add_label(left - 6, y + 4, text, "end")
    widest = max(len(group.label) for group in groups) * _LETTER + 8
    most = min(_MAX_STEP_LABELS, max(1, int((_WIDTH - left) / widest)))
    every = -(-len(groups) // most)
    for number in range(0, len(groups), every):
        text = groups[number].label
        # The last label may be wider than its column.
        middle = min(left + (number + 0.5) * step, _WIDTH - len(text) * _LETTER / 2)
        drawing.add_label(middle, bottom + _LINE, text, "middle", groups[number].language)
    if len(series) > 1:
        _draw_curves(drawing, groups, left, step, place)
        return
    gap = min(4.0, step / 5)
    for number, group in enumerate(groups):
        if point := group.points[0]:
            top_end, low_end = sorted([place(0), place(point.size)])
            box = (left + number * step + gap / 2, top_end, step - gap, low_end - top_end)
            drawing.add_bar(0, box, _describe(group, "", point.text), group.language)


def _draw_curves(
    drawing: Drawing,
    groups: Sequence[Group],
    left: float,
    step: float,
    place: Callable[[float], float],
) -> None:
    """Draw a line for each series, interrupted where a group has no figure."""
    for position in range(len(groups[0].points)):
        path, is_drawn = "", False
        for number, group in enumerate(groups):
            point = group.points[position]
            if point is not None:
                x = write_coordinate(left + (number + 0.5) * step)
                y = write_coordinate(place(point.size))
                # A line of no length is a dot.
                path += f"L{x} {y}" if is_drawn else f"M{x} {y}h0"
            is_drawn = point is not None
        drawing.curves.append(Curve(position + 1, _COLOURS[position], path, _DASHES[position]))


def _describe(group: Group, series: str, text: str) -> str:
    return " · ".join(filter(None, [group.label, series, text]))


def write_coordinate(number: float) -> str:
    """Write a coordinate with a point, whatever the language."""
    return f"{number:.1f}".removesuffix(".0")
