"""The headings of the table: buttons that sort, a menu, and a histogram of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from django.utils.translation import gettext as _

from ....filters.names import SortKey, format_sort_key
from .columns import Column
from .page_query import PageQuery
from .profiles import FieldNote
from .query_string import write_change


@dataclass(frozen=True, slots=True)
class Heading:
    """
    The heading of a column.

    ``sort`` changes to the next order: ascending, descending, none; empty for a type without an
    order.  ``aria_sort`` is the order that the records have by this column, if any.  ``note`` has
    the statistics of all values, where they are shown.  A button of the ``menu`` has a label and a
    change, or the page to which it leads.
    """

    column: Column
    sort: str
    aria_sort: str
    note: FieldNote | None = None
    menu: Sequence[tuple[str, str, str]] = ()


def build_headings(
    columns: Sequence[Column], query: PageQuery, notes: Sequence[FieldNote] = ()
) -> list[Heading]:
    """Build the headings of columns, with menus and statistics where notes describe these."""
    return [_build_heading(column, query, note) for column, note in zip_longest(columns, notes)]


def _build_heading(column: Column, query: PageQuery, note: FieldNote | None) -> Heading:
    key = query.sort[0] if query.sort else None
    aria_sort = ""
    if key and key.field == column.name:
        aria_sort = "descending" if key.descending else "ascending"
    change = ""
    if column.field_type.is_sortable:
        following = {"": [SortKey(column.name)], "ascending": [SortKey(column.name, True)]}
        change = write_change("sort", *map(format_sort_key, following.get(aria_sort, [])))
    return Heading(column, change, aria_sort, note, list(_list_menu(note, query)) if note else ())


def _list_menu(note: FieldNote, query: PageQuery) -> Iterator[tuple[str, str, str]]:
    """List the buttons of a menu."""
    name = note.column.name
    if note.column.field_type.is_sortable:
        ascending, descending = SortKey(name), SortKey(name, descending=True)
        for label, key in ((_("Sort ascending"), ascending), (_("Sort descending"), descending)):
            yield label, write_change("sort", format_sort_key(key)), ""
    if not note.is_complete:
        yield _("Only empty values"), write_change(f"empty.{name}", "yes"), ""
        yield _("Without empty values"), write_change(f"empty.{name}", "no"), ""
    first = [each for each in query.first if each != name]
    yield _("Move first"), write_change("first", name, *first), ""
    yield _("Hide"), write_change("hide", *query.hidden, name), ""
    if note.facts:
        yield _("Statistics"), "", f"about/#{note.id}"
