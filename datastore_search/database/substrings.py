"""The index of substrings, by PostgreSQL's extension ``pg_trgm`` (``docs/decisions/0029``)."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from .statements import fetch_column, fetch_value
from .tables import name_record_table, quote_record_table

#: All values of a record as one JSON text.  It has only built-in functions: a restore computes it
#: with an empty search path, and it takes a third of the time of ``datastore_search_values``.
SUBSTRINGS_TEXT = sql.SQL("(jsonb_path_query_array(data, '$.*')::text)")


def has_trigrams(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the database has the extension ``pg_trgm``."""
    return _find_operator_class(connection) is not None


def build_substring_index(connection: BaseDatabaseWrapper, table_id: int) -> sql.Composable:
    """
    Build the statement that indexes the substrings of a table.

    Raises: ``LookupError`` without the extension.
    """
    operator_class = _find_operator_class(connection)
    if operator_class is None:
        raise LookupError("pg_trgm")
    return sql.SQL("CREATE INDEX IF NOT EXISTS {} ON {} USING gin ({} {})").format(
        sql.Identifier(name_substring_index(table_id)),
        quote_record_table(table_id),
        SUBSTRINGS_TEXT,
        operator_class,
    )


def name_substring_index(table_id: int) -> str:
    """Name the index of a table's substrings, whether it is there or not."""
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
