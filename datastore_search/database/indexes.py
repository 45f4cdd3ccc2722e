"""The indexes of a record table, and its statistics."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from ..conf import conf
from .server import has_version
from .sessions import override_settings
from .statements import execute, fetch_column, fetch_value
from .tables import drop_indexes, is_small, name_record_table, quote_record_table

#: The kinds of indexes over all fields.
KINDS_OF_LARGE_TABLES = frozenset({"filters", "words"})

#: PostgreSQL's memory for a GIN index.  It collects the entries in a tree of this size, and each
#: entry is searched for in it: a larger one does not fit the processor's cache, and takes up to one
#: and a half times as long (``docs/decisions/0013``).
_GIN_MEMORY_BYTES = 8 * 2**20

#: The memory for each process that builds a GIN index, below which PostgreSQL takes fewer of them.
_PARALLEL_GIN_MEMORY_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Indexes:
    """
    The indexes of a table in addition to the index of its key.

    Of the ``kinds`` in the setting ``INDEXES`` those count that are of all fields: ``filters``,
    ``words``, ``substrings``.  ``orders`` maps the names of the fields to sort by to the
    expressions of their types: templates over ``{v}``, the field's value, or ``{t}``, its text.
    """

    kinds: Collection[str] = ()
    orders: Mapping[str, str] = field(default_factory=dict)


def create_indexes(connection: BaseDatabaseWrapper, table_id: int, indexes: Indexes) -> None:
    """Index a record table, and take its statistics."""
    with connection.cursor() as cursor:
        execute_statements(cursor, [build_id_statement(table_id, conf.LOAD_MEMORY_BYTES)])
    add_indexes(connection, table_id, indexes)
    analyze_records(connection, table_id)


def add_indexes(connection: BaseDatabaseWrapper, table_id: int, indexes: Indexes) -> None:
    """Add indexes to a record table, as far as they are named and not there; its writers wait."""
    statements = build_index_statements(connection, table_id, indexes, conf.LOAD_MEMORY_BYTES)
    with connection.cursor() as cursor:
        execute_statements(cursor, statements)


class IndexStatement(NamedTuple):
    """A statement that makes an index; with ``workers`` None the server chooses their number."""

    statement: sql.Composable
    memory_bytes: int
    workers: int | None = None


def build_id_statement(table_id: int, memory_bytes: int) -> IndexStatement:
    table = quote_record_table(table_id)
    return IndexStatement(
        sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (_id)").format(table), memory_bytes
    )


def build_index_statements(
    connection: BaseDatabaseWrapper,
    table_id: int,
    indexes: Indexes,
    memory_bytes: int,
    max_processes: int = 1,
) -> list[IndexStatement]:
    """
    List the statements, the longest first; a small table gets no ``KINDS_OF_LARGE_TABLES``.

    Raises: ``LookupError`` for substrings without the extension.
    """
    table = quote_record_table(table_id)
    gin_bytes = min(_GIN_MEMORY_BYTES, memory_bytes)
    statements: list[IndexStatement] = []
    kinds = set(indexes.kinds)
    if is_small(connection, table_id):
        kinds -= KINDS_OF_LARGE_TABLES
    if "substrings" in kinds:
        operator_class = _find_operator_class(connection)
        if operator_class is None:
            raise LookupError("pg_trgm")
        index_substrings = sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} USING gin ({} {})").format(
            sql.Identifier(name_substring_index(table_id)), table, SUBSTRINGS_TEXT, operator_class
        )
        statements.append(IndexStatement(index_substrings, gin_bytes))
    if "words" in kinds:
        index_words = sql.SQL("CREATE INDEX ON {} USING gin (search)").format(table)
        processes = min(max_processes, memory_bytes // _PARALLEL_GIN_MEMORY_BYTES)
        if processes > 1 and has_version(connection, 18):  # which builds GIN in parallel
            parallel_bytes = processes * _PARALLEL_GIN_MEMORY_BYTES
            statements.append(IndexStatement(index_words, parallel_bytes, processes - 1))
        else:
            statements.append(IndexStatement(index_words, gin_bytes))
    if "filters" in kinds:
        index_values = sql.SQL("CREATE INDEX ON {} USING gin (data jsonb_path_ops)").format(table)
        statements.append(IndexStatement(index_values, gin_bytes))
    for name, key in indexes.orders.items():
        field_name = sql.Literal(name.replace("%", "%%"))
        value = sql.SQL("(data -> {})").format(field_name)
        text = sql.SQL("(data ->> {})").format(field_name)
        index_order = sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} (({}), _id)").format(
            sql.Identifier(name_order_index(table_id, name)),
            table,
            sql.SQL(key).format(v=value, t=text),
        )
        statements.append(IndexStatement(index_order, memory_bytes))
    return statements


def name_order_index(table_id: int, name: str) -> str:
    """Name the index of a field after a digest of its name, which may be of any length."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
    return f"{name_record_table(table_id)}_by_{digest}"


