"""
Make the names and labels of fields from a header, of one row or of several.

Several rows are joined by choice only: “2020” above “Budget” becomes “2020 | Budget”.  They are
recognised where the upper row has gaps above names of the lower one, and typed values are below.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ..messages import Notice
from .options import MAX_HEADER_ROWS, ReadOptions

_SEPARATOR = " | "
#: A title has not more filled cells.
_MAX_TITLE_CELLS = 1
#: Typed values are looked for in this many rows below the header.
_MAX_SAMPLE_ROWS = 20

_YEAR = re.compile(r"(?:19|20)\d\d\Z")
_TYPED = re.compile(r"[-+]?[\d.,\s]*\d\s*%?\Z|\d{4}-\d\d-\d\d\b|\d{1,2}[./-]\d{1,2}[./-]\d{4}\b")


class HeaderRow(NamedTuple):
    """
    One of the first rows of a file: its line, and its cells as texts.

    ``is_merged`` says that one of its cells is merged over several columns.
    """

    line: int
    cells: Sequence[str]
    is_merged: bool = False

    def count_filled(self) -> int:
        """Count the cells that are not empty."""
        return sum(bool(cell.strip()) for cell in self.cells)


class FoundHeader(NamedTuple):
    """The position of a header among the first rows, and the number of its rows."""

    start: int
    row_count: int


def find_stacked_header(rows: Sequence[HeaderRow], wanted: int | None) -> FoundHeader | None:
    """
    Find a header over several rows, below titles; ``wanted`` is their number if it is chosen.

    One that is not chosen is found only where its signs are clear.
    """
    for start, row in enumerate(rows):
        count = _count_stacked(rows, start, wanted or MAX_HEADER_ROWS)
        if count > 1 and count == (wanted or count):
            if wanted or _is_clear(rows[start : start + count], rows[start + count :]):
                return FoundHeader(start, count)
            return None
        if row.count_filled() > _MAX_TITLE_CELLS:
            return None
    return None


def join_header(rows: Sequence[Sequence[str]], *, has_gaps: bool = True) -> list[str]:
    """
    Join the names of each column; with ``has_gaps``, a name also counts for the gap right of it.

    A name is not repeated below itself, as a cell that is merged over rows would be.
    """
    filled = _fill_gaps(rows) if has_gaps else rows
    return [_join_parts(parts) for parts in zip_longest(*filled, fillvalue="")]


def choose_header(
    options: ReadOptions, stacked: FoundHeader | None, find_header: Callable[[], int]
) -> FoundHeader:
    """Choose the first row below what is skipped, the one over several rows, or what is found."""
    if options.skip is None and options.header_rows and stacked:
        return stacked
    return FoundHeader(0 if options.skip is not None else find_header(), options.header_rows or 1)


def _count_stacked(rows: Sequence[HeaderRow], start: int, most: int) -> int:
    """Count the rows of the header that begins at a position."""
    count = 1
    while count < most and start + count < len(rows):
        if not _are_stacked(rows[start + count - 1], rows[start + count]):
            break
        count += 1
    return count


def _are_stacked(upper: HeaderRow, lower: HeaderRow) -> bool:
    """Return whether the names of a row complete the names of the row above it."""
    pairs = [
        (above.strip(), below.strip())
        for above, below in zip_longest(upper.cells, lower.cells, fillvalue="")
    ]
    while pairs and not any(pairs[-1]):
        pairs.pop()
    return (
        lower.line == upper.line + 1
        and upper.count_filled() > _MAX_TITLE_CELLS
        and all(above or below for above, below in pairs[1:])
        and any(below and not above for above, below in pairs)
        and all(_may_be_name(cell) for pair in pairs for cell in pair)
    )


def _is_clear(header: Sequence[HeaderRow], body: Sequence[HeaderRow]) -> bool:
    """Return whether rows are clearly a header, by their form and by what is below them."""
    upper, lower = header[-2:]
    names = [cell.strip() for cell in lower.cells if cell.strip()]
    has_form = (
        any(row.is_merged for row in header)
        or len(set(names)) < len(names)
        or any(
            above.strip() and not below.strip()
            for above, below in zip_longest(upper.cells, lower.cells, fillvalue="")
        )
    )
    return has_form and any(
        name.strip() and _is_typed(_get_column(body, position))
        for position, name in enumerate(lower.cells)
    )


def _get_column(rows: Sequence[HeaderRow], position: int) -> list[str]:
    sample = [row.cells for row in rows[:_MAX_SAMPLE_ROWS]]
    return [cells[position].strip() for cells in sample if len(cells) > position]


def _is_typed(cells: Iterable[str]) -> bool:
    """Return whether most of the values are numbers or dates, and not years alone."""
    values = [cell for cell in cells if cell]
    typed = [value for value in values if _TYPED.match(value)]
    return 2 * len(typed) > len(values) and not all(map(_YEAR.match, typed))


def _may_be_name(cell: str) -> bool:
    return not _TYPED.match(cell) or bool(_YEAR.match(cell))


def _fill_gaps(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Repeat each name above others over the gap to its right."""
    width = max(map(len, rows))
    filled = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in rows]
    for depth, row in enumerate(filled[:-1]):
        name = ""
        for position in range(width):
            has_name_below = any(below[position] for below in filled[depth + 1 :])
            # A name of a row above ends the gap, as its own gap begins there.
            starts_anew = any(above[position] != above[position - 1] for above in filled[:depth])
            if row[position] or starts_anew or not has_name_below:
                name = row[position] if has_name_below else ""
            else:
                row[position] = name
    return filled


