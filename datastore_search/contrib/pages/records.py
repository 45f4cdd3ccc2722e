"""The records of a page as rows of HTML; numbers keep their digits, so that a filter reads them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from django.apps import apps
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from ...field_types import field_types
from ...filters import Condition, In, remove_operators
from ...filters.words import UNSPACED_LETTERS, has_unspaced_letters, remove_diacritics, split_words
from ...messages.texts import show_bidi_controls
from ...models import Resource
from ...search import ID, ConsistentRead, Query, read_answer
from ..analysis.highlighting import FieldText, find_matches
from .columns import Column, build_columns
from .question import EMBED, PageQuery, QueryString
from .values import (
    PLAIN,
    Digits,
    NumberStyle,
    format_value,
    write_language,
    write_value,
)

#: Precedes ``_id`` in the address of a record whose key has an empty value.
_ID_PREFIX = "_id:"

#: The parameter with the place of a record among those found, from 1.
POSITION = "at"

_EMPTY = "~"
_NUMBER = re.compile(r"[0-9]{1,19}")


def list_key_fields(resource: Resource) -> tuple[str, ...]:
    """List the fields of the primary key whose values can stand in an address."""
    types = resource.types
    names = tuple(resource.primary_key)
    usable = all(name in types and not field_types[types[name]].is_nested for name in names)
    return names if usable else ()


def encode_key(resource: Resource, record: Mapping[str, object]) -> str:
    names = list_key_fields(resource)
    values = [record.get(name) for name in names]
    if not names:
        return str(record[ID])
    if any(value is None for value in values):
        return f"{_ID_PREFIX}{record[ID]}"
    quoted = (quote(write_value(value), safe="").replace("~", "%7E") for value in values)
    return ",".join(each.replace(".", "%2E").replace("%", "~") or _EMPTY for each in quoted)


def decode_key(resource: Resource, key: str) -> tuple[Condition, ...] | None:
    """Decode the key in an address to conditions on the record; None if it cannot be one."""
    names = list_key_fields(resource)
    number = key.removeprefix(_ID_PREFIX) if names else key
    if not names or number != key:
        return (In(ID, (number,)),) if _NUMBER.fullmatch(number) else None
    parts = key.split(",")
    if len(parts) != len(names):
        return None
    values = ["" if part == _EMPTY else unquote(part.replace("~", "%")) for part in parts]
    return tuple(In(name, (value,)) for name, value in zip(names, values, strict=True))


def link_record(
    resource: Resource, address: QueryString, record: Mapping[str, object], place: int, path: str
) -> str:
    """
    Link to the page of a record, below a path.

    The link holds the question and the ``place`` of the record among those found, from 1, so that
    its page knows the records beside it.
    """
    return f"{path}{encode_key(resource, record)}/{address.replace(POSITION, str(place)).query}"


# The words that match -----------------------------------------------------------------------------

#: Letters with their marks (Latin, Hebrew, Arabic, Indic, Thai), in scripts with blanks.
_MARKS = r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e]*"
_WORD = rf"(?:(?![{UNSPACED_LETTERS}])[^\W_]{_MARKS})+"

#: Letters of a beginning that matches; words that PostgreSQL compares, with so many equal letters.
_MIN_PREFIX_LENGTH, _MAX_COMPARED_WORDS, _COMPARED_LENGTH = 3, 500, 2


class Marker:
    """Marks the words of a full-text query in texts, but those that it excludes."""

    def __init__(self, read: ConsistentRead, query: Query, text: str) -> None:
        """Split the query; with ``analysis``, other forms of its words are found in ``text``."""
        words = split_words(_fold(remove_operators(query.q))[0])
        self._token = re.compile("|".join([*filter(has_unspaced_letters, words), _WORD]))
        patterns = [each if len(each) < _MIN_PREFIX_LENGTH else f"{each}.*" for each in words]
        if apps.is_installed("datastore_search.contrib.analysis"):
            starts = "|".join({form[:_COMPARED_LENGTH] for each in words for form in _fold(each)})
            similar = re.compile(rf"(?<![^\W_])(?:{starts or '(?!)'})(?:[^\W_]{_MARKS})*")
            forms = {word for form in {*_fold(text)} for word in similar.findall(form)}
            asked = [FieldText("", each) for each in forms][:_MAX_COMPARED_WORDS]
            spans = find_matches(read, query, asked)
            patterns += [each.text for each, found in zip(asked, spans, strict=True) if found]
        self._words = re.compile("|".join(patterns) or "(?!)")
        self.word_count = len(words)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Find the words that match, in a script without blanks the parts that do."""
        places = [each.start() for each in map(self._words.search, _fold(text)) if each]
        if places:
            start = text.rfind(" ", 0, min(places)) + 1 if text.isascii() else 0
            for token in self._token.finditer(text, start):
                if any(map(self._words.fullmatch, _fold(token[0]))):
                    yield token

    def mark(self, text: str) -> SafeString:
        """Escape a text, with ``<mark>`` around the words that match."""
        html, end = SafeString(), 0
        for found in self.find(text):
            html += escape(text[end : found.start()])
            html += format_html("<mark>{}</mark>", found[0])
            end = found.end()
        return html + escape(text[end:])


