"""Remove what interrupted loads have left, and queue those again whose tasks are lost."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections, router
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from datastore_search.loading.jobs import clean_up_loads, requeue_waiting_loads
from datastore_search.loading.jobs.unserved import list_kept_tables
from datastore_search.models import TableVersion


class Command(BaseCommand):
    """Mark interrupted loads as failed, drop tables without a resource, queue what waits again."""

    help = _("Mark interrupted loads as failed and drop the tables that no resource serves.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Clean up, and print the numbers of dropped tables, and of loads that are queued again."""
        count = clean_up_loads()
        self.stdout.write(
            ngettext("%(count)s table dropped.", "%(count)s tables dropped.", count)
            % {"count": count}
        )
        if waiting := requeue_waiting_loads():
            self.stdout.write(
                ngettext(
                    "%(count)s waiting load queued again.",
                    "%(count)s waiting loads queued again.",
                    waiting,
                )
                % {"count": waiting}
            )
        connection = connections[router.db_for_write(TableVersion)]
        for table_id, until in list_kept_tables(connection).items():
            self.stdout.write(
                _(
                    "Table version %(table_version)s is kept until %(moment)s: it was served, and"
                    " no resource serves it now."
                )
                % {"table_version": table_id, "moment": until.isoformat(timespec="seconds")}
            )
