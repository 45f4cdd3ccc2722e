"""
The text of records, as PostgreSQL writes it.

A page of records is a subquery ``page``.  Each field is fetched by itself from a record that was
``unpacked`` before: one that is stored compressed would otherwise be unpacked for each field again
(15 times slower at 300 fields).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import LiteralString

from psycopg import sql

from ..field_types import as_json, field_types

#: ``format`` takes a hundred arguments, the template among them.
_VALUES_AT_ONCE = 99


@dataclass(frozen=True, slots=True)
class Column:
    """
    One member of the records.

    ``value`` is where ``page`` has it: None for a field that is still within ``page.record``.  What
    is not ``packed`` is no JSON but a number.
    """

    name: str
    type: str
    value: LiteralString | None = None
    packed: bool = True


class Columns:
    """
    The members of the records of a page, in order.

    What is written of them is composed once: the same fields are asked for over and over.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        """Take at least one column."""
        self._columns = columns
        self._texts: dict[tuple[bool, str], sql.SQL] = {}

    def texts(self, *, as_lists: bool = False, begin: str = "") -> sql.SQL:
        """Write a record as a JSON object or list; ``begin`` comes before it."""
        asked = as_lists, begin
        if asked not in self._texts:
            opening, closing = "[]" if as_lists else "{}"
            labels = ["" if as_lists else f"{as_json(column.name)}:" for column in self._columns]
            self._texts[asked] = _filled(self._columns, labels, begin + opening, closing)
        return self._texts[asked]

    @cached_property
    def cells(self) -> sql.SQL:
        """
        Write a record as the cells of a CSV row.

        Source: CKAN, whose CSV is that of ``COPY``: ``t`` and ``f``, JSON for lists and JSON
        values.
        """
        return _composed(sql.SQL(", ").join(map(_cell, self._columns)))

    def unpacked(self, page: sql.Composable) -> sql.Composable:
        """
        Give a page whose records are unpacked, if any field is fetched from them.

        An object joined to an empty one is that object, unpacked; the fence keeps PostgreSQL from
        joining them anew for each field.
        """
        if all(column.value is not None for column in self._columns):
            return page
        return _UNPACKED.format(page)


_UNPACKED = sql.SQL("SELECT *, data || '{{}}' AS record FROM ({}) AS packed OFFSET 0")


def escaped(text: str) -> str:
    """Keep psycopg from reading a placeholder in a name."""
    return text.replace("%", "%%")


# One value ----------------------------------------------------------------------------------------


def _json(column: Column) -> sql.Composable:
    value = _value(column, "->")
    return sql.SQL("coalesce({}, 'null')").format(value) if column.packed else value


def _cell(column: Column) -> sql.Composable:
    if not column.packed or _is_nested(column):
        return _json(column)
    return sql.SQL("{}::bool" if column.type == "bool" else "{}").format(_value(column, "->>"))


def _is_nested(column: Column) -> bool:
    return column.type in field_types and field_types[column.type].is_nested


def _value(column: Column, arrow: LiteralString) -> sql.Composable:
    """Give a value: as JSON by the arrow ``->``, as a text by the other one."""
    if column.value is None:
        name = sql.Literal(escaped(column.name))
        return sql.SQL("(page.record {} {})").format(sql.SQL(arrow), name)
    as_text = column.packed and arrow == "->>"
    return sql.SQL(f"({column.value} #>> '{{}}')" if as_text else column.value)


# A whole record -----------------------------------------------------------------------------------


def _filled(columns: Sequence[Column], labels: Sequence[str], begin: str, end: str) -> sql.SQL:
    """Write values behind their labels, commas between them."""
    slots = [label.replace("%", "%%") + "%s" for label in labels]
    slots = [begin + slots[0], *(f",{slot}" for slot in slots[1:])]
    slots[-1] += end
    parts = [
        sql.SQL("format({}, {})").format(
            sql.Literal(escaped("".join(slots[start : start + _VALUES_AT_ONCE]))),
            sql.SQL(", ").join(map(_json, columns[start : start + _VALUES_AT_ONCE])),
        )
        for start in range(0, len(columns), _VALUES_AT_ONCE)
    ]
    if len(parts) == 1:
        return _composed(parts[0])
    return _composed(sql.SQL("concat({})").format(sql.SQL(", ").join(parts)))


def _composed(text: sql.Composable) -> sql.SQL:
    return sql.SQL(text.as_string())
