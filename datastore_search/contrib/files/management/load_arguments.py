"""The arguments of a command that become the options of a load."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ..formats.header_rows import MAX_HEADER_ROWS
from ..jobs import BadRowsChoice, LoadOptions
from ..models import Mode
from ..types.options import DATE_ORDERS


def add_load_arguments(parser: CommandParser) -> None:
    """Add an argument for each of ``LoadOptions``."""
    _add_reading_arguments(parser)
    _add_type_arguments(parser)
    _add_record_arguments(parser)


def _add_reading_arguments(parser: CommandParser) -> None:
    add = parser.add_argument_group("how the file is read").add_argument
    add("--encoding", default="", help="its character encoding, such as windows-1258")
    add("--delimiter", default="", help="what separates its cells: a character, or “tab”")
    add("--skip-lines", dest="skip", type=_parse_count, metavar="N", help="lines above the header")
    add(
        "--header-rows",
        type=int,
        choices=range(1, MAX_HEADER_ROWS + 1),
        help="the number of rows of the header, whose names are joined",
    )
    add("--sheet", default="", help="the name of the sheet or layer, or its number from 1")
    add(
        "--cell-range",
        default="",
        metavar="RANGE",
        help="the cells of the sheet that hold the table, such as A1:D20, or A1:D",
    )
    add("--member", default="", help="the name of the file within an archive")
    add(
        "--footer",
        default="",
        choices=("skip",),
        help="leave out notes and totals below the table",
    )
    add(
        "--records-path",
        default="",
        metavar="NAMES",
        help="where the list of records of JSON is, such as data.items",
    )


def _add_type_arguments(parser: CommandParser) -> None:
    add = parser.add_argument_group("what its values are").add_argument
    add(
        "--type",
        dest="types",
        action="append",
        default=[],
        type=_parse_field_type,
        metavar="FIELD=TYPE",
        help="choose a field’s type instead of inferring it; may be repeated",
    )
    add(
        "--null",
        dest="nulls",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that stands for no value, such as NA; may be repeated",
    )
    add(
        "--date-order",
        default="",
        choices=DATE_ORDERS,
        help="the order of day and month where a field leaves it open",
    )
    add(
        "--date-language",
        default="",
        metavar="CODE",
        help="the language of the months in dates, such as fr",
    )
    add("--schema", type=Path, metavar="FILE", help="a Table Schema that describes the fields")
    add("--ignore-saved", action="store_true", help="forget what was chosen at earlier loads")


def _add_record_arguments(parser: CommandParser) -> None:
    group = parser.add_argument_group("what happens to the records")
    add = group.add_argument
    add("--mode", default=Mode.REPLACE.value, choices=Mode.values, help="replace, if not given")
    keys = group.add_mutually_exclusive_group()
    keys.add_argument(
        "--key",
        action="append",
        metavar="FIELD",
        help="a field of the key, which no two records share; may be repeated",
    )
    keys.add_argument("--no-key", action="store_true", help="remove the resource’s key")
    add("--skip-bad-rows", action="store_true", help="leave out rows that cannot be loaded")
    add(
        "--drop-missing-fields",
        action="store_true",
        help="allow the load to remove fields that the file lacks",
    )


def build_load_options(options: Mapping[str, Any]) -> LoadOptions:
    """Build the options of a load from the parsed arguments."""
    bad_rows = BadRowsChoice.SKIP if options["skip_bad_rows"] else BadRowsChoice.REFUSE
    changed = {
        "types": dict(options["types"]),
        "key": () if options["no_key"] else options["key"],
        "bad_rows": bad_rows.value,
        "schema": _read_schema(options["schema"]),
    }
    return LoadOptions.from_json({**options, **changed})


@contextmanager
def report_unusable(path: Path, use: str) -> Iterator[None]:
    """Report why a file cannot be ``read``, or ``written``."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"“{path}” cannot be {use}: {error.strerror}") from error


def _read_schema(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        with report_unusable(path, "read"):
            return json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise CommandError(f"“{path}” is not JSON.") from error


def _parse_field_type(text: str) -> tuple[str, str]:
    field, equals, kind = text.rpartition("=")
    if not (equals and field and kind):
        raise ArgumentTypeError(f"“{text}” is not FIELD=TYPE.")
    return field, kind


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"“{text}” is not a number of lines.")
    return int(text)
