"""Check the primary key of a table, and find the rows that it refuses before any is written."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

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
    columns = [table.columns[table.names.index(name)] for name in key]
    _record_empty_keys(table, columns, key)
    _record_long_keys(table, columns, key)
    _record_repeated_keys(table, columns, decisions, key)


def build_key_text(columns: Sequence[str]) -> Composed:
    """Build the expression of a row's key as a text for people."""
    return SQL("left(concat_ws(', ', {}), {})").format(
        SQL(", ").join(map(quote_identifier, columns)), quote_literal(MAX_SHOWN_LENGTH)
    )


def _record_empty_keys(table: StagedTable, columns: Sequence[str], key: Sequence[str]) -> None:
    for column, name in zip(columns, key, strict=True):
        table.execute(
            SQL(
                "INSERT INTO {} SELECT line, {}, '', {} FROM {} WHERE coalesce({}, '') = ''"
            ).format(
                ROW_ERRORS,
                quote_literal(name),
                quote_message(BadRow("row.empty_key")),
                STAGED_ROWS,
                quote_identifier(column),
            )
        )


def _record_long_keys(table: StagedTable, columns: Sequence[str], key: Sequence[str]) -> None:
    length = SQL(" + ").join(
        SQL("strlen({}) + {}").format(quote_identifier(column), quote_literal(_VALUE_EXTRA_BYTES))
        for column in columns
    )
    error = BadRow("row.long_key", count=_NUMBER, most=MAX_KEY_BYTES)
    table.execute(
        SQL(
            "INSERT INTO {row_errors} SELECT line, {names}, {key_text}, {error} FROM {rows}"
            " WHERE {length} > {max_length}"
        ).format(
            row_errors=ROW_ERRORS,
            names=quote_literal(", ".join(key)),
            key_text=build_key_text(columns),
            error=_quote_message_with(error, length),
            rows=STAGED_ROWS,
            length=length,
            max_length=quote_literal(MAX_KEY_BYTES),
        )
    )


def _record_repeated_keys(
    table: StagedTable, columns: Sequence[str], decisions: Sequence[Decision], key: Sequence[str]
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
            key_text=build_key_text(columns),
            values=values,
            rows=STAGED_ROWS,
            parts=SQL(", ").join(parts),
            names=quote_literal(", ".join(key)),
            error=_quote_message_with(
                BadRow("row.repeated_key", line=_NUMBER), quote_identifier("first")
            ),
        )
    )


def _build_comparable(column: str, decision: Decision) -> Composed:
    value = decision.field_format.build_json_value(quote_identifier(column))
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
