"""
Find the records in JSON: a list, or an object that holds them in another way.

Besides lists, an object may have its records as members by key, as columns, as a cube of JSON-stat,
or be the only record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from .json_cubes import is_collection, is_cube, read_cube_at
from .json_parser import Document
from .json_records import KeyedRecord

#: The path of the whole file.
WHOLE_FILE = "."

#: Names that programs give to the list of records in an object.
_LIST_NAMES = frozenset(
    ("records", "features", "data", "results", "items", "rows", "value", "entries", "elements")
)
#: The list is looked for in objects within each other, up to this number.
_MAX_PATH_LENGTH = 4
#: An object with fewer members may be a message about an error.
_MIN_MEMBERS = 2

#: Lists that describe the records; CKAN's answer without records has no others.
_DESCRIPTIONS = frozenset(("fields", "columns"))
#: CKAN's name for the records, which may be a text of delimited cells.
_TEXT_NAME, _TEXT_FORMAT = "records", "records_format"
_DELIMITERS = {"csv": ",", "tsv": "\t"}


class Layout(Enum):
    """How a value holds its records."""

    LIST = auto()
    KEYED = auto()
    COLUMNS = auto()
    CUBE = auto()
    RECORD = auto()
    TEXT = auto()


_NOTICES = {
    Layout.KEYED: "notice.json_keyed",
    Layout.COLUMNS: "notice.json_columns",
    Layout.CUBE: "notice.json_cube",
    Layout.RECORD: "notice.json_record",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A value of a file that holds records: the names of the members on its way, and its layout."""

    path: tuple[str, ...]
    layout: Layout = Layout.LIST
    is_empty: bool = False

    def describe(self) -> list[Notice]:
        """Describe where the records are, unless the file itself is their list."""
        path = ".".join(self.path)
        if self.layout in {Layout.LIST, Layout.TEXT}:
            is_usual = self.path in {(), ("features",)}
            return [] if is_usual else [Notice("notice.nested_list", path=path)]
        return [Notice(_NOTICES[self.layout], path=path or WHOLE_FILE)]


# Where the records are ----------------------------------------------------------------------------


def find_list(document: Document) -> Source:
    """
    Find the list of records in an object: one of a usual name, or the only one.

    Raises: ``LoadFailed`` with ``json.no_list``, ``json.several_lists``, and what ``Document``
    raises.
    """
    paths: list[tuple[str, ...]] = []
    others: list[Source] = []
    for found in _find_lists(document, ()):
        if found.is_empty or found.layout is Layout.TEXT:
            others.append(found)
        elif found.path[-1] in _LIST_NAMES:
            return found
        else:
            paths.append(found.path)
    document.check_end()
    for other in others:
        beside = [(*other.path[:-1], name) for name in _DESCRIPTIONS]
        if (paths or other.is_empty) and not set(paths) - set(beside):
            return other
    if len(paths) > 1:
        listed = ", ".join(f"“{'.'.join(each)}”" for each in paths)
        raise LoadFailed("json.several_lists", paths=listed)
    if not paths:
        raise LoadFailed("json.no_list")
    return Source(paths[0])


def _find_lists(document: Document, above: tuple[str, ...]) -> Iterator[Source]:
    """
    Find the lists of objects or lists, each before it has been read.

    An empty list of a usual name is found, too, and the text that may stand for CKAN's.
    """
    for name in document.read_members():
        path, start = (*above, name), document.peek_character()
        if start == "{" and len(path) < _MAX_PATH_LENGTH:
            yield from _find_lists(document, path)
        elif start == "[":
            position = -1
            for position, element in enumerate(document.read_elements()):
                if position == 0 and isinstance(element, dict | list):
                    yield Source(path)
            if position < 0 and name in _LIST_NAMES:
                yield Source(path, is_empty=True)
        else:
            document.skip_value()
            if start == '"' and name == _TEXT_NAME:
                yield Source(path, Layout.TEXT)


def find_cube(document: Document) -> Source | None:
    """
    Read an object, and find the cube of JSON-stat that it is, or has as a member.

    Raises: ``LoadFailed`` with ``json.several_lists``, ``json.several_cubes``.
    """
    shapes: dict[str, frozenset[Any]] = {}
    cubes: list[str] = []
    for name in document.read_members():
        value = document.read_value()
        shapes[name] = _get_shape(value)[1]
        if isinstance(value, dict) and is_cube(value):
            cubes.append(name)
        if is_collection({name: value}):
            raise LoadFailed("json.several_cubes")
    if is_cube(shapes):
        return Source((), Layout.CUBE)
    if len(cubes) > 1:
        listed = ", ".join(f"“{name}”" for name in cubes)
        raise LoadFailed("json.several_lists", paths=listed)
    return Source((cubes[0],), Layout.CUBE) if cubes else None


