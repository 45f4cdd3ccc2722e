"""What is damaged in a record table: columns and indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from ...database.statements import execute, fetch_value
from ...database.tables import limit_lock_waits, name_record_table, quote_record_table

#: The columns of a record table, with their types; PostgreSQL generates the search vectors.
_COLUMNS: Final = {("_id", "bigint", ""), ("data", "jsonb", ""), ("search", "tsvector", "s")}


@dataclass(frozen=True, slots=True)
class FoundIndex:
    """
    An index of a record table.

    ``role`` is its purpose: ``filters``, ``words``, or its name, if that says it.
    """

    name: str
    role: str
    is_primary: bool
    is_valid: bool


@dataclass(frozen=True, slots=True)
class TableDiagnosis:
    """What a record table has; the valid indexes come first, and of these the older ones."""

    has_columns: bool
    indexes: list[FoundIndex]

    @property
    def has_primary_key(self) -> bool:
        return any(index.is_primary for index in self.indexes)


#: The roles of the indexes that PostgreSQL names, by method, operators and column.
_ROLES: Final = {
    ("gin", "jsonb_path_ops", "data"): "filters",
    ("gin", "tsvector_ops", "search"): "words",
}


def diagnose_record_table(connection: BaseDatabaseWrapper, table_id: int) -> TableDiagnosis:
    """Inspect a record table that exists, without reading its records."""
    name = name_record_table(table_id)
    columns = execute(
        connection,
        "SELECT attname, format_type(atttypid, NULL), attgenerated::text FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        [name],
    )
    rows = execute(
        connection,
        "SELECT relname, indisprimary, indisvalid AND indisready,"
        " CASE WHEN indnatts = 1 AND indpred IS NULL THEN amname END, opcname, attname"
        " FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " JOIN pg_am ON pg_am.oid = relam JOIN pg_opclass ON pg_opclass.oid = indclass[0]"
        " LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]"
        " WHERE indrelid = %s::regclass ORDER BY 3 DESC, indexrelid",
        [name],
    )
    indexes = [
        FoundIndex(index, _ROLES.get((method, operators, column), index), is_primary, is_valid)
        for index, is_primary, is_valid, method, operators, column in rows
    ]
    return TableDiagnosis(set(columns) == _COLUMNS, indexes)


def list_value_names(connection: BaseDatabaseWrapper, table_id: int) -> set[str]:
    """List the names that the first thousand records have values of."""
    statement = sql.SQL(
        "SELECT DISTINCT jsonb_object_keys(data) FROM (SELECT data FROM {} LIMIT 1000) AS record"
    ).format(quote_record_table(table_id))
    return {name for (name,) in execute(connection, statement)}


def has_outdated_vectors(connection: BaseDatabaseWrapper, table_id: int, language: str) -> bool:
    """
    Return whether a load would give the first or last 20 records other search vectors.

    Raises: Django's ``DatabaseError`` when the table is locked, gone, or damaged.
    """
    statement = sql.SQL(
        "SELECT EXISTS (SELECT FROM ((SELECT data, search FROM {table} ORDER BY _id LIMIT 20)"
        " UNION ALL (SELECT data, search FROM {table} ORDER BY _id DESC LIMIT 20)) AS record"
        " WHERE setweight(search, 'D')"
        " IS DISTINCT FROM datastore_search_vector(data, %s::regconfig))"
    ).format(table=quote_record_table(table_id))
    with limit_lock_waits(connection):
        found = diagnose_record_table(connection, table_id)
        is_readable = found.has_columns and found.has_primary_key
        return is_readable and bool(fetch_value(connection, statement, [language]))


def rebuild_index(connection: BaseDatabaseWrapper, name: str) -> None:
    """
    Rebuild an index of a record table, while the table is read and written.

    Raises: Django's ``Error``, as in a transaction of the caller.
    """
    execute(connection, sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(name)))
