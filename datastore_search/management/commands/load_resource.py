"""Load a file into a resource."""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NoReturn, TextIO
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.text import slugify
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from tqdm import tqdm

from datastore_search.exceptions.loads import LoadFailed
from datastore_search.loading.jobs import LoadOptions, Progress
from datastore_search.loading.jobs.queue import create_load
from datastore_search.loading.jobs.runner import run_load
from datastore_search.loading.publishing.preview import build_preview
from datastore_search.loading.publishing.row_errors import write_row_error_report
from datastore_search.loading.sources.files import copy_source
from datastore_search.loading.sources.folders import working_folder
from datastore_search.management.load_arguments import add_choices, choices_from
from datastore_search.management.preview_text import written
from datastore_search.models import IndexKind, Load, LoadState, Resource

_INTERRUPTED = 130  # what shells say of a program that Ctrl-C has ended


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be loaded: a file at a path or a URL, and what people call it."""

    what: Path | str
    source: str

    @property
    def stem(self) -> str:
        """Give what a resource may be named after."""
        if isinstance(self.what, Path):
            return PurePosixPath(self.source).stem
        return PurePosixPath(unquote(urlsplit(self.what).path)).stem


class Command(BaseCommand):
    """Make or change a resource by a file; readers see the old records until the end."""

    help = _("Load a file into a resource, new or existing, in place of what it holds.")

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "path", type=Path, nargs="?", help=_("the file, or - for standard input")
        )
        parser.add_argument("--url", help=_("fetch the file from this address"))
        parser.add_argument(
            "--id", type=uuid.UUID, help=_("the resource’s id; a new one is made if not given")
        )
        parser.add_argument("--name", help=_("the resource’s name; from the file’s if not given"))
        parser.add_argument("--private", action="store_true", help=_("make a new resource private"))
        parser.add_argument("--language", help=_("the language of a new resource’s search"))
        parser.add_argument(
            "--index",
            action="append",
            choices=IndexKind.values,
            help=_("what the resource is indexed by, from now on; may be repeated"),
        )
        add_choices(parser)
        _add_ways(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Load the file, or only look at it, and say what came of it."""
        choices = choices_from(options)
        with _wanted(options) as wanted:
            try:
                if options["dry_run"]:
                    self._look(wanted, choices, options)
                else:
                    self._load(wanted, choices, options)
            except LoadFailed as error:
                raise CommandError(str(error)) from error
            except KeyboardInterrupt as error:
                raise CommandError(
                    _("Interrupted. Nothing has changed."), returncode=_INTERRUPTED
                ) from error

    # Looking --------------------------------------------------------------------------------------

    def _look(self, wanted: _Wanted, choices: LoadOptions, options: dict[str, Any]) -> None:
        """Say what a load would make of the file; fail as it would."""
        resource = _found(_identified(wanted, options))
        with working_folder() as folder:
            source = copy_source(wanted.what, folder)
            name = wanted.source if isinstance(wanted.what, Path) else source.name
            found = build_preview(resource, source.path, choices, name=name)
        for line in written(found, choices):
            self.stdout.write(line)
        if found.failure:
            raise found.failure

    # Loading --------------------------------------------------------------------------------------

    def _load(self, wanted: _Wanted, choices: LoadOptions, options: dict[str, Any]) -> None:
        with _opened(options["report"]) as report:
            resource, created = _resource(wanted, options)
            try:
                load = self._run(resource, wanted, choices, options, report)
            except BaseException:
                if created:
                    resource.delete()
                raise
        self._tell(load)

    def _run(
        self,
        resource: Resource,
        wanted: _Wanted,
        choices: LoadOptions,
        options: dict[str, Any],
        report: TextIO | None,
    ) -> Load:
        path, url = (wanted.what, "") if isinstance(wanted.what, Path) else (None, wanted.what)
        load = create_load(resource, choices, source=wanted.source, url=url)
        silent = options["verbosity"] == 0 or options["if_changed"]
        try:
            with _bar(self.stderr, wanted.source, silent=silent) as progress:
                run_load(load, path, progress=progress)
        finally:
            if report:
                report.writelines(write_row_error_report(load, get_language() or "en"))
        return load

    def _tell(self, load: Load) -> None:
        named = {"id": load.resource.pk, "name": load.resource.name, "rows": load.rows}
        if load.state == LoadState.UNCHANGED:
            self.stdout.write(_("Resource %(id)s (%(name)s): unchanged.") % named)
            return
        self.stdout.write(_("Resource %(id)s (%(name)s): %(rows)s records.") % named)
        for notice in load.rendered_notices:
            self.stdout.write(f"- {notice}")


