"""Draws the points of two fields; where they are dense, the circle of a cell is larger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ..messages.numbers import format_count
from .chart_data import ChartData, Group
from .chart_drawing import (
    HEIGHT,
    LETTER,
    LINE,
    MARGIN,
    WIDTH,
    Dot,
    Drawing,
    Label,
    Scale,
    write_coordinate,
)
from .chart_query import ChartQuery
from .scatter_data import compute_place
from .typed_values import NUMBERS

_POINT = 4.0
_MIN_CELL, _MAX_CELL = 3.0, 11.0

#: Days between lines, about as many as there are numbers on an axis.
_DATE_LINES = 5


def draw_scatter(data: ChartData, chart: ChartQuery) -> Drawing | None:
    """Draw points; None if there is none."""
    places = [
        (place, point.size, group)
        for group in data.groups
        for point in group.points
        if point and (place := compute_place(chart.by, group.key)) is not None
    ]
    if not places:
        return None
    drawing = Drawing(chart.title.text)
    across = Scale.over(min(each[0] for each in places), max(each[0] for each in places))
    up = Scale.over(min(each[1] for each in places), max(each[1] for each in places))
    labels = list(up.lines)
    left = max(len(text) for _value, text in labels) * LETTER + MARGIN + 6
    right, top, bottom = WIDTH - 2 * MARGIN, MARGIN, HEIGHT - 2 * LINE
    for value, text in labels:
        height = bottom - up.place(value) * (bottom - top)
        drawing.lines.append(
            f"M{write_coordinate(left)} {write_coordinate(height)}H{write_coordinate(right)}"
        )
        beside = Label(write_coordinate(left - 6), write_coordinate(height + 4), text, "end")
        drawing.labels.append(beside)
    is_number = chart.by.type in NUMBERS
    for value, text in across.lines if is_number else _list_days(across):
        x = left + across.place(value) * (right - left)
        drawing.lines.append(f"M{write_coordinate(x)} {top}V{bottom}")
        half = len(text) * LETTER / 2
        middle = max(half, min(x, WIDTH - half))
        drawing.labels.append(
            Label(write_coordinate(middle), write_coordinate(bottom + LINE), text, "middle")
        )
    largest = max(group.record_count for _x, _y, group in places)
    for place, size, group in places:
        x, y = left + across.place(place) * (right - left), bottom - up.place(size) * (bottom - top)
        radius = _choose_radius(group.record_count, largest)
        drawing.dots.append(
            Dot(
                write_coordinate(x), write_coordinate(y), write_coordinate(radius), _describe(group)
            )
        )
    return drawing


def _choose_radius(count: int, largest: int) -> float:
    """Choose the radius of a cell, whose area grows with its records."""
    if largest == 1:
        return _POINT
    return _MIN_CELL + (_MAX_CELL - _MIN_CELL) * math.sqrt(count / largest)


def _describe(group: Group) -> str:
    texts = [group.label, *(point.text for point in group.points if point)]
    if group.bounds:
        texts.append(format_count(group.record_count))
    return " · ".join(texts)


def _list_days(scale: Scale) -> Iterator[tuple[float, str]]:
    """List lines of an axis of days, with the day of each."""
    step = max(1, math.ceil((scale.high - scale.low) / _DATE_LINES))
    for number in range(math.ceil(scale.low), math.floor(scale.high) + 1, step):
        try:
            day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)
        except OverflowError:
            continue
        yield number, f"{day:%Y-%m-%d}"
