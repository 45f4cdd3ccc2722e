"""What a map shows, for its page, for a frame, and for a portal's own template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from ..exceptions.parameters import InvalidParameter, InvalidParameters
from ..messages.bidi import show_bidi_controls
from ..messages.numbers import format_count
from ..models import Resource, read_profiles
from ..search import ConsistentRead, Query
from ..xml_text import clean_xml
from .columns import Column
from .languages import Phrase, compose_phrase, mark_text, write_drawing_language
from .map_data import MapData, read_map
from .map_drawing import draw_map
from .map_query import MapParser, MapQuery
from .page_query import PageQuery
from .parameter_errors import describe_parameter_errors
from .query_string import QueryString


@dataclass(frozen=True, slots=True)
class QuestionMap:
    """
    The map of a question and its places.

    ``query`` is None where no field suits, ``data`` also where there are ``errors``.
    """

    parser: MapParser
    query: MapQuery | None
    data: MapData | None
    errors: list[str]


def read_question_map(  # noqa: PLR0913 - the question, what is shown of it, and where links lead
    read: ConsistentRead,
    question: PageQuery,
    columns: Sequence[Column],
    parameters: Mapping[str, str],
    address: QueryString,
    *,
    page_path: str | None,
) -> QuestionMap:
    """
    Read the map of a question that the ``parameters`` of its address choose.

    Links have the parameters of ``address``, and lead to pages below ``page_path``, if any.
    """
    profiles = read_profiles(read.resource.table_version_id, using=read.connection.alias)
    parser = MapParser(columns, profiles.fields if profiles else {})
    errors = question.all_errors
    query, data = None, None
    try:
        query = parser.parse(parameters)
        if query and not errors:
            search = Query(limit=None, q=question.q, filters=question.all_conditions)
            data = read_map(read, search, query, address, page_path)
    except (InvalidParameter, InvalidParameters) as error:
        errors += describe_parameter_errors(error)
    return QuestionMap(parser, query, data, errors)


def name_map(resource: Resource) -> Phrase:
    """Name the map of a resource."""
    title = resource.local_title
    name = mark_text(show_bidi_controls(title.text), title.language)
    return compose_phrase(_("Map of %(resource)s"), resource=name)


def describe_map(data: MapData, title: str, *, has_links: bool) -> dict[str, Any]:
    """Describe a map for its templates."""
    return {
        "drawing": draw_svg(data, title, has_links=has_links),
        "summary": " ".join(_summarise(data)),
        "data": data,
    }


def draw_svg(data: MapData, title: str, *, has_links: bool) -> SafeString:
    """Draw a map as SVG; empty if there is nothing to draw."""
    drawing = draw_map(data, title)
    if drawing is None:
        return SafeString()
    context = {
        "drawing": drawing,
        "has_links": has_links,
        "language": get_language(),
        "places_attribute": write_drawing_language(data.title_language),
    }
    return SafeString(clean_xml(render_to_string("datastore_search/map.svg", context)))


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
