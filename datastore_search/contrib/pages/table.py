"""The data page of a resource: a table, its headings, its pages and its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext as _

from ...downloads.dump import choose_headers
from ...downloads.formats import DumpFormat, formats
from ...field_types import field_types
from ...filters import Comparison
from ...filters.names import SortKey, format_sort_key, quote_name
from ...filters.places import find_place_fields
from ...messages.requests import UnknownPage
from ...messages.texts import format_count, shorten
from ...models import Resource
from ...web.addresses import ResourceAddresses, find_path
from ...web.views import parse_page_number
from .columns import (
    MAX_VALUE_LENGTH,
    Column,
    FieldNote,
    choose_columns,
    choose_names,
    describe_fields,
    profile_columns,
)
from .head import build_chips, describe_head
from .page import ResourcePageView, add_query_string
from .question import (
    EMBED,
    PAGE_SIZES,
    PageQuery,
    Pair,
    build_query_parameters,
    join_conditions,
    write_change,
    write_filters,
)
from .records import ShownTable, count_records, read_record_table
from .sections import PageQuestion, Place, Section, build_sections


def format_range(offset: int, size: int, total: int) -> str:
    values = {
        "first": format_count(offset + 1),
        "last": format_count(min(offset + size, total)),
        "total": format_count(total),
    }
    return _("%(first)s–%(last)s of %(total)s") % values


def paginate(  # noqa: PLR0913 - what the links of a list depend on
    request: HttpRequest,
    parameters: Iterable[Pair],
    number: int,
    size: int,
    total: int,
    *,
    is_exact: bool = True,
) -> dict[str, Any]:
    """
    Describe one page of a list, and link to the others; None where there is none.

    ``number`` counts pages from 1, ``total`` the items of all pages; one that is not ``is_exact``
    is too low, and not shown.
    """
    pairs = [pair for pair in parameters if pair[0] != "page"]
    count = max(1, -(-total // size))

    def link(page: int) -> str:
        return add_query_string(request.path, [*pairs, *[("page", str(page))] * (page > 1)])

    return {
        "number": number,
        "total": total,
        "is_exact": is_exact,
        "page_count": count,
        "form_pairs": pairs,
        "range_text": format_range((number - 1) * size, size, total),
        "first_address": link(1) if number - 1 > 1 else None,
        "previous_address": link(number - 1) if number > 1 else None,
        "next_address": link(number + 1) if number * size < total else None,
        "last_address": link(count) if is_exact and number < count - 1 else None,
    }


# Headings -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heading:
    """
    The heading of a column.

    ``sort`` changes to the next order: ascending, descending, none; empty for a type without an
    order.  ``aria_sort`` is the order that the records have by this column, if any.  ``note`` has
    the statistics of all values, where they are shown.  ``buttons`` are the HTML of the menu, for
    which a template would take twice the time.
    """

    column: Column
    sort: str
    aria_sort: str
    note: FieldNote | None
    buttons: SafeString


_BUTTON = '<li><button form=ask name=set value="{}">{}</button>'


def build_headings(
    columns: Sequence[Column], query: PageQuery, notes: Sequence[FieldNote] = ()
) -> list[Heading]:
    """Build the headings of columns, with menus and statistics where notes describe these."""
    headings = []
    for column, note in zip_longest(columns, notes):
        name, aria_sort, change = column.name, "", ""
        if query.search.sort and (key := query.search.sort[0]).field == name:
            aria_sort = "descending" if key.descending else "ascending"
        menu = []
        if column.type.is_sortable:
            keys = SortKey(name), SortKey(name, descending=True)
            up, down = (write_change("sort", format_sort_key(key)) for key in keys)
            change = {"": up, "ascending": down}.get(aria_sort, write_change("sort"))
            menu = [(up, _("Sort ascending")), (down, _("Sort descending"))]
        if note:
            if not note.is_complete:
                menu.append((write_change(f"empty.{name}", "yes"), _("Only empty values")))
                menu.append((write_change(f"empty.{name}", "no"), _("Without empty values")))
            others = [each for each in query.first if each != name]
            menu.append((write_change("first", name, *others), _("Move first")))
            menu.append((write_change("hide", *query.hidden, name), _("Hide")))
        buttons = format_html_join("", _BUTTON, menu if note else ())
        headings.append(Heading(column, change, aria_sort, note, buttons))
    return headings


# Files --------------------------------------------------------------------------------------------

#: The records of the smallest table whose packed files are offered; a megabyte or so.
_MIN_PACKED_RECORDS = 10_000


def list_downloads(
    request: HttpRequest,
    resource: Resource,
    asked: PageQuery,
    table: ShownTable,
    *,
    has_places: bool,
) -> list[dict[str, Any]]:
    """
    List the records that a page asks for in each format of the dump, and their schema.

    There is nothing without a dump.  Each group is a form: a title that ends in a colon, ``hidden``
    parameters, and a button for each file.

    Where fields have labels, the formats with headers are offered with labels too; where there are
    many records, the formats of text are offered packed.
    """
    path = find_path(request, "dump", resource.pk)
    if not path:
        return []
    parameters = build_query_parameters(asked.search)
    names = choose_names((field.name for field in resource.schema), asked)
    if asked.has_chosen_columns and names:
        parameters["fields"] = ",".join(map(quote_name, names))
    value_bytes = (len(names) + 1) * (table.value_bytes + 1)
    name_bytes = sum(len(name.encode()) for name in names)
    kinds = [each for each in formats.values() if each.is_installed]
    kinds = [each for each in kinds if has_places or not each.needs_places]
    # Most readers open a file with Excel.
    kinds = [each for first in (True, False) for each in kinds if (each.name == "xlsx") is first]
    groups: list[tuple[str, str, Mapping[str, str], Iterable[DumpFormat]]] = [
        ("all", _("Download all records found:"), {}, kinds)
    ]
    if choose_headers(names, resource.infos[get_language()]) != names:
        title = _("With labels instead of column names:")
        with_header = [kind for kind in kinds if kind.has_header]
        groups.append(("labels", title, {"headers": "labels"}, with_header))
    version = resource.table_version
    if version is not None and version.record_count >= _MIN_PACKED_RECORDS:
        title = _("Compressed, as smaller files (gzip):")
        groups.append(("packed", title, {"gzip": "true"}, [kind for kind in kinds if kind.is_text]))
    sizes = {}
    for kind in kinds:
        of_values, of_names, once = kind.sizes
        sizes[kind] = round((of_values * value_bytes + of_names * name_bytes) * table.total + once)
    return [
        {
            "name": name,
            "title": title,
            "path": path,
            "hidden": {**options, **parameters},
            "files": [(kind, "gzip" not in options and sizes[kind]) for kind in kinds],
            "schema": name == "all" and find_path(request, "schema", resource.pk),
        }
        for name, title, options, kinds in groups
    ]


#: Operators of addresses, and those of ``filters`` that find more.
_WIDER = {"contains": "ucontains", "starts": "ustartswith"}


def _offer_wider(question: PageQuestion) -> Mapping[str, Any] | None:
    """
    Offer the conditions of a page that finds nothing as conditions on more.

    A text that no value equals is counted as a part; a part is looked for without its accents.
    """
    query, read = question.query, question.read
    texts = [each for each in query.conditions if field_types[each.field.type].is_text]
    if question.total or not texts:
        return None
    for each in texts:
        if each.operator == "field" and not each.values[1:]:
            name, (text,) = each.field.name, each.values
            others = join_conditions([other for other in query.conditions if other is not each])
            own = (*others, Comparison(name, "icontains", text), *query.filters)
            if total := count_records(read, replace(query.search, filters=own)):
                kept = query.query_string.remove(each.parameter).pairs
                return {
                    "link": f"?{urlencode([*kept, (f'contains.{name}', text)])}",
                    "value": shorten(text, MAX_VALUE_LENGTH),
                    "total": total,
                }
    parts = [each for each in texts if each.operator in _WIDER]
    wider = [
        Comparison(each.field.name, _WIDER[each.operator], value)
        for each in parts
        for value in each.values
    ]
    address = query.query_string.remove(*(each.parameter for each in parts))
    changed = address.replace(*write_filters((*query.filters, *wider)))
    return {"link": changed.link} if parts else None


SECTIONS = (Section("wider", Place.RESULT, "datastore_search/_wider.html", _offer_wider),)


# The page -----------------------------------------------------------------------------------------


class ResourceView(ResourcePageView):
    can_be_embedded = True
    has_clean_address = True
    template = "resource.html"

    def build_context(self, question: PageQuestion) -> dict[str, Any]:
        read, query, columns = question.read, question.query, question.columns
        if query.all_errors:
            self.status = HTTPStatus.BAD_REQUEST
        if self.is_embedded:
            context: dict[str, Any] = {
                "column_choice": question.choice,
                "query": query,
                "chips": build_chips(query, columns),
                "whole_address": query.query_string.remove(EMBED).link,
            }
            if not query.all_errors:
                context["pagination"], context["table"] = self._read_table(question)
                context["headings"] = build_headings(question.choice.columns, query)
            return context
        profiles = profile_columns(read, query, columns)
        choice = choose_columns(columns, query, profiles)
        question = replace(question, choice=choice, profiles=profiles)
        context = describe_head(question, "table")
        if query.all_errors:
            return context
        context["has_api"] = bool(find_path(self.request, "action", "datastore_search"))
        context["api_link"] = add_query_string("api/", self.parameters)
        context["pagination"], table = self._read_table(question)
        context["table"] = table
        question = replace(question, total=table.total)
        context["sections"] = build_sections(
            question, Place.HEAD, Place.BESIDE, Place.RESULT, Place.BELOW
        )
        notes = describe_fields(choice.columns, question.field_profiles)
        is_asked = query.search.q or query.search.filters
        # The histograms are of all records.
        shown = [replace(each, histogram=None) if is_asked else each for each in notes]
        context["headings"] = build_headings(choice.columns, query, shown)
        context["sizes"] = PAGE_SIZES
        if table.total:
            place = find_place_fields(read.relation.types, question.field_profiles)
            context["download_groups"] = list_downloads(
                self.request, read.resource, query, table, has_places=place is not None
            )
        self.link = ResourceAddresses(self.request).build_link_header(read.resource.pk)
        return context | self.describe_embedding(query.query_string.pairs, str(read.resource))

    def _read_table(self, question: PageQuestion) -> tuple[dict[str, Any], ShownTable]:
        number, query = parse_page_number(self.request), question.query
        offset = (number - 1) * query.size
        table = read_record_table(question.read, query, question.choice.columns, offset=offset)
        self.record_count = len(table.rows)
        if offset and offset >= table.total:
            raise UnknownPage(page=number)
        parameters = query.query_string.pairs
        return paginate(self.request, parameters, number, query.size, table.total), table
