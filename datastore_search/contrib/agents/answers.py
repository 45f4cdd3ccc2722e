"""
Answers of tools: text of a bounded size, which says what was left out and how to ask for it.

Records are CSV, in which names of fields stand once, and take half the letters of JSON objects.
"""

from __future__ import annotations

import csv
import json
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from io import StringIO
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext as _

from ...messages.search import AnswerTooLarge
from ...search import RawJson, parse_raw_json
from ...search.records import MAX_MEMORY_BYTES, Spool

#: Of one answer; some 5,000 to 10,000 tokens of a model.
MAX_ANSWER_LETTERS: Final = 20_000

#: Of the rows of an answer, which come after some sentences.
MAX_ROWS_LETTERS: Final = MAX_ANSWER_LETTERS - 1_000

#: Of one value where there are many; fewer values may be longer.
MIN_VALUE_LETTERS: Final = 200

#: Values that a cell shows as they are; others are JSON.
_PLAIN: Final = {str, int, Decimal}


def parse_result(value: RawJson | Spool) -> Any:
    """Parse a member that PostgreSQL has written as JSON, if it fits into memory."""
    if isinstance(value, Spool) and value.size_bytes > MAX_MEMORY_BYTES:
        value.close()
        raise AnswerTooLarge(most=MAX_MEMORY_BYTES)
    return parse_raw_json(value)


class Written(NamedTuple):
    """Rows of an answer: their text, their number, and whether values were cut."""

    text: str
    row_count: int
    is_cut: bool


def write_csv(
    columns: Sequence[str], rows: Sequence[Sequence[object]], max_letters: int
) -> Written:
    """Write a header and as many rows as fit; the first row is always there, its values cut."""
    cells = max(1, len(rows) * len(columns))
    # The header and the first row fit, however many columns there are.
    longest = min(
        max(MIN_VALUE_LETTERS, max_letters // cells), max(1, max_letters // (2 * len(columns)) - 1)
    )
    # Null is empty; numbers have all their digits.
    shown = [
        [
            "" if cell is None else str(cell) if type(cell) in _PLAIN else dump_compact(cell)
            for cell in row
        ]
        for row in rows
    ]
    is_cut = any(len(cell) > longest for row in shown for cell in row)
    text, ends = StringIO(), list[int]()
    writer = csv.writer(text, lineterminator="\n")
    for row in (columns, *shown):
        writer.writerow(cut_text(cell, longest) for cell in row)
        ends.append(text.tell())
    row_count = max(bisect_right(ends, max_letters) - 1, min(len(rows), 1))
    return Written(text.getvalue()[: ends[row_count]], row_count, is_cut)


def cut_text(text: str, longest: int) -> str:
    """Cut a text to a number of letters, the last of which says so."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def dump_compact(value: object) -> str:
    def convert(each: object) -> object:
        return float(each) if isinstance(each, Decimal) else str(each)

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=convert)


def write_page(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    total: int | None,
    offset: int,
    max_letters: int = MAX_ROWS_LETTERS,
) -> str:
    """Write a page of rows as CSV, after a line that says which these are, and how to go on."""
    if not rows and not total:
        return _("Nothing was found.")
    if not rows:
        return _("%(total)s were found. No row is shown: see limit and offset.") % {"total": total}
    written = write_csv(columns, rows, max_letters)
    last = offset + written.row_count
    text = _("Rows %(first)s to %(last)s of %(total)s, as CSV.")
    if total is None:
        text = _("Rows %(first)s to %(last)s, as CSV.")
    notes = [text % {"first": offset + 1, "last": last, "total": total}]
    if written.row_count < len(rows) or (total is not None and last < total):
        notes.append(_("For the next ones, ask again with offset %(offset)s.") % {"offset": last})
    if written.is_cut:
        notes.append(describe_cut())
    return f"{' '.join(notes)}\n\n{written.text}"


def describe_cut() -> str:
    return _("Values that end with “…” are cut: fewer rows or fields show more of them.")
