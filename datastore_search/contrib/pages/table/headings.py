"""The headings of the table: links that sort, a menu, and a histogram of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from ....filters.names import SortKey, format_sort_key
from .columns import Column
from .page_query import PageQuery, is_sortable
from .profiles import FieldNote
from .query_string import Link, QueryString


@dataclass(frozen=True, slots=True)
class Heading:
    """
    The heading of a column.

    ``sort_link`` leads to the next order: ascending, descending, none; empty for a type without an
    order.  ``aria_sort`` is the order that the records have by this column, if any.  ``note`` has
    the statistics of all values, where they are shown.
    """

    column: Column
    sort_link: Link | str
    aria_sort: str
    note: FieldNote | None = None
    menu: SafeString | str = ""


def build_headings(notes: Sequence[FieldNote], query: PageQuery) -> list[Heading]:
    """Build the headings of the columns that are shown, which the notes describe."""
    return [
        replace(
            _build_heading(note.column, query),
            note=note,
            menu=SafeString("".join(_list_menu(note, query.query_string))),
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
    sort_link: Link | str = ""
    if is_sortable(column.type):
        following = {"": [SortKey(column.name)], "ascending": [SortKey(column.name, True)]}
        keys = map(format_sort_key, following.get(aria_sort, []))
        sort_link = query.query_string.replace("sort", *keys).link
    return Heading(column, sort_link, aria_sort)


def _list_menu(note: FieldNote, address: QueryString) -> Iterator[str]:
    """Write each link of a menu as an item of a list."""
    name = note.column.name
    if is_sortable(note.column.type):
        ascending, descending = SortKey(name), SortKey(name, descending=True)
        for label, key in ((_("Sort ascending"), ascending), (_("Sort descending"), descending)):
            yield _write_item(label, address.replace("sort", format_sort_key(key)))
    if not note.is_complete:
        yield _write_item(_("Only empty values"), address.replace(f"empty.{name}", "yes"))
        yield _write_item(_("Without empty values"), address.replace(f"empty.{name}", "no"))
    first = [value for key, value in address.pairs if key == "first" and value != name]
    yield _write_item(_("Move first"), address.replace("first", name, *first))
    yield _write_item(_("Hide"), address.add("hide", name))
    if note.facts:
        yield f"<li>{Link(f'#{note.id}').write(_('Statistics'))}"


def _write_item(label: str, address: QueryString) -> str:
    return f"<li>{address.link.write(label)}"
