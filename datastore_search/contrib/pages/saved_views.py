"""Saved views on the pages of a resource: what each type means, and the tab of each view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict
from django.utils.html import format_html

from ...api.parameters import parse_json
from ...filters.names import quote_name
from ...messages import DatastoreError
from ...messages.texts import shorten
from ...search import ConsistentRead
from ...web.addresses import find_path
from .models import MAX_VIEWS, SavedView
from .page import add_query_string, reverse_first
from .question import EMBED, PageQueryParser, Pair, clean_parameters, list_shared_parameters
from .sections import PageQuestion

#: Letters of a title on a tab.
_MAX_TAB_LENGTH = 60


@dataclass(frozen=True, slots=True)
class ViewType:
    """
    What shows a type of CKAN's views: a page, by the name of its address.

    Of the page's own parameters, ``fields`` name fields, and ``options`` do not.  ``members`` are
    CKAN's, with the parameter that each means.
    """

    page: str
    fields: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    members: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> frozenset[str]:
        return self.fields | self.options


_TABLE = ViewType("resource")
_MAP = ViewType(
    "map",
    frozenset({"lat", "lon", "geometry", "title"}),
    members={"latitude_field": "lat", "longitude_field": "lon", "geojson_field": "geometry"},
)
_OF_CHARTS = frozenset({"show", "per", "as", "title", "unit", "note"})

#: The types that pages show; other ones are kept.  The first one of a page is that of new views.
VIEW_TYPES: Mapping[str, ViewType] = {
    "datatables_view": _TABLE,
    "recline_view": _TABLE,
    "recline_grid_view": _TABLE,
    "recline_graph_view": ViewType(
        "chart", frozenset({"by", "of", "split"}), _OF_CHARTS, {"group": "by", "series": "of"}
    ),
    "recline_map_view": _MAP,
    "geojson_view": _MAP,
    "compare_view": ViewType(
        "compare", frozenset({"by", "of", "compare"}), _OF_CHARTS | {"from", "to", "order"}
    ),
}


def list_pairs(view: SavedView) -> list[Pair]:
    """
    List the parameters of a view's page: those of its ``query``, or what CKAN's members mean.

    Source: the views of CKAN's ckanext-datatablesview and ckanext-reclineview.
    """
    if view.query:
        return parse_qsl(view.query.lstrip("?"))
    members, kind = view.members, VIEW_TYPES[view.view_type]
    names, values = (_list_texts(members.get(f"filter_{each}")) for each in ("fields", "values"))
    pairs = [(f"field.{name}", value) for name, value in zip(names, values, strict=False)]
    pairs += [("fields", quote_name(name)) for name in _list_texts(members.get("show_fields"))]
    for member, parameter in kind.members.items():
        pairs += [(parameter, name) for name in _list_texts(members.get(member))[:1]]
    # The figures of a graph are those of the records.
    return [*pairs, ("show", "sum")] if "of" in dict(pairs) else pairs


def _list_texts(value: object) -> list[str]:
    """List the texts of a member, which a form may have sent as JSON."""
    if isinstance(value, str) and value[:1] == "[":
        try:
            value = parse_json(value)
        except DatastoreError:
            return []
    return [str(each) for each in (value if isinstance(value, list) else [value]) if each]


# On a page ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownView:
    """
    A view as a page shows it: ``pairs`` are its parameters, and ``lost`` those that no field has.

    ``path`` is the path of its page.
    """

    view: SavedView
    kind: ViewType
    path: str
    pairs: tuple[Pair, ...]
    lost: tuple[str, ...]

    @property
    def address(self) -> str:
        return add_query_string(self.path, self.pairs)

    @property
    def tab(self) -> tuple[str, str, str]:
        """Its name, its label and its address."""
        label = shorten(self.view.title, _MAX_TAB_LENGTH)
        return str(self.view.pk), format_html("<bdi>{}</bdi>", label), self.address


def list_shown_views(question: PageQuestion) -> list[ShownView]:
    """List the views for which the portal has a page, in order; the resource keeps its views."""
    shown, read = [], question.read
    known: dict[str, Any] = vars(read.resource)
    if "_views" not in known:
        views = SavedView.objects.using(read.connection.alias).filter(resource=read.resource)
        known["_views"] = list(views[:MAX_VIEWS])
    for view in known["_views"]:
        kind = VIEW_TYPES.get(view.view_type)
        if kind and (path := find_path(question.request, kind.page, read.resource.pk)):
            pairs = list_pairs(view)
            own = [pair for pair in pairs if pair[0] in kind.own]
            others = QueryDict(urlencode([pair for pair in pairs if pair not in own]))
            pairs = [*clean_parameters(others), *own]
            kept = tuple(pair for pair in pairs if _is_applicable(pair, kind, read))
            lost = tuple(f"{name}={value}" for name, value in pairs if (name, value) not in kept)
            shown.append(ShownView(view, kind, path, kept, lost))
    return shown


def _is_applicable(pair: Pair, kind: ViewType, read: ConsistentRead) -> bool:
    """Return whether a parameter suits the fields that there are."""
    name, value = pair
    if name in kind.own:
        return name in kind.options or value in read.resource.types
    try:
        return name not in {EMBED, "page"} and not PageQueryParser([pair], read).parse().all_errors
    except DatastoreError:
        return False


def find_present_view(question: PageQuestion, views: list[ShownView]) -> ShownView | None:
    """Find the view whose page this is."""
    sent = _write_shared(list_sent(question), question.read)
    same = (each for each in views if each.path == question.request.path)
    return next((each for each in same if _write_shared(each.pairs, question.read) == sent), None)


def _write_shared(pairs: Iterable[Pair], read: ConsistentRead) -> list[Pair]:
    """Write parameters as every language reads them, in one order."""
    try:
        return sorted(list_shared_parameters(PageQueryParser(pairs, read).parse()))
    except DatastoreError:
        return sorted(pairs)


def list_sent(question: PageQuestion) -> list[Pair]:
    """List the parameters of the address but the number of the page."""
    lists = question.request.GET.lists()
    return [(name, value) for name, values in lists for value in values if name != "page"]


def find_save_address(question: PageQuestion, page: str) -> str:
    """Find the form that saves what a page shows; empty for staff who may not use it."""
    resource, user = question.read.resource, cast("Any", question.request.user)
    page = page.replace("table", "resource")
    types = [name for name, kind in VIEW_TYPES.items() if kind.page == page]
    path = reverse_first("admin:datastore_search_resource_change", args=[resource.pk])
    if not (types and path and resource.permits(user, "change")):
        return ""
    # Readers of each language see the view.
    own = [pair for pair in list_sent(question) if pair[0] in VIEW_TYPES[types[0]].own]
    pairs = dict.fromkeys([*list_shared_parameters(question.query), *own])  # which may have its own
    query = urlencode([pair for pair in pairs if pair[0] != "page"])
    initial = [("view_type", types[0]), ("query", query)]
    return f"{add_query_string(path, initial)}#saved_views-group"
