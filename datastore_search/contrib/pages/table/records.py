"""The records of a page as rows of HTML; numbers keep their digits, so that a filter reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from decimal import Context
from functools import lru_cache

from django.utils import dateformat
from django.utils.formats import get_format
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from ....field_types import dump_json, field_types
from ....messages.bidi import show_bidi_controls
from ....messages.numbers import group_digits
from ....search import ID, ConsistentRead, Page, read_page
from ..embedding.framing import EMBED
from ..record.keys import link_record, list_key_fields
from .columns import Column, build_columns
from .marks import Marker
from .page_query import PageQuery

#: Letters that fit into the line of a cell; more are on the page of the record.
MAX_CELL_LENGTH = 60

#: Letters of a value on the page of a record.
MAX_VALUE_LENGTH = 100_000

#: Letters of a value that are searched, of an excerpt, before its word, and that forms share.
_MAX_SEARCHED_LENGTH, _EXCERPT_LENGTH, _LENGTH_BEFORE, _COMMON = 10_000, 100, 50, 4

#: Whole numbers of fewer digits are not grouped: most of four digits are years.
_MIN_GROUPED_DIGITS = 5

#: Digits of a number in a figure, as at the end of a range; the table shows all.
_MAX_DIGITS = 25

_PLAIN_NUMBER = re.compile(r"(-?)([0-9]{1,300})(?:\.([0-9]+))?")
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_LINK = re.compile(r"https?://[^\s<>\"]{1,2000}", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


@dataclass(frozen=True, slots=True)
class Row:
    """
    One record: its ``_id``, the link to its page if there is one, and the HTML of its cells.

    ``has_more`` says that its page shows more of a value.  A page has hundreds of cells: a template
    would take a tenth of the page's time for them.  ``excerpts`` show what else matches.
    """

    id: str
    link: str
    cells: SafeString
    has_more: bool
    excerpts: list[tuple[Column, SafeString]]


class Digits(str):
    """The digits of a JSON number."""

    __slots__ = ()


def parse_record(text: bytes) -> dict[str, object]:
    """Parse the JSON text of a record; its numbers keep their digits."""
    record: dict[str, object] = json.loads(
        text, parse_int=Digits, parse_float=Digits, object_pairs_hook=_keep_first
    )
    return record


def _keep_first(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Keep the first of two members of the same name: a field ``rank`` precedes the rank."""
    members: dict[str, object] = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def build_rows(
    page: Page,
    columns: Sequence[Column],
    *,
    hidden: Sequence[Column],
    marker: Marker | None,
    build_link: Callable[[Mapping[str, object], int], str] | None,
) -> list[Row]:
    """
    Read the JSON texts of a page one at a time, so that only the cut texts stay in memory.

    ``marker`` marks words, in ``hidden`` columns too.  ``build_link`` takes a record and its
    position on the page, from 0; without it, rows have no links.
    """
    attributes = [column.cell_attributes for column in columns]
    rows = []
    for position, text in enumerate(page.texts):
        record = parse_record(text)
        cells, cut = SafeString(), list[Column]()
        for column, attribute in zip(columns, attributes, strict=True):
            value = record[column.name]
            if value is None:
                cells += _EMPTY_NUMBER_CELL if column.kind == "number" else _EMPTY_CELL
                continue
            shown = format_value(column, value)
            if len(shown) > MAX_CELL_LENGTH:
                cut.append(column)
            cell = "<td{}><i>{}</i>" if column.is_category else "<td{}>{}"
            cells += format_html(cell, attribute, _render_cell(marker, column, value, shown))
        excerpts = _list_excerpts(marker, record, [*cut, *hidden], cells) if marker else ()
        link = build_link(record, position) if build_link else ""
        rows.append(Row(str(record[ID]), link, cells, bool(cut), list(excerpts)))
    return rows


_EMPTY_CELL = SafeString("<td class=e>–")
_EMPTY_NUMBER_CELL = SafeString('<td class="e n">–')
_ELLIPSIS = SafeString("…")
_MARKED = re.compile(r"<mark>(.*?)</mark>")


def _render_cell(marker: Marker | None, column: Column, value: object, text: str) -> SafeString:
    """Write the beginning of a value; a link leads to the whole address."""
    shown = show_bidi_controls(text[:MAX_CELL_LENGTH])
    content = escape(shown)
    if marker:
        content = _mark(marker, column, value, shown)
    if target := find_link_target(text) if column.field_type.is_text else "":
        content = render_link(content, target)
    return content + _ELLIPSIS if len(text) > MAX_CELL_LENGTH else content


def find_link_target(text: str) -> str:
    """Find what a text leads to if the whole of it is a web or e-mail address; otherwise empty."""
    if _LINK.fullmatch(text):
        return text
    return f"mailto:{text}" if "@" in text and _EMAIL.fullmatch(text) else ""


def render_link(text: str, target: str) -> SafeString:
    """Write a link to another site."""
    return format_html('<a href="{}" rel="nofollow noopener">{}</a>', target, text)


def render_value(marker: Marker | None, column: Column, value: object) -> SafeString:
    """Write a whole value for the page of a record, with marks."""
    text = show_bidi_controls(format_value(column, value))
    target = find_link_target(text) if column.field_type.is_text else ""
    content = _mark(marker, column, value, text if target else text[:MAX_VALUE_LENGTH])
    return render_link(content, target) if target else content


def _mark(marker: Marker | None, column: Column, value: object, text: str) -> SafeString:
    """Mark a value that is written as ``text``: of a number or date, all of it."""
    if not marker or column.kind == "text":
        return marker.mark(text) if marker else escape(text)
    return format_html("<mark>{}</mark>" if any(marker.find(str(value))) else "{}", text)


