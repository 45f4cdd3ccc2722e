"""The map of a question: its page, its drawing as SVG, and its places for a script."""

from __future__ import annotations

import gzip
import json
import math
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext as _, pgettext

from ....filters.places import MAX_LATITUDE, MAX_LONGITUDE
from ....messages.texts import show_bidi_controls
from ....models.base import exclude_from_atomic_requests
from ....search import ConsistentRead, Query
from ..conf import conf
from ..drawings import DrawingView, File, Option, QuestionDrawing, list_options
from ..question import QueryString
from ..svg import wrap_text, write_coordinate, write_text
from ..values import NumberStyle, Phrase, compose_phrase, format_number, mark_text, write_language
from .areas import AreaFigures, list_layers, read_areas
from .places import (
    GRID_CELLS,
    MAX_SHAPES,
    MapData,
    MapParser,
    MapPlace,
    MapQuery,
    MapReader,
    Position,
)

# The file of outlines -----------------------------------------------------------------------------

SCALE = 25

_FILE = pathlib.Path(__file__).with_name("outlines.svg.gz")

#: Languages of the names of countries, in the order of the file.
_LANGUAGES = ("en", "ar", "de", "es", "fr", "pt", "vi")

#: Cities are named from this zoom on; of each next 40, one zoom later.
_CITIES_ZOOM, _CITIES_PER_ZOOM = 2.5, 40


class Name(NamedTuple):
    """The name of a country or city, with the zoom of tiles from which it is written."""

    position: Position
    zoom: float
    text: str
    language: str
    is_city: bool = False


@lru_cache(maxsize=1)
def _read_outlines() -> str:
    return gzip.decompress(_FILE.read_bytes()).decode()


