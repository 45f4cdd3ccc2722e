"""Find and remove what loads have left behind, and report it."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from ....database.findings import Finding
from ....database.tables import list_record_tables
from ....models import Resource, TableVersion
from .cleanup import (
    clean_up_loads,
    list_idle_staging_tables,
    list_kept_tables,
    select_tables_being_filled,
)
from .queue import queue_renewals, requeue_waiting_loads


def find_leftovers(connection: BaseDatabaseWrapper, kept: set[int]) -> Iterator[Finding]:
    """Find the tables that no resource serves; those that are kept for some days are none."""
    served = Resource.objects.using(connection.alias).exclude(table_version=None)
    tables = list_record_tables(connection) - kept
    tables -= set(served.values_list("table_version", flat=True))
    tables -= list_kept_tables(connection).keys()
    tables -= select_tables_being_filled(connection, tables)
    for table_id in sorted(tables):
        yield Finding(
            "table.unserved",
            str(table_id),
            "No resource serves this table version.",
            clean_up_loads,
        )
    for load_id in sorted(list_idle_staging_tables(connection)):
        yield Finding(
            "table.staging",
            str(load_id),
            "The load is over, and its rows are still in a table.",
            clean_up_loads,
        )


def clean_up() -> Iterator[str]:
    """Clean up, queue those loads again whose tasks are lost, and report what is kept."""
    yield f"Dropped tables: {clean_up_loads()}."
    if waiting := requeue_waiting_loads():
        yield f"Waiting loads that are queued again: {waiting}."
    if renewed := queue_renewals():
        yield f"Resources whose profiles are made anew: {renewed}."
    connection = connections[router.db_for_write(TableVersion)]
    for table_id, until in list_kept_tables(connection).items():
        moment = until.isoformat(timespec="seconds")
        yield (
            f"Table version {table_id} is kept until {moment}: it was served, and no resource"
            " serves it now."
        )
