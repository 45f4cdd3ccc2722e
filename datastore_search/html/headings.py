"""The headings of the table: links that sort, a menu, and a histogram of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from ..field_names import SortKey, format_sort_key
from .columns import Column
from .page_query import PageQuery, is_sortable
from .profiles import FieldNote
from .query_string import QueryString


@dataclass(frozen=True, slots=True)
class MenuLink:
    """A link of a column's menu."""

    label: str
    link: str


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
    menu: tuple[MenuLink, ...] = ()


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
    if is_sortable(column.type):
        following = {"": [SortKey(column.name)], "ascending": [SortKey(column.name, True)]}
        keys = map(format_sort_key, following.get(aria_sort, []))
        sort_link = query.query_string.replace("sort", *keys).link
    return Heading(column, sort_link, aria_sort)


def _list_menu(note: FieldNote, address: QueryString) -> Iterator[MenuLink]:
    name = note.column.name
    if is_sortable(note.column.type):
        ascending, descending = SortKey(name), SortKey(name, descending=True)
        yield MenuLink(
            _("Sort ascending"), address.replace("sort", format_sort_key(ascending)).link
        )
        yield MenuLink(
            _("Sort descending"), address.replace("sort", format_sort_key(descending)).link
        )
    if not note.is_complete:
        yield MenuLink(_("Only empty values"), address.replace(f"empty.{name}", "yes").link)
        yield MenuLink(_("Without empty values"), address.replace(f"empty.{name}", "no").link)
    first = [value for key, value in address.pairs if key == "first" and value != name]
    yield MenuLink(_("Move first"), address.replace("first", name, *first).link)
    yield MenuLink(_("Hide"), address.add("hide", name).link)
    if note.facts:
        yield MenuLink(_("Statistics"), f"#{note.id}")
