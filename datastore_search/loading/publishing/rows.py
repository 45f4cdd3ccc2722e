"""Render the rows of a table as JSON texts, each value in the canonical form of its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...field_types import dump_json
from ..readers.duckdb_sql import SQL, quote_identifier, quote_literal
from ..readers.staging import STAGED_ROWS, StagedTable
from ..typing.field_formats import Decision

_ROWS_PER_BATCH = 2_000


def render_rows(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str]]]:
    """Render the rows in the order of the file: the line of each, and a JSON object as text."""
    members = (
        SQL("{} || {}").format(
            quote_literal(dump_json(name) + ":"),
            decision.field_format.build_json_value(quote_identifier(column)),
        )
        for column, name, decision in zip(table.columns, table.names, decisions, strict=True)
    )
    rows = table.execute(
        SQL("SELECT line, '{{' || concat_ws(',', {}) || '}}' FROM {}").format(
            SQL(", ").join(members), STAGED_ROWS
        )
    )
    while batch := rows.fetchmany(_ROWS_PER_BATCH):
        yield batch


def find_line(table: StagedTable, row: int | str) -> int | str:
    """Find the line of the file that has a row, given the row's number from 1."""
    if not isinstance(row, int):
        return row
    query = SQL("SELECT line FROM {} LIMIT 1 OFFSET {}").format(STAGED_ROWS, quote_literal(row - 1))
    fetched = table.execute(query).fetchone()
    return int(fetched[0]) if fetched else row


def measure_longest_values(table: StagedTable) -> list[int]:
    """Measure the longest value of each field, in bytes."""
    lengths = (SQL("max(strlen({}))").format(quote_identifier(column)) for column in table.columns)
    query = SQL("SELECT {} FROM {}").format(SQL(", ").join(lengths), STAGED_ROWS)
    return [length or 0 for length in table.execute(query).fetchone() or ()]
