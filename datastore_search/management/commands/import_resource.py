"""Import a file that ``export_resource`` has written."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from datastore_search.management.failures import report_failures
from datastore_search.management.files import open_file
from datastore_search.management.progress_bar import show_progress_bar
from datastore_search.packages import ImportOptions, import_resource


class Command(BaseCommand):
    """Import a package; readers see the old records until the end."""

    help = _("Import a resource from a file that export_resource has written.")

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("path", type=Path, help=_("the file"))
        ids = parser.add_mutually_exclusive_group()
        ids.add_argument("--id", type=uuid.UUID, help=_("this id in place of the package’s"))
        ids.add_argument(
            "--new-id", action="store_true", help=_("a new id in place of the package’s")
        )
        parser.add_argument("--name", default="", help=_("this name in place of the package’s"))
        parser.add_argument(
            "--replace", action="store_true", help=_("replace the resource that has the id")
        )
        parser.add_argument(
            "--aliases", action="store_true", help=_("take the aliases of the package, too")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file, and print the outcome."""
        path = options["path"]
        chosen = ImportOptions(
            id=uuid.uuid4() if options["new_id"] else options["id"],
            name=options["name"],
            replace=options["replace"],
            with_aliases=options["aliases"],
        )
        silent = options["verbosity"] == 0
        with (
            open_file(path),
            report_failures(),
            show_progress_bar(self.stderr, path.name, silent=silent) as progress,
        ):
            load = import_resource(path, chosen, progress=progress)
        named = {"id": load.resource.pk, "name": load.resource.name, "rows": load.record_count}
        self.stdout.write(_("Resource %(id)s (%(name)s): %(rows)s records.") % named)