@exclude_from_atomic_requests
def show_outlines(request: HttpRequest) -> HttpResponse:
    """Send the outlines, from the site of the page: browsers refer to no file of another site."""
    headers = {"Cache-Control": "public, max-age=86400", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return HttpResponse(_read_outlines(), "image/svg+xml", headers=headers)
    headers["Content-Encoding"] = "gzip"
    return HttpResponse(_FILE.read_bytes(), "image/svg+xml", headers=headers)


@lru_cache(maxsize=len(_LANGUAGES))
def read_names(language: str) -> Sequence[Name]:
    """Read the names, the most important ones first; those of cities are English."""
    found = json.loads(_read_outlines().partition("<metadata>")[2].partition("</metadata>")[0])
    column = _LANGUAGES.index(language) if language in _LANGUAGES else 0
    names = [
        Name((x, y), zoom, texts[column] or texts[0], language if texts[column] else "en")
        for x, y, zoom, *texts in found["countries"]
    ]
    names += [
        Name((x, y), _CITIES_ZOOM + rank / _CITIES_PER_ZOOM, text, "en", is_city=True)
        for rank, (x, y, text) in enumerate(found["cities"])
    ]
    return sorted(names, key=lambda name: name.zoom)


# The drawing --------------------------------------------------------------------------------------

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

#: The room of a label above its line, and of a line above or below a file.
_LINE, _CAPTION = 16, 18
#: What a degree in the letters of a phone needs on both sides.
_LABEL_ROOM = 32
_THOUSAND = 1_000

#: Degrees of a part of the globe below which points have a ground of the portal's areas.
_MAX_GROUND_SPAN = 8.0

#: Positions nearer than this to the one before are left out.
_MIN_DISTANCE = 0.75


@dataclass(frozen=True, slots=True)
class Mark:
    """
    A place as drawn: a circle, or a path of lines or areas; ``label`` is within the circle.

    One of some ``kind`` is below the names of the map.
    """

    text: str
    link: str
    x: str = ""
    y: str = ""
    radius: str = ""
    label: str = ""
    path: str = ""
    is_area: bool = False
    kind: str = ""


@dataclass(slots=True)
class MapDrawing:
    """
    Everything that the template writes, in a box of ``width`` and ``height``.

    ``lang`` is that of the places; ``layers`` of the outlines have a path in a file alone.  A file
    has ``captions``, of which those above need the room ``top``, and all the height ``full``.
    """

    title: str
    lang: str
    height: int
    width: int = _WIDTH
    lines: list[str] = field(default_factory=list)
    labels: SafeString = field(default_factory=SafeString)
    marks: list[Mark] = field(default_factory=list)
    areas: list[Mark] = field(default_factory=list)
    bar: str = ""
    layers: Sequence[tuple[str, str]] = ()
    outlines_link: str = ""
    outlines: str = ""
    outline_width: str = ""
    names: SafeString = field(default_factory=SafeString)
    cities: list[tuple[str, str]] = field(default_factory=list)
    captions: SafeString = field(default_factory=SafeString)
    top: int = 0
    full: int = 0
    legend: Sequence[str] = ()
    name: str = "map"


@dataclass(frozen=True, slots=True)
class _Projection:
    """The part of the globe that a drawing shows, and the height of the drawing."""

    west: float
    north: float
    east: float
    south: float
    scale: float
    cosine: float
    height: int

    @classmethod
    def of(cls, positions: Sequence[Position]) -> _Projection:
        """Choose a part that shows all positions."""
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
        return cls(west, south + height, west + width, south, scale, cosine, drawn_height)

    @property
    def span(self) -> float:
        return max(self.east - self.west, self.north - self.south)

    def crop(self, places: Iterable[MapPlace]) -> list[tuple[MapPlace, Position]]:
        """List the places that are shown, each with the middle of the box around its part."""
        found = []
        for place in places:
            xs, ys = zip(*(each for path in place.paths for each in path.positions), strict=True)
            west, east = max(min(xs), self.west), min(max(xs), self.east)
            south, north = max(min(ys), self.south), min(max(ys), self.north)
            if west <= east and south <= north:
                found.append((place, ((west + east) / 2, (south + north) / 2)))
        return found

    def project(self, position: Position) -> tuple[float, float]:
        x = (position[0] - self.west) * self.scale * self.cosine
        return x, (self.north - position[1]) * self.scale


def draw_map(
    data: MapData, title: str, ground: Callable[[], Iterable[MapPlace]] = tuple
) -> MapDrawing | None:
    """Draw places, those without records where there are others; below points is a ``ground``."""
    filled = [path for place in data.places if place.count for path in place.paths]
    positions = [each for path in filled for each in path.positions]
    if not positions:
        return None
    projection = _Projection.of(positions)
    is_small = projection.span < _MAX_GROUND_SPAN and len(positions) == len(data.places)
    below = projection.crop(ground() if is_small else ())[:MAX_SHAPES]
    drawing = MapDrawing(title, write_language(data.title_language), projection.height)
    x, y = projection.project((0, 0))
    across, down = (projection.scale * each / SCALE for each in (projection.cosine, 1))
    drawing.outlines = f"matrix({across:.6g} 0 0 {down:.6g} {x:.6g} {y:.6g})"
    drawing.outline_width = f"{1 / math.sqrt(across * down):.3g}"
    step = next((n for n in reversed(_STEPS) if projection.span / n <= _MAX_LINES), _STEPS[0])
    for degrees in _list_multiples(projection.west, projection.east, step, MAX_LONGITUDE):
        x = projection.project((degrees, 0))[0]
        drawing.lines.append(f"M{write_coordinate(x)} 0V{drawing.height}")
        if _LABEL_ROOM <= x <= _WIDTH - _LABEL_ROOM:
            text = _write_degrees(degrees, pgettext("longitude", "E"), pgettext("longitude", "W"))
            drawing.labels += write_text(write_coordinate(x), drawing.height - 5, text, "middle")
    for degrees in _list_multiples(projection.south, projection.north, step, MAX_LATITUDE):
        y = projection.project((0, degrees))[1]
        drawing.lines.append(f"M0 {write_coordinate(y)}H{_WIDTH}")
        if _LINE <= y <= drawing.height - _LABEL_ROOM:
            text = _write_degrees(degrees, pgettext("latitude", "N"), pgettext("latitude", "S"))
            drawing.labels += write_text("4", y - 3, text, "start")
    # The scale bar has a round length, exact in the middle of the map.
    kilometre = projection.scale / _KILOMETRES_PER_DEGREE
    longest = _MAX_BAR / kilometre
    power = 10.0 ** math.floor(math.log10(longest))
    length = next(each * power for each in (5, 2, 1) if each * power <= longest * 1.0000001)
    start, end = _WIDTH - 12 - length * kilometre, _WIDTH - 12
    drawing.bar = f"M{write_coordinate(start)} 11v5H{end}v-5"
    shown, unit = (length * _THOUSAND, "m") if length < 1 else (length, "km")
    text = f"{format_number(f'{shown:.10g}', NumberStyle(0, is_grouped=True))} {unit}"
    drawing.labels += write_text(str(end), 36, text, "end")
    names = read_names((get_language() or "")[:2]) if "names" in list_layers() else ()
    own = [Name(middle, -math.inf, place.title, "") for place, middle in below]
    _draw_names(drawing, projection, [*own, *names])
    largest = max(place.count for place in data.places)
    # Clusters side by side hardly hide each other.
    sides = zip(*map(projection.project, positions), strict=True)
    room = min(max(side) - min(side) for side in sides) / GRID_CELLS
    most = max(_MIN_LARGEST, min(_MAX_CLUSTER, _SHARE_OF_ROOM * room))
    drawing.marks = [
        mark
        for place, _middle in (*below, *projection.crop(data.places))
        for mark in _draw_place(place, projection.project, largest, most)
    ]
    # What is small is not below what is large.
    drawing.marks.sort(key=lambda mark: (not mark.is_area, bool(mark.radius)))
    drawing.areas = [mark for mark in drawing.marks if mark.kind]
    drawing.marks = [mark for mark in drawing.marks if not mark.kind]
    return drawing


def _list_multiples(low: float, high: float, step: float, limit: int) -> Iterator[float]:
    low, high = max(low, -limit), min(high, limit)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield number * step


def _write_degrees(degrees: float, positive: str, negative: str) -> str:
    digits = format_number(f"{abs(round(degrees, 6)):g}")
    return f"{digits}° {positive if degrees > 0 else negative}" if degrees else f"{digits}°"


def _draw_names(drawing: MapDrawing, projection: _Projection, names: Iterable[Name]) -> None:
    """Write the names that have room, above the dots of cities."""
    zoom = math.log2(projection.scale * projection.cosine * 360 / _TILE) + _NEARER
    # The edges have degrees, and a corner has the scale.
    room = (44, 4, _WIDTH - 4, drawing.height - 20)
    taken: list[tuple[float, ...]] = [(_WIDTH - _MAX_BAR - 24, 0, math.inf, 46)]
    for name in names:
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


# Places -------------------------------------------------------------------------------------------


def _draw_place(
    place: MapPlace, project: Callable[[Position], tuple[float, float]], largest: int, most: float
) -> Iterator[Mark]:
    """Draw a place; the area of a cluster grows with its records, up to a radius."""
    share = math.sqrt(place.count / largest)
    radius = _MIN_CLUSTER + (most - _MIN_CLUSTER) * share if largest > 1 else _POINT
    label = str(place.count) if largest > 1 else ""
    if place.count >= _THOUSAND:
        size, unit = (_THOUSAND, "k") if place.count < _THOUSAND**2 else (_THOUSAND**2, "M")
        label = format_number(f"{place.count / size:.3g}") + unit
    label = label if len(label) * _HALF_LETTER <= radius else ""
    text = f"{place.title} · {place.position}" if place.position else place.title
    drawn: dict[bool, str] = {}
    # An area needs fewer positions, and leaves out small islands.
    distance, least = (2 * _MIN_DISTANCE, 3) if place.kind else (_MIN_DISTANCE, 1)
    for path in place.paths:
        positions: list[tuple[float, float]] = []
        for each in map(project, path.positions):
            if not positions or math.dist(each, positions[-1]) >= distance:
                positions.append(each)
        if len(positions) > least:
            points = (f"{write_coordinate(x)} {write_coordinate(y)}" for x, y in positions)
            line = f"M{'L'.join(points)}{'Z' if path.is_area else ''}"
            drawn[path.is_area] = drawn.get(path.is_area, "") + line
            continue
        if place.kind and (drawn or path is not place.paths[-1]):
            continue
        x, y = map(write_coordinate, positions[0])
        yield Mark(text, place.link, x, y, write_coordinate(radius), label, kind=place.kind)
    for is_area, drawn_path in drawn.items():
        yield Mark(text, place.link, path=drawn_path, is_area=is_area, kind=place.kind)


# The map and its page -----------------------------------------------------------------------------

#: The parameter ``format`` of the places, for the script of the page.
PLACES = "places.json"


class Map(QuestionDrawing[MapQuery, MapData]):
    name = "map"
    parser_class = MapParser
    formats = ("svg", "png")
    script_file = PLACES

    def read(self, read: ConsistentRead, query: Query, shown: MapQuery) -> MapData:
        return MapReader(read, query, shown, self.question, self.page_path).read_places()

    @property
    def title(self) -> Phrase:
        title = self.resource.local_title
        name = mark_text(show_bidi_controls(title.text), title.language)
        return compose_phrase(_("Map of %(resource)s"), resource=name)

    def describe(self) -> dict[str, Any]:
        context = {"title": self.title, "errors": self.errors, "shown": self.shown}
        return context | ({"drawing": self.drawing, "data": self.data} if self.data else {})

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        chosen = dict(self.pairs)
        none = Option("", _("no field"))
        numbers, titles = list_options(self.parser.numbers), list_options(self.parser.titles)
        choices = [
            ("lat", _("Latitude"), (none, *numbers)),
            ("lon", _("Longitude"), (none, *numbers)),
            ("geometry", _("or GeoJSON"), (none, *list_options(self.parser.geometries))),
            ("title", _("Title"), (*(() if "title" in chosen else (none,)), *titles)),
        ]
        pages = {
            "choices": [
                (name, label, options, chosen.get(name, ""))
                for name, label, options in choices
                if len(options) > 1
            ]
        }
        if not self.shown or not self.data:
            return pages
        degrees = [column.name for column in self.shown[:2] if column]
        view = [f"{end}.{name}" for name in degrees for end in ("from", "to")]
        return pages | {
            "places_link": address.replace("format", PLACES).link,
            # The script adds the conditions of the view.
            "inner_question": address.remove(*view).query,
            "tiles": conf.MAP_TILES,
            "layers": " ".join(list_layers()),
            "outlines_link": f"{self.page_path}../outlines.svg",
        }

    def build_drawing(self, *, is_file: bool) -> MapDrawing | None:
        def list_ground() -> list[MapPlace]:
            areas = chain(*read_areas(self.client))
            return [MapPlace(each.paths, each.name, "", "", "", kind="ground") for each in areas]

        drawing = draw_map(self.data, self.title.text, list_ground) if self.data else None
        return drawing and _complete_drawing(drawing, self, is_file=is_file)

    def list_files(self) -> dict[str, Callable[[], File]]:
        files, data = super().list_files(), self.data
        if not data:
            return files

        def write_places() -> File:
            places = []
            for place in data.places:
                shapes: dict[str, list[Any]] = {"points": [], "lines": [], "areas": []}
                for path in place.paths:
                    # Leaflet has latitudes first.
                    positions = [(latitude, longitude) for longitude, latitude in path.positions]
                    if len(positions) == 1:
                        shapes["points"] += positions
                    else:
                        shapes["areas" if path.is_area else "lines"].append(positions)
                own = {"title": place.title, "link": place.link, "count": place.count}
                places.append(own | shapes)
            sent = {"language": data.title_language, "places": places}
            return "application/json", json.dumps(sent)

        return {**files, PLACES: write_places}


def draw_area_map(
    owner: QuestionDrawing[Any, Any],
    found: AreaFigures,
    figures: Iterable[tuple[str, str]],
    *,
    is_file: bool,
) -> MapDrawing | None:
    """Draw areas in the classes of their ``figures``, which are texts and links."""
    places = []
    groups = zip(found.data.groups, found.levels, figures, strict=True)
    for area, known in zip_longest(found.areas, groups):
        group, level, (text, link) = known or (None, len(found.legend), ("", ""))
        text, count = f"{area.name}: {text or found.legend[-1]}", group.record_count if group else 0
        places.append(MapPlace(area.paths, text, "", link, link, count, f"c{level}"))
    drawing = draw_map(MapData(places, 0, 0), owner.title.text)
    if drawing and is_file:
        drawing.legend = found.legend
    return drawing and _complete_drawing(drawing, owner, is_file=is_file)


def _complete_drawing(
    drawing: MapDrawing, owner: QuestionDrawing[Any, Any], *, is_file: bool
) -> MapDrawing:
    """Add the outlines and, to a file, its captions."""
    # A file stands alone.
    outlines = _read_outlines() if is_file or owner.page_path is None else ""
    drawing.layers = [
        (layer, outlines.partition(f'id="{layer}" d="')[2].partition('"')[0])
        for layer in list_layers()
        if layer != "names"
    ]
    drawing.outlines_link = f"{owner.page_path}../outlines.svg"
    if is_file:
        texts = [drawing.title, *owner.describe_source()]
        title, *notes = (wrap_text(text, _WIDTH / 1.1) for text in texts)
        drawing.top = _CAPTION * len(title)
        for number, line in enumerate([*title, *chain(*notes)], 1):
            below = drawing.height if number > len(title) else -4
            drawing.full = number * _CAPTION + below
            drawing.captions += write_text("0", drawing.full, line, "start")
    return drawing


class MapView(DrawingView):
    template = "map.html"
    drawing_class = Map
