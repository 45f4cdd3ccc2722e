"""The head of the views of a question: the resource, tabs, chips and forms; the page *About*."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, cast

from django.utils.functional import Promise
from django.utils.html import linebreaks
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _, pgettext, pgettext_lazy

from ...api.actions import actions
from ...downloads.formats import formats
from ...field_types import Json, dump_json_as_sent, field_types
from ...filters import And, Comparison, Condition, Near, Or
from ...filters.operators import Operand, Operator, operators
from ...filters.places import find_place_fields
from ...messages.texts import shorten, show_bidi_controls
from ...models import Field
from ...search import ID
from ...web.addresses import find_path, reverse_in_locale
from .charts.query import Form
from .columns import (
    MAX_PROFILED_LENGTH,
    Column,
    FacetKind,
    describe_fields,
    list_facet_fields,
    profile_columns,
)
from .maps.areas import propose_areas
from .page import ResourcePageView, add_query_string
from .question import (
    BETWEEN,
    CHOSEN_VALUE,
    IS_EMPTY,
    NEAR,
    NOT_EMPTY,
    OF_TABLE,
    OPERATORS,
    VALUE_SEPARATOR,
    YES_OR_NO,
    FieldCondition,
    PageQuery,
    Pair,
    QueryString,
    clean_parameters,
    format_filters,
    write_change,
)
from .saved_views import find_present_view, find_save_address, list_shown_views
from .sections import PageQuestion, Place, build_sections
from .values import (
    Phrase,
    compose_phrase,
    format_number,
    join_list,
    join_phrases,
    mark_text,
    parse_typed_value,
)

#: Letters of a value on a chip.
_MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Chip:
    """The words of one part of a query, and the change that removes it."""

    text: Phrase
    change: str


#: In place of the parts beyond the first ones.
_MORE = mark_text("…")

#: The columns of all fields, by name.
Columns = Mapping[str, Column]


def build_chips(query: PageQuery, columns: Iterable[Column]) -> list[Chip]:
    """Make a chip of each part of a query, in the words of the columns of all fields."""
    by_name, chips = {column.name: column for column in columns}, list[Chip]()
    if query.search.q:
        words = shorten(query.search.q, _MAX_VALUE_LENGTH)
        text = compose_phrase(_("Search: %(words)s"), words=words)
        chips.append(Chip(text, write_change("q")))
    for condition in query.conditions:
        name, operator = condition.field.name, OPERATORS[condition.operator]
        for value in condition.values:
            is_list = operator.operand is Operand.LIST
            parts = map(str.strip, value.split(VALUE_SEPARATOR)) if is_list else [value]
            mark = mark_text if condition.error else partial(_mark, by_name, name)
            shown = [mark(shorten(part, _MAX_VALUE_LENGTH)) for part in parts]
            if field_types[condition.field.type].is_boolean:
                shown = [mark_text(str(YES_OR_NO.get(value, shorten(value, _MAX_VALUE_LENGTH))))]
            is_choice = operator.operand is Operand.BOOLEAN
            operand = IS_EMPTY.get(value, False) if is_choice else value
            text = _say(by_name, name, operator, operand, shown)
            chips.append(Chip(text, write_change(f"-{condition.parameter}", value)))
    for each in query.filters:
        kept = format_filters([other for other in query.filters if other is not each])
        rest = [dump_json_as_sent(kept)] if kept else []
        change = write_change("filters", *rest) if not isinstance(each, Near) else "geo="
        chips.append(Chip(_describe(by_name, each), change))
    if query.search.sort:
        arrows = {False: mark_text("↑"), True: mark_text("↓")}
        keys = [
            join_phrases(" ", [_label(by_name, key.field), arrows[key.descending]])
            for key in query.search.sort
        ]
        text = compose_phrase(_("Sorted by %(fields)s"), fields=join_list(keys))
        chips.append(Chip(text, write_change("sort")))
    for name in query.hidden:
        text = compose_phrase(_("Hidden: %(field)s"), field=_label(by_name, name))
        chips.append(Chip(text, write_change("-hide", name)))
    if query.fields:
        chips.append(Chip(mark_text(_("Chosen columns")), write_change("fields")))
    return chips


def _say(
    columns: Columns, name: str, operator: Operator, operand: Json, shown: Sequence[Phrase]
) -> Phrase:
    words = operator.choose_words(operand)
    # As many as the words name: a wrong condition may have fewer.
    all_shown = [*shown, *[_MORE] * words.count("%(value")]
    values = {f"value{number}": each for number, each in enumerate(all_shown, 1)}
    value = join_phrases(pgettext("conditions", " or "), shown)
    return compose_phrase(words, field=_label(columns, name), value=value, **values)


def _label(columns: Columns, name: str) -> Phrase:
    if name == ID:
        return mark_text(_("No."))
    return columns[name].marked_label if name in columns else mark_text(name)


def _mark(columns: Columns, name: str, value: str) -> Phrase:
    if name not in columns:
        return mark_text(value)
    column = columns[name]
    if column.type.has_range:
        parsed = parse_typed_value(column.type, value)
        is_number = column.type.is_number
        value = format_number(parsed, column.style) if is_number else column.write(parsed)
    return mark_text(value if value.strip() else dump_json_as_sent(value), column.value_language)


def _describe(columns: Columns, condition: Condition, *, is_member: bool = False) -> Phrase:
    """Describe a condition of the API; a member of a group that joins others has brackets."""
    while isinstance(condition, And | Or) and len(condition.conditions) == 1:
        condition = condition.conditions[0]
    if isinstance(condition, And | Or):
        parts = [_describe(columns, each, is_member=True) for each in condition.conditions[:10]]
        parts += [_MORE] if len(condition.conditions) > len(parts) else []
        is_and, is_joined = isinstance(condition, And), True
        word = pgettext("conditions", " and ") if is_and else pgettext("conditions", " or ")
        phrase = join_phrases(word, parts)
    elif isinstance(condition, Near):
        words = _("Within %(kilometers)s km of %(latitude)s, %(longitude)s")
        numbers = {name: format_number(f"{getattr(condition, name):.15g}") for name in NEAR}
        return compose_phrase(words, **{name: mark_text(n) for name, n in numbers.items()})
    else:
        name = condition.field
        if isinstance(condition, Comparison):
            operator, operand = operators[condition.operator], condition.value
        elif condition.values == (None,):
            operator, operand = operators["isnull"], True
        else:
            operator, operand = operators["in"], list(condition.values)
        listed = operand if operator.operand is Operand.LIST else [operand]
        values = cast("Sequence[Json]", listed)
        shown = []
        for value in values[:10]:
            if value is None:
                shown.append(mark_text(_("empty")))
            elif isinstance(value, bool):
                shown.append(mark_text(str(YES_OR_NO["true" if value else "false"])))
            else:
                text = value if isinstance(value, str) else dump_json_as_sent(value)
                shown.append(_mark(columns, name, shorten(text, _MAX_VALUE_LENGTH)))
        shown += [_MORE] if len(values) > len(shown) else []
        is_joined = len(shown) > 1
        phrase = _say(columns, name, operator, operand, shown)
    if is_member and is_joined:
        return compose_phrase("(%(condition)s)", condition=phrase)
    return phrase


# The form -----------------------------------------------------------------------------------------

#: Fields of a table up to which each is offered for another condition, or else those shown.
_MAX_OPTIONS = 200

#: Different values of a field whose most common ones are suggested.
_MAX_SUGGESTED_DISTINCT = 50


@dataclass(frozen=True, slots=True)
class Input:
    """
    One input: its ``value`` comes from the address, as typed.

    The browser offers the ``suggestions`` while a user types.
    """

    id: str
    name: str
    operator_label: str | Promise
    value: str
    attributes: Mapping[str, str]
    choices: tuple[Pair, ...] = ()
    error: str = ""
    suggestions: tuple[str, ...] = ()


_END_LABELS = {"from": pgettext_lazy("operator", "from"), "to": pgettext_lazy("operator", "to")}


def build_filter_form(question: PageQuestion) -> dict[str, Any]:
    """
    Describe the form that asks for what a page asks for, and for more.

    ``groups`` are fields with their inputs, one or two for the ends of a range: those of the
    columns that are shown, and of values that cannot be read.  ``hidden`` are the parameters
    without an input.  Other conditions may be on ``fields``, by the ``operators``.
    """
    query, columns = question.query, {column.name: column for column in question.columns}
    asked = {each.parameter: each for each in query.conditions}
    schema = {each.name: (at, each) for at, each in enumerate(question.read.resource.schema)}
    inputs: list[tuple[str, Field, tuple[str, ...]]] = []
    for column in question.choice.columns:
        (at, field), kind = schema[column.name], column.type
        names = ("contains",) if kind.is_text or kind.is_list else ("field",)
        if kind.is_list or not kind.is_nested:
            inputs.append((f"f{at}", field, ("from", "to") if kind.has_range else names))
    known = {f"{name}.{field.name}" for _at, field, names in inputs for name in names}
    inputs += [
        (f"wrong-{number}", each.field, (each.operator,))
        for number, each in enumerate(query.conditions)
        if each.error and each.parameter not in known
    ]
    known |= {f"{name}.{field.name}" for _at, field, names in inputs for name in names}
    shown = {(name, each.values[0]) for name, each in asked.items() if name in known}
    is_narrow = len(columns) <= _MAX_OPTIONS
    fields = tuple(columns.values()) if is_narrow else question.choice.columns
    return {
        "groups": [
            (
                columns[field.name],
                [
                    build_input(f"{at}-{name}", field, name, asked, question.field_profiles)
                    for name in names
                ],
            )
            for at, field, names in inputs
        ],
        "hidden": [
            pair
            for pair in query.query_string.pairs
            if pair[0] not in ("q", CHOSEN_VALUE) and pair not in shown
        ],
        "has_errors": bool(query.errors) or any(each.error for each in query.conditions),
        "fields": fields,
        "has_more_fields": len(columns) > len(question.choice.columns),
        "has_other_fields": len(fields) < len(columns),
        "operators": [
            *((name, str(each.label)) for name, each in OPERATORS.items()),
            (BETWEEN, pgettext("operator", "between")),
            (NOT_EMPTY, str(OPERATORS["empty"].label_if_false)),
        ],
        "chosen_value": dict(query.query_string.pairs).get(CHOSEN_VALUE, ""),
    }


def build_input(
    id_: str,
    field: Field,
    operator: str,
    asked: Mapping[str, FieldCondition],
    profiles: Mapping[str, Mapping[str, Any]] = {},
) -> Input:
    """Build the input of a condition, with what is asked for, and common values of its profile."""
    name, profile = f"{operator}.{field.name}", profiles.get(field.name, {})
    value, error = (asked[name].values[0], asked[name].error) if name in asked else ("", "")
    kind = field_types[field.type]
    attributes = kind.input_attributes
    if "type" in attributes:
        # The browser's own input, for a day, would hide a value that is wrong.
        attributes = {} if error else attributes
        value = value if error else parse_typed_value(kind, value)
    is_choice = kind.is_boolean and not error
    suggestions = []
    is_category = kind.is_text and profile.get("distinct", 0) <= _MAX_SUGGESTED_DISTINCT
    if operator == "contains" and is_category:
        common = [str(each["value"]) for each in profile.get("top", ())]
        suggestions = [each for each in common if len(each) < MAX_PROFILED_LENGTH and each.strip()]
    return Input(
        id_,
        name,
        _END_LABELS.get(operator) or ("" if operator == "field" else OPERATORS[operator].label),
        value,
        attributes,
        tuple((key, str(label)) for key, label in YES_OR_NO.items()) if is_choice else (),
        error,
        tuple(suggestions),
    )


# The head -----------------------------------------------------------------------------------------


def render_markdown(text: str, max_length: int) -> SafeString:
    """Render the first letters of a text; without markdown-it-py, its lines as they are."""
    shown = show_bidi_controls(Truncator(text).chars(max_length))
    if find_spec("markdown_it") is None:
        return SafeString(linebreaks(shown, autoescape=True))
    return SafeString(_build_renderer().render(shown))


@cache
def _build_renderer() -> Any:
    """Build the renderer, which escapes HTML and refuses addresses that run a script."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - of an extra, which may be missing

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
    """Describe what is above the result; a tab has the name, label and address of a view."""
    resource, query, request = question.read.resource, question.query, question.request
    description = resource.local_description.text
    # A drawing's own parameters are not among these.
    whole = QueryString(tuple(clean_parameters(request.GET))).remove("page")
    drawn = whole.remove(*OF_TABLE).query
    page, about = (reverse_in_locale(request, each, resource.pk) for each in ("resource", "about"))
    views = list_shown_views(question)
    view = find_present_view(question, views) if views else None
    is_staff = getattr(request.user, "is_staff", False)
    tabs = [*(each.tab for each in views), ("table", _("Table"), page + whole.query)]
    picture = ""
    if path := find_path(request, "chart", resource.pk):
        tabs.append(("chart", _("Chart"), path + drawn))
        if find_spec("resvg_py") and not resource.private:
            is_drawn = present in ("chart", "compare", "map")
            own = request.path if is_drawn else path
            asked = query.query_string.remove(*OF_TABLE)
            if views and not (is_drawn or request.GET or views[0].kind.page == "resource"):
                own, asked = views[0].path, QueryString(views[0].pairs)
            picture = request.build_absolute_uri(own + asked.replace("format", "png").query)
    groupable = [column for column in question.columns if not column.type.is_nested]
    if len(groupable) > 1 and (path := find_path(request, "compare", resource.pk)):
        tabs.append(("compare", _("Compare"), path + drawn))
    profiles = question.field_profiles
    if (path := find_path(request, "map", resource.pk)) and (
        find_place_fields(question.read.relation.types, profiles) or request.path.endswith("/map/")
    ):
        tabs.append(("map", _("Map"), path + drawn))
    elif path and (by := propose_areas(question.read, question.columns, profiles)):
        areas = whole.remove(*OF_TABLE).replace("as", Form.MAP).replace("by", by)
        path = reverse_in_locale(request, "chart", resource.pk)
        tabs.append(("map", _("Map"), path + areas.query))
    tabs.append(("about", pgettext("page", "About"), about + whole.query))
    suggestions = []
    path = find_path(request, "action", "datastore_suggest")
    # The API reads no session.
    if path and "datastore_suggest" in actions and not resource.private:
        texts = [each for each in question.columns if each.type.is_text and each.name in profiles]
        facets = list_facet_fields(texts, profiles)
        names = [each.column.name for each in facets if each.kind is FacetKind.VALUES]
        sizes = {name: profiles[name]["distinct"] for name in names}
        names.sort(key=sizes.__getitem__, reverse=True)
        sent = (("resource_id", str(resource.pk)), ("limit", str(MAX_SUGGESTED_VALUES)))
        suggestions = [
            add_query_string(path, [*sent, ("field", name)])
            for name in names[:MAX_SUGGESTED_FIELDS]
        ]
    return {
        "tabs": tabs,
        "picture": picture,
        "present_tab": view.tab[0] if view else present,
        "view": view,
        "save_address": find_save_address(question, present) if is_staff and not view else "",
        "line": build_sections(question, Place.LINE)[Place.LINE],
        "formats": list_format_labels(),
        "description": render_markdown(description, MAX_DESCRIPTION_LENGTH),
        "is_long": len(description) > MAX_DESCRIPTION_LENGTH // 2,
        "query": query,
        "column_choice": question.choice,
        "chips": build_chips(query, question.columns),
        "filter_form": build_filter_form(question),
        "suggestions": suggestions,
        "address": request.path,
        "is_complete": question.profiles is not None,
    }


def list_format_labels() -> list[str]:
    kinds = [kind for kind in formats.values() if kind.is_installed and not kind.needs_places]
    return list(dict.fromkeys(kind.extension.upper() for kind in kinds))


class AboutView(ResourcePageView):
    template = "about.html"

    def build_context(self, question: PageQuestion) -> dict[str, Any]:
        resource = question.read.resource
        profiles = profile_columns(question.read, question.query, question.columns)
        question = replace(question, profiles=profiles)
        notes = describe_fields(question.choice.columns, question.field_profiles)
        return {
            **describe_head(question, "about"),
            "description": render_markdown(resource.local_description.text, 20_000),
            "sections": build_sections(question, Place.ABOUT),
            "notes": notes,
            "has_figures": any(each.facts for each in notes),
        }
