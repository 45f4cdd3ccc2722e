"""The indexes of a record table, and its statistics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg import errors, sql

from datastore_search.contrib.files.tables.locks import begin_load_transaction, build_statement_comment, open_thread_connection
from .server import can_build_gin_in_parallel
from .sessions import override_setting
from .substrings import build_substring_index
from .tables import (
    NewTable,
    drop_indexes,
    limit_lock_waits,
    name_record_table,
    quote_record_table,
)

#: PostgreSQL's statistics target for the values.  With 500 a filter takes twice as long to plan,
#: with 100 a value that is not so rare is soon taken for a common one (``docs/decisions/0021``).
_STATISTICS_TARGET = 200


#: PostgreSQL's memory for a GIN index.  It collects the entries in a tree of this size, and each
#: entry is searched for in it: a larger one does not fit the processor's cache, and takes up to one
#: and a half times as long (``docs/decisions/0046``).
_GIN_MEMORY_BYTES = 8 * 2**20

#: The memory for each process that builds a GIN index, below which PostgreSQL takes fewer of them.
_PARALLEL_GIN_MEMORY_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Indexes:
    """
    The indexes of a table in addition to the index of its key.

    ``orders`` maps the names of the fields to sort by to the expressions of their types: templates
    over ``{v}``, the field's value, or ``{t}``, its text.
    """

    filters: bool = True
    words: bool = True
    substrings: bool = False
    orders: Mapping[str, str] = field(default_factory=dict)


def create_indexes(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    indexes: Indexes,
    *,
    memory_bytes: int,
    max_connections: int = 1,
) -> None:
    """
    Index a record table and take its statistics.

    ``memory_bytes`` is the memory of the server for each connection; a GIN index takes little of
    it.  There are at most ``max_connections``, and as many processes for the index of words, which
    takes longer than all others; within a transaction of the caller, only the caller's own.
    """
    load_id = table.load_id
    if load_id is None or connection.in_atomic_block:
        max_connections = 1
    add_key = sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (_id)").format(quote_record_table(table.id))
    key = _Statement(add_key, memory_bytes)
    others = _build_index_statements(connection, table.id, indexes, memory_bytes, max_connections)
    if load_id is None or max_connections == 1:
        _run_statements(connection, load_id, key, *others)
    else:
        _run_statements(connection, load_id, key)
        with ThreadPoolExecutor(max_connections) as pool:
            run = partial(_run_statement_in_thread, connection.alias, load_id)
            list(pool.map(run, others))
    with begin_load_transaction(connection, load_id):
        analyze_records(connection, table.id)
    if load_id is not None and max_connections > 1:
        _freeze(connection, table.id, load_id)


class _Statement(NamedTuple):
    """A statement that makes an index; with ``workers`` None the server chooses their number."""

    statement: sql.Composable
    memory_bytes: int
    workers: int | None = None


def _build_index_statements(
    connection: BaseDatabaseWrapper,
    table_id: int,
    indexes: Indexes,
    memory_bytes: int,
    max_processes: int = 1,
) -> list[_Statement]:
    """List the statements, the longest first."""
    table = quote_record_table(table_id)
    gin_bytes = min(_GIN_MEMORY_BYTES, memory_bytes)
    statements: list[_Statement] = []
    if indexes.substrings:
        statements.append(_Statement(build_substring_index(connection, table_id), gin_bytes))
    if indexes.words:
        index_words = sql.SQL("CREATE INDEX ON {} USING gin (search)").format(table)
        processes = min(max_processes, memory_bytes // _PARALLEL_GIN_MEMORY_BYTES)
        if processes > 1 and can_build_gin_in_parallel(connection):
            parallel_bytes = processes * _PARALLEL_GIN_MEMORY_BYTES
            statements.append(_Statement(index_words, parallel_bytes, processes - 1))
        else:
            statements.append(_Statement(index_words, gin_bytes))
    if indexes.filters:
        index_values = sql.SQL("CREATE INDEX ON {} USING gin (data jsonb_path_ops)").format(table)
        statements.append(_Statement(index_values, gin_bytes))
    return statements + [
        _Statement(_build_order_index(table_id, name, key), memory_bytes)
        for name, key in indexes.orders.items()
    ]


def _build_order_index(table_id: int, name: str, key: str) -> sql.Composable:
    field_name = sql.Literal(name.replace("%", "%%"))
    return sql.SQL("CREATE INDEX IF NOT EXISTS {index} ON {table} (({key}), _id)").format(
        index=sql.Identifier(name_order_index(table_id, name)),
        table=quote_record_table(table_id),
        key=sql.SQL(key).format(
            v=sql.SQL("(data -> {})").format(field_name),
            t=sql.SQL("(data ->> {})").format(field_name),
        ),
    )


def name_order_index(table_id: int, name: str) -> str:
    """Name the index of a field after a digest of its name, which may be of any length."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{name_record_table(table_id)}_by_{digest}"


def _run_statements(
    connection: BaseDatabaseWrapper, load_id: int | None, *statements: _Statement
) -> None:
    with begin_load_transaction(connection, load_id), connection.cursor() as cursor:
        _execute_statements(cursor, statements)


