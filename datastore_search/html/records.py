"""
The records of a page, made ready for a table.

Numbers are shown as PostgreSQL wrote them, to the last zero and in a spelling that the filters
understand, whatever the locale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from ..field_types import as_json
from ..models import Field, Resource
from ..search import Page

#: A longer text is folded up behind its beginning.
_LETTERS_SHOWN = 200

#: Letters of a cell, and of all cells of a page, that a page holds; more is cut off.
MAX_CELL_LETTERS = 100_000
MAX_PAGE_LETTERS = 4_000_000

_NUMBERS = frozenset({"int4", "int8", "numeric", "float8"})
_MOMENTS = frozenset({"date", "timestamp", "time"})


@dataclass(frozen=True, slots=True)
class Column:
    """A field as the head of a column; ``kind`` says how its cells look."""

    name: str
    label: str
    notes: str
    type: str
    kind: str


@dataclass(frozen=True, slots=True)
class Cell:
    """
    One value: ``text`` is None where it is null, ``start`` is there when the text is long.

    Of a text that ``is_cut`` the end is missing.
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
    """A number as it is written."""

    __slots__ = ()


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """Make the columns of a described resource."""
    return tuple(_column(field) for field in resource.schema)


def _column(field: Field) -> Column:
    kinds = (("number", _NUMBERS), ("moment", _MOMENTS))
    kind = next((kind for kind, types in kinds if field.type in types), "text")
    return Column(field.name, field.label or field.name, field.notes, field.type, kind)


def rows_of(page: Page, columns: Iterable[Column]) -> list[Row]:
    """Read the JSON texts of a page, one by one: what is too long of them is never together."""
    columns = tuple(columns)
    room = MAX_PAGE_LETTERS
    rows = []
    for text in page.texts:
        record = json.loads(
            text, parse_int=_Number, parse_float=_Number, object_pairs_hook=_first_of_each
        )
        cells = []
        for column in columns:
            cell = _cell(column, record[column.name], min(MAX_CELL_LETTERS, room))
            room -= len(cell.text or "")
            cells.append(cell)
        rows.append(Row(record["_id"], tuple(cells)))
    return rows


def _first_of_each(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Keep the first of two members of a name: a field ``rank`` comes before the rank itself."""
    found: dict[str, object] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def shown(column: Column, value: object) -> str:
    """Write a value of a column for people."""
    return _WRITERS.get(column.type, _shown)(value)


def _cell(column: Column, value: object, most: int) -> Cell:
    """Write a cell of ``most`` letters, or of its beginning where that is longer."""
    if value is None:
        return Cell(None, column.kind)
    text = shown(column, value)
    if len(text) <= _LETTERS_SHOWN * 1.5:
        return Cell(text, column.kind)
    most = max(most, _LETTERS_SHOWN)
    return Cell(text[:most], column.kind, text[:_LETTERS_SHOWN], is_cut=len(text) > most)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value) if isinstance(value, str) else _json(value)


def _timestamp(value: object) -> str:
    """Write a timestamp for people, in a spelling that filters take."""
    return str(value).replace("T", " ").removesuffix(".000")


def _float(value: object) -> str:
    """Write a double as short as it can be; JSONB spells out its 300 zeros."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, _Number) else str(value)


def _json(value: object) -> str:
    """Write JSON with its numbers as they came."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, Mapping):
        members = ", ".join(f"{as_json(key)}: {_json(value[key])}" for key in value)
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return as_json(value)  # type: ignore[arg-type] # JSON has nothing else


_WRITERS: Mapping[str, Callable[[object], str]] = {
    "timestamp": _timestamp,
    "float8": _float,
    "json": _json,
}
