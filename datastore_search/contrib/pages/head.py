"""The head of the views of a question, the resource, tabs and forms; the page *About*."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from django.utils.html import linebreaks
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from ...api.actions import actions
from ...downloads.formats import formats
from ...messages.bidi import show_bidi_controls
from ...messages.numbers import format_count
from ...models import read_profiles
from ...search import ConsistentRead
from ...web.addresses import find_path, reverse_in_locale
from .columns import Column, choose_columns
from .facet_fields import FacetKind, list_facet_fields
from .forms import build_chips, build_filter_form
from .maps.geometry import has_map
from .page import ResourcePageView, add_query_string
from .profiles import describe_fields
from .question import OF_TABLE, PageQuery, QueryString, clean_parameters
from .sections import PageQuestion, Place, build_sections


def render_markdown(text: str, max_length: int) -> SafeString:
    """Render the first letters of a text; without markdown-it-py, its lines as they are."""
    shown = show_bidi_controls(Truncator(text).chars(max_length))
    if find_spec("markdown_it") is None:
        return SafeString(linebreaks(shown, autoescape=True))
    return SafeString(_build_renderer().render(shown))


@cache
def _build_renderer() -> Any:
    """Build the renderer, which escapes HTML and refuses addresses that run a script."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - optional

    renderer: Any = MarkdownIt("commonmark", {"html": False, "breaks": True})
    renderer.disable(["image", "heading", "lheading", "hr", "code"])

    def open_link(tokens: Any, index: int, options: Any, environment: Any) -> str:
        tokens[index].attrSet("rel", "nofollow noopener")
        return str(renderer.renderer.renderToken(tokens, index, options, environment))

    renderer.renderer.rules["link_open"] = open_link
    return renderer


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
        "filter_form": build_filter_form(question),
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
    profiles = question.field_profiles
    texts = [each for each in question.columns if each.field_type.is_text and each.name in profiles]
    fields = [each for each in list_facet_fields(texts, profiles) if each.kind is FacetKind.VALUES]
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
    if (path := find_path(request, "map", pk)) and (
        has_map(question.columns, question.field_profiles) or request.path.endswith("/map/")
    ):
        yield "map", _("Map"), path + drawn
    about = reverse_in_locale(request, "about", pk)
    yield "about", pgettext("page", "About"), about + whole.query


class AboutView(ResourcePageView):
    """The description, the facts, and the statistics of the columns of the table."""

    template = "about.html"

    def build_context(
        self, read: ConsistentRead, query: PageQuery, columns: Sequence[Column]
    ) -> dict[str, Any]:
        """Describe the resource, whatever is asked of its records."""
        resource = read.resource
        profiles = read_profiles(resource.table_version_id, using=read.connection.alias)
        choice = choose_columns(columns, query)
        question = PageQuestion(self.request, read, query, columns, choice, profiles)
        return {
            **describe_head(question, "about"),
            "description": render_markdown(resource.local_description.text, 20_000),
            "sections": build_sections(question, Place.ABOUT),
            "notes": describe_fields(choice.columns, profiles),
            "has_figures": profiles is not None,
        }
