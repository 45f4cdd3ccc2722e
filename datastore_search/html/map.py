"""The map of a question: a page with its form, drawing and places, and the drawing as a file."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from ..conf import conf
from ..guards.clients import Client
from ..http_caching import set_cache_headers
from ..search import ConsistentRead, with_consistent_read
from .chart import Choice, File, Option, build_file_response, list_drawing_files, list_options
from .chips import build_chips
from .columns import build_columns
from .links import reverse_in_locale
from .map_content import describe_map, draw_svg, name_map, read_question_map
from .map_data import MapData, Place
from .map_query import MapParser, MapQuery
from .page_query import OF_TABLE, clean_parameters, list_shared_parameters, parse_page_query
from .query_string import QueryString
from .views import PageView

#: The parameter ``format`` of the places, for the script of the page.
PLACES = "places.json"


class MapView(PageView):
    """A map of the records that a question finds."""

    can_be_embedded = True

    def get(self, request: HttpRequest, resource_id: uuid.UUID) -> HttpResponse:
        """
        Show the map, or send its drawing as a file.

        Raises: ``UnknownResource``, ``AccessDenied`` and what ``search`` and ``analysis`` raise.
        """
        return with_consistent_read(resource_id, self._answer, client=Client.from_request(request))

    def _answer(self, read: ConsistentRead) -> HttpResponse:
        resource = read.resource
        validators = self.authorize_read(resource)
        query = parse_page_query(clean_parameters(self.request.GET), resource)
        columns = build_columns(resource)
        question = query.query_string.remove(*OF_TABLE)
        found = read_question_map(read, query, columns, self.request.GET, question, page_path="../")
        shown, data, errors = found.query, found.data, found.errors
        pairs = shown.pairs if shown else ()
        self.shared_parameters = [*list_shared_parameters(query), *pairs]
        title = name_map(resource)
        files = _list_files(data, title.text) if data else {}
        if (name := self.request.GET.get("format", "")) in files:
            response = build_file_response("map", name, *files[name]())
            set_cache_headers(response, private=resource.private, vary=("Cookie",))
            return response
        address = QueryString((*question.pairs, *pairs))
        asked = replace(query, query_string=address, sort=(), fields=(), hidden=())
        context: dict[str, Any] = {
            "resource": resource,
            "title": title,
            "resource_title": str(resource),
            "chips": build_chips(asked, columns),
            "errors": errors,
            "shown": shown,
            "whole_address": address.link,
        }
        if shown and data:
            context |= describe_map(data, title.text, has_links=True)
        if not self.is_embedded:
            context |= {
                "page_address": reverse_in_locale(self.request, "resource", resource.pk)
                + question.query,
                "address": self.request.path,
                "hidden": question.pairs,
                "choices": _list_choices(found.parser, shown),
            }
        if shown and data and not self.is_embedded:
            context |= self.describe_embedding(address.pairs, title.text)
            context |= {
                "places_link": address.replace("format", PLACES).link,
                "inner_question": _leave_out_view(address, shown).query,
                "tiles": conf.MAP_TILES,
                "files": [
                    (name.upper(), address.replace("format", name).link)
                    for name in files
                    if name != PLACES
                ],
            }
        status = HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK
        template = "embedded_map.html" if self.is_embedded else "map.html"
        response = self.render_page(template, context, private=resource.private, status=status)
        if validators and not errors:
            validators.set_headers(response, self.request)
        return response


def _list_choices(parser: MapParser, shown: MapQuery | None) -> list[Choice]:
    """List what can be chosen, with what the map has."""
    chosen = dict(shown.pairs) if shown else {}
    none = Option("", _("nothing"))
    choices = [
        ("lat", _("Latitude"), (none, *list_options(parser.numbers))),
        ("lon", _("Longitude"), (none, *list_options(parser.numbers))),
        ("geometry", _("or GeoJSON"), (none, *list_options(parser.geometries))),
        ("title", _("Title"), list_options(parser.titles)),
    ]
    return [
        Choice(name, label, options, chosen.get(name, ""))
        for name, label, options in choices
        if len(options) > (name != "title")
    ]


def _leave_out_view(address: QueryString, shown: MapQuery) -> QueryString:
    """Leave out the conditions that are those of a view."""
    columns = [column for column in (shown.latitude, shown.longitude) if column]
    return address.remove(*(f"{end}.{column.name}" for column in columns for end in ("from", "to")))


def _list_files(data: MapData, title: str) -> dict[str, Callable[[], File]]:
    """List the files of a map; links of its drawing would lead nowhere."""
    files = list_drawing_files(draw_svg(data, title, has_links=False))
    places = [_describe_place(place) for place in data.places]
    content = {"language": data.title_language, "places": places}
    files[PLACES] = lambda: ("application/json", json.dumps(content))
    return files


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
