"""The headings of the table: buttons that sort, a menu, and a histogram of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from django.utils.html import format_html_join
from django.utils.safestring import SafeString
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
    the statistics of all values, where they are shown.  A button of the ``menu`` has a change and
    a label.
    """

    column: Column
    sort: str
    aria_sort: str
    note: FieldNote | None = None
    menu: Sequence[tuple[str, str]] = ()

    @property
    def buttons(self) -> SafeString:
        """The HTML of the menu, for which a template would take twice the time."""
        return format_html_join(
            "", '<li><button form=ask name=set value="{}">{}</button>', self.menu
        )


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


def _list_menu(note: FieldNote, query: PageQuery) -> Iterator[tuple[str, str]]:
    """List the buttons of a menu."""
    name = note.column.name
    if note.column.field_type.is_sortable:
        ascending, descending = SortKey(name), SortKey(name, descending=True)
        for label, key in ((_("Sort ascending"), ascending), (_("Sort descending"), descending)):
            yield write_change("sort", format_sort_key(key)), label
    if not note.is_complete:
        yield write_change(f"empty.{name}", "yes"), _("Only empty values")
        yield write_change(f"empty.{name}", "no"), _("Without empty values")
    first = [each for each in query.first if each != name]
    yield write_change("first", name, *first), _("Move first")
    yield write_change("hide", *query.hidden, name), _("Hide")
