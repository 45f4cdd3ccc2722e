"""
The placement of record tables on the workers of Citus, each whole on one of them.

Beside a placed table stands another one, of one row: the version of the resource that serves it.  A
trigger on resources changes it, and the transaction commits on both machines or on none.  So one
statement reads records and their version on one machine, as it does without Citus
(``docs/decisions/0058``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, LiteralString

from django.conf import settings
from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.utils import DatabaseError
from psycopg import sql

from .statements import Clause, execute, fetch_value, is_worker_lost

_DISTRIBUTE = "SELECT create_distributed_table(%s, NULL, colocate_with => %s)"


def is_wanted() -> bool:
    # The setting is of contrib.scale; a system check refuses it without that app.
    return getattr(settings, "DATASTORE_SEARCH_PLACEMENT", "") == "citus"


def name_version_table(record_table: str) -> str:
    return f"{record_table}_version"


def compile_version(record_table: str) -> Clause:
    """Compile what reads the version on the machine of a placed record table."""
    version_table = sql.Identifier(name_version_table(record_table))
    return Clause(sql.SQL("SELECT version FROM {}").format(version_table))


def place_table(connection: BaseDatabaseWrapper, record_table: str, table_id: int) -> None:
    """
    Let Citus choose a worker for an empty record table, and place the table there.

    Raises: Django's ``DatabaseError`` without Citus, or when no worker can be reached.
    """
    version_table = name_version_table(record_table)
    create = sql.SQL("CREATE TABLE {} (version bigint PRIMARY KEY)")
    execute(connection, create.format(sql.Identifier(version_table)))
    # Citus takes the worker that is next, and after a dead one the one behind it.
    max_attempts = "SELECT 2 * count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards"
    for attempt in count(1):
        try:
            with transaction.atomic(using=connection.alias):
                execute(connection, _DISTRIBUTE, [record_table, "none"])
            break
        except DatabaseError as error:
            is_lost = is_worker_lost(connection, error)
            if not is_lost or attempt >= fetch_value(connection, max_attempts):
                raise
    execute(connection, _DISTRIBUTE, [version_table, record_table])
    insert = sql.SQL("INSERT INTO {} VALUES (0)").format(sql.Identifier(version_table))
    execute(connection, insert)
    execute(
        connection,
        "INSERT INTO datastore_search_scale_placed (table_id, version) VALUES (%s, 0)"
        " ON CONFLICT (table_id) DO UPDATE SET version = 0",
        [table_id],
    )


def place_beside(connection: BaseDatabaseWrapper, table: str, record_table: str) -> None:
    """Place an empty table on the worker of a placed record table."""
    execute(connection, _DISTRIBUTE, [table, record_table])


@contextmanager
def keep_on_coordinator(cursor: CursorWrapper) -> Iterator[None]:
    """Let comments and functions of the block stay on this machine, whatever the workers do."""
    propagate = "SELECT set_config('citus.enable_ddl_propagation', %s, true)"
    if is_wanted():
        cursor.execute(propagate, ["off"])
    yield
    if is_wanted():
        cursor.execute(propagate, ["on"])


def forget_table(connection: BaseDatabaseWrapper, table_id: int) -> None:
    if is_wanted():
        execute(
            connection, "DELETE FROM datastore_search_scale_placed WHERE table_id = %s", [table_id]
        )


def choose_size_function(table: LiteralString) -> LiteralString:
    """Write the expression of the bytes of a record table and its indexes; ``table`` is another."""
    if not is_wanted():
        return f"pg_total_relation_size({table})"
    return (
        f"CASE WHEN to_regclass({table}::text || '_version') IS NULL"
        f" THEN pg_total_relation_size({table})"
        f" ELSE citus_total_relation_size({table}, false) END"
    )


def prepare_server(*, using: str, **_options: Any) -> None:
    """
    Give the workers the functions that statements on records call; a receiver of ``post_migrate``.

    The table of placed tables becomes one that Citus knows: writing to it and to a worker in one
    transaction makes Citus commit in two phases.
    """
    if not (is_wanted() and router.allow_migrate(using, "datastore_search")):
        return
    connection = connections[using]
    execute(
        connection,
        "SELECT create_distributed_function(oid::regprocedure) FROM pg_proc"
        " WHERE pronamespace = current_schema()::regnamespace"
        " AND starts_with(proname, 'datastore_search_') AND prorettype <> 'trigger'::regtype"
        " ORDER BY oid",
    )
    execute(
        connection,
        "SELECT citus_add_local_table_to_metadata('datastore_search_scale_placed')"
        " WHERE NOT EXISTS (SELECT FROM pg_dist_partition"
        " WHERE logicalrelid = 'datastore_search_scale_placed'::regclass)",
    )
