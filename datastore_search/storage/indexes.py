"""
The indexes of a table, and its statistics.

A record is found by its key, by the value of any field (``filters``), by its words, and, where a
field has an index of its own, in the order of that field.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors, sql

from .locks import another_connection, comment_of, working
from .sessions import milliseconds, setting, unlimited
from .tables import PATIENCE, record_table, table_name

#: How fine the planner's knowledge of values is.  With 500 a filter takes twice as long, with 100 a
#: value that is not so rare is soon taken for a common one (``docs/decisions/0021``).
_SHARES = 200


@dataclass(frozen=True, slots=True)
class Indexes:
    """
    Which indexes a table has beside that of its key.

    ``orders`` maps the names of the fields to sort by to the expressions of their types: templates
    over ``{v}``, the field's value, or ``{t}``, its text.
    """

    filters: bool = True
    words: bool = True
    orders: Mapping[str, str] = field(default_factory=dict)


def index_records(
    connection: BaseDatabaseWrapper,
    load_id: int,
    indexes: Indexes,
    *,
    memory_bytes: int,
    streams: int = 1,
) -> None:
    """
    Index the table of a load and take its statistics.

    ``memory_bytes`` is the memory of the server for each of the ``streams`` connections; within a
    transaction of the caller there is only that one.
    """
    key = sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (_id)").format(record_table(load_id))
    others = _statements(load_id, indexes)
    alone = streams < 2 or connection.in_atomic_block  # noqa: PLR2004 - one is no several
    if alone:
        _run(connection, load_id, memory_bytes, key, *others)
    else:
        _run(connection, load_id, memory_bytes, key)
        with ThreadPoolExecutor(streams) as pool:
            run = partial(_run_apart, connection.alias, load_id, memory_bytes)
            list(pool.map(run, others))
    with working(connection, load_id):
        take_statistics(connection, load_id)
    if not alone:
        _settle(connection, load_id)


def _statements(load_id: int, indexes: Indexes) -> list[sql.Composable]:
    """List the statements, the longest first."""
    table = record_table(load_id)
    statements: list[sql.Composable] = []
    if indexes.words:
        statements.append(sql.SQL("CREATE INDEX ON {} USING gin (search)").format(table))
    if indexes.filters:
        statements.append(
            sql.SQL("CREATE INDEX ON {} USING gin (data jsonb_path_ops)").format(table)
        )
    statements += [_order(load_id, name, key) for name, key in indexes.orders.items()]
    return statements


def _order(load_id: int, name: str, key: str) -> sql.Composable:
    field_name = sql.Literal(name.replace("%", "%%"))
    return sql.SQL("CREATE INDEX IF NOT EXISTS {index} ON {table} (({key}), _id)").format(
        index=sql.Identifier(_order_name(load_id, name)),
        table=record_table(load_id),
        key=sql.SQL(key).format(
            v=sql.SQL("(data -> {})").format(field_name),
            t=sql.SQL("(data ->> {})").format(field_name),
        ),
    )


def _order_name(load_id: int, name: str) -> str:
    """Name the index of a field after a digest of its name, which may be of any length."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{table_name(load_id)}_by_{digest}"


def _run(
    connection: BaseDatabaseWrapper, load_id: int, memory_bytes: int, *statements: sql.Composable
) -> None:
    with (
        working(connection, load_id),
        connection.cursor() as cursor,
        setting(cursor, "maintenance_work_mem", f"{memory_bytes // 1024}kB"),
    ):
        for statement in statements:
            cursor.execute(statement, [])


def _run_apart(alias: str, load_id: int, memory_bytes: int, statement: sql.Composable) -> None:
    with another_connection(alias) as connection:
        _run(connection, load_id, memory_bytes, statement)


def take_statistics(connection: BaseDatabaseWrapper, load_id: int) -> None:
    """
    Let the planner know the values, and how common they are, to one in ``_SHARES`` records.

    Source: PostgreSQL, which keeps so many records as a histogram, and unpacks and compares all of
    them each time it plans a filter.
    """
    statement = sql.SQL("ALTER TABLE {table} ALTER COLUMN data SET STATISTICS {shares}")
    table, shares = record_table(load_id), sql.Literal(_SHARES)
    with connection.cursor() as cursor:
        cursor.execute(statement.format(table=table, shares=shares))
        cursor.execute(sql.SQL("ANALYZE {}").format(table))


