"""
Values that PostgreSQL's JSON does not take, found before they are sent to it.

Source: PostgreSQL's type ``jsonb``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NoReturn

from ...field_types import MAX_NUMBER_DIGITS, FieldType, NotOfType, TooManyDigits, document
from ...messages import BadRow
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable, literal, message_literal
from ..typing.inference import Decision

#: What may make PostgreSQL refuse JSON that DuckDB takes, or write it out at great length.
_SUSPICIOUS = r"\\u0000|NaN|[Ii]nf|[eE][+-]?[0-9]{3}"
#: In a text of so many bytes many short exponents come to much, too.
_LONG_BYTES = 100_000
_SUSPICIOUS_IF_LONG = r"[eE][+-]?[0-9]{2}"

_ROWS_AT_ONCE = 500


def record_unstorable_values(table: StagedTable, decisions: Sequence[Decision]) -> None:
    """Make faults of the values that PostgreSQL would refuse."""
    named = list(zip(table.columns, table.names, decisions, strict=True))
    # What is a number, a date or a truth value holds nothing else.
    loose = {each[0]: each[1] for each in named if each[2].kind.is_text or each[2].kind.is_nested}
    _note_nulls(table, loose)
    for column, name, decision in named:
        if decision.kind.is_nested:
            _note_nested(table, column, name, decision.kind)


def _note_nulls(table: StagedTable, names: Mapping[str, str]) -> None:
    """Find the character U+0000 in some columns, which are given with the names of their fields."""
    if not names:
        return
    counts = ", ".join(f"count_if(contains({column}, chr(0)))" for column in names)
    found = table.connection.execute(f"SELECT {counts} FROM {STAGED_ROWS}").fetchone()
    for (column, name), count in zip(names.items(), found or (), strict=True):
        if count:
            table.connection.execute(
                f"INSERT INTO {ROW_ERRORS} SELECT line, {literal(name)},"
                f" replace({column}[:100], chr(0), '�'), {_KEPT['row.unstorable']}"
                f" FROM {STAGED_ROWS} WHERE contains({column}, chr(0))"
            )


_KEPT: Mapping[str, str] = {
    "row.unstorable": message_literal(BadRow("row.unstorable").to_json()),
    "row.long_number": message_literal(BadRow("row.long_number", most=MAX_NUMBER_DIGITS).to_json()),
}


def _note_nested(table: StagedTable, column: str, name: str, kind: FieldType) -> None:
    """Look at the few texts in which there may be something wrong, one by one."""
    accepted = FieldType.over(kind.accepts, column)
    is_json = kind.name == "json"
    cursor = table.connection.cursor()
    suspects = cursor.execute(
        f"SELECT line, {column} FROM {STAGED_ROWS}"
        f" WHERE (regexp_matches({column}, {literal(_SUSPICIOUS)})"
        f" OR strlen({column}) > {_LONG_BYTES}"
        f" AND regexp_matches({column}, {literal(_SUSPICIOUS_IF_LONG)}))"
        f" AND coalesce({accepted}, false)"
    )
    while batch := suspects.fetchmany(_ROWS_AT_ONCE):
        faults = [(line, text, _fault_of(text, constants=not is_json)) for line, text in batch]
        for wrong, kept in _KEPT.items():
            refused = [(line, name, text[:100]) for line, text, fault in faults if fault is wrong]
            if refused:
                table.connection.executemany(
                    f"INSERT INTO {ROW_ERRORS} VALUES (?, ?, ?, {kept})", refused
                )


def _fault_of(text: str, *, constants: bool) -> str | None:
    """
    Tell what is wrong with a JSON text, if anything is.

    In lists of numbers ``constants`` such as NaN are values.
    """
    read = float if constants else _refuse
    try:
        document(json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=read))
    except TooManyDigits:
        return "row.long_number"
    except (NotOfType, ValueError, ArithmeticError, RecursionError):
        return "row.unstorable"
    return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
