"""The headings of the table: links that sort, a menu, and a histogram of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from ....filters.names import SortKey, format_sort_key
from .columns import Column
from .page_query import PageQuery
from .profiles import FieldNote
from .query_string import QueryString


@dataclass(frozen=True, slots=True)
class Heading:
    """
    The heading of a column.

    ``sort_link`` leads to the next order: ascending, descending, none; empty for a type without an
    order.  ``aria_sort`` is the order that the records have by this column, if any.  ``note`` has
    the statistics of all values, where they are shown.
    """

    column: Column
    sort_link: str
    aria_sort: str
    note: FieldNote | None = None
    menu: Sequence[tuple[str, str]] = ()


def build_headings(notes: Sequence[FieldNote], query: PageQuery) -> list[Heading]:
    """Build the headings of the columns that are shown, which the notes describe."""
    return [
        replace(
            _build_heading(note.column, query),
            note=note,
            menu=tuple(_list_menu(note, query.query_string)),
        )
        for note in notes
    ]


def build_plain_headings(columns: Sequence[Column], query: PageQuery) -> list[Heading]:
    """Build headings without menus and statistics."""
    return [_build_heading(column, query) for column in columns]


def _build_heading(column: Column, query: PageQuery) -> Heading:
    key = next(iter(query.sort), None)
    is_sorted = key is not None and key.field == column.name
    aria_sort = ""
    if is_sorted and key is not None:
        aria_sort = "descending" if key.descending else "ascending"
    sort_link = ""
    if column.field_type.is_sortable:
        following = {"": [SortKey(column.name)], "ascending": [SortKey(column.name, True)]}
        keys = map(format_sort_key, following.get(aria_sort, []))
        sort_link = query.query_string.replace("sort", *keys).link
    return Heading(column, sort_link, aria_sort)


def _list_menu(note: FieldNote, address: QueryString) -> Iterator[tuple[str, str]]:
    """List the links of a menu with their labels."""
    name = note.column.name
    if note.column.field_type.is_sortable:
        ascending, descending = SortKey(name), SortKey(name, descending=True)
        for label, key in ((_("Sort ascending"), ascending), (_("Sort descending"), descending)):
            yield label, address.replace("sort", format_sort_key(key)).link
    if not note.is_complete:
        yield _("Only empty values"), address.replace(f"empty.{name}", "yes").link
        yield _("Without empty values"), address.replace(f"empty.{name}", "no").link
    first = [value for key, value in address.pairs if key == "first" and value != name]
    yield _("Move first"), address.replace("first", name, *first).link
    yield _("Hide"), address.add("hide", name).link
    if note.facts:
        yield _("Statistics"), f"about/{address.query}#{note.id}"