def _join_parts(parts: Iterable[str]) -> str:
    joined: list[str] = []
    for part in parts:
        name = part.strip()
        if name and name not in joined[-1:]:
            joined.append(name)
    return _SEPARATOR.join(joined)


MAX_NAME_LENGTH = 200

#: The length of ``Field.label``.
_MAX_LABEL_LENGTH = 500

#: The number of a record.
_RESERVED_NAME = "_id"
#: Blanks of all kinds, characters that control a terminal, and invisible ones.
_BLANKS = re.compile("[\x00-\x1f\x7f-\x9f\\s\u200b\u2060\ufeff]+")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MAX_LISTED_NAMES = 20

_CODES = (
    "notice.names_missing",
    "notice.names_tidied",
    "notice.names_shortened",
    "notice.names_repeated",
    "notice.names_reserved",
)


def make_unique_names(header: Sequence[str]) -> tuple[str, ...]:
    """
    Make the names of the fields from a header: composed, without control characters, unique.

    An empty name is replaced by its position, a repeated one gets a number, and ``_id`` is
    reserved.  Names that differ only in case are different.

    Source: CKAN ``datastore_create``, whose field ids differ by case.
    """
    taken = {_RESERVED_NAME}
    numbers: dict[str, int] = {}
    names = []
    for position, label in enumerate(header, start=1):
        wanted = _shorten_name(_tidy_label(label)) or f"field_{position}"
        name = wanted
        while name in taken:
            numbers[wanted] = numbers.get(wanted, 1) + 1
            suffix = f"_{numbers[wanted]}"
            name = wanted[: MAX_NAME_LENGTH - len(suffix)] + suffix
        taken.add(name)
        names.append(name)
    return tuple(names)


def clean_labels(header: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a header as they can be stored: without what cannot, and shortened."""
    return tuple(_UNSTORABLE.sub("�", label)[:_MAX_LABEL_LENGTH] for label in header)


def describe_name_changes(header: Sequence[str], names: Sequence[str]) -> tuple[Notice, ...]:
    """Describe how the names differ from the header, with one notice for each kind of change."""
    changed: dict[str, list[str]] = {}
    for label, name in zip(header, names, strict=True):
        for code in _find_changes(label, name):
            changed.setdefault(code, []).append(name)
    return tuple(
        Notice(code, fields=_list_names(changed[code]), most=MAX_NAME_LENGTH)
        if code == "notice.names_shortened"
        else Notice(code, fields=_list_names(changed[code]))
        for code in _CODES
        if code in changed
    )


def _find_changes(label: str, name: str) -> list[str]:
    tidied = _tidy_label(label)
    if not tidied:
        return ["notice.names_missing"]
    shortened = _shorten_name(tidied)
    codes: list[str] = []
    if tidied != unicodedata.normalize("NFC", label).strip(" "):
        codes.append("notice.names_tidied")
    if shortened != tidied:
        codes.append("notice.names_shortened")
    if name != shortened:
        is_reserved = shortened == _RESERVED_NAME
        codes.append("notice.names_reserved" if is_reserved else "notice.names_repeated")
    return codes


def _tidy_label(label: str) -> str:
    """Compose letters with their accents, and make all blanks single spaces."""
    composed = unicodedata.normalize("NFC", _UNSTORABLE.sub("�", label))
    return _BLANKS.sub(" ", composed).strip()


def _shorten_name(name: str) -> str:
    return name[:MAX_NAME_LENGTH].strip()


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_LISTED_NAMES])
    return f"{shown}, …" if len(names) > _MAX_LISTED_NAMES else shown