def count_common(
    connection: BaseDatabaseWrapper, load_id: int, names: Iterable[str], *, least: int
) -> dict[str, dict[str | None, int]]:
    """
    Count the values that at least so many records have, of some fields.

    ``names`` are fields of text whose order is indexed; of those with more than a thousand values,
    as far as PostgreSQL's statistics know, nothing is counted.
    """
    table = record_table(load_id)
    found = {}
    with working(connection, load_id), connection.cursor() as cursor:
        for name in names:
            cursor.execute(
                "SELECT FROM pg_stats WHERE schemaname = ANY (current_schemas(false))"
                " AND tablename = %s AND attname = 'expr' AND n_distinct BETWEEN 1 AND 1000",
                [_order_name(load_id, name)],
            )
            if cursor.fetchone() is None:
                continue
            cursor.execute(
                sql.SQL("SELECT data ->> %s, count(*) FROM {} GROUP BY 1 HAVING count(*) >= %s")
                .format(table), [name, least],
            )  # fmt: skip
            found[name] = dict(cursor.fetchall())
    return found


def _settle(connection: BaseDatabaseWrapper, load_id: int) -> None:
    """
    Mark all records as visible to everybody, for good: the index alone then counts keys.

    What is not done now PostgreSQL does later by itself.
    """
    vacuum = sql.SQL("{} VACUUM (FREEZE, INDEX_CLEANUP off, TRUNCATE off) {}").format(
        sql.SQL(comment_of(load_id)), record_table(load_id)
    )
    try:
        with unlimited(connection), connection.cursor() as cursor:
            cursor.execute(vacuum)
    except OperationalError as error:
        # A limit of the portal's own has ended it, or whoever cancels the load, which it will see.
        if not isinstance(error.__cause__, errors.QueryCanceled):
            raise


# Changing them ------------------------------------------------------------------------------------


def add_orders(connection: BaseDatabaseWrapper, load_id: int, orders: Mapping[str, str]) -> None:
    """Index some fields by their order; see ``Indexes``."""
    with connection.cursor() as cursor:
        for name, key in orders.items():
            cursor.execute(_order(load_id, name, key), [])


def drop_orders(connection: BaseDatabaseWrapper, load_id: int, names: Iterable[str]) -> None:
    """
    Drop the indexes of some fields, as far as there are any.

    Raises: Django's ``OperationalError`` while somebody reads the table for long.
    """
    with (
        connection.cursor() as cursor,
        setting(cursor, "lock_timeout", milliseconds(PATIENCE)),
    ):
        for name in names:
            index = sql.Identifier(_order_name(load_id, name))
            cursor.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(index))


def set_key(connection: BaseDatabaseWrapper, load_id: int, names: Sequence[str]) -> None:
    """
    Let no two records of a load have the same values in some fields; nulls differ from each other.

    Raises: Django's ``IntegrityError`` when some have, ``OperationalError`` when one is too long,
    or when a key cannot be replaced since somebody reads the table.
    """
    key = sql.Identifier(f"{table_name(load_id)}_key")
    with connection.cursor() as cursor:
        with setting(cursor, "lock_timeout", milliseconds(PATIENCE)):
            cursor.execute(sql.SQL("DROP INDEX IF EXISTS {key}").format(key=key))
        if names:
            cursor.execute(
                sql.SQL("CREATE UNIQUE INDEX {key} ON {table} ({values})").format(
                    key=key,
                    table=record_table(load_id),
                    values=sql.SQL(", ").join(key_value("data", name) for name in names),
                ),
                [],
            )
            cursor.execute(sql.SQL("ANALYZE {table}").format(table=record_table(load_id)))


def key_value(data: str, name: str) -> sql.Composable:
    """Give a field's value within a key: jsonb, or SQL null."""
    return sql.SQL("(nullif({data} -> {name}, 'null'))").format(
        data=sql.SQL(data), name=sql.Literal(name.replace("%", "%%"))
    )
