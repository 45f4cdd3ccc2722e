"""Find values that PostgreSQL's ``jsonb`` cannot store, before they are sent to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import NoReturn

from ....field_types import MAX_NUMBER_DIGITS, FieldType, NotOfType, TooManyDigits, parse_json_value
from ..formats.duckdb_sql import SQL, quote_identifier, quote_literal
from ..formats.staging import MAX_SHOWN_LENGTH, ROW_ERRORS, StagedTable
from ..messages import BadRow
from ..types.field_formats import Decision, bind_value, field_formats
from ..types.matching import group_columns

#: Parts of JSON that DuckDB accepts, and PostgreSQL may refuse or write out at great length.
_SUSPICIOUS = r"\\u0000|NaN|[Ii]nf|[eE][+-]?[0-9]{3}"
#: In longer texts, many short exponents may become long, too.
_LONG_TEXT_BYTES = 100_000
_SUSPICIOUS_IF_LONG = r"[eE][+-]?[0-9]{2}"

_ROWS_PER_BATCH = 500

_UNSTORABLE = BadRow("row.unstorable")
_LONG_NUMBER = BadRow("row.long_number", most=MAX_NUMBER_DIGITS)


def record_unstorable_values(table: StagedTable, decisions: Sequence[Decision]) -> None:
    """Record a row error for each value that PostgreSQL would refuse."""
    # Values of other types, such as numbers and dates, cannot hold what PostgreSQL refuses.
    types = {
        column: decision.field_type
        for column, decision in zip(table.columns, decisions, strict=True)
        if decision.field_type.is_text or decision.field_type.is_nested
    }
    for some in table.rows.split_columns(list(types)):
        table.record_errors(some, SQL("contains(value, chr(0))"), _UNSTORABLE)
    for field_type, columns in group_columns(table, types):
        if field_type.is_nested:
            _record_unstorable_json(table, columns, field_type)


def _record_unstorable_json(
    table: StagedTable, columns: Sequence[str], field_type: FieldType
) -> None:
    """Examine the few suspicious texts one by one."""
    suspects = table.connection.cursor().execute(
        SQL(
            "SELECT line, name, value FROM {cells} WHERE (regexp_matches(value, {suspicious})"
            " OR strlen(value) > {long} AND regexp_matches(value, {suspicious_if_long}))"
            " AND coalesce({condition}, false)"
        )
        .format(
            cells=table.rows.select_cells(columns, has_lines=True),
            suspicious=quote_literal(_SUSPICIOUS),
            long=quote_literal(_LONG_TEXT_BYTES),
            suspicious_if_long=quote_literal(_SUSPICIOUS_IF_LONG),
            condition=bind_value(
                field_formats[field_type.name].condition, quote_identifier("value")
            ),
        )
        .text
    )
    has_constants = field_type.name != "json"
    while batch := suspects.fetchmany(_ROWS_PER_BATCH):
        errors = [
            (
                line,
                table.get_name(name),
                text[:MAX_SHOWN_LENGTH],
                json.dumps(error.to_json(), ensure_ascii=False),
            )
            for line, name, text in batch
            if (error := _find_json_error(text, has_constants=has_constants))
        ]
        if errors:
            table.connection.executemany(
                SQL("INSERT INTO {} VALUES (?, ?, ?, ?)").format(ROW_ERRORS).text, errors
            )


def _find_json_error(text: str, *, has_constants: bool) -> BadRow | None:
    """Find why PostgreSQL would refuse a JSON text; ``has_constants`` allows NaN and the like."""
    parse_constant = float if has_constants else _refuse_constant
    try:
        parse_json_value(
            json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=parse_constant)
        )
    except TooManyDigits:
        return _LONG_NUMBER
    except (NotOfType, ValueError, ArithmeticError, RecursionError):
        return _UNSTORABLE
    return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