@contextmanager
def _bar(stream: Any, name: str, *, silent: bool) -> Iterator[Progress]:
    """Give what draws a progress bar, as soon as there is progress."""
    with ExitStack() as stack:
        bars: list[tqdm[NoReturn]] = []

        def progress(done: int, total: int) -> None:
            if not bars:
                bar = tqdm(
                    total=total, unit=_(" records"), unit_scale=True, file=stream,
                    disable=silent, desc=name[-60:],
                )  # fmt: skip
                bars.append(stack.enter_context(bar))
            bars[0].update(done - bars[0].n)

        yield progress


def _add_ways(parser: CommandParser) -> None:
    group = parser.add_argument_group(_("how it is loaded"))
    ways = group.add_mutually_exclusive_group()
    ways.add_argument(
        "--if-changed",
        action="store_true",
        help=_("for schedules: no progress bar, and one line when the file has not changed"),
    )
    ways.add_argument(
        "--force", action="store_true", help=_("load the file although it has not changed")
    )
    looks = group.add_mutually_exclusive_group()
    looks.add_argument(
        "--dry-run", action="store_true", help=_("say what would become of the file; load nothing")
    )
    looks.add_argument(
        "--report", type=Path, metavar="FILE", help=_("write the bad rows to this file, as CSV")
    )


# The file -----------------------------------------------------------------------------------------


@contextmanager
def _wanted(options: dict[str, Any]) -> Iterator[_Wanted]:
    """
    Find what is to be loaded; standard input and pipes are kept in a file during the block.

    Raises: ``CommandError``.
    """
    path, url = options["path"], options["url"]
    if (path is None) == (url is None):
        raise CommandError(_("Give a path or --url, one of them."))
    if url is not None:
        yield _Wanted(url, url)
    elif str(path) == "-":
        with _copied(sys.stdin.buffer) as copy:
            yield _Wanted(copy, _("standard input"))
    else:
        with _readable(path) as file, nullcontext(path) if path.is_file() else _copied(file) as at:
            yield _Wanted(at, path.name)


def _readable(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise CommandError(_("There is no file “%(path)s”.") % {"path": path}) from error
    except OSError as error:
        raise CommandError(
            _("“%(path)s” cannot be read: %(reason)s") % {"path": path, "reason": error.strerror}
        ) from error


@contextmanager
def _copied(stream: BinaryIO) -> Iterator[Path]:
    with working_folder() as folder:
        path = folder / "received"
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise CommandError(str(LoadFailed("load.disk_full"))) from error
        yield path


# The resource -------------------------------------------------------------------------------------


def _identified(wanted: _Wanted, options: dict[str, Any]) -> dict[str, Any]:
    """Say how the resource is found: by id or by name."""
    if options["id"]:
        return {"pk": options["id"]}
    return {"name": options["name"] or slugify(wanted.stem) or "resource"}


def _found(identified: dict[str, Any]) -> Resource | None:
    return Resource.objects.filter(**identified).first()


def _resource(wanted: _Wanted, options: dict[str, Any]) -> tuple[Resource, bool]:
    """Find the resource, or make it; say which."""
    found = _found(_identified(wanted, options))
    if found:
        resource = found
    else:
        name = options["name"] or slugify(wanted.stem) or "resource"
        resource = Resource(name=name, private=options["private"])
        if options["id"]:
            resource.pk = options["id"]
        if options["language"]:
            resource.language = options["language"]
        try:
            resource.full_clean()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
    if options["index"]:
        resource.indexes = options["index"]
    if not found:
        resource.save(force_insert=True)
    elif options["index"]:
        resource.save(update_fields=["indexes", "modified_at"])
    return resource, not found


# The report ---------------------------------------------------------------------------------------


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO | None]:
    """Open the file of the report, before anything is loaded."""
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(
            _("“%(path)s” cannot be written: %(reason)s") % {"path": path, "reason": error.strerror}
        ) from error
    with file:
        yield file
