"""Remove what interrupted loads have left, and queue those again whose tasks are lost."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections, router

from datastore_search.contrib.files.jobs import clean_up_loads, requeue_waiting_loads
from datastore_search.contrib.files.jobs.cleanup import list_kept_tables
from ...models import TableVersion


class Command(BaseCommand):
    """Mark interrupted loads as failed, drop tables without a resource, queue what waits again."""

    help = "Mark interrupted loads as failed and drop the tables that no resource serves."

    def handle(self, *args: Any, **options: Any) -> None:
        """Clean up, and print the numbers of dropped tables, and of loads that are queued again."""
        self.stdout.write(f"Dropped tables: {clean_up_loads()}.")
        if waiting := requeue_waiting_loads():
            self.stdout.write(f"Waiting loads that are queued again: {waiting}.")
        connection = connections[router.db_for_write(TableVersion)]
        for table_id, until in list_kept_tables(connection).items():
            moment = until.isoformat(timespec="seconds")
            self.stdout.write(
                f"Table version {table_id} is kept until {moment}: it was served, and no resource"
                " serves it now."
            )
