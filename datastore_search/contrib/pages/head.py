"""The head of the views of a question: the resource, the tabs, and the forms that ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from ...api.actions import actions
from ...downloads.formats import formats
from ...messages.numbers import format_count
from ...web.addresses import find_path, reverse_in_locale
from .facets.choice import FacetKind, describe_fields
from .links import add_query_string
from .maps.query import has_map
from .markdown import render_markdown
from .sections import PageQuestion, Place, build_sections
from .table.chips import build_chips
from .table.filter_form import FilterForm
from .table.page_query import OF_TABLE, clean_parameters
from .table.query_string import QueryString

#: Letters of the description above a view; the page *About* has all of it.
MAX_DESCRIPTION_LENGTH = 500

#: Fields whose values the script of the search suggests, with this number of each.
MAX_SUGGESTED_FIELDS, MAX_SUGGESTED_VALUES = 3, 5


def describe_head(question: PageQuestion, present: str) -> dict[str, Any]:
    """Describe what is above a view, ``present``: the resource, tabs, forms and chips."""
    resource, query = question.read.resource, question.query
    version, description = resource.table_version, resource.local_description.text
    return {
        "tabs": list(_list_tabs(question)),
        "present_tab": present,
        "line": build_sections(question, Place.LINE)[Place.LINE],
        "table_version": version,
        "record_count": format_count(version.record_count if version else 0),
        "formats": list_format_labels(),
        "description": render_markdown(description, MAX_DESCRIPTION_LENGTH),
        "is_long": len(description) > MAX_DESCRIPTION_LENGTH // 2,
        "query": query,
        "column_choice": question.choice,
        "chips": build_chips(query, question.columns),
        "filter_form": FilterForm(
            resource, question.columns, question.choice.columns, query, question.profiles
        ),
        "suggestions": _list_suggestions(question),
        "address": question.request.path,
    }


def list_format_labels() -> list[str]:
    """List the formats in which every table can be downloaded."""
    kinds = [kind for kind in formats.values() if kind.is_installed and not kind.needs_places]
    return list(dict.fromkeys(kind.extension.upper() for kind in kinds))


def _list_suggestions(question: PageQuestion) -> list[str]:
    """List addresses of values; none of a private resource, as the API reads no session."""
    resource = question.read.resource
    path = find_path(question.request, "action", "datastore_suggest")
    if resource.private or not path or "datastore_suggest" not in actions:
        return []
    profiles = question.profiles.fields if question.profiles else {}
    texts = [each for each in question.columns if each.type == "text" and each.name in profiles]
    fields = [each for each in describe_fields(texts, profiles) if each.kind is FacetKind.VALUES]
    names = [each.column.name for each in fields]
    names.sort(key=lambda name: -profiles[name]["distinct"])
    sent = (("resource_id", str(resource.pk)), ("limit", str(MAX_SUGGESTED_VALUES)))
    return [
        add_query_string(path, [*sent, ("field", name)]) for name in names[:MAX_SUGGESTED_FIELDS]
    ]


def _list_tabs(question: PageQuestion) -> Iterator[tuple[str, str, str]]:
    """List the views that the portal has and that suit the fields: name, label and address."""
    request, pk = question.request, question.read.resource.pk
    # A drawing's own parameters are not among these.
    pairs = [pair for pair in clean_parameters(request.GET) if pair[0] != "page"]
    whole = QueryString(tuple(pairs))
    drawn = whole.remove(*OF_TABLE).query
    yield "table", _("Table"), reverse_in_locale(request, "resource", pk) + whole.query
    if path := find_path(request, "chart", pk):
        yield "chart", _("Chart"), path + drawn
    profiles = question.profiles
    if (path := find_path(request, "map", pk)) and (
        has_map(question.columns, profiles.fields if profiles else {})
        or request.path.endswith("/map/")
    ):
        yield "map", _("Map"), path + drawn
    about = reverse_in_locale(request, "about", pk)
    yield "about", pgettext("page", "About"), about + whole.query
