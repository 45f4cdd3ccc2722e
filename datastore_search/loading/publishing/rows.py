"""Render the rows of a table as JSON texts, each value in the canonical form of its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...field_types import Ordered, dump_json
from ..readers.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..readers.row_ranges import split_rows
from ..readers.staging import StagedTable
from ..readers.stored_rows import STAGED_CELLS, STAGED_ROWS
from ..typing.field_formats import Decision

_ROWS_PER_BATCH = 2_000

#: The types whose JSON value is a text, a number or a boolean.
_MOMENTS = frozenset({"timestamp", "timestamptz"})
_TYPES_WITH_TEXT = _MOMENTS | {
    "text", "int2", "int4", "int8", "numeric", "float8", "bool", "date", "time"
}  # fmt: skip

#: A letter whose words only PostgreSQL knows.
_OTHER_LETTER = "\uffff"

#: DuckDB renders 2,048 rows at once, and holds each text that it makes of them until the last is
#: made.  Rows of more bytes are rendered by statements of fewer rows.
_MAX_BYTES_PER_STATEMENT = 4 * 2**20

#: The bytes of the cells of a wide table that one statement renders, each with those of its member.
_MAX_CELL_BYTES_PER_STATEMENT = 2 * 2**20
_MEMBER_BYTES = 32


def render_rows(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str]]]:
    """
    Render the rows in the order of the file: the line of each, and a JSON object as text.

    The members of a wide table have no order.
    """
    if table.rows.is_wide:
        yield from _render_cells(table, decisions)
        return
    query = SQL("SELECT line, '{{' || concat_ws(',', {}) || '}}' FROM {}").format(
        SQL(", ").join(_build_members(table, decisions)), STAGED_ROWS
    )
    yield from _fetch_rows(table, query)


def render_searchable_rows(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str, str | None]]]:
    """
    Render the rows in the order of the file, with the text of the values of each.

    The text is what ``datastore_search_values`` makes of the object; None where that is not known,
    and in a wide table.
    """
    has_texts = all(decision.field_type.name in _TYPES_WITH_TEXT for decision in decisions)
    if not has_texts or table.rows.is_wide:
        for lines in render_rows(table, decisions):
            yield [(line, record, None) for line, record in lines]
        return
    # Blanks between the values, which have the order in which jsonb has its keys.
    keys = [name.encode() for name in table.names]
    cells = zip(keys, map(quote_identifier, table.columns), decisions, strict=True)
    texts = (
        _build_text(cell, decision)
        for _key, cell, decision in sorted(cells, key=lambda each: (len(each[0]), each[0]))
    )
    query = SQL(
        "SELECT line, '{{' || concat_ws(',', {}) || '}}', concat_ws(' ', {}) FROM {}"
    ).format(SQL(", ").join(_build_members(table, decisions)), SQL(", ").join(texts), STAGED_ROWS)
    yield from _fetch_rows(table, query)


def _fetch_rows(table: StagedTable, query: Composed) -> Iterator[list[Any]]:
    for part in split_rows(table.execute, STAGED_ROWS, table.columns, _MAX_BYTES_PER_STATEMENT):
        yield from _fetch_batches(table, SQL("{} WHERE {}").format(query, part.build_condition()))


def _fetch_batches(table: StagedTable, query: Composed) -> Iterator[list[Any]]:
    rows = table.execute(query)
    while batch := rows.fetchmany(_ROWS_PER_BATCH):
        yield batch


def _build_text(cell: Composed, decision: Decision) -> Composed:
    """Build a value as PostgreSQL's ``->>`` has it, or what has the same words."""
    field_type = decision.field_type
    if field_type.is_text:
        return cell
    value = decision.field_format.build_json_value(cell)
    text = SQL("CASE WHEN {} <> '' THEN trim({}, '\"') END").format(cell, value)
    if field_type.ordered is Ordered.NUMBERS:
        # PostgreSQL writes an exponent as digits: this letter leaves the record to it.
        return SQL("replace(replace({}, 'e', {other}), 'E', {other})").format(
            text, other=quote_literal(_OTHER_LETTER)
        )
    # The T of a moment separates words.
    return SQL("replace({}, 'T', ' ')").format(text) if field_type.name in _MOMENTS else text


def _build_members(table: StagedTable, decisions: Sequence[Decision]) -> Iterator[Composed]:
    """Build the member of each column: its name, and its value."""
    for column, name, decision in zip(table.columns, table.names, decisions, strict=True):
        value = decision.field_format.build_json_value(quote_identifier(column))
        yield SQL("{} || {}").format(quote_literal(dump_json(name) + ":"), value)


# Wide tables --------------------------------------------------------------------------------------


def _render_cells(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str]]]:
    formats = list(dict.fromkeys(decision.field_format for decision in decisions))
    numbers = {field_format: number for number, field_format in enumerate(formats)}
    table.execute(
        SQL(
            "CREATE OR REPLACE TEMP TABLE members AS SELECT unnest(?::VARCHAR[]) AS name,"
            " unnest(?::VARCHAR[]) AS key, unnest(?::INTEGER[]) AS format"
        ),
        [
            table.columns,
            [dump_json(name) + ":" for name in table.names],
            [numbers[decision.field_format] for decision in decisions],
        ],
    )
    values = SQL(" ").join(
        SQL("WHEN {} THEN {}").format(quote_literal(number), each.build_json_value(SQL("value")))
        for number, each in enumerate(formats)
    )
    for first, last in _split_lines(table):
        yield from _fetch_batches(
            table,
            SQL(
                "SELECT line, '{{' || string_agg(key || CASE format {values} END, ',') || '}}'"
                " FROM {cells} JOIN members USING (name) WHERE line BETWEEN {first} AND {last}"
                " GROUP BY line ORDER BY line"
            ).format(
                values=values,
                cells=STAGED_CELLS,
                first=quote_literal(first),
                last=quote_literal(last),
            ),
        )


def _split_lines(table: StagedTable) -> list[tuple[int, int]]:
    """Split the lines of a wide table into ranges of limited bytes."""
    return table.execute(
        SQL(
            "SELECT min(line), max(line) FROM (SELECT line, sum(size) OVER (ORDER BY line"
            " ROWS UNBOUNDED PRECEDING) // {} AS part FROM (SELECT line,"
            " sum({} + coalesce(strlen(value), 0)) AS size FROM {} GROUP BY line))"
            " GROUP BY part ORDER BY part"
        ).format(
            quote_literal(_MAX_CELL_BYTES_PER_STATEMENT),
            quote_literal(_MEMBER_BYTES),
            STAGED_CELLS,
        )
    ).fetchall()


# Lines --------------------------------------------------------------------------------------------


def find_line(table: StagedTable, row: int | str) -> int | str:
    """Find the line of the file that has a row, given the row's number from 1."""
    if not isinstance(row, int):
        return row
    query = SQL("SELECT line FROM {} LIMIT 1 OFFSET {}").format(STAGED_ROWS, quote_literal(row - 1))
    fetched = table.execute(query).fetchone()
    return int(fetched[0]) if fetched else row
