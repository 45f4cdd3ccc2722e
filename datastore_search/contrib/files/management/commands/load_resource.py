"""Load a file into a resource."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import uuid
from argparse import SUPPRESS, ArgumentTypeError, _ArgumentGroup
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.utils.text import slugify
from django.utils.translation import get_language

from .....database.statements import explain_refusal
from .....messages import DatastoreError
from .....models import IndexKind, Resource, validate_indexes
from ...formats.options import Group, Kind, Option
from ...jobs.queue import create_load
from ...jobs.runner import run_load
from ...messages import Message, Notice
from ...messages.failures import LoadFailed
from ...models import LoadState, Mode
from ...publishing.bad_rows import write_row_error_report
from ...publishing.preview import Preview, build_preview
from ...sources.files import copy_source, create_working_folder
from ...types.options import LoadOptions, load_options

#: Row errors that a preview lists.
_MAX_ROW_ERRORS = 20

_INTERRUPTED_EXIT_CODE = 130  # as shells report a program that Ctrl-C has ended


#: A path or a URL, and the name of the file in messages.
_Source = tuple[Path | str, str]


class Command(BaseCommand):
    _printed_at = 0.0

    help = "Load a file into a new or existing resource."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, nargs="?", help="the file, or - for standard input")
        parser.add_argument("--url", help="fetch the file from this address")
        parser.add_argument(
            "--id", type=uuid.UUID, help="the resource’s id; a new one is made if not given"
        )
        parser.add_argument("--name", help="the resource’s name; from the file’s if not given")
        parser.add_argument("--private", action="store_true", help="make a new resource private")
        parser.add_argument("--language", help="the language of a new resource’s search")
        parser.add_argument(
            "--index",
            action="append",
            choices=IndexKind.values,
            help="a kind of index for this and later loads; may be repeated",
        )
        add_load_arguments(parser)
        outputs = parser.add_mutually_exclusive_group()
        outputs.add_argument(
            "--dry-run", action="store_true", help="show what a load would do, without loading"
        )
        outputs.add_argument(
            "--report", type=Path, metavar="FILE", help="write the bad rows to this file, as CSV"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        load_options = build_load_options(options)
        with _open_source(options) as source, _report_failures():
            location, name = source
            path = name if isinstance(location, Path) else unquote(urlsplit(location).path)
            stem = PurePosixPath(path).stem
            options["name"] = options["name"] or slugify(stem) or "resource"
            if options["dry_run"]:
                self._preview(source, load_options, options)
            else:
                self._load(source, load_options, options)

    # Preview --------------------------------------------------------------------------------------

    def _preview(self, source: _Source, load_options: LoadOptions, options: dict[str, Any]) -> None:
        """Print what a load would do; raise what it would raise."""
        location, name = source
        resource = _find_resource(options)
        with create_working_folder() as folder:
            file = copy_source(location, folder)
            name = name if isinstance(location, Path) else file.name
            preview = build_preview(resource, file.path, load_options, name=name)
        for line in _list_lines(preview, load_options):
            # Without characters that control a terminal.
            self.stdout.write("".join(each if each.isprintable() else " " for each in line))
        if preview.failure:
            raise preview.failure

    # Load -----------------------------------------------------------------------------------------

    def _load(self, source: _Source, load_options: LoadOptions, options: dict[str, Any]) -> None:
        (location, name), report = source, None
        path, url = (location, "") if isinstance(location, Path) else (None, location)
        with ExitStack() as files:
            if options["report"]:  # opened before the load starts, so that it fails early
                with report_unusable(options["report"], "written"):
                    report = options["report"].open("w", encoding="utf-8", newline="")
                files.enter_context(report)
            resource, created = _get_or_create_resource(options)
            try:
                load = create_load(resource, load_options, source=name, url=url)
                progress = self._print_progress if options["verbosity"] else None
                try:
                    run_load(load, path, progress=progress)
                finally:
                    if report:
                        report.writelines(write_row_error_report(load, get_language() or "en"))
            except BaseException:
                if created:
                    resource.delete()
                raise
        named = f"Resource {load.resource.pk} ({load.resource.name})"
        if load.state == LoadState.UNCHANGED:
            self.stdout.write(f"{named}: unchanged.")
            return
        self.stdout.write(f"{named}: {load.record_count} records.")
        for notice in filter(None, map(Notice.from_json, load.notices)):
            self.stdout.write("\n  ".join([f"- {notice}", *_list_choices(notice)]))

    def _print_progress(self, done: int, total: int) -> None:
        """Print the number of records on a terminal, at most once a second."""
        if self.stderr.isatty() and (done == total or monotonic() - self._printed_at >= 1):
            self._printed_at = monotonic()
            line = f"{done} of {total} records"
            self.stderr.write(line, str, ending="\n" if done == total else "\r")


# The preview -------------------------------------------------------------------------------------


def _list_lines(preview: Preview, options: LoadOptions) -> Iterator[str]:
    yield f"Rows: {preview.row_count}, fields: {len(preview.fields)}"
    changes = preview.changes.build_notices(replaces=options.mode == Mode.REPLACE)
    notices = list(map(str, (*preview.notices, *changes)))
    for field in preview.fields:
        yield f"- {field.name}: {field.format}{' (chosen)' if field.is_chosen else ''}"
        if field.explanation and str(field.explanation) not in notices:
            yield f"  {field.explanation}"
    for notice in (*preview.notices, *changes):
        yield from (f"- {notice}", *(f"  {choice}" for choice in _list_choices(notice)))
    if preview.bad_row_count:
        yield f"Rows that cannot be loaded: {preview.bad_row_count}"
    for error in preview.row_errors[:_MAX_ROW_ERRORS]:
        yield f"- {error.describe()}"


# The file -----------------------------------------------------------------------------------------


@contextmanager
def _open_source(options: dict[str, Any]) -> Iterator[_Source]:
    """Read the source from the arguments; standard input and pipes are copied to a file."""
    path, url = options["path"], options["url"]
    if (path is None) == (url is None):
        raise CommandError("Give either a path or --url.")
    if url is not None:
        yield url, url
    elif str(path) == "-":
        with _copy_to_file(sys.stdin.buffer) as copy:
            yield copy, "standard input"
    else:
        with report_unusable(path, "read"):
            if not path.exists():
                raise CommandError(f"There is no file “{path}”.")
            file = path.open("rb")
        with file, nullcontext(path) if path.is_file() else _copy_to_file(file) as copy:
            yield copy, path.name


@contextmanager
def _copy_to_file(stream: BinaryIO) -> Iterator[Path]:
    with create_working_folder() as folder:
        path = folder / "received"
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise CommandError(str(LoadFailed("load.disk_full"))) from error
        yield path


# The resource -------------------------------------------------------------------------------------


def _find_resource(options: dict[str, Any]) -> Resource | None:
    lookup = {"pk": options["id"]} if options["id"] else {"name": options["name"]}
    return Resource.objects.filter(**lookup).first()


def _get_or_create_resource(options: dict[str, Any]) -> tuple[Resource, bool]:
    """Get the resource, or create it; the second value is true if it was created."""
    try:
        if resource := _find_resource(options):
            if options["index"]:
                validate_indexes(options["index"])
                resource.indexes = options["index"]
                resource.save(update_fields=["indexes", "modified_at"])
            return resource, False
        chosen = {"pk": options["id"], "language": options["language"], "indexes": options["index"]}
        resource = Resource(
            name=options["name"],
            private=options["private"],
            **{name: value for name, value in chosen.items() if value},
        )
        resource.full_clean()
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    resource.save(force_insert=True)
    return resource, True


# Failures -----------------------------------------------------------------------------------------


@contextmanager
def _report_failures() -> Iterator[None]:
    """Report as ``CommandError`` why an export or load failed, or the database refused it."""
    try:
        yield
    except (DatastoreError, LoadFailed) as error:
        raise CommandError("\n".join([str(error), *_list_choices(error)])) from error
    except DatabaseError as error:
        refusal = explain_refusal(error)
        if refusal is None:
            raise
        raise CommandError(str(refusal)) from error
    except KeyboardInterrupt as error:
        raise CommandError(
            "Interrupted. Nothing has changed.", returncode=_INTERRUPTED_EXIT_CODE
        ) from error


def _list_choices(message: object, field: str = "") -> list[str]:
    """List the arguments that would choose what an error or a notice names, for a field."""
    if not isinstance(message, Message):
        return []
    parameters = message.parameters
    field = parameters.get("field", field)
    formats = [parameters[name] for name in ("one", "other") if name in parameters]
    return [
        *_list_choices(parameters.get("reason"), field),
        *(
            f"--type {shlex.quote(f'{field}={name}')}"
            for name in [*parameters.get("formats", ()), *formats]
        ),
        *(
            name_argument(name, option).split()[0]
            + (f" {shlex.quote(value)}" if value is not True else "")
            for name, option in load_options.items()
            if message.code in option.offers
            for value, _label in option.offers[message.code].list_choices(parameters)
        ),
    ]


# The arguments that are options of a load ---------------------------------------------------------


def add_load_arguments(parser: CommandParser) -> None:
    for group in Group:
        arguments = parser.add_argument_group(group.value)
        for name, option in load_options.items():
            if option.group == group:
                _add_argument(arguments, name, option)


def _add_argument(group: _ArgumentGroup, name: str, option: Option) -> None:
    """Add the argument of an option, and the one that chooses nothing, if there is one."""
    text = describe_option(option).replace("%", "%%")  # argparse fills its own words in
    given: dict[str, Any] = {"dest": name, "default": SUPPRESS, "help": text}
    flag, *metavar = name_argument(name, option).split()
    if not metavar:
        group.add_argument(flag, action="store_const", const=option.flagged or True, **given)
        return
    if option.kind in _REPEATED:
        given["action"] = "append"
    if option.choices and not option.is_open:
        given["choices"] = [value for value in option.choices if value]
    if option.emptied:
        group = group.add_mutually_exclusive_group()
        about = {**given, "action": "store_const", "help": option.emptied}
        group.add_argument(f"--no-{name}", const=(), **about)
    group.add_argument(flag, metavar=metavar[0], type=_PARSERS.get(option.kind, str), **given)


def name_argument(name: str, option: Option) -> str:
    """Name the argument of an option, and what it takes, if it takes anything."""
    flag = option.flag or f"--{name.replace('_', '-')}"
    if option.kind is Kind.FLAG or option.flagged:
        return flag
    return f"{flag} {_METAVARS.get(option.kind) or flag.rpartition('-')[2].upper()}"


def describe_option(option: Option) -> str:
    """Describe an option in sentences, for the command and the reference."""
    label = str(option.label)
    if option.flagged:
        label += f": {option.choices[option.flagged]}"
    sentences = [f"{label}.", str(option.help), option.usage]
    if option.choices and not (option.flagged or option.is_open):
        chosen = {str(value): str(text) for value, text in option.choices.items() if value}
        texts = [name if text == name else f"{name} ({text})" for name, text in chosen.items()]
        sentences.append(f"One of: {', '.join(texts)}.")
    if option.kind in _REPEATED:
        sentences.append("May be repeated.")
    if option.is_saved:
        sentences.append("Kept for the next loads.")
    return " ".join(filter(None, sentences))


def build_load_options(arguments: Mapping[str, Any]) -> LoadOptions:
    given = {name: arguments[name] for name in load_options if name in arguments}
    for name, value in given.items():
        match load_options[name].kind:
            case Kind.PAIRS:
                given[name] = dict(value)
            case Kind.JSON:
                try:
                    with report_unusable(value, "read"):
                        given[name] = json.loads(value.read_text(encoding="utf-8-sig"))
                except ValueError as error:
                    raise CommandError(f"“{value}” is not JSON.") from error
    return LoadOptions.from_json(given)


@contextmanager
def report_unusable(path: Path, use: str) -> Iterator[None]:
    """Report why a file cannot be ``read``, or ``written``."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"“{path}” cannot be {use}: {error.strerror}") from error


def _parse_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not (equals and name and value):
        raise ArgumentTypeError(f"“{text}” is not FIELD=TYPE.")
    return name, value


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ArgumentTypeError(f"“{text}” is not a number.")
    return int(text)


#: Kinds whose argument is given once for each value.
_REPEATED = frozenset({Kind.TEXTS, Kind.PAIRS})
#: What the reference calls values that are not called as their option.
_METAVARS = {Kind.NUMBER: "N", Kind.TEXTS: "TEXT", Kind.PAIRS: "FIELD=TYPE", Kind.JSON: "FILE"}

#: How arguments are read that are no texts.
_PARSERS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.NUMBER: _parse_count,
    Kind.PAIRS: _parse_pair,
    Kind.JSON: Path,
}
