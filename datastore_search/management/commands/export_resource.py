"""Write a resource into a file that another portal imports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from datastore_search.exceptions.access import UnknownResource
from datastore_search.management.failures import report_failures
from datastore_search.management.files import report_unwritable
from datastore_search.models import Resource
from datastore_search.packages import export_resource


class Command(BaseCommand):
    """Write a resource into a package."""

    help = _("Write a resource, with all that is said of it, into a file for another portal.")

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("resource", help=_("the resource’s name, id or alias"))
        parser.add_argument("path", type=Path, help=_("the file, such as rivers.zip"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file, and print what it has."""
        path = options["path"]
        with report_failures(), report_unwritable(path):
            resource = export_resource(_find_id(options["resource"]), path)
        version = resource.table_version
        self.stdout.write(
            _("%(path)s: resource %(id)s (%(name)s), %(rows)s records.")
            % {
                "path": path,
                "id": resource.pk,
                "name": resource.name,
                "rows": version.record_count if version else 0,
            }
        )


def _find_id(name: str) -> Any:
    """
    Find a resource by its name, or else by its id or alias.

    Raises: ``UnknownResource``.
    """
    found = Resource.objects.filter(name=name).first() or Resource.objects.named(name).first()
    if found is None:
        raise UnknownResource(resource=name)
    return found.pk
