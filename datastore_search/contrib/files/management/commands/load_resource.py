"""Load a file into a resource."""

from __future__ import annotations

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
from django.utils.text import slugify
from django.utils.translation import get_language

from .....database.server import report_refusal
from .....field_types import is_storable
from .....guards.folders import create_working_folder
from .....messages import DatastoreError
from .....models import IndexKind, Resource, validate_indexes
from ...formats.options import Group, Kind, Option
from ...jobs.queue import create_load
from ...jobs.runner import run_load
from ...messages import LoadFailed, Message, Notice
from ...models import LoadState, Mode
from ...publishing.bad_rows import write_row_error_report
from ...publishing.preview import build_preview
from ...sources.fetching import copy_source
from ...types.options import LoadOptions, load_options
from ...types.schema import read_table_schema

#: Row errors that a preview lists.
_MAX_ROW_ERRORS = 20


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
        chosen = build_load_options(options)
        with _open_source(options) as (location, name), _report_failures(), ExitStack() as stack:
            path, url = (location, "") if isinstance(location, Path) else (None, location)
            stem = PurePosixPath(unquote(urlsplit(url).path) if url else name).stem
            known = Resource.objects.filter(pk=options["id"]).first()
            if known and options["name"] not in {None, known.name}:
                raise CommandError(f"Resource {known.pk} has the name “{known.name}”: omit --name.")
            options["name"] = options["name"] or slugify(stem) or "resource"
            if options["dry_run"]:
                self._preview(location, name, chosen, _find_resource(options))
                return
            report = None
            if options["report"]:  # opened before the load starts, so that it fails early
                with report_unusable(options["report"], "written"):
                    report = options["report"].open("w", encoding="utf-8", newline="")
                stack.enter_context(report)
            resource = stack.enter_context(_get_or_create_resource(options))
            load = create_load(resource, chosen, source=name, url=url)
            try:
                progress = self._print_progress if options["verbosity"] else None
                run_load(load, path, progress=progress)
            finally:
                if report:
                    report.writelines(write_row_error_report(load, get_language() or "en"))
        named = f"Resource {load.resource.pk} ({load.resource.name})"
        if load.state == LoadState.UNCHANGED:
            self.stdout.write(f"{named}: unchanged.")
            return
        self.stdout.write(f"{named}: {load.record_count} records.")
        for notice in filter(None, map(Notice.from_json, load.notices)):
            self.stdout.write("\n  ".join([f"- {notice}", *_list_choices(notice)]))

    def _preview(
        self, location: Path | str, name: str, chosen: LoadOptions, resource: Resource | None
    ) -> None:
        """Print what a load would do; raise what it would raise."""
        with create_working_folder() as folder:
            file = copy_source(location, folder)
            name = name if isinstance(location, Path) else file.name
            preview = build_preview(resource, file.path, chosen, name=name)
        lines = [f"Rows: {preview.row_count}, fields: {len(preview.fields)}"]
        changes = preview.changes.build_notices(replaces=chosen.mode == Mode.REPLACE)
        notices = [*preview.notices, *changes]
        for field in preview.fields:
            lines.append(f"- {field.name}: {field.format}{' (chosen)' if field.is_chosen else ''}")
            if field.explanation and str(field.explanation) not in map(str, notices):
                lines.append(f"  {field.explanation}")
        for notice in notices:
            lines += [f"- {notice}", *(f"  {choice}" for choice in _list_choices(notice))]
        if preview.bad_row_count:
            lines.append(f"Rows that cannot be loaded: {preview.bad_row_count}")
        lines += [f"- {error.describe()}" for error in preview.row_errors[:_MAX_ROW_ERRORS]]
        for line in lines:
            # Without characters that control a terminal.
            self.stdout.write("".join(each if each.isprintable() else " " for each in line))
        if preview.failure:
            raise preview.failure

    def _print_progress(self, done: int, total: int) -> None:
        """Print the number of records on a terminal, at most once a second."""
        if self.stderr.isatty() and (done == total or monotonic() - self._printed_at >= 1):
            self._printed_at = monotonic()
            line = f"{done} of {total} records"
            self.stderr.write(line, str, ending="\n" if done == total else "\r")


@contextmanager
def _open_source(options: dict[str, Any]) -> Iterator[tuple[Path | str, str]]:
    """
    Find the path or the URL, and the name of the file in messages.

    Standard input, pipes and files whose name is not UTF-8 are copied to a file.
    """
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
        is_usable = path.is_file() and is_storable(str(path))  # DuckDB opens only names in UTF-8
        with file, nullcontext(path) if is_usable else _copy_to_file(file) as copy:
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


def _find_resource(options: dict[str, Any]) -> Resource | None:
    lookup = {"pk": options["id"]} if options["id"] else {"name": options["name"]}
    return Resource.objects.filter(**lookup).first()


@contextmanager
def _get_or_create_resource(options: dict[str, Any]) -> Iterator[Resource]:
    """Get the resource, or create it; a new one is deleted if the block fails."""
    resource = _find_resource(options)
    is_new = resource is None
    chosen = {"pk": options["id"], "language": options["language"], "indexes": options["index"]}
    try:
        if resource is None:
            resource = Resource(
                name=options["name"],
                private=options["private"],
                **{name: value for name, value in chosen.items() if value},
            )
            resource.full_clean()
            resource.save(force_insert=True)
        elif options["index"]:
            validate_indexes(options["index"])
            resource.indexes = options["index"]
            resource.save(update_fields=["indexes", "modified_at"])
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    try:
        yield resource
    except BaseException:
        if is_new:
            resource.delete()
        raise


@contextmanager
def _report_failures() -> Iterator[None]:
    """Report as ``CommandError`` why an export or load failed, or the database refused it."""
    try:
        with report_refusal():
            yield
    except (DatastoreError, LoadFailed) as error:
        raise CommandError("\n".join([str(error), *_list_choices(error)])) from error
    except KeyboardInterrupt as error:
        # 130 is how shells report a program that Ctrl-C has ended.
        raise CommandError("Interrupted. Nothing has changed.", returncode=130) from error


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
    """Add the argument of each option, and the one that chooses nothing, if there is one."""
    groups = {each: parser.add_argument_group(each.value) for each in Group}
    for name, option in load_options.items():
        group: _ArgumentGroup = groups[option.group]
        text = describe_option(option).replace("%", "%%")  # argparse fills its own words in
        given: dict[str, Any] = {"dest": name, "default": SUPPRESS, "help": text}
        flag, *metavar = name_argument(name, option).split()
        if not metavar:
            group.add_argument(flag, action="store_const", const=option.flagged or True, **given)
            continue
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
                        given[name] = read_table_schema(value.read_bytes())
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
