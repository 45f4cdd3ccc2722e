"""Find the rows that PostgreSQL or the primary key would refuse, and report them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.utils import translation
from django.utils.translation import gettext as _

from ....downloads.text_rows import disarm
from ....field_types import (
    MAX_NUMBER_DIGITS,
    NotOfType,
    TooManyDigits,
    parse_json_value,
    refuse_constant,
)
from ....writing import MAX_INDEXED_VALUE_BYTES
from ..formats.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..formats.staging import MAX_SHOWN_LENGTH, ROW_ERRORS, STAGED_ROWS, StagedTable, quote_message
from ..messages import BadRow, LoadFailed
from ..models import Load, RowError
from ..types.field_formats import Decision, bind_value, field_formats
from ..types.matching import VALUE, group_columns

#: Parts of JSON that DuckDB accepts, and PostgreSQL may refuse or write out at great length.
_SUSPICIOUS = r"\\u0000|(?i:nan|inf)|,\s*[\]}]|[eE][+-]?[0-9]{3}"
#: In longer texts, many short exponents may become long, too.
_LONG_TEXT_BYTES = 100_000
_SUSPICIOUS_IF_LONG = r"[eE][+-]?[0-9]{2}"

_SUSPECTS_PER_BATCH, _ERRORS_PER_PIECE = 500, 2_000

_UNSTORABLE = BadRow("row.unstorable")

#: What PostgreSQL's index adds to each value.
_VALUE_EXTRA_BYTES = 16

#: Stands in a message for a number that DuckDB computes.
_NUMBER = "{number}"


def record_unstorable_values(table: StagedTable, decisions: Sequence[Decision]) -> None:
    """Record a row error for each text or JSON that PostgreSQL would refuse."""
    # Values of other types, such as numbers and dates, cannot hold what PostgreSQL refuses.
    types = {
        column: decision.field_type
        for column, decision in zip(table.columns, decisions, strict=True)
        if decision.field_type.is_text or decision.field_type.is_nested
    }
    for some in table.rows.split_columns(list(types)):
        table.record_errors(some, SQL("contains(value, chr(0))"), _UNSTORABLE)
    query = SQL(
        "SELECT line, name, value FROM {cells} WHERE (regexp_matches(value, {suspicious})"
        " OR strlen(value) > {long} AND regexp_matches(value, {suspicious_if_long}))"
        " AND coalesce({condition}, false)"
    )
    insert = SQL("INSERT INTO {} VALUES (?, ?, ?, ?)").format(ROW_ERRORS)
    for field_type, columns in group_columns(table, types):
        if not field_type.is_nested:
            continue
        statement = query.format(
            cells=table.rows.select_cells(columns, has_lines=True),
            suspicious=_SUSPICIOUS,
            long=_LONG_TEXT_BYTES,
            suspicious_if_long=_SUSPICIOUS_IF_LONG,
            condition=bind_value(field_formats[field_type.name].condition, VALUE),
        )
        suspects = table.connection.cursor().execute(statement.text)
        while batch := suspects.fetchmany(_SUSPECTS_PER_BATCH):
            errors = []
            for line, name, text in batch:
                if error := _find_json_error(text, has_constants=field_type.name != "json"):
                    message = json.dumps(error.to_json(), ensure_ascii=False)
                    errors.append((line, table.get_name(name), text[:MAX_SHOWN_LENGTH], message))
            if errors:
                table.connection.executemany(insert.text, errors)


def _find_json_error(text: str, *, has_constants: bool) -> BadRow | None:
    """Find why PostgreSQL would refuse a JSON text; ``has_constants`` allows NaN and the like."""
    parse_constant = float if has_constants else refuse_constant
    try:
        parse_json_value(
            json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=parse_constant)
        )
    except TooManyDigits:
        return BadRow("row.long_number", most=MAX_NUMBER_DIGITS)
    except (NotOfType, ValueError, ArithmeticError, RecursionError):
        return _UNSTORABLE
    return None


def record_key_errors(
    table: StagedTable, decisions: Sequence[Decision], key: Sequence[str]
) -> None:
    """
    Record a row error for each row whose key is empty, too long, or repeated.

    A row with another error does not count as an earlier row.  Values are compared as the JSON
    texts that will be stored, numbers without zeros at their end.
    """
    if not key:
        return
    columns = _list_key_columns(table, key)
    for name, column in zip(key, columns, strict=True):
        is_empty = SQL("coalesce({}, '') = ''").format(column)
        record_bad_keys(table, [name], quote_message(BadRow("row.empty_key")), is_empty)
    length = SQL(" + ").join(
        SQL("strlen({}) + {}").format(column, _VALUE_EXTRA_BYTES) for column in columns
    )
    error = BadRow("row.long_key", count=_NUMBER, most=MAX_INDEXED_VALUE_BYTES)
    is_long = SQL("{} > {}").format(length, MAX_INDEXED_VALUE_BYTES)
    record_bad_keys(table, key, _fill_in(error, length), is_long)
    values = []
    for name, column in zip(key, columns, strict=True):
        decision = decisions[table.names.index(name)]
        values.append(decision.field_format.build_json_value(column))
        if decision.field_type.is_number and not decision.field_type.is_integer:
            zeros = r"\.0*$|(\.[0-9]*[1-9])0+$", r"\1"
            values.append(SQL("regexp_replace({}, {}, {})").format(values.pop(), *zeros))
    table.execute(
        "INSERT INTO {row_errors} WITH keyed AS (SELECT line, {text} AS text,"
        " concat_ws(',', {values}) AS key FROM {rows} ANTI JOIN {row_errors} USING (line)),"
        " repeated AS (SELECT key, min(line) AS first FROM keyed GROUP BY key"
        " HAVING count(*) > 1)"
        " SELECT line, {names}, text, {error} FROM keyed JOIN repeated USING (key)"
        " WHERE line > first",
        row_errors=ROW_ERRORS,
        text=_build_key_text(columns),
        values=values,
        rows=STAGED_ROWS,
        names=", ".join(key),
        error=_fill_in(BadRow("row.repeated_key", line=_NUMBER), SQL("first")),
    )


def record_bad_keys(
    table: StagedTable,
    key: Sequence[str],
    error: Composed,
    condition: Composed,
    parameters: Sequence[Any] = (),
) -> None:
    """Record a row error for each row that meets a condition; it shows the row's key."""
    text = _build_key_text(_list_key_columns(table, key))
    parts = ROW_ERRORS, ", ".join(key), text, error, STAGED_ROWS, condition
    insert = "INSERT INTO {} SELECT line, {}, {}, {} FROM {} WHERE {}"
    table.execute(insert, *parts, parameters=parameters)


