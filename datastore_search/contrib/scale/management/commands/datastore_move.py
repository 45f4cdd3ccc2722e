"""Move record tables to the workers of Citus, or back, one after the other, while they are read."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections, router

from .....database.placement import is_wanted
from .....database.server import report_refusal
from .....database.statements import is_connection_lost
from .....messages.availability import TemporarilyUnavailable
from .....models import Resource
from ...moving import move_records


class Command(BaseCommand):
    help = (
        "Move the records of resources to where DATASTORE_SEARCH_PLACEMENT says. Run it again to"
        " go on after an interruption."
    )

    def add_arguments(self, parser: Any) -> None:
        help_text = "names or ids; all without them"
        parser.add_argument("resources", nargs="*", metavar="RESOURCE", help=help_text)

    @report_refusal()
    def handle(self, *args: Any, **options: Any) -> None:
        """Move one resource after the other; name those that another writer holds."""
        using = router.db_for_write(Resource)
        resources = Resource.objects.using(using).exclude(table_version=None)
        if options["resources"]:
            found = {name: resources.known_as(name).first() for name in options["resources"]}
            if unknown := [name for name, resource in found.items() if resource is None]:
                raise CommandError(f"No resource with records has the name {unknown[0]}.")
            resources = resources.filter(pk__in=[each.pk for each in found.values() if each])
        waiting = resources.exclude(table_version__is_placed=is_wanted())
        blocked = []
        for pk, name in waiting.order_by("name").values_list("pk", "name"):
            try:
                count = move_records(connections[using], pk)
            except (TemporarilyUnavailable, DatabaseError) as error:
                if isinstance(error, DatabaseError) and not is_connection_lost(error):
                    raise
                blocked.append(name)
                self.stderr.write(f"{name}: {error}")
            else:
                self.stdout.write(f"{name}: {count} records moved.")
        if blocked:
            raise CommandError(f"{len(blocked)} resources were not moved. Run the command again.")
