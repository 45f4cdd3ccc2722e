"""
Find values that PostgreSQL's JSON cannot store, before they are sent to it.

Source: PostgreSQL's type ``jsonb``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NoReturn

from ...field_types import MAX_NUMBER_DIGITS, FieldType, NotOfType, TooManyDigits, parse_json_value
from ...messages import BadRow
from ..readers.duckdb_sql import SQL, quote_identifier, quote_literal
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable, quote_message
from ..typing.field_formats import Decision, bind_value

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
    fields = list(zip(table.columns, table.names, decisions, strict=True))
    # Values of other types, such as numbers and dates, cannot hold what PostgreSQL refuses.
    _record_null_characters(
        table,
        {
            column: name
            for column, name, decision in fields
            if decision.field_type.is_text or decision.field_type.is_nested
        },
    )
    for column, name, decision in fields:
        if decision.field_type.is_nested:
            _record_unstorable_json(table, column, name, decision.field_type)


def _record_null_characters(table: StagedTable, names: Mapping[str, str]) -> None:
    """Record values with the character U+0000; ``names`` maps columns to names of fields."""
    if not names:
        return
    counts = (
        SQL("count_if(contains({}, chr(0)))").format(quote_identifier(each)) for each in names
    )
    query = SQL("SELECT {} FROM {}").format(SQL(", ").join(counts), STAGED_ROWS)
    found = table.execute(query).fetchone() or ()
    for (column, name), count in zip(names.items(), found, strict=True):
        if count:
            table.execute(
                SQL(
                    "INSERT INTO {row_errors} SELECT line, {name},"
                    " replace({cell}[:100], chr(0), '�'), {error}"
                    " FROM {rows} WHERE contains({cell}, chr(0))"
                ).format(
                    row_errors=ROW_ERRORS,
                    name=quote_literal(name),
                    cell=quote_identifier(column),
                    error=quote_message(_UNSTORABLE),
                    rows=STAGED_ROWS,
                )
            )


def _record_unstorable_json(
    table: StagedTable, column: str, name: str, field_type: FieldType
) -> None:
    """Examine the few suspicious texts one by one."""
    suspects = table.connection.cursor().execute(
        SQL(
            "SELECT line, {cell} FROM {rows} WHERE (regexp_matches({cell}, {suspicious})"
            " OR strlen({cell}) > {long} AND regexp_matches({cell}, {suspicious_if_long}))"
            " AND coalesce({condition}, false)"
        )
        .format(
            cell=quote_identifier(column),
            rows=STAGED_ROWS,
            suspicious=quote_literal(_SUSPICIOUS),
            long=quote_literal(_LONG_TEXT_BYTES),
            suspicious_if_long=quote_literal(_SUSPICIOUS_IF_LONG),
            condition=bind_value(field_type.condition, quote_identifier(column)),
        )
        .text
    )
    has_constants = field_type.name != "json"
    while batch := suspects.fetchmany(_ROWS_PER_BATCH):
        errors = [
            (line, name, text[:100], json.dumps(error.to_json(), ensure_ascii=False))
            for line, text in batch
            if (error := _find_json_error(text, has_constants=has_constants))
        ]
        if errors:
            table.connection.executemany(
                SQL("INSERT INTO {} VALUES (?, ?, ?, ?)").format(ROW_ERRORS).text, errors
            )


def _find_json_error(text: str, *, has_constants: bool) -> BadRow | None:
    """
    Find why PostgreSQL would refuse a JSON text, if it would.

    With ``has_constants``, as in lists of numbers, NaN and the like are values.
    """
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
