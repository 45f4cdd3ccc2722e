"""
Make the names and labels of fields from a header, and recognise the notes and totals of a footer.

A footer are the last rows of a table, which have fewer cells: notes, sources and totals.  They are
left out by choice only.  Such a row stands below a blank line, is shorter than the header where
rows have lengths, or begins with a word for a total or a source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..messages import UNSTORABLE, Notice
from ..sources.limits import is_duckdb_error
from .options import SKIP_FOOTER, ReadOptions
from .staging import ROW_ERRORS, STAGED_ROWS, StagingArea, get_column

MAX_NAME_LENGTH = 200

#: The length of ``Field.label``.
_MAX_LABEL_LENGTH = 500

#: Blanks of all kinds, characters that control a terminal, and invisible ones.
_BLANKS = re.compile("[\x00-\x1f\x7f-\x9f\\s\u200b\u2060\ufeff]+")
_MAX_LISTED_NAMES = 20
YEARS = range(1900, 2101)
_YEAR_TEXTS = frozenset(map(str, YEARS))

#: A footer has not more rows.
MAX_FOOTER_ROWS = 50
_MIN_WIDTH = 3

#: The first cell of totals, and of notes, in the languages of the package.
_WORDS = re.compile(
    r"((grand |sub-?)?totals?|total (general|général|geral)|sum|(gesamt)?summe|(ins)?gesamt"
    r"|ensemble|suma|soma|(ال)?مجموع|الإجمالي|tổng( số| cộng)?) ?:?"
    r"|(sources?|data sources?|quellen?|fuentes?|fontes?|(ال)?مصدر|nguồn|notes?|notas?"
    r"|hinweise?|anmerkung(en)?|ملاحظ(ة|ات)|ghi chú) ?[:：].*",
    re.IGNORECASE | re.DOTALL,
)


def is_year(text: str) -> bool:
    return text.strip() in _YEAR_TEXTS


def are_numbers_names(labels: Sequence[str]) -> bool:
    """Return whether numbers in a header are names: years, or numbers at equal distances."""
    if not all(map(str.isdecimal, labels)):
        return False
    # Two numbers are always at equal distances: they are names if the second follows the first.
    steps = [int(after) - int(before) for before, after in pairwise(labels)]
    is_regular = steps == [1] or (len(steps) > 1 and len({*steps}) == 1 and steps[0] != 0)
    return is_regular or all(map(is_year, labels))


def make_unique_names(header: Sequence[str]) -> tuple[str, ...]:
    """
    Make the names of the fields from a header: composed, without control characters, unique.

    An empty name is replaced by its position, a repeated one gets a number, and ``_id`` is
    reserved.  Names that differ only in case are different.

    Source: CKAN ``datastore_create``, whose field ids differ by case.
    """
    taken = {"_id"}
    numbers: dict[str, int] = {}
    names = []
    for position, label in enumerate(header, start=1):
        wanted = _make_name(label) or f"field_{position}"
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
    return tuple(UNSTORABLE.sub("�", label)[:_MAX_LABEL_LENGTH] for label in header)


def describe_name_changes(header: Sequence[str], names: Sequence[str]) -> Iterator[Notice]:
    """Describe names that are not those of the header, but for blanks and length."""
    wanted = [_make_name(label) for label in header]
    missing = [name for name, label in zip(names, wanted, strict=True) if not label]
    changed = [name for name, label in zip(names, wanted, strict=True) if label not in {"", name}]
    if missing:
        yield Notice("notice.names_missing", fields=_list_names(missing))
    if changed:
        yield Notice("notice.names_repeated", fields=_list_names(changed))


def _make_name(label: str) -> str:
    composed = unicodedata.normalize("NFC", UNSTORABLE.sub("�", label))
    return _BLANKS.sub(" ", composed).strip()[:MAX_NAME_LENGTH].strip()


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_LISTED_NAMES])
    return f"{shown}, …" if len(names) > _MAX_LISTED_NAMES else shown


def describe_footer(lines: Sequence[int], options: ReadOptions) -> Iterator[Notice]:
    if lines:
        code = "notice.footer_skipped" if options.footer == SKIP_FOOTER else "notice.footer_found"
        yield Notice(code, count=len(lines), line=lines[0])


class LastRow(NamedTuple):
    """One of the last rows: its lines, its number of filled cells, and the first of these."""

    line: int
    end: int
    filled: int
    first: str = ""
    #: Whether it has fewer cells than the header.
    is_cut: bool = False


def find_footer(rows: Sequence[LastRow], width: int) -> list[int]:
    """Find the lines of the footer among the last rows of a table, of which it leaves the first."""
    start = len(rows)
    for position in range(len(rows) - 1, 0, -1):
        row, above = rows[position], rows[position - 1]
        is_marked = row.is_cut or bool(_WORDS.fullmatch(row.first.strip()))
        if not (is_marked or (width >= _MIN_WIDTH and 2 * row.filled <= width + 1)):
            break
        if is_marked or row.line > above.end + 1:
            start = position
    footer = [row.line for row in rows[start:]]
    return footer if len(footer) <= MAX_FOOTER_ROWS else []


def find_staged_footer(staging_area: StagingArea, width: int) -> list[int]:
    last = staging_area.fetch_value("SELECT max(rowid) FROM {}", STAGED_ROWS)
    if last is None:
        return []
    positions = range(max(0, last - MAX_FOOTER_ROWS), last + 1)
    try:
        staged = _fetch_rows(staging_area, width, positions[0], positions[-1])
    except Exception as error:
        if not is_duckdb_error(error, "OutOfMemoryException"):  # it holds the texts of all of them
            raise
        staged = [row for at in positions for row in _fetch_rows(staging_area, width, at, at)]
    cut: list[LastRow] = []
    if width >= _MIN_WIDTH:
        # Rows that are shorter than the header; the texts of bad rows are not staged.
        query = (
            "SELECT line, CAST(error->>'$.parameters.cells' AS INTEGER) AS cells FROM {}"
            " WHERE line > {} AND error->>'$.code' = 'row.cell_count' AND cells < {}"
            " ORDER BY line DESC LIMIT {}"
        )
        found = staging_area.execute(query, ROW_ERRORS, staged[0].line, width, MAX_FOOTER_ROWS + 1)
        cut = [LastRow(line, line, cells, is_cut=True) for line, cells in found.fetchall()]
    return find_footer(sorted([*staged, *cut]), width)


def _fetch_rows(staging_area: StagingArea, width: int, first: int, last: int) -> list[LastRow]:
    query = (
        "SELECT line,"
        r" line + len(regexp_extract_all(array_to_string(cells, ''), '\r\n|\r|\n')),"
        " len(cells), coalesce(cells[1][:100], '') FROM"
        " (SELECT line, list_filter([{}], lambda cell: cell <> '') AS cells"
        " FROM {} WHERE rowid BETWEEN {} AND {}) ORDER BY line"
    )
    found = staging_area.execute(query, map(get_column, range(width)), STAGED_ROWS, first, last)
    return [LastRow(*row) for row in found.fetchall()]
