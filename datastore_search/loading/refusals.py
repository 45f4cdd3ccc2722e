"""
Values that PostgreSQL's JSON does not take, found before they are sent to it.

Source: PostgreSQL's type ``jsonb``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

from ..exceptions.loads import RefusedByDatabase
from ..field_types import FieldType
from .inference import Decision
from .table import FAULTS, Table, kept_literal, literal

#: What may make PostgreSQL refuse JSON that DuckDB takes.
_SUSPICIOUS = literal(r"\\u0000|NaN|[Ii]nf|[eE][+-]?[0-9]{4}")

#: Decimal places of a number of PostgreSQL's, before and after the point.
_PLACES_MOST = 131_071
_DECIMALS_MOST = 16_383

_ROWS_AT_ONCE = 500


def note_refused(table: Table, decisions: Sequence[Decision]) -> None:
    """Make faults of the values that PostgreSQL would refuse."""
    named = list(zip(table.columns, table.names, decisions, strict=True))
    # What is a number, a date or a truth value holds nothing else.
    loose = {each[0]: each[1] for each in named if each[2].kind.is_text or each[2].kind.is_nested}
    _note_nulls(table, loose)
    for column, name, decision in named:
        if decision.kind.is_nested:
            _note_nested(table, column, name, decision.kind)


def _note_nulls(table: Table, names: Mapping[str, str]) -> None:
    """Find the character U+0000 in some columns, which are given with the names of their fields."""
    if not names:
        return
    counts = ", ".join(f"count_if(contains({column}, chr(0)))" for column in names)
    found = table.connection.execute(f"SELECT {counts} FROM {table.relation}").fetchone()
    for (column, name), count in zip(names.items(), found or (), strict=True):
        if count:
            table.connection.execute(
                f"INSERT INTO {FAULTS} SELECT line, {literal(name)},"
                f" replace({column}[:100], chr(0), '�'), {_FAULT}"
                f" FROM {table.relation} WHERE contains({column}, chr(0))"
            )


_FAULT = kept_literal(RefusedByDatabase().kept())


def _note_nested(table: Table, column: str, name: str, kind: FieldType) -> None:
    """Look at the few texts in which there may be something wrong, one by one."""
    accepted = FieldType.over(kind.accepts, column)
    is_json = kind.name == "json"
    cursor = table.connection.cursor()
    suspects = cursor.execute(
        f"SELECT line, {column} FROM {table.relation}"
        f" WHERE regexp_matches({column}, {_SUSPICIOUS}) AND coalesce({accepted}, false)"
    )
    while batch := suspects.fetchmany(_ROWS_AT_ONCE):
        refused = [
            (line, name, text[:100])
            for line, text in batch
            if not _is_taken(text, constants=not is_json)
        ]
        if refused:
            table.connection.executemany(
                f"INSERT INTO {FAULTS} VALUES (?, ?, ?, {_FAULT})", refused
            )


def _is_taken(text: str, *, constants: bool) -> bool:
    """Tell whether PostgreSQL takes a JSON text; in lists of numbers, ``constants`` are values."""
    read = float if constants else _refuse
    try:
        value = json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=read)
    except (ValueError, RecursionError):
        return False
    return _fits(value)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_fits(key) and _fits(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(_fits, value))
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        decimals = -exponent if isinstance(exponent, int) else 0
        return value.adjusted() <= _PLACES_MOST and decimals <= _DECIMALS_MOST
    return "\0" not in value if isinstance(value, str) else True
