"""Remove what is no longer needed: what interrupted loads have left, tables without a resource."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections, router

from ...database.findings import cleanups
from ...database.server import report_refusal
from ...models import Resource, drop_deleted_tables


class Command(BaseCommand):
    help = "Mark interrupted loads as failed and drop the tables that no resource serves."

    @report_refusal()
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[router.db_for_write(Resource)]
        resources = Resource.objects.using(connection.alias).exclude(table_version=None)
        served = set(resources.values_list("table_version", flat=True))
        if dropped := drop_deleted_tables(connection, served=served):
            self.stdout.write(f"Dropped tables of deleted resources: {dropped}.")
        for clean_up in cleanups.values():
            for line in clean_up():
                self.stdout.write(line)
