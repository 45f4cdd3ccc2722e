"""A preview as text for a terminal."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from ..loading.jobs import LoadOptions
from ..loading.publishing.preview import Preview, PreviewedField
from ..messages import describe_bad_row, shorten
from ..models import Mode

MAX_ROWS = 5
MAX_ROW_ERRORS = 20
MAX_CELL_LENGTH = 24
_GAP = "  "


def format_preview(preview: Preview, options: LoadOptions) -> Iterator[str]:
    """Write a preview in lines: fields, explanations, first rows, notices and bad rows."""
    yield _format_size(preview)
    yield ""
    header = ["Field", "Type", "First values"]
    yield from _format_table(header, map(_list_cells, preview.fields))
    is_replacing = options.mode == Mode.REPLACE
    changes = preview.changes.build_notices(replaces=is_replacing)
    notices = list(map(str, (*preview.notices, *changes)))
    explained = [field for field in preview.fields if field.explanation]
    explanations = [(field.name, str(field.explanation)) for field in explained]
    yield from _format_section(
        "Why", (f"{name}: {text}" for name, text in explanations if text not in notices)
    )
    yield from _format_section(
        "First rows",
        _format_table(
            [field.name for field in preview.fields],
            ([cell or "" for cell in row] for row in preview.rows[:MAX_ROWS]),
        ),
    )
    yield from _format_section("Notices", notices)
    yield from _format_section(
        f"Rows that cannot be loaded: {preview.bad_row_count}",
        (
            str(describe_bad_row(error.line, error.field, error.value, error.reason))
            for error in preview.row_errors[:MAX_ROW_ERRORS]
        ),
    )


def _format_size(preview: Preview) -> str:
    return f"Rows: {preview.row_count}, fields: {len(preview.fields)}"


def _list_cells(field: PreviewedField) -> list[str]:
    kind = f"{field.format} (chosen)" if field.is_chosen else field.format
    return [field.name, kind, " | ".join(_fit(value, MAX_CELL_LENGTH) for value in field.values)]


def _format_section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Write lines below a title, if there are any."""
    for number, line in enumerate(lines):
        if not number:
            yield ""
            yield title
        yield _GAP + line


# Tables -------------------------------------------------------------------------------------------


def _format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table, each line no wider than the terminal."""
    lines = [[_remove_control_characters(cell) for cell in row] for row in (header, *rows)]
    last = len(header) - 1
    lines = [[*(_fit(cell, MAX_CELL_LENGTH) for cell in row[:last]), row[last]] for row in lines]
    widths = [max(map(_measure_width, cells)) for cells in zip(*lines, strict=True)]
    for number, row in enumerate(lines):
        padded = (
            text + " " * (width - _measure_width(text))
            for text, width in zip(row, widths, strict=False)
        )
        yield _fit_to_terminal(_GAP.join(padded))
        if not number:
            yield _fit_to_terminal(_GAP.join("-" * width for width in widths))


def _remove_control_characters(text: str) -> str:
    """Put a text on one line, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _fit_to_terminal(line: str) -> str:
    return _fit(line.rstrip(), shutil.get_terminal_size((120, 24)).columns - len(_GAP))


def _fit(text: str, length: int) -> str:
    return text if len(text) <= length else shorten(text, length - 1)


def _measure_width(text: str) -> int:
    """Count the columns of a text: wide characters take two, combining marks none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)
