"""Draw a map as SVG: a degree of longitude is as wide as in the middle of the map."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.utils.safestring import SafeString
from django.utils.translation import get_language, pgettext

from ..charts.drawing import write_coordinate, write_text
from ..languages import write_language
from ..table.records import format_number
from .data import GRID_CELLS, MapData, Place
from .geometry import MAX_LATITUDE, MAX_LONGITUDE, Path, Position
from .outlines import SCALE, list_layers, read_names

_WIDTH = 720
_MIN_HEIGHT, _MAX_HEIGHT = 300, 620

#: Around the places, as a share of their span; and the least span, in degrees, also of one place.
_PADDING = 0.06
_MIN_SPAN, _SPAN_OF_ONE = 0.002, 8.0

_KILOMETRES_PER_DEGREE = 111.195
_MIN_COSINE = 0.02

#: Lines of one direction, and degrees between them.
_MAX_LINES = 8
_STEPS = (60, 45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)

#: The widest bar of the scale.
_MAX_BAR = 180

_POINT = 4.5
#: The radius of the smallest cluster, and of the largest, which depends on the cells of the grid.
_MIN_CLUSTER, _MIN_LARGEST, _MAX_CLUSTER = 6.0, 12.0, 19.0
_SHARE_OF_ROOM = 0.6
#: Half the width of a letter of a label, which is drawn if it fits into its circle.
_HALF_LETTER = 3.5

#: Pixels of the whole equator at zoom 0 of tiles.
_TILE = 256
#: A drawing shows names a little earlier than tiles do, and so many at most.
_NEARER, _MAX_NAMES = 0.7, 30

#: The room of a label above its line.
_LINE = 16
_THOUSAND = 1_000

#: Positions nearer than this to the one before are left out.
_MIN_DISTANCE = 0.75


@dataclass(frozen=True, slots=True)
class Mark:
    """A place as drawn: a circle, or a path of lines or areas; ``label`` is within the circle."""

    text: str
    link: str
    x: str = ""
    y: str = ""
    radius: str = ""
    label: str = ""
    path: str = ""
    is_area: bool = False


@dataclass(slots=True)
class MapDrawing:
    """
    Everything that the template writes, in a box of ``width`` and ``height``.

    ``lang`` is that of the places; ``layers`` of the outlines have a path in a file alone.
    """

    title: str
    lang: str
    height: int
    width: int = _WIDTH
    lines: list[str] = field(default_factory=list)
    labels: SafeString = field(default_factory=SafeString)
    marks: list[Mark] = field(default_factory=list)
    bar: str = ""
    layers: Sequence[tuple[str, str]] = ()
    outlines_link: str = ""
    outlines: str = ""
    outline_width: str = ""
    names: SafeString = field(default_factory=SafeString)
    cities: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Projection:
    """Degrees to coordinates of the drawing."""

    west: float
    north: float
    east: float
    south: float
    scale: float
    cosine: float

    def project(self, position: Position) -> tuple[float, float]:
        longitude, latitude = position
        return (longitude - self.west) * self.scale * self.cosine, (
            self.north - latitude
        ) * self.scale


def draw_map(data: MapData, title: str) -> MapDrawing | None:
    """Draw a map; None without places."""
    positions = [each for place in data.places for path in place.paths for each in path.positions]
    if not positions:
        return None
    projection, height = _choose_projection(positions)
    drawing = MapDrawing(title, write_language(data.title_language), height)
    x, y = projection.project((0, 0))
    across, down = (projection.scale * each / SCALE for each in (projection.cosine, 1))
    drawing.outlines = f"matrix({across:.6g} 0 0 {down:.6g} {x:.6g} {y:.6g})"
    drawing.outline_width = f"{1 / math.sqrt(across * down):.3g}"
    _draw_lines(drawing, projection)
    _draw_scale(drawing, projection)
    if "names" in list_layers():
        _draw_names(drawing, projection)
    largest = max(place.count for place in data.places)
    # Clusters side by side hardly hide each other.
    sides = zip(*map(projection.project, positions), strict=True)
    room = min(max(side) - min(side) for side in sides) / GRID_CELLS
    most = max(_MIN_LARGEST, min(_MAX_CLUSTER, _SHARE_OF_ROOM * room))
    drawing.marks = [
        mark
        for place in data.places
        for mark in _draw_place(place, projection.project, largest, most)
    ]
    # What is small is not below what is large.
    drawing.marks.sort(key=lambda mark: (not mark.is_area, bool(mark.radius)))
    return drawing


def _choose_projection(positions: Sequence[Position]) -> tuple[_Projection, int]:
    """Choose the part of the globe that shows all positions, and the height of the drawing."""
    xs, ys = zip(*positions, strict=True)
    west, east = min(xs), max(xs)
    south, north = min(ys), max(ys)
    cosine = max(math.cos(math.radians((south + north) / 2)), _MIN_COSINE)
    least = _MIN_SPAN if (west, south) != (east, north) else _SPAN_OF_ONE
    width = max((east - west) * (1 + 2 * _PADDING), least)
    height = max((north - south) * (1 + 2 * _PADDING), least)
    shape = _WIDTH * height / (width * cosine)
    drawn_height = round(min(max(shape, _MIN_HEIGHT), _MAX_HEIGHT))
    scale = min(_WIDTH / (width * cosine), drawn_height / height)
    width, height = _WIDTH / (scale * cosine), drawn_height / scale
    west, south = (west + east - width) / 2, (south + north - height) / 2
    return (
        _Projection(west, south + height, west + width, south, scale, cosine),
        drawn_height,
    )


# Outlines -----------------------------------------------------------------------------------------


def _draw_names(drawing: MapDrawing, projection: _Projection) -> None:
    """Write the names that have room, above the dots of cities."""
    zoom = math.log2(projection.scale * projection.cosine * 360 / _TILE) + _NEARER
    # The edges have degrees, and a corner has the scale.
    room = (44, 4, _WIDTH - 4, drawing.height - 20)
    taken: list[tuple[float, ...]] = [(_WIDTH - _MAX_BAR - 24, 0, math.inf, 40)]
    for name in read_names((get_language() or "")[:2]):
        if name.zoom > zoom or len(taken) > _MAX_NAMES:
            break
        x, y = projection.project(name.position)
        half = len(name.text) * _HALF_LETTER
        box = (x - half, y - 10, x + half, y + 8)
        is_within = box[0] > room[0] and box[1] > room[1] and box[2] < room[2] and box[3] < room[3]
        if not is_within or any(
            box[0] < other[2] and box[2] > other[0] and box[1] < other[3] and box[3] > other[1]
            for other in taken
        ):
            continue
        taken.append(box)
        if name.is_city:
            drawing.cities.append((write_coordinate(x), write_coordinate(y)))
        at, lang = (write_coordinate(x), y - 4 * name.is_city), write_language(name.language)
        drawing.names += write_text(*at, name.text, "middle", lang)


# Lines and scale ----------------------------------------------------------------------------------


def _draw_lines(drawing: MapDrawing, projection: _Projection) -> None:
    """Draw the lines of latitude and longitude, and their degrees at the edges."""
    span = max(projection.east - projection.west, projection.north - projection.south)
    step = next((each for each in reversed(_STEPS) if span / each <= _MAX_LINES), _STEPS[0])
    for degrees in _list_multiples(projection.west, projection.east, step, MAX_LONGITUDE):
        x = write_coordinate(projection.project((degrees, 0))[0])
        drawing.lines.append(f"M{x} 0V{drawing.height}")
        text = _write_degrees(degrees, pgettext("longitude", "E"), pgettext("longitude", "W"))
        drawing.labels += write_text(x, drawing.height - 5, text, "middle")
    for degrees in _list_multiples(projection.south, projection.north, step, MAX_LATITUDE):
        y = projection.project((0, degrees))[1]
        drawing.lines.append(f"M0 {write_coordinate(y)}H{_WIDTH}")
        if y < _LINE:
            continue
        text = _write_degrees(degrees, pgettext("latitude", "N"), pgettext("latitude", "S"))
        drawing.labels += write_text("4", y - 3, text, "start")


def _list_multiples(low: float, high: float, step: float, limit: int) -> Iterator[float]:
    low, high = max(low, -limit), min(high, limit)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield number * step


def _write_degrees(degrees: float, positive: str, negative: str) -> str:
    digits = format_number(f"{abs(round(degrees, 6)):g}")
    return f"{digits}° {positive if degrees > 0 else negative}" if degrees else f"{digits}°"


def _draw_scale(drawing: MapDrawing, projection: _Projection) -> None:
    """Draw a scale bar of a round length, exact in the middle of the map."""
    kilometre = projection.scale / _KILOMETRES_PER_DEGREE
    longest = _MAX_BAR / kilometre
    power = 10.0 ** math.floor(math.log10(longest))
    length = next(each * power for each in (5, 2, 1) if each * power <= longest * 1.0000001)
    start, y = _WIDTH - 12 - length * kilometre, 16
    drawing.bar = f"M{write_coordinate(start)} {y - 5}v5H{_WIDTH - 12}v-5"
    if length < 1:
        text = f"{format_number(f'{length * _THOUSAND:.10g}')} m"
    else:
        text = f"{format_number(f'{length:.10g}')} km"
    drawing.labels += write_text(str(_WIDTH - 12), y + 14, text, "end")


# Places -------------------------------------------------------------------------------------------


def _draw_place(
    place: Place,
    project: Callable[[Position], tuple[float, float]],
    largest: int,
    most: float,
) -> Iterator[Mark]:
    """Draw a place; the area of a cluster grows with its records, up to a radius."""
    share = math.sqrt(place.count / largest)
    radius = _MIN_CLUSTER + (most - _MIN_CLUSTER) * share if largest > 1 else _POINT
    count = _write_count(place.count) if largest > 1 else ""
    label = count if len(count) * _HALF_LETTER <= radius else ""
    text = f"{place.title} · {place.position}"
    drawn: dict[bool, str] = {}
    for path in place.paths:
        positions = _simplify(map(project, path.positions))
        if len(positions) > 1:
            drawn[path.is_area] = drawn.get(path.is_area, "") + _write_path(path, positions)
            continue
        x, y = map(write_coordinate, positions[0])
        yield Mark(text, place.link, x, y, write_coordinate(radius), label)
    for is_area, drawn_path in drawn.items():
        yield Mark(text, place.link, path=drawn_path, is_area=is_area)


def _simplify(positions: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out positions that cannot be told from the one before."""
    kept: list[tuple[float, float]] = []
    for each in positions:
        if not kept or math.dist(each, kept[-1]) >= _MIN_DISTANCE:
            kept.append(each)
    return kept


def _write_path(path: Path, positions: Sequence[tuple[float, float]]) -> str:
    points = (f"{write_coordinate(x)} {write_coordinate(y)}" for x, y in positions)
    return f"M{'L'.join(points)}{'Z' if path.is_area else ''}"


def _write_count(count: int) -> str:
    """Write a count in the few letters of a circle."""
    if count < _THOUSAND:
        return str(count)
    thousands = count / _THOUSAND
    if thousands < _THOUSAND:
        return f"{format_number(f'{thousands:.3g}')}k"
    return f"{format_number(f'{thousands / _THOUSAND:.3g}')}M"
