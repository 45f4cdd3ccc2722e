"""The arguments of a command that become the options of a load."""

from __future__ import annotations

import json
from argparse import SUPPRESS, ArgumentTypeError, _ArgumentGroup
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ..formats.options import Group, Kind, Option
from ..types.options import LoadOptions, load_options


def add_load_arguments(parser: CommandParser) -> None:
    """Add an argument for each option of a load; one that is not given is left out."""
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
    """Build the options of a load from the parsed arguments."""
    given = {name: arguments[name] for name in load_options if name in arguments}
    for name, value in given.items():
        match load_options[name].kind:
            case Kind.PAIRS:
                given[name] = dict(value)
            case Kind.JSON:
                given[name] = _read_json(value)
    return LoadOptions.from_json(given)


@contextmanager
def report_unusable(path: Path, use: str) -> Iterator[None]:
    """Report why a file cannot be ``read``, or ``written``."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"“{path}” cannot be {use}: {error.strerror}") from error


def _read_json(path: Path) -> Any:
    try:
        with report_unusable(path, "read"):
            return json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise CommandError(f"“{path}” is not JSON.") from error


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
