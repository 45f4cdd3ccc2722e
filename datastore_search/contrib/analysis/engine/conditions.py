"""
Conditions in DuckDB's SQL, where they mean the same as in PostgreSQL; others are asked there.

A condition is true or false, never null, so that it can be negated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.db import connections

from ....database.statements import execute
from ....field_types import field_types
from ....filters import And, Condition, In, Or, TypedFields
from ....filters.names import ID
from ....filters.operators import ID_TYPE, Comparing, DuckDBField, Folding, operators
from .columns import Column
from .process import engine

#: The capitals of all alphabets, in PostgreSQL and in DuckDB.
_LETTERS = (
    "SELECT letter, lower(letter) FROM (SELECT chr(CAST(n AS integer)) AS letter"
    " FROM (SELECT n FROM generate_series(1, 55295) AS low (n)"
    " UNION ALL SELECT n FROM generate_series(57344, 131071) AS high (n)) AS numbers) AS letters"
    " WHERE lower(letter) <> letter"
)
_LETTERS_I = "iIıİ"
_START_SECONDS = 20.0


@dataclass(slots=True)
class Conditions:
    """Compiles the conditions of a query; ``parameters`` are the values of its ``?``, in order."""

    columns: Mapping[str, Column]
    fields: TypedFields
    alias: str
    parameters: list[Any] = field(default_factory=list)

    def compile(self, condition: Condition) -> str | None:
        """Compile a condition; None where DuckDB may find other records than PostgreSQL."""
        if isinstance(condition, And | Or):
            parts = [self.compile(each) for each in condition.conditions]
            if None in parts:
                return None
            word = " AND " if isinstance(condition, And) else " OR "
            return f"({word.join(map(str, parts))})"
        name, is_id = condition.field, condition.field == ID
        kind = ID_TYPE if is_id else field_types[self.fields.types[name]]
        operator = "in" if isinstance(condition, In) else condition.operator
        operand: Any = condition.values if isinstance(condition, In) else condition.value
        column = Column(-1, "BIGINT") if is_id else self.columns.get(name)
        if column is None:
            return None
        value, text = ("_id", "CAST(_id AS VARCHAR)") if is_id else (column.value, column.text)
        return operators[operator].compile_duckdb(
            Comparing(name, kind, operator, operand, self.fields),
            DuckDBField(value, text, column.type, self.bind, lambda: read_folding(self.alias)),
        )

    def bind(self, value: Any) -> str:
        self.parameters.append(value)
        return "?"


@lru_cache(maxsize=8)
def read_folding(alias: str) -> Folding:
    """Compare once how a database and DuckDB fold the case of all letters."""
    connection = connections[alias]
    ((is_by_code_point, depends_on_others),) = execute(
        connection,
        "SELECT datlocprovider = 'b' OR datlocprovider = 'c'"
        " AND datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8'), lower('ΑΣ') NOT IN ('ΑΣ', 'ασ')"
        " FROM pg_database WHERE datname = current_database()",
    )
    if depends_on_others:
        return Folding(is_by_code_point, None)
    theirs = dict(execute(connection, _LETTERS))
    ours = dict(map(tuple, engine.ask([], _LETTERS, [], _START_SECONDS).rows))
    different = {letter for letter, lower in theirs.items() ^ ours.items()}
    letters = {*different, *"".join(each.get(n, n) for n in different for each in (theirs, ours))}
    letters |= {letter for letter, lower in ours.items() if lower in letters}
    # A text with one of these is compared as if they were one letter.
    letters |= set() if letters.isdisjoint(_LETTERS_I) else {*_LETTERS_I}
    return Folding(is_by_code_point, frozenset(letters))
