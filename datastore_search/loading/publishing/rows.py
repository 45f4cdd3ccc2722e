"""Render the rows of a table as JSON texts, each value in the canonical form of its type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...field_types import Ordered, dump_json
from ..readers.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..readers.staging import STAGED_ROWS, StagedTable
from ..typing.field_formats import Decision, FieldFormat

_ROWS_PER_BATCH = 2_000

#: The types whose JSON value is a text, a number or a boolean.
_MOMENTS = frozenset({"timestamp", "timestamptz"})
_TYPES_WITH_TEXT = _MOMENTS | {
    "text", "int2", "int4", "int8", "numeric", "float8", "bool", "date", "time"
}  # fmt: skip

#: A letter whose words only PostgreSQL knows.
_OTHER_LETTER = "\uffff"

#: More columns are rendered in lists, and so many cells by one statement: DuckDB prepares an
#: expression of a column in 1 ms, but one of a list holds all that it has made of 2,048 rows.
_MAX_COLUMNS_WITHOUT_LISTS = 300
_COLUMNS_PER_LIST = 100
_CELLS_PER_STATEMENT = 500_000

#: DuckDB renders so many rows at once, and holds each text that it makes of them until the last is
#: made.  Rows of more bytes are rendered by statements of fewer rows.
_ROWS_RENDERED_AT_ONCE = 2_048
_MAX_BYTES_PER_STATEMENT = 4 * 2**20


def render_rows(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str]]]:
    """
    Render the rows in the order of the file: the line of each, and a JSON object as text.

    The members of a wide table have the order of the formats.
    """
    is_wide = len(table.columns) > _MAX_COLUMNS_WITHOUT_LISTS
    members = _build_lists(table, decisions) if is_wide else _build_members(table, decisions)
    query = SQL("SELECT line, '{{' || concat_ws(',', {}) || '}}' FROM {}").format(
        SQL(", ").join(members), STAGED_ROWS
    )
    yield from _fetch_rows(table, query, _split_rows(table) if is_wide else _split_bytes(table))


def render_searchable_rows(
    table: StagedTable, decisions: Sequence[Decision]
) -> Iterator[list[tuple[int, str, str | None]]]:
    """
    Render the rows in the order of the file, with the text of the values of each.

    The text is what ``datastore_search_values`` makes of the object; None where that is not known,
    and in a wide table.
    """
    has_texts = all(decision.field_type.name in _TYPES_WITH_TEXT for decision in decisions)
    if not has_texts or len(table.columns) > _MAX_COLUMNS_WITHOUT_LISTS:
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
    yield from _fetch_rows(table, query, _split_bytes(table))


def _fetch_rows(
    table: StagedTable, query: Composed, conditions: Iterable[Composed]
) -> Iterator[list[Any]]:
    for condition in conditions:
        rows = table.execute(SQL("{} WHERE {}").format(query, condition))
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


def _split_rows(table: StagedTable) -> Iterator[Composed]:
    """Build conditions that split the rows into ranges, in their order."""
    query = SQL("SELECT coalesce(max(rowid), -1) FROM {}").format(STAGED_ROWS)
    ((last,),) = table.execute(query).fetchall()
    count = max(1, _CELLS_PER_STATEMENT // len(table.columns))
    for start in range(0, last + 1, count):
        yield SQL("rowid >= {} AND rowid < {}").format(
            quote_literal(start), quote_literal(start + count)
        )


def _split_bytes(table: StagedTable) -> Iterator[Composed]:
    """Build conditions that split the rows into ranges of limited bytes; most tables need one."""
    lengths = (SQL("coalesce(strlen({}), 0)").format(quote_identifier(c)) for c in table.columns)
    size = SQL(" + ").join(lengths)
    heavy = table.execute(
        SQL(
            "SELECT rowid // {} AS part FROM {} GROUP BY part HAVING sum({}) > {} ORDER BY part"
        ).format(
            quote_literal(_ROWS_RENDERED_AT_ONCE),
            STAGED_ROWS,
            size,
            quote_literal(_MAX_BYTES_PER_STATEMENT),
        )
    ).fetchall()
    start = 0
    for (part,) in heavy:
        first = part * _ROWS_RENDERED_AT_ONCE
        rows = _build_range(first, first + _ROWS_RENDERED_AT_ONCE)
        query = SQL("SELECT rowid, {} FROM {} WHERE {}").format(size, STAGED_ROWS, rows)
        total = _MAX_BYTES_PER_STATEMENT  # such a part begins a range
        for row, length in table.execute(query).fetchall():
            total += length
            if total > _MAX_BYTES_PER_STATEMENT:
                if row > start:
                    yield _build_range(start, row)
                start, total = row, length
    yield _build_range(start)


def _build_range(start: int, stop: int | None = None) -> Composed:
    """Build the condition of the rows from one up to another, which is excluded."""
    if stop is None:
        return SQL("rowid >= {}").format(quote_literal(start)) if start else SQL("true")
    return SQL("rowid >= {} AND rowid < {}").format(quote_literal(start), quote_literal(stop))


def _build_members(table: StagedTable, decisions: Sequence[Decision]) -> Iterator[Composed]:
    """Build the member of each column: its name, and its value."""
    for column, name, decision in zip(table.columns, table.names, decisions, strict=True):
        value = decision.field_format.build_json_value(quote_identifier(column))
        yield SQL("{} || {}").format(quote_literal(dump_json(name) + ":"), value)


def _build_lists(table: StagedTable, decisions: Sequence[Decision]) -> Iterator[Composed]:
    """Build the members of columns that have one format, joined by commas."""
    groups: defaultdict[FieldFormat, list[tuple[str, str]]] = defaultdict(list)
    for column, name, decision in zip(table.columns, table.names, decisions, strict=True):
        groups[decision.field_format].append((column, name))
    for field_format, columns in groups.items():
        for start in range(0, len(columns), _COLUMNS_PER_LIST):
            some = columns[start : start + _COLUMNS_PER_LIST]
            cells = SQL(", ").join(quote_identifier(column) for column, _name in some)
            keys = SQL(", ").join(quote_literal(dump_json(name) + ":") for _column, name in some)
            yield SQL(
                "array_to_string(list_transform([{cells}],"
                " lambda value, position: ([{keys}])[position] || {value}), ',')"
            ).format(cells=cells, keys=keys, value=field_format.build_json_value(SQL("value")))


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
