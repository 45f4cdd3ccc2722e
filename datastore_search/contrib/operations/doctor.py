"""Diagnose the tables of all resources, and mend what can be mended without a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.db import DatabaseError, OperationalError, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.utils import timezone
from psycopg import sql

from ...database.findings import Finding, finders
from ...database.indexes import (
    KINDS_OF_LARGE_TABLES,
    Indexes,
    add_indexes,
    analyze_records,
    name_key_index,
    name_order_index,
    name_substring_index,
    set_key,
)
from ...database.statements import execute, fetch_value, is_worker_lost
from ...database.tables import (
    count_records as count_table_records,
    drop_indexes,
    has_table,
    is_small,
    limit_lock_waits,
    mark_unserved,
    name_record_table,
    quote_record_table,
)
from ...field_types import field_types
from ...models import IndexKind, Resource, TableVersion
from .schema import diagnose_schema

#: The columns of a record table, with their types; PostgreSQL generates the search vectors.
_COLUMNS: Final = {("_id", "bigint", ""), ("data", "jsonb", ""), ("search", "tsvector", "s")}


@dataclass(frozen=True, slots=True)
class FoundIndex:
    """An index; ``role`` is its purpose: ``filters``, ``words``, or its name, if that says it."""

    name: str
    role: str
    is_primary: bool
    is_valid: bool


#: The roles of the indexes that PostgreSQL names, by method, operators and column.
_ROLES: Final = {
    ("gin", "jsonb_path_ops", "data"): "filters",
    ("gin", "tsvector_ops", "search"): "words",
}


def read_structure(connection: BaseDatabaseWrapper, table_id: int) -> tuple[bool, list[FoundIndex]]:
    """Return whether a table has its columns, and its indexes: valid ones first, then by age."""
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
    return set(columns) == _COLUMNS, indexes


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
        has_columns, indexes = read_structure(connection, table_id)
        is_readable = has_columns and any(index.is_primary for index in indexes)
        return is_readable and bool(fetch_value(connection, statement, [language]))


def rebuild_index(connection: BaseDatabaseWrapper, name: str) -> None:
    """Rebuild an index, while its table is read and written; not possible in a transaction."""
    execute(connection, sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(name)))


#: At most this many tables, the oldest ones, are sampled: it takes some milliseconds each.
_MAX_SAMPLED_TABLES = 1_000

#: Kinds with one index for each table; those of single fields are chosen by a load.
_OF_TABLE = (IndexKind.FILTERS, IndexKind.WORDS, IndexKind.SUBSTRINGS)


def diagnose(*, count_records: bool = False) -> Iterator[Finding]:
    """Find what is damaged, each once the last is mended; ``count_records`` reads all records."""
    connection = connections[router.db_for_write(Resource)]
    yield from diagnose_schema(connection)
    kept: set[int] = set()
    resources = Resource.objects.using(connection.alias).select_related("table_version")
    for resource in resources.order_by("name"):
        try:
            yield from _diagnose_resource(connection, resource, kept)
        except DatabaseError as error:
            if not is_worker_lost(connection, error):
                raise
            yield Finding("table.unreachable", str(resource.pk), str(error).partition("\n")[0])
    for find in finders.values():
        yield from find(connection, kept)
    if all(each.code != "function.outdated" for each in diagnose_schema(connection)):
        yield from _find_outdated_vectors(connection, resources)
    for resource in resources.order_by("name") if count_records else ():
        if version := resource.table_version:
            found = None
            with suppress(OperationalError):  # its worker is dead, reported above
                found = count_table_records(connection, version.pk)
            if found not in {version.record_count, None}:  # None without the table, reported above
                message = f"There are {found} records, not {version.record_count}."
                yield Finding("count.wrong", str(resource.pk), message)


def _find_outdated_vectors(
    connection: BaseDatabaseWrapper, resources: QuerySet[Resource]
) -> Iterator[Finding]:
    """Count the tables whose search vectors an earlier version made, and name five of them."""
    served = resources.exclude(table_version=None).order_by("table_version_id")
    rows = served.values_list("pk", "table_version__pk", "table_version__language")
    outdated = []
    for pk, number, language in rows[:_MAX_SAMPLED_TABLES]:
        with suppress(DatabaseError):  # the table is in use, gone by now, or damaged: see above
            if has_outdated_vectors(connection, number, language):
                outdated.append(str(pk))
    if outdated:
        message = (
            f"Tables with the words of an earlier version: {len(outdated)}. Some searches miss"
            " their records. Load the files again (load_resource --force)."
        )
        yield Finding("vectors.outdated", ", ".join(outdated[:5]), message, is_damage=False)


def _diagnose_resource(
    connection: BaseDatabaseWrapper, resource: Resource, kept: set[int]
) -> Iterator[Finding]:
    """Diagnose the table of a resource; ``kept`` gets the one that it served last."""
    version, name = resource.table_version, str(resource.pk)
    if version is None or not has_table(connection, version.pk):
        once = resource.table_versions.filter(published_at__isnull=False).order_by("-published_at")
        lost = next((each for each in once if has_table(connection, each.pk)), None)
        if lost is not None:
            kept.add(lost.pk)
            message = (
                f"Its records are in the table of version {lost.pk}: {lost.record_count}, of"
                f" {lost.published_at}."
            )
            mend = partial(_give_table_back, connection, resource, lost)
            yield Finding("table.lost", name, message, mend)
        elif version is not None:
            yield Finding("table.missing", name, "The table of the records is not there.")
        return
    yield from _Table(connection, resource, version).diagnose()


def _give_table_back(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> None:
    Resource.objects.using(connection.alias).filter(pk=resource.pk).update(
        table_version=version, modified_at=timezone.now()
    )
    mark_unserved(connection, version.pk, None)


@dataclass(frozen=True, slots=True)
class _Table:
    connection: BaseDatabaseWrapper
    resource: Resource
    version: TableVersion

    def diagnose(self) -> Iterator[Finding]:
        table_id, name = self.version.pk, str(self.resource.pk)
        has_columns, indexes = read_structure(self.connection, table_id)
        if not has_columns:
            message = "The table has other columns than it should, or ungenerated search vectors."
            yield Finding("table.columns", name, message)
        if not any(index.is_primary for index in indexes):
            yield Finding("index.missing", name, "The table has no primary key.")
        known = set(self.resource.fields.values_list("name", flat=True))
        sample = sql.SQL(
            "SELECT DISTINCT jsonb_object_keys(data) FROM (SELECT data FROM {} LIMIT 1000) AS each"
        ).format(quote_record_table(table_id))
        for field in sorted({name for (name,) in execute(self.connection, sample)} - known):
            message = f"The records have values of “{field}”, which is not a field."
            yield Finding("field.missing", name, message)
        chosen = [kind for kind in _OF_TABLE if kind in self.resource.index_kinds]
        present = [kind for kind in _OF_TABLE if kind in self.version.indexes]
        if chosen != present:
            message = (
                f"The resource is to be indexed by {', '.join(chosen) or '–'}, and its table is"
                f" indexed by {', '.join(present) or '–'}. The next load follows the choice, too."
            )
            yield Finding("index.choice", name, message, partial(self._record_choice, chosen))
        yield from self._diagnose_indexes(indexes)

    def _diagnose_indexes(self, found: Iterable[FoundIndex]) -> Iterator[Finding]:
        table_id, key = self.version.pk, self.resource.primary_key
        names = {IndexKind.SUBSTRINGS: name_substring_index(table_id)}
        # What creates the indexes that searches and writes expect, by their roles.
        missing: dict[str, Callable[[], object]] = {
            names.get(kind, kind.value): partial(self._add_indexes, Indexes([kind]))
            for kind in _OF_TABLE
            if kind in self.version.indexes
        }
        for field in self.resource.fields.filter(has_order_index=True):
            orders = {field.name: field_types[field.type].sort_expression}
            role = name_order_index(table_id, field.name)
            missing[role] = partial(self._add_indexes, Indexes(orders=orders))
        if key:
            missing[name_key_index(table_id)] = partial(set_key, self.connection, table_id, key)
        for index in found:  # the valid ones first
            is_wanted = missing.pop(index.role, None) is not None
            if not index.is_valid:
                message = "The index is not valid, so it is not used."
                change = rebuild_index if is_wanted or index.is_primary else drop_indexes
                mend = partial(change, self.connection, index.name)
                yield Finding("index.invalid", index.name, message, mend)
            elif not is_wanted and not index.is_primary:
                message = "No search uses this index, and every write takes longer for it."
                mend = partial(drop_indexes, self.connection, index.name)
                yield Finding("index.superfluous", index.name, message, mend)
        for role, create in missing.items():
            if role in KINDS_OF_LARGE_TABLES and is_small(self.connection, self.version.pk):
                continue
            message = f"The table lacks an index: {role}."
            yield Finding("index.missing", str(self.resource.pk), message, create)

    def _add_indexes(self, indexes: Indexes) -> None:
        with limit_lock_waits(self.connection):
            add_indexes(self.connection, self.version.pk, indexes)
            analyze_records(self.connection, self.version.pk)

    def _record_choice(self, chosen: Sequence[IndexKind]) -> None:
        """Record the choice, which gives a new version; the indexes are compared with it next."""
        others = [kind for kind in self.version.indexes if kind not in _OF_TABLE]
        self.version.indexes = [*map(str, chosen), *others]
        rows = TableVersion.objects.using(self.connection.alias).filter(pk=self.version.pk)
        rows.update(indexes=self.version.indexes)
        resources = Resource.objects.using(self.connection.alias).filter(pk=self.resource.pk)
        resources.update(modified_at=timezone.now())
