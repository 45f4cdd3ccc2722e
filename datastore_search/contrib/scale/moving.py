"""Move the records of a resource into a table where new tables are made now; find dead workers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from ...database.findings import Finding
from ...database.indexes import Indexes, create_indexes, set_key
from ...database.placement import is_wanted
from ...database.sessions import override_settings
from ...database.statements import RowToLock, begin_write_transaction, execute
from ...database.tables import create_table, name_record_table, quote_record_table, reserve_table_id
from ...field_types import field_types
from ...models import Resource, TableVersion
from ...models.table_versions import drop_tables_on_commit


def move_records(connection: BaseDatabaseWrapper, resource_id: uuid.UUID) -> int:
    """
    Copy the records into a new table, serve that, drop the old one; return how many records.

    All is one transaction: readers see one table or the other, and writers wait.

    Raises: ``WriteBlocked`` while another writer has the resource.
    """
    using = connection.alias
    row = RowToLock(Resource._meta.db_table, resource_id)
    with begin_write_transaction(connection, row), connection.cursor() as cursor:
        resource = Resource.objects.using(using).filter(pk=resource_id).first()
        if resource is None or resource.table_version is None:
            return 0
        old = resource.table_version
        if old.is_placed == is_wanted():
            return 0
        new = TableVersion.objects.using(using).get(pk=old.pk)
        new.pk, new.is_placed = reserve_table_id(connection, new._meta.db_table), is_wanted()
        new.save(using=using, force_insert=True)
        with override_settings(cursor.db, statement_timeout="0"):
            weights = resource.table_settings.weights
            create_table(connection, new.pk, language=old.language, weights=weights)
            copy = sql.SQL("INSERT INTO {} (_id, data) SELECT _id, data FROM {} ORDER BY _id")
            cursor.execute(copy.format(quote_record_table(new.pk), quote_record_table(old.pk)))
            count: int = cursor.rowcount
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(%s, '_id')::regclass,"
                " nextval(pg_get_serial_sequence(%s, '_id')::regclass), false)",
                [name_record_table(new.pk), name_record_table(old.pk)],
            )
            ordered = resource.fields.using(using).filter(has_order_index=True)
            orders = {field.name: field_types[field.type].sort_expression for field in ordered}
            create_indexes(connection, new.pk, Indexes(old.indexes, orders))
            set_key(connection, new.pk, resource.primary_key)
        for relation in TableVersion._meta.related_objects:  # the loads of contrib.files
            related: Any = relation.related_model
            related = related.objects.using(using)
            related.filter(**{relation.field.name: old}).update(**{relation.field.name: new})
        resource.table_version = new
        resource.save(using=using, update_fields=["table_version"])
        drop_tables_on_commit([old.pk], using=using)
        old.delete(using=using)
        return count


def find_dead_workers(connection: BaseDatabaseWrapper, _kept: set[int]) -> Iterator[Finding]:
    """Find the workers of Citus that do not answer, and those that it does not tell of changes."""
    statement = (
        "SELECT nodename, nodeport, success FROM run_command_on_workers('SELECT 1')"
        " JOIN pg_dist_node USING (nodename, nodeport) WHERE NOT (success AND hasmetadata)"
    )
    for host, port, is_alive in execute(connection, statement) if is_wanted() else ():
        node = f"'{host}', {port}"
        message = f"The worker is not told of changes: SELECT start_metadata_sync_to_node({node})."
        if not is_alive:
            message = (
                "The worker does not answer. So that loads of the others work: SELECT"
                f" stop_metadata_sync_to_node({node}, false)."
            )
        yield Finding("worker.unreachable", f"{host}:{port}", message, is_damage=not is_alive)