def _list_key_columns(table: StagedTable, key: Sequence[str]) -> list[Composed]:
    return [quote_identifier(table.columns[table.names.index(name)]) for name in key]


def _build_key_text(columns: Sequence[Composed]) -> Composed:
    return SQL("left(concat_ws(', ', {}), {})").format(columns, MAX_SHOWN_LENGTH)


def _fill_in(message: BadRow, number: Composed) -> Composed:
    """Quote a message with a number that DuckDB computes in place of ``_NUMBER``."""
    placeholder = quote_literal(f'"{_NUMBER}"')
    return SQL("replace({}, {}, CAST({} AS VARCHAR))").format(
        quote_message(message), placeholder, number
    )


def read_row_errors(load: Load, table: StagedTable, most: int) -> Iterator[RowError]:
    """Read the first row errors of a table, for a load; they are not saved."""
    query = "SELECT line, field, value, error FROM {} ORDER BY line, field LIMIT {}"
    found = table.execute(query, ROW_ERRORS, most)
    while row := found.fetchone():
        line, field, value, error = row
        text = value.replace("\0", "�")  # which PostgreSQL's texts cannot hold
        yield RowError(load=load, line=line, field=field, value=text, message=json.loads(error))


def raise_row_errors(load: Load) -> None:
    """Refuse the file if it has bad rows."""
    if first := load.row_errors.first():
        raise LoadFailed("load.bad_rows", count=load.row_error_count, row=first.describe())


def delete_bad_rows(table: StagedTable) -> None:
    table.rows.delete(SQL("IN (SELECT line FROM {})").format(ROW_ERRORS))


def write_row_error_report(load: Load, language: str) -> Iterator[str]:
    """
    Write the row errors of a load as CSV, in a language, piece by piece.

    It begins with a byte order mark, by which spreadsheets recognise the encoding.  A value that
    they would read as a formula gets an apostrophe.
    """
    with translation.override(language):
        header = [_("Line"), _("Field"), _("Value"), _("Reason")]
        first = "\ufeff" + _write_csv([header])
    yield first
    ordered = rows = load.row_errors.order_by("line", "pk")
    # Without a cursor of the server: a pooler may give each batch another session.
    while batch := list(rows[:_ERRORS_PER_PIECE]):
        last = batch[-1]
        rows = ordered.filter(Q(line=last.line, pk__gt=last.pk) | Q(line__gt=last.line))
        # Between two pieces the caller's language is active.
        with translation.override(language):
            piece = _write_csv([row.line, row.field, row.value, row.reason] for row in batch)
        yield piece


def _write_csv(rows: Iterable[list[str] | list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([disarm(str(cell)) for cell in row] for row in rows)
    return text.getvalue()
