"""
The text of records, as PostgreSQL writes it.

A page of records is a subquery ``page``; its row is unpacked once, by ``jsonb_to_record``: one
access for each field unpacks it as often (4.5 times slower at 50 fields).  Only a name too long for
a row type is fetched by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import LiteralString

from psycopg import sql

from ..field_types import as_json, field_types

#: PostgreSQL cuts names in a record's row type at this many bytes.
_NAME_BYTES = 63

#: ``concat`` takes a hundred arguments; each field needs two.
_FIELDS_AT_ONCE = 45


@dataclass(frozen=True, slots=True)
class Column:
    """
    One member of the records.

    ``value`` is where ``page`` has it: None for a field that is still within ``page.data``.  What
    is not ``packed`` is no JSON but a number.
    """

    name: str
    type: str
    value: LiteralString | None = None
    packed: bool = True


def as_object(columns: tuple[Column, ...], begin: str = "") -> sql.SQL:
    """
    Write a record as a JSON object, its members in the order of the columns.

    ``begin`` comes before the object.
    """
    return sql.SQL(_object(columns, begin))


@lru_cache(maxsize=1_000)
def _object(columns: tuple[Column, ...], begin: str) -> LiteralString:
    members = [
        sql.SQL("{key}, {value}").format(
            key=sql.Literal(escaped(f"{',' if place else ''}{as_json(column.name)}:")),
            value=_json(column),
        )
        for place, column in enumerate(columns)
    ]
    return _text(_unpacked(columns, _concatenated(begin + "{{", members, "}}")))


def as_list(columns: tuple[Column, ...], begin: str = "") -> sql.SQL:
    """Write a record as a JSON list, in the order of the columns; ``begin`` comes before it."""
    return sql.SQL(_list(columns, begin))


@lru_cache(maxsize=1_000)
def _list(columns: tuple[Column, ...], begin: str) -> LiteralString:
    members = [
        sql.SQL("{comma}, {value}").format(
            comma=sql.Literal("," if place else ""), value=_json(column)
        )
        for place, column in enumerate(columns)
    ]
    return _text(_unpacked(columns, _concatenated(begin + "[", members, "]")))


def _text(composed: sql.Composable) -> LiteralString:
    """Compose once and for all what every request for the same fields repeats."""
    return composed.as_string()


def as_cells(columns: Sequence[Column]) -> tuple[sql.Composable, sql.Composable]:
    """
    Write a record as the cells of a CSV row: the cells, and the relation they are taken from.

    Source: CKAN, whose CSV is that of ``COPY``: ``t`` and ``f``, JSON for lists and JSON values.
    """
    kinds = [sql.SQL(_cell_type(column)) for column in columns]
    cells = [
        _field(column, "field") if column.value is None and _is_short(column) else _cell(column)
        for column in columns
    ]
    declared = [
        sql.SQL("{} {}").format(sql.Identifier(escaped(column.name)), kind)
        for column, kind in zip(columns, kinds, strict=True)
        if column.value is None and _is_short(column)
    ]
    filled = [
        sql.SQL("coalesce({}, 'null')").format(cell) if _is_nested(column) else cell
        for column, cell in zip(columns, cells, strict=True)
    ]
    relation: sql.Composable = sql.SQL("")
    if declared:
        relation = sql.SQL(" CROSS JOIN LATERAL jsonb_to_record(page.data) AS field ({})").format(
            sql.SQL(", ").join(declared)
        )
    return sql.SQL(", ").join(filled), relation


def escaped(text: str) -> str:
    """Keep psycopg from reading a placeholder in a name."""
    return text.replace("%", "%%")


# One value ----------------------------------------------------------------------------------------


def _is_short(column: Column) -> bool:
    return len(column.name.encode()) <= _NAME_BYTES


def _is_nested(column: Column) -> bool:
    return column.packed and column.type in field_types and field_types[column.type].is_nested


def _field(column: Column, relation: str) -> sql.Composable:
    return sql.SQL("{}.{}").format(sql.SQL(relation), sql.Identifier(escaped(column.name)))


def _packed(column: Column) -> sql.Composable:
    """Give the jsonb value of a column that is not unpacked."""
    if column.value is not None:
        return sql.SQL(column.value)
    return sql.SQL("(page.data -> {})").format(sql.Literal(escaped(column.name)))


def _json(column: Column) -> sql.Composable:
    if not column.packed:
        return _packed(column)
    value = (
        _field(column, "field") if column.value is None and _is_short(column) else _packed(column)
    )
    return sql.SQL("coalesce({}, 'null')").format(value)


def _cell_type(column: Column) -> str:
    if _is_nested(column):
        return "jsonb"
    return "bool" if column.type == "bool" else "text"


def _cell(column: Column) -> sql.Composable:
    if not column.packed or _is_nested(column):
        return _packed(column)
    text = sql.SQL("({} #>> '{{}}')").format(_packed(column))
    return sql.SQL("{}::bool").format(text) if column.type == "bool" else text


# A whole record -----------------------------------------------------------------------------------


def _concatenated(begin: str, members: Sequence[sql.Composable], end: str) -> sql.Composable:
    parts = [
        sql.SQL("concat({})").format(sql.SQL(", ").join(members[start : start + _FIELDS_AT_ONCE]))
        for start in range(0, len(members), _FIELDS_AT_ONCE)
    ]
    return sql.SQL(f"concat('{begin}', {{}}, '{end}')").format(sql.SQL(", ").join(parts))


def _unpacked(columns: Sequence[Column], body: sql.Composable) -> sql.Composable:
    names = [column.name for column in columns if column.value is None and _is_short(column)]
    if not names:
        return body
    return sql.SQL("(SELECT {body} FROM jsonb_to_record(page.data) AS field ({columns}))").format(
        body=body,
        columns=sql.SQL(", ").join(
            sql.SQL("{} jsonb").format(sql.Identifier(escaped(name))) for name in names
        ),
    )
