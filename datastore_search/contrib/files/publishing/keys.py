"""Check the primary key of a table, and find the rows that it refuses before any is written."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from ..formats.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..formats.staging import MAX_SHOWN_LENGTH, ROW_ERRORS, StagedTable, quote_message
from ..formats.stored_rows import STAGED_ROWS
from ..messages import BadRow
from ..messages.failures import LoadFailed
from ..types.field_formats import Decision

#: PostgreSQL's limit for the fields of an index.
MAX_KEY_FIELDS = 32

#: The size of an entry of PostgreSQL's index, and what it adds to each value.
MAX_KEY_BYTES = 2_600
_VALUE_EXTRA_BYTES = 16

#: Stands in the JSON of a message for a number that DuckDB computes.
_NUMBER = "{number}"


def check_key(key: Sequence[str], names: Collection[str]) -> None:
    """Refuse a key that a table cannot have; ``names`` are the names of its fields."""
    for name in key:
        if name not in names:
            raise LoadFailed("key.missing_field", field=name)
    if len(key) > MAX_KEY_FIELDS:
        raise LoadFailed("key.too_many_fields", most=MAX_KEY_FIELDS)


def record_key_errors(
    table: StagedTable, decisions: Sequence[Decision], key: Sequence[str]
) -> None:
    """
    Record a row error for each row whose key is empty, too long, or repeated.

    A row with another error does not count as an earlier row.
    """
    if not key:
        return
    columns = _list_key_columns(table, key)
    for name, column in zip(key, columns, strict=True):
        is_empty = SQL("coalesce({}, '') = ''").format(column)
        record_bad_keys(table, [name], quote_message(BadRow("row.empty_key")), is_empty)
    length = SQL(" + ").join(
        SQL("strlen({}) + {}").format(column, quote_literal(_VALUE_EXTRA_BYTES))
        for column in columns
    )
    error = BadRow("row.long_key", count=_NUMBER, most=MAX_KEY_BYTES)
    is_long = SQL("{} > {}").format(length, quote_literal(MAX_KEY_BYTES))
    record_bad_keys(table, key, _quote_message_with(error, length), is_long)
    _record_repeated_keys(table, columns, decisions, key)


def record_bad_keys(
    table: StagedTable,
    key: Sequence[str],
    error: Composed,
    condition: Composed,
    parameters: Sequence[Any] = (),
) -> None:
    """Record a row error for each row that meets a condition; it shows the row's key."""
    table.execute(
        SQL("INSERT INTO {} SELECT line, {}, {}, {} FROM {} WHERE {}").format(
            ROW_ERRORS,
            quote_literal(", ".join(key)),
            _build_key_text(_list_key_columns(table, key)),
            error,
            STAGED_ROWS,
            condition,
        ),
        parameters,
    )


def _list_key_columns(table: StagedTable, key: Sequence[str]) -> list[Composed]:
    return [quote_identifier(table.columns[table.names.index(name)]) for name in key]


def _build_key_text(columns: Sequence[Composed]) -> Composed:
    """Build the expression of a row's key as a text for people."""
    return SQL("left(concat_ws(', ', {}), {})").format(
        SQL(", ").join(columns), quote_literal(MAX_SHOWN_LENGTH)
    )


def _record_repeated_keys(
    table: StagedTable,
    columns: Sequence[Composed],
    decisions: Sequence[Decision],
    key: Sequence[str],
) -> None:
    """Compare the values as they will be stored, numbers without zeros at their end."""
    decided = [decisions[table.names.index(name)] for name in key]
    parts = [quote_identifier(f"k{position}") for position in range(len(key))]
    values = SQL(", ").join(
        SQL("{} AS {}").format(_build_comparable(column, decision), part)
        for column, decision, part in zip(columns, decided, parts, strict=True)
    )
    table.execute(
        SQL(
            "INSERT INTO {row_errors} WITH keyed AS (SELECT line, {key_text} AS key_text, {values}"
            " FROM {rows} ANTI JOIN {row_errors} USING (line)), repeated AS (SELECT {parts},"
            " min(line) AS first FROM keyed GROUP BY {parts} HAVING count(*) > 1)"
            " SELECT line, {names}, key_text, {error}"
            " FROM keyed JOIN repeated USING ({parts}) WHERE line > first"
        ).format(
            row_errors=ROW_ERRORS,
            key_text=_build_key_text(columns),
            values=values,
            rows=STAGED_ROWS,
            parts=SQL(", ").join(parts),
            names=quote_literal(", ".join(key)),
            error=_quote_message_with(
                BadRow("row.repeated_key", line=_NUMBER), quote_identifier("first")
            ),
        )
    )


def _build_comparable(column: Composed, decision: Decision) -> Composed:
    value = decision.field_format.build_json_value(column)
    if decision.field_type.name != "numeric":
        return value
    return SQL("regexp_replace({}, {}, {})").format(
        value, quote_literal(r"\.0*$|(\.[0-9]*[1-9])0+$"), quote_literal(r"\1")
    )


def _quote_message_with(message: BadRow, number: Composed) -> Composed:
    """Quote a message with a number that DuckDB computes in place of ``_NUMBER``."""
    before, _placeholder, after = json.dumps(message.to_json(), ensure_ascii=False).partition(
        f'"{_NUMBER}"'
    )
    return SQL("{} || ({}) || {}").format(quote_literal(before), number, quote_literal(after))
