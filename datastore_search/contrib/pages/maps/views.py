"""The map of a question: what it shows and says, its page, and its places for a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.utils.translation import gettext as _

from ....messages.bidi import show_bidi_controls
from ....messages.numbers import format_count
from ....search import ConsistentRead, Query
from ..conf import conf
from ..drawings import DrawingView, File, Option, QuestionDrawing, list_options
from ..languages import Phrase, compose_phrase, mark_text
from ..table.query_string import QueryString
from .data import MapData, MapReader, Place
from .drawing import MapDrawing, draw_map
from .outlines import list_layers, read_path
from .query import MapParser, MapQuery

#: The parameter ``format`` of the places, for the script of the page.
PLACES = "places.json"


class Map(QuestionDrawing[MapQuery, MapData]):
    """The map of a question."""

    name = "map"
    parser_class = MapParser
    script_file = PLACES

    def read(self, read: ConsistentRead, query: Query, shown: MapQuery) -> MapData:
        """Read the places."""
        return MapReader(read, query, shown, self.question, self.page_path).read_places()

    @property
    def title(self) -> Phrase:
        """The map of the resource, by its title."""
        title = self.resource.local_title
        name = mark_text(show_bidi_controls(title.text), title.language)
        return compose_phrase(_("Map of %(resource)s"), resource=name)

    @property
    def outlines_link(self) -> str:
        """The link to the outlines, beside the data page."""
        return f"{self.page_path}../outlines.svg"

    def describe(self) -> dict[str, Any]:
        """Describe the map for its templates."""
        context = {"title": self.title, "errors": self.errors, "shown": self.shown}
        if not self.data:
            return context
        return context | {
            "drawing": self.drawing,
            "summary": " ".join(_summarise(self.data)),
            "data": self.data,
        }

    def describe_page(self, address: QueryString) -> dict[str, Any]:
        """Describe what can be chosen, with what the map has, and what a script needs."""
        chosen = dict(self.pairs)
        none = Option("", _("no field"))
        numbers = list_options(self.parser.numbers)
        choices = [
            ("lat", _("Latitude"), (none, *numbers)),
            ("lon", _("Longitude"), (none, *numbers)),
            ("geometry", _("or GeoJSON"), (none, *list_options(self.parser.geometries))),
            ("title", _("Title"), list_options(self.parser.titles)),
        ]
        pages = {
            "resource_title": str(self.resource),
            "choices": [
                (name, label, options, chosen.get(name, ""))
                for name, label, options in choices
                if len(options) > (name != "title")
            ],
        }
        if not self.shown or not self.data:
            return pages
        columns = [column for column in (self.shown.latitude, self.shown.longitude) if column]
        view = [f"{end}.{column.name}" for column in columns for end in ("from", "to")]
        return pages | {
            "places_link": address.replace("format", PLACES).link,
            # The script adds the conditions of the view.
            "inner_question": address.remove(*view).query,
            "tiles": conf.MAP_TILES,
            "layers": " ".join(list_layers()),
            "outlines_link": self.outlines_link,
        }

    def build_drawing(self, *, is_file: bool) -> MapDrawing | None:
        """Build the drawing; None if there is nothing to draw."""
        drawing = draw_map(self.data, self.title.text) if self.data else None
        if drawing:
            # A file stands alone.
            is_alone = is_file or self.page_path is None
            layers = [layer for layer in list_layers() if layer != "names"]
            drawing.layers = [(each, read_path(each) if is_alone else "") for each in layers]
            drawing.outlines_link = self.outlines_link
        return drawing

    def list_files(self) -> dict[str, Callable[[], File]]:
        """List the drawing and the places."""
        files, data = super().list_files(), self.data
        if data:
            files[PLACES] = lambda: ("application/json", _write_places(data))
        return files


class MapView(DrawingView):
    """The page of a map."""

    template = "map.html"
    drawing_class = Map


def _summarise(data: MapData) -> Iterator[str]:
    """Say in words what the map shows."""
    numbers = {"shown": format_count(data.record_count), "total": format_count(data.total)}
    if data.is_clustered:
        numbers["places"] = format_count(len(data.places))
        yield _("%(shown)s of %(total)s records are on the map, in %(places)s clusters.") % numbers
    else:
        yield _("%(shown)s of %(total)s records are on the map.") % numbers
    if data.missing:
        yield _("Records without a place: %(number)s.") % {"number": format_count(data.missing)}
    left_out = data.total - data.missing - data.record_count
    if left_out > 0:
        yield _("The first ones are shown; ask for fewer records to see the others.")


def _write_places(data: MapData) -> str:
    places = [_describe_place(place) for place in data.places]
    return json.dumps({"language": data.title_language, "places": places})


def _describe_place(place: Place) -> dict[str, Any]:
    """Describe a place for Leaflet, which has latitudes first."""
    shapes: dict[str, list[Any]] = {"points": [], "lines": [], "areas": []}
    for path in place.paths:
        positions = [(latitude, longitude) for longitude, latitude in path.positions]
        if len(positions) == 1:
            shapes["points"] += positions
        else:
            shapes["areas" if path.is_area else "lines"].append(positions)
    return {"title": place.title, "link": place.link, "count": place.count, **shapes}
