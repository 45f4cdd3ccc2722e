"""Merge the rows of a file into a table that is being served, by way of a staging table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import LiteralString

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from ....database.indexes import build_key_expression
from ....database.placement import place_beside
from ....database.statements import write_rows
from ....database.tables import quote_record_table
from ..messages.failures import UnstorableRecord
from .filling import build_copy, name_staging_table, parse_copy_line, quote_staging_table
from .locks import begin_load_transaction

_MAX_FETCHED_ROWS = 2_000


def stage_rows(
    connection: BaseDatabaseWrapper,
    load_id: int,
    batches: Iterable[Sequence[tuple[int, str]]],
    beside: str = "",
) -> None:
    """
    Create the staging table of a load, and copy the rows into it.

    ``batches`` are lists of lines, each with a JSON object as text.  ``beside`` is the record table
    if that is on a worker.

    Raises: ``UnstorableRecord``, with the number of the row, when PostgreSQL refuses one.
    """
    table = quote_staging_table(load_id)
    try:
        with begin_load_transaction(connection, load_id), connection.cursor() as cursor:
            # A load before a flush of the database may have left one of the same number.
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            # A crash of the server empties it, and the load fails with it.
            cursor.execute(
                sql.SQL("CREATE UNLOGGED TABLE {} (_id bigint, data jsonb NOT NULL)").format(table)
            )
            if beside:
                place_beside(connection, name_staging_table(load_id), beside)
            with cursor.copy(build_copy(table, "_id, data")) as lines:
                for batch in batches:
                    lines.write("".join(f"{line}\x02{text}\n" for line, text in batch))
            cursor.execute(sql.SQL("ANALYZE {}").format(table))
    except (psycopg.DataError, errors.StatementTooComplex) as error:
        raise UnstorableRecord(parse_copy_line(error) or "?") from error


def read_taken_lines(
    connection: BaseDatabaseWrapper, load_id: int, table_id: int, key: Sequence[str]
) -> Iterator[list[int]]:
    """Find the lines of a load's rows whose key a record has already."""
    statement = _build_statement(
        "SELECT staged._id FROM {staged} AS staged WHERE EXISTS"
        " (SELECT FROM {table} AS record WHERE {same}) ORDER BY staged._id",
        load_id,
        table_id,
        key,
    )
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, [])
        while batch := cursor.fetchmany(_MAX_FETCHED_ROWS):
            yield [line for (line,) in batch]


def delete_taken_rows(
    connection: BaseDatabaseWrapper, load_id: int, table_id: int, key: Sequence[str]
) -> None:
    """Delete the rows of a staging table whose key a record has already."""
    statement = "DELETE FROM {staged} AS staged USING {table} AS record WHERE {same}"
    write_rows(connection, _build_statement(statement, load_id, table_id, key), [])


def add_rows(
    connection: BaseDatabaseWrapper,
    load_id: int,
    table_id: int,
    key: Sequence[str] = (),
    *,
    empty: Iterable[str],
) -> int:
    """
    Add the rows of a load to a record table, in their order, and return how many.

    With a ``key``, rows whose key exists are skipped; ``empty`` are fields that the rows lack.
    """
    statement = (
        "INSERT INTO {table} (data) SELECT %s::jsonb || staged.data FROM {staged} AS staged"
        " WHERE NOT EXISTS (SELECT FROM {table} AS record WHERE {same}) ORDER BY staged._id"
    )
    nulls = json.dumps(dict.fromkeys(empty))
    return write_rows(connection, _build_statement(statement, load_id, table_id, key), [nulls])


def update_records(
    connection: BaseDatabaseWrapper, load_id: int, table_id: int, key: Sequence[str]
) -> int:
    """
    Update the records of a table from the rows with their keys, and return how many change.

    Records that already have these values are not written, because each write updates every index.
    """
    statement = (
        "UPDATE {table} AS record SET data = record.data || staged.data FROM {staged} AS staged"
        " WHERE {same} AND record.data || staged.data IS DISTINCT FROM record.data"
    )
    return write_rows(connection, _build_statement(statement, load_id, table_id, key), [])


def _build_statement(
    statement: LiteralString, load_id: int, table_id: int, key: Sequence[str]
) -> sql.Composable:
    """Name both tables in a statement; without a ``key`` no row of one is a row of the other."""
    equal: list[sql.Composable] = [
        sql.SQL("{} = {}").format(
            build_key_expression("record.data", name), build_key_expression("staged.data", name)
        )
        for name in key
    ]
    return sql.SQL(statement).format(
        staged=quote_staging_table(load_id),
        table=quote_record_table(table_id),
        same=sql.SQL(" AND ").join(equal or [sql.SQL("false")]),
    )