def _fold(text: str) -> tuple[str, str]:
    """Fold the case of a text, and then its accents: a word without them finds one with them."""
    written = unicodedata.normalize("NFC", text.casefold())
    return written, remove_diacritics(written).replace("œ", "oe").replace("æ", "ae")


# Rows ---------------------------------------------------------------------------------------------

#: Letters that fit into the line of a cell, and of the label in front of it; more of a value are on
#: the page of the record.
MAX_CELL_LENGTH, _MAX_CELL_LABEL_LENGTH = 60, 30

#: Cells of a card, on a narrow screen, without its name and empty ones; as in the style sheet.
#: Others are shown, and labeled, where the records are sorted by them or match there.
_MAX_CARD_CELLS = 7

#: Letters of a value on the page of a record.
MAX_VALUE_LENGTH = 100_000

#: Letters of a value that are searched, of an excerpt, before its word, and that forms share.
_MAX_SEARCHED_LENGTH, _EXCERPT_LENGTH, _LENGTH_BEFORE, _COMMON = 10_000, 100, 50, 4

_LINK = re.compile(r"https?://[^\s<>\"]{1,2000}", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """
    One record: its ``_id``, the link to its page if no cell has it, and the HTML of its cells.

    ``has_more`` says that its page shows more of a value.  A page has hundreds of cells: a template
    would take a tenth of the page's time for them.  ``excerpts`` show what else matches.
    """

    id: str
    link: str
    cells: SafeString
    has_more: bool
    excerpts: list[tuple[Column, SafeString]]


def parse_record(text: bytes) -> dict[str, object]:
    """Parse the JSON text of a record; its numbers keep their digits."""
    record: dict[str, object] = json.loads(
        text, parse_int=Digits, parse_float=Digits, object_pairs_hook=_keep_first
    )
    return record


def count_records(read: ConsistentRead, query: Query) -> int:
    with closing(read_answer(read, replace(query, limit=0))) as found:
        return found.total or 0


def write_name(column: Column | None, record: Mapping[str, object]) -> str:
    """Write the name of a record, which a column has; empty if it has none."""
    if column is None or (value := record[column.name]) is None:
        return ""
    name = column.write(value).strip()
    return name if _VISIBLE.search(name) else ""


def _keep_first(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Keep the first of two members of the same name: a field ``rank`` precedes the rank."""
    members: dict[str, object] = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


_ELLIPSIS, _CATEGORY_END = SafeString("…"), SafeString("</i>")
_VISIBLE = re.compile(r"[^\s\x00-\x1f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_MARK = "<mark>"
_MARKED = re.compile(rf"{_MARK}(.*?)</mark>")


def _write_cells(
    marker: Marker | None,
    columns: Mapping[Column, tuple[SafeString, SafeString, NumberStyle]],
    record: Mapping[str, object],
    link: str,
) -> tuple[SafeString, list[Column], str]:
    """Write the beginning of values; return the columns that are cut, and the link if not used."""
    cells, cut, labeled = SafeString(), list[Column](), 0
    for column, (start, bare, style) in columns.items():
        value = record[column.name]
        if value is None:
            cells += SafeString(
                f'<td class="e {column.mark}">–' if column.mark else "<td class=e>–"
            )
            continue
        text = format_value(column.type, value, style)
        content = _mark(marker, column, value, show_bidi_controls(text[:MAX_CELL_LENGTH]))
        if target := find_link_target(text) if column.type.is_text else "":
            content = render_link(content, target)
        if len(text) > MAX_CELL_LENGTH:
            cut.append(column)
            content += _ELLIPSIS
        if column.mark == "h" and link and _VISIBLE.search(text) and not target:
            content, link = format_html('<a href="{}">{}</a>', link, content), ""
        # A sum of safe texts is safe, and hundreds of ``format_html`` take a twentieth of the page.
        labeled += column.mark != "h"
        is_shown = labeled <= _MAX_CARD_CELLS or _MARK in content
        cells += (start if is_shown else bare) + content
        if column.is_category:
            cells += _CATEGORY_END
    return cells, cut, link


def _write_starts(column: Column, *, is_sorted: bool) -> tuple[SafeString, SafeString]:
    """Write how cells of a column start, on a narrow screen with its label, and without it."""
    if column.mark == "h":
        start, labels = SafeString("<td class=h"), ("", "")
    else:
        start = SafeString(" class=p" if column.mark == "p" else " class=s" if is_sorted else "")
        start = SafeString("<td") + start
        name = {"number": "n", "moment": "m"}.get(column.kind, "")
        text = column.label[:_MAX_CELL_LABEL_LENGTH].strip()
        label = format_html(' data-{}="{}"', name or "l", text)
        labels = label, label if is_sorted else format_html(" data-{}", name) if name else ""
    end = write_language(column.value_language) + SafeString("><i>" if column.is_category else ">")
    with_label, bare = (start + SafeString(each) + end for each in labels)
    return with_label, bare


def find_link_target(text: str) -> str:
    """Find what a text leads to if the whole of it is a web or e-mail address; otherwise empty."""
    if _LINK.fullmatch(text):
        return text
    return f"mailto:{text}" if "@" in text and _EMAIL.fullmatch(text) else ""


def render_link(text: str, target: str) -> SafeString:
    return format_html('<a href="{}" rel="nofollow noopener">{}</a>', target, text)


def render_value(marker: Marker | None, column: Column, value: object) -> SafeString:
    text = column.write(value)
    target = find_link_target(text) if column.type.is_text else ""
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
        text = show_bidi_controls(
            format_value(column.type, value, column.style)[:_MAX_SEARCHED_LENGTH]
        )
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


@dataclass(frozen=True, slots=True)
class ShownTable:
    """The rows of one page, the number of records on all pages, the mean size of a value."""

    rows: list[ShownRecord]
    total: int
    value_bytes: float = 0


def read_record_table(
    read: ConsistentRead,
    query: PageQuery,
    columns: Sequence[Column],
    *,
    offset: int = 0,
    page_path: str | None = "",
) -> ShownTable:
    """
    Read the records of a valid query; there are no rows from the last record on.

    ``page_path`` is the path of the data page, if the links to records are not relative to it; with
    None there are no links.
    """
    is_searched = query.search.q and page_path == ""  # other pages have no excerpts
    hidden = [each for each in build_columns(read.resource) if is_searched and each not in columns]
    # The keys of records are read for their links, hidden columns for the words in them.
    names = [each.name for each in (*columns, *hidden)]
    fields = dict.fromkeys([ID, *list_key_fields(read.resource), *names])
    search = replace(query.search, limit=query.size, offset=offset, fields=tuple(fields))
    address = query.query_string.remove(EMBED)

    sorted_by = {each.field for each in query.search.sort}  # shown on a narrow screen, too
    starts = {each: _write_starts(each, is_sorted=each.name in sorted_by) for each in columns}
    marker, rows = None, []
    numbers = [each for each in columns if each.type.is_number]
    with closing(read_answer(read, search)) as found:
        texts = list(found.texts)
        if search.q:
            sought = b" ".join(text[:_MAX_SEARCHED_LENGTH] for text in texts)
            marker = Marker(read, search, sought.decode(errors="ignore"))
        # One record at a time, so that only the numbers and the cut texts stay in memory.
        digits = [[each[column.name] for column in numbers] for each in map(parse_record, texts)]
        styles = {
            column: column.choose_style([each[at] for each in digits])
            for at, column in enumerate(numbers)
        }
        styled = {column: (*starts[column], styles.get(column, PLAIN)) for column in columns}
        for place, record in enumerate(map(parse_record, texts), offset + 1):
            link = ""
            if page_path is not None:
                link = link_record(read.resource, address, record, place, f"{page_path}r/")
            cells, cut, link = _write_cells(marker, styled, record, link)
            excerpts = _list_excerpts(marker, record, [*cut, *hidden], cells) if marker else ()
            rows.append(ShownRecord(str(record[ID]), link, cells, bool(cut), list(excerpts)))
        total = found.total or 0
        around = sum(len(f'"{name}": ,'.encode()) for name in fields)  # in each JSON text
        size = sum(map(len, texts)) / max(len(rows), 1) - around
    return ShownTable(rows, total, max(size, 0) / len(fields))
