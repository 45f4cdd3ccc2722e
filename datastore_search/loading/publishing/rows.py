"""The rows of a table as JSON texts, each value in the canonical form of its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...field_types import FieldType, as_json
from ..readers.staging import STAGED_ROWS, StagedTable, literal
from ..typing.field_formats import FieldFormat
from ..typing.inference import Decision

_ROWS_AT_ONCE = 2_000


def render_rows(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str]]]:
    """Write the rows in the order of the file: the line of each, and a JSON object as text."""
    members = [
        f"{literal(as_json(name) + ':')} || {build_value_expression(column, decision.form)}"
        for column, name, decision in zip(table.columns, table.names, decisions, strict=True)
    ]
    rows = table.connection.execute(
        f"SELECT line, '{{' || concat_ws(',', {', '.join(members)}) || '}}' FROM {STAGED_ROWS}"
    )
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        yield batch


def build_value_expression(column: str, form: FieldFormat) -> str:
    """Write a column's values as JSON; an empty cell is null, a quoted empty text is kept."""
    empty = "'\"\"'" if form.kind.is_text else "'null'"
    return (
        f"CASE WHEN {column} IS NULL THEN 'null' WHEN {column} = '' THEN {empty}"
        f" ELSE {FieldType.over(form.writes, column)} END"
    )


def find_line(table: StagedTable, row: int | str) -> int | str:
    """Find the line of the file that a row is, given its number among the rows from 1."""
    if not isinstance(row, int):
        return row
    found = table.connection.execute(
        f"SELECT line FROM {STAGED_ROWS} LIMIT 1 OFFSET {row - 1}"
    ).fetchone()
    return int(found[0]) if found else row
