"""
The records of a page as the rows of an HTML table.

Numbers keep all digits that PostgreSQL wrote, in any locale, so that they are valid as filters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from ..field_types import dump_json
from ..models import Field, Resource
from ..search import Page

#: A text much longer than this is folded: only its first letters are shown at first.
MAX_UNFOLDED_LENGTH = 200

#: Characters of a cell, and of all cells of a page; the rest is cut off.
MAX_CELL_LENGTH = 100_000
MAX_PAGE_LENGTH = 4_000_000

_NUMBERS = frozenset({"int4", "int8", "numeric", "float8"})
_TIMES = frozenset({"date", "timestamp", "time"})


@dataclass(frozen=True, slots=True)
class Column:
    """A field as a column; ``kind`` is the CSS class of its cells: number, moment or text."""

    name: str
    label: str
    notes: str
    type: str
    kind: str


@dataclass(frozen=True, slots=True)
class Cell:
    """
    One value: ``text`` is None for null, ``start`` is the visible start of a folded text.

    The end of a text that ``is_cut`` is missing.
    """

    text: str | None
    kind: str
    start: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its ``_id`` and its cells in the order of the columns."""

    id: str
    cells: tuple[Cell, ...]


class _Number(str):
    """The digits of a JSON number."""

    __slots__ = ()


def build_columns(resource: Resource) -> tuple[Column, ...]:
    """Build a column for each field of a described resource."""
    return tuple(_build_column(field) for field in resource.schema)


def _build_column(field: Field) -> Column:
    kinds = (("number", _NUMBERS), ("moment", _TIMES))
    kind = next((kind for kind, types in kinds if field.type in types), "text")
    return Column(field.name, field.label or field.name, field.notes, field.type, kind)


def build_rows(page: Page, columns: Iterable[Column]) -> list[Row]:
    """Read the JSON texts of a page one at a time, so that only the cut cells stay in memory."""
    columns = tuple(columns)
    left = MAX_PAGE_LENGTH
    rows = []
    for text in page.texts:
        record = json.loads(
            text, parse_int=_Number, parse_float=_Number, object_pairs_hook=_keep_first
        )
        cells = []
        for column in columns:
            cell = _build_cell(column, record[column.name], min(MAX_CELL_LENGTH, left))
            left -= len(cell.text or "")
            cells.append(cell)
        rows.append(Row(record["_id"], tuple(cells)))
    return rows


def _keep_first(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Keep the first of two members of the same name: a field ``rank`` precedes the rank."""
    members: dict[str, object] = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def format_count(number: int) -> str:
    """Write a count with the separators of the reader's language."""
    return number_format(number, force_grouping=True)


def format_value(column: Column, value: object) -> str:
    """Write a value of a column as people read it."""
    return _FORMATTERS.get(column.type, _format_plain)(value)


def _build_cell(column: Column, value: object, max_length: int) -> Cell:
    """Write a cell of at most ``max_length`` characters, but never less than its visible start."""
    if value is None:
        return Cell(None, column.kind)
    text = format_value(column, value)
    if len(text) <= MAX_UNFOLDED_LENGTH * 1.5:
        return Cell(text, column.kind)
    max_length = max(max_length, MAX_UNFOLDED_LENGTH)
    return Cell(
        text[:max_length], column.kind, text[:MAX_UNFOLDED_LENGTH], is_cut=len(text) > max_length
    )


def _format_plain(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value) if isinstance(value, str) else _format_json(value)


def _format_timestamp(value: object) -> str:
    """Write a timestamp with a blank for the ``T``; a filter takes it in this form."""
    return str(value).replace("T", " ").removesuffix(".000")


def _format_float(value: object) -> str:
    """Write a double in its shortest form; JSONB writes up to 300 zeros."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, _Number) else str(value)


def _format_json(value: object) -> str:
    """Write JSON with the digits of its numbers unchanged."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, Mapping):
        members = ", ".join(f"{dump_json(key)}: {_format_json(value[key])}" for key in value)
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_json, value))}]"
    return dump_json(value)  # type: ignore[arg-type] # JSON has nothing else


_FORMATTERS: Mapping[str, Callable[[object], str]] = {
    "timestamp": _format_timestamp,
    "float8": _format_float,
    "json": _format_json,
}
