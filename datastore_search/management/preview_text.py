"""A preview as text for a terminal: counts, fields and what is to know, without values."""

from __future__ import annotations

from collections.abc import Iterator

from ..loading.jobs import LoadOptions
from ..loading.publishing.preview import Preview
from ..messages import describe_bad_row
from ..models import Mode

MAX_ROW_ERRORS = 20


def format_preview(preview: Preview, options: LoadOptions) -> Iterator[str]:
    """Write a preview in lines, without characters that control a terminal."""
    for line in _list_lines(preview, options):
        yield "".join(letter if letter.isprintable() else " " for letter in line)


def _list_lines(preview: Preview, options: LoadOptions) -> Iterator[str]:
    yield f"Rows: {preview.row_count}, fields: {len(preview.fields)}"
    changes = preview.changes.build_notices(replaces=options.mode == Mode.REPLACE)
    notices = list(map(str, (*preview.notices, *changes)))
    for field in preview.fields:
        yield f"- {field.name}: {field.format}{' (chosen)' if field.is_chosen else ''}"
        if field.explanation and str(field.explanation) not in notices:
            yield f"  {field.explanation}"
    yield from (f"- {notice}" for notice in notices)
    if preview.bad_row_count:
        yield f"Rows that cannot be loaded: {preview.bad_row_count}"
    for error in preview.row_errors[:MAX_ROW_ERRORS]:
        yield f"- {describe_bad_row(error.line, error.field, error.value, error.reason)}"
