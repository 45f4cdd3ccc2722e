"""Render the rows of a table as JSON texts, each value in the canonical form of its type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from ....field_types import dump_json
from ..formats.duckdb_sql import SQL, Composed, quote_identifier
from ..formats.staging import STAGED_ROWS, StagedTable
from ..types.field_formats import Decision, FieldFormat

#: The rows of a batch, and the cells of one of a wide table, which several connections share.
_ROWS_PER_BATCH = 2_000
_CELLS_PER_BATCH = 60_000

#: DuckDB renders 2,048 rows at once, and holds each text that it makes of them until the last is
#: made.  Rows of more bytes are rendered by statements of fewer rows.
_MAX_BYTES_PER_STATEMENT = 4 * 2**20

#: The columns of a wide table are rendered in lists: DuckDB prepares an expression of a column in
#: 1 ms, but one of a list holds all that it has made of 2,048 rows.
_COLUMNS_PER_LIST = 100


def render_rows(
    table: StagedTable,
    decisions: Sequence[Decision],
    report_rows: Callable[[int, int], None] = lambda _done, _total: None,
) -> Iterator[list[tuple[int, str]]]:
    """
    Render the rows in the order of the file: the line of each, and a JSON object as text.

    The members of a wide table have the order of the formats.  Each batch is reported once it is
    written, when the next one is asked for.
    """
    done, total = 0, table.count_rows()
    report_rows(done, total)
    members: list[Composed] = []
    described = zip(table.columns, table.names, decisions, strict=True)
    if table.is_wide:
        groups: defaultdict[FieldFormat, list[tuple[str, str]]] = defaultdict(list)
        for column, name, decision in described:
            groups[decision.field_format].append((column, name))
        for field_format, columns in groups.items():
            for start in range(0, len(columns), _COLUMNS_PER_LIST):
                some = columns[start : start + _COLUMNS_PER_LIST]
                joined = SQL(
                    "array_to_string(list_transform([{cells}],"
                    " lambda value, position: ([{keys}])[position] || {value}), ',')"
                ).format(
                    cells=[quote_identifier(column) for column, _name in some],
                    keys=[dump_json(name) + ":" for _column, name in some],
                    value=field_format.build_json_value(SQL("value")),
                )
                members.append(joined)
    else:
        for column, name, decision in described:
            value = decision.field_format.build_json_value(quote_identifier(column))
            members.append(SQL("{} || {}").format(dump_json(name) + ":", value))
    query = "SELECT line, '{{' || concat_ws(',', {}) || '}}' FROM {} WHERE {}"
    size = max(1, _CELLS_PER_BATCH // len(table.names)) if table.is_wide else _ROWS_PER_BATCH
    for condition in table.rows.split(table.columns, _MAX_BYTES_PER_STATEMENT):
        rows = table.execute(query, members, STAGED_ROWS, condition)
        while batch := rows.fetchmany(size):
            yield batch
            done += len(batch)
            report_rows(done, total)


def find_line(table: StagedTable, row: int | str) -> int | str:
    """Find the line of the file that has a row, given the row's number from 1."""
    if not isinstance(row, int):
        return row
    query = "SELECT line FROM {} LIMIT 1 OFFSET {}"
    line = table.staging_area.fetch_value(query, STAGED_ROWS, row - 1)
    return row if line is None else int(line)