def execute_statements(cursor: CursorWrapper, statements: Iterable[IndexStatement]) -> None:
    for statement, memory_bytes, workers in statements:
        settings = {"maintenance_work_mem": f"{memory_bytes // 1024}kB"}
        if workers is not None:
            settings["max_parallel_maintenance_workers"] = str(workers)
        with override_settings(cursor.db, **settings):
            cursor.execute(statement, [])


def analyze_records(connection: BaseDatabaseWrapper, table_id: int) -> None:
    """Take the statistics by which PostgreSQL plans filters."""
    execute(connection, sql.SQL("ANALYZE {}").format(quote_record_table(table_id)))


# Changing them ------------------------------------------------------------------------------------


def name_key_index(table_id: int) -> str:
    return f"{name_record_table(table_id)}_key"


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
    execute(connection, sql.SQL("CREATE UNIQUE INDEX {} ON {} ({})").format(key, table, values), [])
    execute(connection, sql.SQL("ANALYZE {}").format(table))


def build_key_expression(data: str, name: str) -> sql.Composable:
    """Build the expression of a field's value within a key: jsonb, or SQL null."""
    return sql.SQL("(nullif({data} -> {name}, 'null'))").format(
        data=sql.SQL(data), name=sql.Literal(name.replace("%", "%%"))
    )


# Substrings, by PostgreSQL's extension ``pg_trgm`` (``docs/decisions/0029``) ----------------------

#: All values of a record as one JSON text.  It has only built-in functions: a restore computes it
#: with an empty search path, and it takes a third of the time of ``datastore_search_values``.
SUBSTRINGS_TEXT = sql.SQL("(jsonb_path_query_array(data, '$.*')::text)")


def has_trigrams(connection: BaseDatabaseWrapper) -> bool:
    return _find_operator_class(connection) is not None


def name_substring_index(table_id: int) -> str:
    return f"{name_record_table(table_id)}_substrings"


def estimate_substring_share(
    connection: BaseDatabaseWrapper, index_name: str, pattern: str
) -> float:
    """
    Estimate the share of the records that match a pattern in any field, from 0 to 1.

    PostgreSQL's statistics hold a hundred records.  They have none of more than 1 kB, and nothing
    of a small table; then the share is taken for 0.
    """
    share: float = fetch_value(
        connection,
        "SELECT coalesce(avg((record ILIKE %s)::int), 0)::float8 FROM pg_stats,"
        " unnest(histogram_bounds::text::text[]) AS record"
        " WHERE schemaname = ANY (current_schemas(false)) AND tablename = %s",
        [pattern, index_name],
    )
    return share


def _find_operator_class(connection: BaseDatabaseWrapper) -> sql.Identifier | None:
    """Find the operator class with its schema, which need not be on the search path."""
    schemas = fetch_column(
        connection,
        "SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'pg_trgm'",
    )
    return sql.Identifier(schemas[0], "gin_trgm_ops") if schemas else None
