"""Load a file into a resource."""

from __future__ import annotations

import uuid
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.text import slugify
from django.utils.translation import gettext as _
from tqdm import tqdm

from datastore_search.exceptions.loads import LoadFailed
from datastore_search.loading import LoadOptions, load_file
from datastore_search.models import IndexKind, Resource


class Command(BaseCommand):
    """Make or replace a resource from a CSV file; readers see the old records until the end."""

    help = _("Load a CSV file into a resource, new or existing, in place of what it holds.")

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("path", type=Path, help=_("the file"))
        parser.add_argument(
            "--id", type=uuid.UUID, help=_("the resource’s id; a new one is made if not given")
        )
        parser.add_argument("--name", help=_("the resource’s name; from the file’s if not given"))
        parser.add_argument("--private", action="store_true", help=_("make a new resource private"))
        parser.add_argument("--language", help=_("the language of a new resource’s search"))
        parser.add_argument(
            "--type",
            action="append",
            default=[],
            type=_chosen_type,
            metavar="FIELD=TYPE",
            help=_("choose a field’s type instead of inferring it; may be repeated"),
        )

        parser.add_argument(
            "--index",
            action="append",
            choices=IndexKind.values,
            help=_("what the resource is indexed by, from now on; may be repeated"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Load the file and say what came of it."""
        path: Path = options["path"]
        if not path.is_file():
            raise CommandError(_("There is no file “%(path)s”.") % {"path": path})
        resource, created = self._resource(path, options)
        if options["index"]:
            resource.indexes = options["index"]
            resource.save(update_fields=["indexes", "modified"])
        try:
            load = self._load(resource, path, options)
        except LoadFailed as error:
            if created:
                resource.delete()
            raise CommandError(str(error)) from error
        self.stdout.write(
            _("Resource %(id)s (%(name)s): %(rows)s records.")
            % {"id": resource.pk, "name": resource.name, "rows": load.rows}
        )

    def _resource(self, path: Path, options: dict[str, Any]) -> tuple[Resource, bool]:
        """Find the resource by id or name, or make it."""
        name = options["name"] or slugify(path.stem) or "resource"
        wanted = {"pk": options["id"]} if options["id"] else {"name": name}
        found = Resource.objects.filter(**wanted).first()
        if found:
            return found, False
        resource = Resource(name=name, private=options["private"])
        if options["id"]:
            resource.pk = options["id"]
        if options["language"]:
            resource.language = options["language"]
        try:
            resource.full_clean()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        resource.save(force_insert=True)
        return resource, True

    def _load(self, resource: Resource, path: Path, options: dict[str, Any]) -> Any:
        with tqdm(
            unit=_(" records"),
            unit_scale=True,
            file=self.stderr,
            disable=options["verbosity"] == 0,
            desc=path.name,
        ) as bar:

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return load_file(
                resource, path, options=LoadOptions(types=dict(options["type"])), progress=progress
            )


def _chosen_type(text: str) -> tuple[str, str]:
    field, equals, kind = text.rpartition("=")
    if not (equals and field and kind):
        raise ArgumentTypeError(_("“%(text)s” is not FIELD=TYPE.") % {"text": text})
    return field, kind