def _list_excerpts(
    marker: Marker, record: Mapping[str, object], columns: Iterable[Column], cells: str
) -> Iterator[tuple[Column, SafeString]]:
    """List columns with words that are not marked in the cells, each with an excerpt."""
    marked = {each[:_COMMON].casefold() for each in _MARKED.findall(cells)}
    for column in columns:
        if (value := record[column.name]) is None or len(marked) >= marker.word_count:
            continue
        text = show_bidi_controls(format_value(column, value)[:_MAX_SEARCHED_LENGTH])
        found = marker.find(text if column.kind == "text" else str(value))
        new = next((each for each in found if each[0][:_COMMON].casefold() not in marked), None)
        if new is None:
            continue
        marked.add(new[0][:_COMMON].casefold())
        blank = text.rfind(" ", 0, max(new.start() - _LENGTH_BEFORE // 2, 0))
        start = max(blank + 1, new.start() - _LENGTH_BEFORE)
        end = start + _EXCERPT_LENGTH
        html = _mark(marker, column, value, text[start:end])
        yield column, format_html("{}{}{}", "…" if start else "", html, "…" if text[end:] else "")


# Values in the page's language --------------------------------------------------------------------


def format_value(column: Column, value: object) -> str:
    """Write a value of a column as people read it."""
    return _FORMATTERS.get(column.type, _format_plain)(value)


def format_number(digits: str) -> str:
    """Write a number with the separators of the page's language, and all its digits."""
    found = _PLAIN_NUMBER.fullmatch(digits)
    if not found:
        return digits
    sign, whole, fraction = found.groups()
    if len(whole) >= _MIN_GROUPED_DIGITS:
        whole = group_digits(whole)
    return f"{sign}{whole}{get_format('DECIMAL_SEPARATOR')}{fraction}" if fraction else sign + whole


def shorten_number(digits: str) -> str:
    """Write a number of many digits with six figures and an exponent."""
    if len(digits) <= _MAX_DIGITS:
        return digits
    try:
        return str(Context(prec=6).create_decimal(digits).normalize()).lower()
    except ArithmeticError:
        return digits


@lru_cache(maxsize=4096)
def _format_day(text: str, _language: str | None) -> str:
    """Write an ISO day in the short form of a language, which must be the active one."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return dateformat.format(day, get_format("SHORT_DATE_FORMAT"))


def _format_date(value: object) -> str:
    text = str(value)
    return _format_day(text, get_language()) if _DAY.fullmatch(text) else text


def _format_plain(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Digits):
        return format_number(value)
    return str(value) if isinstance(value, str) else _format_json(value)


def _format_moment(value: object) -> str:
    """Write a day, and its time after a blank, not ``T``; a filter takes it in this form."""
    day, _separator, clock = str(value).partition("T")
    clock = clock.removesuffix("+00:00").removesuffix(".000")
    return f"{_format_date(day)} {clock}" if clock else _format_date(day)


def _format_float(value: object) -> str:
    """Write a double in its shortest form; JSONB writes up to 300 zeros."""
    if not isinstance(value, Digits):
        return str(value)
    return format_number(repr(float(value)).removesuffix(".0"))


def _format_json(value: object) -> str:
    """Write JSON with the digits of its numbers unchanged."""
    if isinstance(value, Digits):
        return str(value)
    if isinstance(value, Mapping):
        members = ", ".join(f"{dump_json(key)}: {_format_json(value[key])}" for key in value)
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_json, value))}]"
    return dump_json(value)  # type: ignore[arg-type] # JSON has nothing else


_FORMATTERS: Mapping[str, Callable[[object], str]] = {
    kind.name: _format_moment
    if kind.has_day
    else _format_float
    if kind.is_double
    else _format_json
    if kind.is_nested and not kind.is_list
    else _format_plain
    for kind in field_types.values()
}


# The table of a page, a frame, or a portal's own template -----------------------------------------


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The rows of one page, the number of records on all pages, the mean size of a value."""

    rows: list[Row]
    total: int
    value_bytes: float = 0


def read_record_table(
    read: ConsistentRead,
    query: PageQuery,
    columns: Sequence[Column],
    *,
    offset: int = 0,
    page_path: str | None = "",
) -> RecordTable:
    """
    Read the records of a valid query; there are no rows from the last record on.

    ``page_path`` is the path of the data page, if the links to records are not relative to it; with
    None there are no links.
    """
    is_searched = query.q and page_path == ""  # other pages have no excerpts
    hidden = [each for each in build_columns(read.resource) if is_searched and each not in columns]
    # The keys of records are read for their links, hidden columns for the words in them.
    names = [each.name for each in (*columns, *hidden)]
    fields = dict.fromkeys([ID, *list_key_fields(read.resource), *names])
    search = query.build_search(query.size, offset=offset, fields=tuple(fields))
    address = query.query_string.remove(EMBED)

    def build_link(record: Mapping[str, object], position: int) -> str:
        place = offset + position + 1
        return link_record(read.resource, address, record, place, f"{page_path}r/")

    with closing(read_page(read, search)) as page:
        text = b" ".join(text[:_MAX_SEARCHED_LENGTH] for text in page.texts if query.q)
        rows = build_rows(
            page,
            columns,
            hidden=hidden,
            marker=Marker(read, search, text.decode(errors="ignore")) if query.q else None,
            build_link=None if page_path is None else build_link,
        )
        total = page.total or 0
        around = sum(len(f'"{name}": ,'.encode()) for name in fields)  # in each JSON text
        size = sum(map(len, page.texts)) / max(len(rows), 1) - around
    return RecordTable(rows, total, max(size, 0) / len(fields))
