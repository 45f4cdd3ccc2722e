"""A preview as text, for people at a terminal."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Container, Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..loading.jobs import LoadOptions
from ..loading.publishing.preview import Preview, PreviewedField, PreviewedRowError
from ..models import Mode

_ROWS = 5
_FAULTS = 20
_LETTERS = 24
_GAP = "  "


def written(found: Preview, options: LoadOptions) -> Iterator[str]:
    """Write a preview line by line: the fields, the first rows, what is to be known or wrong."""
    yield _size(found)
    yield ""
    yield from _table([_("Field"), _("Type"), _("First values")], map(_field, found.fields))
    notices = (*found.notices, *found.changes.build_notices(replaces=options.mode == Mode.REPLACE))
    said = list(map(str, notices))
    yield from _section(_("Why"), [_why(field) for field in found.fields if _has_more(field, said)])
    yield from _section(
        _("First rows"),
        _table(
            [field.name for field in found.fields],
            ([cell or "" for cell in row] for row in found.rows[:_ROWS]),
        ),
    )
    yield from _section(_("To know"), said)
    yield from _section(
        _("Rows that cannot be loaded: %(count)s") % {"count": found.bad_row_count},
        map(_fault, found.row_errors[:_FAULTS]),
    )


def _size(found: Preview) -> str:
    rows = ngettext("%(count)s row", "%(count)s rows", found.row_count) % {"count": found.row_count}
    count = len(found.fields)
    fields = ngettext("%(count)s field", "%(count)s fields", count) % {"count": count}
    return f"{rows}, {fields}"


def _field(field: PreviewedField) -> list[str]:
    kind = _("%(type)s (chosen)") % {"type": field.format} if field.is_chosen else field.format
    return [field.name, kind, " | ".join(_cut(value) for value in field.values)]


def _has_more(field: PreviewedField, said: Container[str]) -> bool:
    """Tell whether a field has a reason that is not said already."""
    return field.explanation is not None and str(field.explanation) not in said


def _why(field: PreviewedField) -> str:
    return f"{field.name}: {field.explanation}"


def _fault(fault: PreviewedRowError) -> str:
    if not fault.field:
        return _("Line %(line)s: %(reason)s") % {"line": fault.line, "reason": fault.reason}
    return _("Line %(line)s, field “%(field)s”, value “%(value)s”: %(reason)s") % {
        "line": fault.line,
        "field": fault.field,
        "value": fault.value,
        "reason": fault.reason,
    }


def _section(title: str, lines: Iterator[str] | map[str] | list[str]) -> Iterator[str]:
    """Write lines below a title, if there are any."""
    for number, line in enumerate(lines):
        if not number:
            yield ""
            yield title
        yield _GAP + line


# Tables -------------------------------------------------------------------------------------------


def _table(header: Sequence[str], rows: Iterator[Sequence[str]] | map[list[str]]) -> Iterator[str]:
    """Write a table, each line no wider than the terminal."""
    lines = [[_plain(cell) for cell in row] for row in (header, *rows)]
    last = len(header) - 1
    lines = [[*(_cut(cell) for cell in row[:last]), row[last]] for row in lines]
    widths = [max(map(_width, cells)) for cells in zip(*lines, strict=True)]
    for number, row in enumerate(lines):
        yield _fitted(_GAP.join(map(_padded, row, widths)))
        if not number:
            yield _fitted(_GAP.join("-" * width for width in widths))


def _plain(text: str) -> str:
    """Put a text on one line, without what would steer the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


def _fitted(line: str) -> str:
    most = shutil.get_terminal_size((120, 24)).columns - len(_GAP)
    line = line.rstrip()
    return line if len(line) <= most else line[: most - 1] + "…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Count the places that a text takes: letters of some scripts take two, marks none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)