def find_chosen(document: Document, wanted: str) -> Source:
    """
    Find the value at a path, whose names are separated by points and may have points themselves.

    Raises: ``LoadFailed`` with ``json.unknown_path``, and what ``Document`` raises.
    """
    path = () if wanted == WHOLE_FILE else _walk_to(document, wanted)
    start = document.peek_character()
    if path is None or start not in {"[", "{"}:
        raise LoadFailed("json.unknown_path", path=wanted)
    return Source(path, Layout.LIST if start == "[" else detect_layout(document) or Layout.RECORD)


def _walk_to(document: Document, wanted: str) -> tuple[str, ...] | None:
    """Read a document up to the value at a path; None where there is none."""
    if document.peek_character() != "{":
        return None
    for name in document.read_members():
        if name == wanted:
            return (name,)
        if wanted.startswith(f"{name}.") and document.peek_character() == "{":
            found = _walk_to(document, wanted[len(name) + 1 :])
            if found is not None:
                return (name, *found)
        else:
            document.skip_value()
    return None


def detect_layout(document: Document) -> Layout | None:
    """Read an object, and detect how it holds records; None where it may be a record itself."""
    shapes = {name: _get_shape(document.read_value()) for name in document.read_members()}
    if is_cube({name: members for name, (_kind, members) in shapes.items()}):
        return Layout.CUBE
    kinds = {kind for kind, _members in shapes.values()}
    members = {members for _kind, members in shapes.values()}
    if len(shapes) < _MIN_MEMBERS or len(kinds) > 1:
        return None
    if kinds == {dict}:
        if len(members) == 1 and _are_positions(next(iter(members))):
            return Layout.COLUMNS
        return Layout.KEYED if frozenset.intersection(*members) else None
    return Layout.COLUMNS if kinds == {list} and len(members) == 1 else None


def _get_shape(value: Any) -> tuple[type, frozenset[Any]]:
    """Return the kind of a value, with the members of an object, or the length of a plain list."""
    if isinstance(value, dict):
        return dict, frozenset(value)
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return list, frozenset({len(value)})
    return object, frozenset()


def _are_positions(names: frozenset[str]) -> bool:
    """Return whether names are 0, 1, 2 and so on, as pandas writes the rows of a column."""
    return bool(names) and names == {str(position) for position in range(len(names))}


# Reading ------------------------------------------------------------------------------------------


def read_records(document: Document, source: Source) -> Iterator[Any]:
    """Read the elements of a source, and the file to its end."""
    yield from _read_below(document, source.path, source.layout)
    document.check_end()


def _read_below(document: Document, path: Sequence[str], layout: Layout) -> Iterator[Any]:
    if not path:
        yield from _READERS[layout](document)
        return
    start = "[" if len(path) == 1 and layout is Layout.LIST else "{"
    was_read = False
    for name in document.read_members():
        if name == path[0] and document.peek_character() == start:
            if was_read:
                raise LoadFailed("json.repeated_member", member=name)
            was_read = True
            yield from _read_below(document, path[1:], layout)
        else:
            document.skip_value()


def read_text_records(document: Document, path: Sequence[str]) -> tuple[str, str]:
    """
    Read the text at a path, whose cells are records, and the delimiter that stands beside it.

    Source: CKAN ``datastore_search``, ``records_format`` ``csv`` and ``tsv``.
    """
    text, delimiter = "", ""
    for name in document.read_members():
        if len(path) > 1 and name == path[0]:
            return read_text_records(document, path[1:])
        if len(path) == 1 and name in {_TEXT_NAME, _TEXT_FORMAT}:
            value = document.read_value()
            text = value if name == _TEXT_NAME else text
            delimiter = _DELIMITERS.get(str(value), "") if name == _TEXT_FORMAT else delimiter
        else:
            document.skip_value()
    return text, delimiter or _DELIMITERS["csv"]


def _read_keyed(document: Document) -> Iterator[Any]:
    for name in document.read_members():
        yield KeyedRecord(name, document.read_value())


def _read_record(document: Document) -> Iterator[Any]:
    yield document.read_value()


def _read_columns(document: Document) -> Iterator[Any]:
    columns = {name: _list_values(value) for name, value in _read_object(document).items()}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _read_object(document: Document) -> dict[str, Any]:
    """Read an object whose members may be as large as the values of a list."""
    found: dict[str, Any] = {}
    for name in document.read_members():
        if name in found:
            raise LoadFailed("json.repeated_member", member=name)
        found[name] = document.read_value()
    return found


def _list_values(column: Any) -> Sequence[Any]:
    """List the values of a column, which may be an object with their positions as names."""
    if isinstance(column, Mapping):
        return [column[str(position)] for position in range(len(column))]
    return list(column)


_READERS = {
    Layout.LIST: Document.read_elements,
    Layout.KEYED: _read_keyed,
    Layout.COLUMNS: _read_columns,
    Layout.CUBE: read_cube_at,
    Layout.RECORD: _read_record,
}