def _execute_statements(cursor: CursorWrapper, statements: Iterable[_Statement]) -> None:
    for statement, memory_bytes, workers in statements:
        with ExitStack() as settings:
            memory = f"{memory_bytes // 1024}kB"
            settings.enter_context(override_setting(cursor, "maintenance_work_mem", memory))
            if workers is not None:
                name = "max_parallel_maintenance_workers"
                settings.enter_context(override_setting(cursor, name, str(workers)))
            cursor.execute(statement, [])


def _run_statement_in_thread(alias: str, load_id: int, statement: _Statement) -> None:
    with open_thread_connection(alias) as connection:
        _run_statements(connection, load_id, statement)


def analyze_records(connection: BaseDatabaseWrapper, table_id: int) -> None:
    """
    Take the statistics by which PostgreSQL plans filters, with a target of ``_STATISTICS_TARGET``.

    Source: PostgreSQL, which stores as many records as the target in a histogram, and unpacks and
    compares all of them each time it plans a filter.
    """
    statement = sql.SQL("ALTER TABLE {table} ALTER COLUMN data SET STATISTICS {target}")
    table, target = quote_record_table(table_id), sql.Literal(_STATISTICS_TARGET)
    with connection.cursor() as cursor:
        cursor.execute(statement.format(table=table, target=target))
        cursor.execute(sql.SQL("ANALYZE {}").format(table))


def count_common_values(
    connection: BaseDatabaseWrapper,
    table: NewTable,
    names: Iterable[str],
    *,
    min_records: int,
) -> dict[str, dict[str | None, int]]:
    """
    Count the values that at least ``min_records`` records have, of some fields.

    ``names`` are fields of text whose order is indexed; of those with more than a thousand values,
    as far as PostgreSQL's statistics know, nothing is counted.
    """
    counts = {}
    with begin_load_transaction(connection, table.load_id), connection.cursor() as cursor:
        for name in names:
            cursor.execute(
                "SELECT FROM pg_stats WHERE schemaname = ANY (current_schemas(false))"
                " AND tablename = %s AND attname = 'expr' AND n_distinct BETWEEN 1 AND 1000",
                [name_order_index(table.id, name)],
            )
            if cursor.fetchone() is None:
                continue
            cursor.execute(
                sql.SQL("SELECT data ->> %s, count(*) FROM {} GROUP BY 1 HAVING count(*) >= %s")
                .format(quote_record_table(table.id)), [name, min_records],
            )  # fmt: skip
            counts[name] = dict(cursor.fetchall())
    return counts


def _freeze(connection: BaseDatabaseWrapper, table_id: int, load_id: int) -> None:
    """Mark all records as visible to every transaction, so that an index-only scan counts keys."""
    vacuum = sql.SQL("{} VACUUM (FREEZE, INDEX_CLEANUP off, TRUNCATE off) {}").format(
        sql.SQL(build_statement_comment(load_id)), quote_record_table(table_id)
    )
    try:
        with connection.cursor() as cursor:
            cursor.execute(vacuum)
    except OperationalError as error:
        # A limit of the portal has ended it, or the cancellation of the load; the load checks that.
        if not isinstance(error.__cause__, errors.QueryCanceled | errors.LockNotAvailable):
            raise


# Changing them ------------------------------------------------------------------------------------


def add_indexes(
    connection: BaseDatabaseWrapper, table_id: int, indexes: Indexes, *, memory_bytes: int
) -> None:
    """
    Add indexes to a table that is served, and take its statistics; its writers wait meanwhile.

    Raises: Django's ``OperationalError`` while the table is written to for longer than
    ``LOCK_TIMEOUT``.
    """
    with limit_lock_waits(connection) as cursor:
        statements = _build_index_statements(connection, table_id, indexes, memory_bytes)
        _execute_statements(cursor, statements)
        analyze_records(connection, table_id)


def name_key_index(table_id: int) -> str:
    """Name the index of a table's primary key, whether it is there or not."""
    return f"{name_record_table(table_id)}_key"


def create_order_indexes(
    connection: BaseDatabaseWrapper, table_id: int, orders: Mapping[str, str]
) -> None:
    """Index some fields by their order; see ``Indexes``."""
    with connection.cursor() as cursor:
        for name, key in orders.items():
            cursor.execute(_build_order_index(table_id, name, key), [])


def set_key(connection: BaseDatabaseWrapper, table_id: int, names: Sequence[str]) -> None:
    """
    Make the values of some fields unique together; nulls differ from each other.

    Raises: Django's ``IntegrityError`` when some have, ``OperationalError`` when one is too long,
    or when a key cannot be replaced because the table is read.
    """
    drop_indexes(connection, name_key_index(table_id))
    if not names:
        return
    table = quote_record_table(table_id)
    values = sql.SQL(", ").join(build_key_expression("data", name) for name in names)
    key = sql.Identifier(name_key_index(table_id))
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE UNIQUE INDEX {} ON {} ({})").format(key, table, values), [])
        cursor.execute(sql.SQL("ANALYZE {}").format(table))


def build_key_expression(data: str, name: str) -> sql.Composable:
    """Build the expression of a field's value within a key: jsonb, or SQL null."""
    return sql.SQL("(nullif({data} -> {name}, 'null'))").format(
        data=sql.SQL(data), name=sql.Literal(name.replace("%", "%%"))
    )
