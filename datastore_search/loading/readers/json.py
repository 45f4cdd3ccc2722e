"""
Reading JSON: lists of objects or of rows, also within an object, NDJSON and GeoJSON.

The members of all objects make the fields, in the order in which they appear.  What is a text in
the file stays one, numbers keep their digits, and what is nested stays JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from ...exceptions.loads import LoadFailed, NestedTooDeep
from ...messages import BadRow, Notice
from .json_parser import DEPTH_MOST, VALUE_LETTERS_MOST, Document, Parser
from .json_records import BadElement, Filling
from .options import ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea

#: Names that programs give the list of records within an object.
_LIST_NAMES = frozenset(
    ("records", "features", "data", "results", "items", "rows", "value", "entries", "elements")
)
_FEATURES = ("features",)
#: Objects within each other that are searched for the list.
_DEPTH_SEARCHED = 4
_START_BYTES = 2**16


def read_json(path: Path, options: ReadOptions, place: StagingArea) -> StagedTable:
    """
    Stage a JSON file: a list of objects or of rows, or an object with such a list within.

    A file with an object on each line is read as NDJSON, and features as GeoJSON has them.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    encoding = _encoding(path, options)
    parser = Parser()
    if _is_of_lines(path, encoding, parser):
        return read_ndjson(path, options, place)
    way = _way_to_list(path, encoding, parser)
    notices = [Notice("notice.nested_list", path=".".join(way))] if way and way != _FEATURES else []
    with Document(path, encoding, parser) as document, RowWriter(place) as rows:
        filling = Filling(place, rows, options.nulls)
        return _table(filling, parser, enumerate(_within(document, way), start=1), notices)


def read_geojson(path: Path, options: ReadOptions, place: StagingArea) -> StagedTable:
    """
    Stage a GeoJSON file: the properties of its features, and their geometry as JSON.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    return read_json(path, options, place)


def read_ndjson(path: Path, options: ReadOptions, place: StagingArea) -> StagedTable:
    """
    Stage a file with a JSON object on each line.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    parser = Parser()
    with RowWriter(place) as rows:
        filling = Filling(place, rows, options.nulls)
        return _table(filling, parser, _lines(path, _encoding(path, options), parser))


# Which list ---------------------------------------------------------------------------------------


def _encoding(path: Path, options: ReadOptions) -> str:
    """
    Find the encoding: a choice, a mark, or where the NULs are (JSON begins with ASCII).

    Raises: ``LoadFailed`` with ``file.empty``.
    """
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    if not start.strip():
        raise LoadFailed("file.empty")
    found = json.detect_encoding(start)
    return options.encoding if found == "utf-8" and options.encoding else found


def _is_of_lines(path: Path, encoding: str, parser: Parser) -> bool:
    """Tell whether the first line is an object of its own, and another line begins like one."""
    try:
        with path.open(encoding=encoding, errors=_errors(encoding), newline="\n") as file:
            if file.read(_START_BYTES).lstrip()[:1] != "{":
                return False
            file.seek(0)
            is_object = isinstance(parser.value_of(_line(file)), dict)
            return is_object and _line(file).startswith("{")
    except (json.JSONDecodeError, NestedTooDeep):
        return False
    except UnicodeError as error:
        raise LoadFailed("file.unknown_encoding") from error
    finally:
        parser.take_repeated()


def _line(file: Any) -> str:
    """Read the next line that is not empty; one that is too long is cut."""
    while line := file.readline(VALUE_LETTERS_MOST):
        if line.strip():
            return str(line.strip())
    return ""


def _way_to_list(path: Path, encoding: str, parser: Parser) -> tuple[str, ...]:
    """
    Find the list of records within objects: the one of a usual name, or the only one.

    Raises: ``LoadFailed`` with ``json.no_list``, ``json.several_lists``, and what ``Document``
    raises.
    """
    with Document(path, encoding, parser) as document:
        if document.next() == "[":
            return ()
        if document.next() != "{":
            document.value()
            document.end()
            raise LoadFailed("json.no_list")
        ways = []
        for way in _ways(document, ()):
            if way[-1] in _LIST_NAMES:
                return way
            ways.append(way)
        document.end()
    if len(ways) > 1:
        raise LoadFailed("json.several_lists", paths=", ".join(".".join(way) for way in ways))
    if not ways:
        raise LoadFailed("json.no_list")
    return ways[0]


def _ways(document: Document, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Give the ways to lists of objects or lists, each before it has been read."""
    for name in document.members():
        way = (*above, name)
        if document.next() == "{" and len(way) < _DEPTH_SEARCHED:
            yield from _ways(document, way)
        elif document.next() == "[":
            for place, element in enumerate(document.elements()):
                if place == 0 and isinstance(element, dict | list):
                    yield way
        else:
            document.skip()


def _within(document: Document, way: tuple[str, ...]) -> Iterator[Any]:
    """Give the elements of the list, and read the file to its end."""
    yield from _elements(document, way)
    document.end()


def _elements(document: Document, way: tuple[str, ...]) -> Iterator[Any]:
    if not way:
        yield from document.elements()
        return
    start = "[" if len(way) == 1 else "{"
    for name in document.members():
        if name == way[0] and document.next() == start:
            yield from _elements(document, way[1:])
        else:
            document.skip()


def _lines(path: Path, encoding: str, parser: Parser) -> Iterator[tuple[int, Any]]:
    with path.open(encoding=encoding, errors=_errors(encoding), newline="\n") as file:
        number = 0
        while line := file.readline(VALUE_LETTERS_MOST):
            number += 1
            if not line.endswith("\n") and _passes_over_line(file):
                yield number, BadElement(BadRow("row.too_long", most=VALUE_LETTERS_MOST // 2**20))
            elif line := line.strip():
                yield number, _value(line, parser)


def _errors(encoding: str) -> str:
    """Let a byte that is no UTF-8 be the fault of its line alone."""
    return "surrogateescape" if encoding.startswith("utf-8") else "strict"


def _passes_over_line(file: TextIO) -> bool:
    """Read the rest of a line that is too long, and tell whether there was any."""
    rest = False
    while piece := file.readline(VALUE_LETTERS_MOST):
        rest = True
        if piece.endswith("\n"):
            break
    return rest


def _value(line: str, parser: Parser) -> Any:
    try:
        return parser.value_of(line)
    except json.JSONDecodeError:
        return BadElement(BadRow("row.not_json"), line)
    except NestedTooDeep:
        return BadElement(BadRow("row.too_deep", most=DEPTH_MOST), line)


def _table(
    filling: Filling,
    parser: Parser,
    elements: Iterable[tuple[int, Any]],
    notices: Sequence[Notice] = (),
) -> StagedTable:
    try:
        for line, element in elements:
            repeated = parser.take_repeated()
            if isinstance(element, BadElement):
                filling.refuse(line, element)
            elif repeated is not None:
                filling.refuse(line, BadElement(BadRow("row.repeated_member", member=repeated)))
            else:
                filling.add(line, element)
    except UnicodeError as error:
        raise LoadFailed("file.unknown_encoding") from error
    return filling.table(notices)
