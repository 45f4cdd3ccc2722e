"""The records of a page as rows of HTML; numbers keep their digits, so that a filter reads them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
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

from ....field_types import dump_json
from ....filters.words import remove_diacritics
from ....messages.bidi import show_bidi_controls
from ....messages.numbers import group_digits
from ....search import ID, ConsistentRead, Page, read_page
from ..embedding.framing import EMBED
from ..record.keys import link_record, list_key_fields
from .columns import Column
from .page_query import PageQuery

#: Letters that fit into the two lines of a cell; more are on the page of the record.
MAX_CELL_LENGTH = 100

#: Letters of a value on the page of a record.
MAX_VALUE_LENGTH = 100_000

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
    would take a tenth of the page's time for them.
    """

    id: str
    link: str
    cells: SafeString
    has_more: bool


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
    words: tuple[str, ...],
    build_link: Callable[[Mapping[str, object], int], str] | None,
) -> list[Row]:
    """
    Read the JSON texts of a page one at a time, so that only the cut texts stay in memory.

    ``words`` are marked.  ``build_link`` takes a record and its position on the page, from 0;
    without it, rows have no links.
    """
    attributes = [column.cell_attributes for column in columns]
    rows = []
    for position, text in enumerate(page.texts):
        record = parse_record(text)
        cells, has_more = SafeString(), False
        for column, attribute in zip(columns, attributes, strict=True):
            value = record[column.name]
            if value is None:
                cells += _EMPTY_NUMBER_CELL if column.kind == "number" else _EMPTY_CELL
                continue
            shown = format_value(column, value)
            has_more |= len(shown) > MAX_CELL_LENGTH or shown.count("\n") > 1
            cells += format_html("<td{}>{}", attribute, _render_cell(column, shown, words))
        link = build_link(record, position) if build_link else ""
        rows.append(Row(str(record[ID]), link, cells, has_more))
    return rows


_EMPTY_CELL = SafeString("<td class=e>–")
_EMPTY_NUMBER_CELL = SafeString('<td class="e n">–')
_ELLIPSIS = SafeString("…")


def _render_cell(column: Column, text: str, words: tuple[str, ...]) -> SafeString:
    """Write the beginning of a value; a link leads to the whole address."""
    shown = show_bidi_controls(text[:MAX_CELL_LENGTH])
    target = find_link_target(text) if column.type == "text" else ""
    if target:
        content = render_link(shown, target)
    elif words and column.kind == "text":
        content = highlight(shown, words)
    else:
        content = escape(shown)
    if len(text) > MAX_CELL_LENGTH:
        content += _ELLIPSIS
    elif "\n" not in shown:
        return content
    return format_html("<div>{}</div>", content)


def find_link_target(text: str) -> str:
    """Find what a text leads to if the whole of it is a web or e-mail address; otherwise empty."""
    if _LINK.fullmatch(text):
        return text
    return f"mailto:{text}" if "@" in text and _EMAIL.fullmatch(text) else ""


def render_link(text: str, target: str) -> SafeString:
    """Write a link to another site."""
    return format_html('<a href="{}" rel="nofollow noopener">{}</a>', target, text)


def render_value(column: Column, value: object) -> SafeString:
    """Write a whole value for the page of a record."""
    text = show_bidi_controls(format_value(column, value))
    target = find_link_target(text) if column.type == "text" else ""
    if target:
        return render_link(text, target)
    return escape(text[:MAX_VALUE_LENGTH])


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


def _format_timestamp(value: object) -> str:
    """Write a timestamp with a blank for the ``T``; a filter takes it in this form."""
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
    "date": _format_date,
    "timestamp": _format_timestamp,
    "timestamptz": _format_timestamp,
    "float8": _format_float,
    "json": _format_json,
}


# Marked words of a full-text query, as far as plain words go --------------------------------------

_WORD = re.compile(r"[^\W_]+")

#: From this length on, a word also matches as the beginning of another.
_MIN_PREFIX_LENGTH = 3

_MAX_WORDS = 20


def split_words(q: str) -> tuple[str, ...]:
    """Split a full-text query into the words to mark."""
    words = _WORD.findall(unicodedata.normalize("NFC", q).casefold())
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


def highlight(text: str, words: Iterable[str]) -> SafeString:
    """Escape a text, with ``<mark>`` around the words that match."""
    html, end = SafeString(), 0
    for found in _WORD.finditer(text):
        if _matches(found[0], words):
            html += escape(text[end : found.start()])
            html += format_html("<mark>{}</mark>", found[0])
            end = found.end()
    return html + escape(text[end:])


def _matches(text: str, words: Iterable[str]) -> bool:
    """Match as the search does: a word without accents finds one that has them."""
    written = text.casefold()
    forms = {written} if written.isascii() else {written, remove_diacritics(written)}
    return any(
        form.startswith(word) if len(word) >= _MIN_PREFIX_LENGTH else form == word
        for word in words
        for form in forms
    )


# The table of a page, a frame, or a portal's own template -----------------------------------------


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The rows of one page, and the number of records on all pages."""

    rows: list[Row]
    total: int


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
    # The keys of records are read for their links.
    fields = dict.fromkeys([ID, *list_key_fields(read.resource), *(each.name for each in columns)])
    search = query.build_search(query.size, offset=offset, fields=tuple(fields))
    address = query.query_string.remove(EMBED)

    def build_link(record: Mapping[str, object], position: int) -> str:
        place = offset + position + 1
        return link_record(read.resource, address, record, place, f"{page_path}r/")

    with closing(read_page(read, search)) as page:
        rows = build_rows(
            page,
            columns,
            words=split_words(query.q),
            build_link=None if page_path is None else build_link,
        )
        total = page.total or 0
    return RecordTable(rows, total)
