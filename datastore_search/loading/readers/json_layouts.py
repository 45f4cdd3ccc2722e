"""
Find the records in JSON: a list, or an object that holds them in another way.

Besides lists, an object may have its records as members by key, as columns, as a cube of JSON-stat,
or be the only record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...table_limits import MAX_FIELDS
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

_STAT_MEMBERS = frozenset(("id", "size", "dimension", "value"))
_MAX_CUBE_CELLS = 10_000_000


class Layout(Enum):
    """How a value holds its records."""

    LIST = auto()
    KEYED = auto()
    COLUMNS = auto()
    CUBE = auto()
    RECORD = auto()


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

    def describe(self) -> list[Notice]:
        """Describe where the records are, unless the file itself is their list."""
        path = ".".join(self.path)
        if self.layout is Layout.LIST:
            is_usual = self.path in {(), ("features",)}
            return [] if is_usual else [Notice("notice.nested_list", path=path)]
        return [Notice(_NOTICES[self.layout], path=path or WHOLE_FILE)]


# Where the records are ----------------------------------------------------------------------------


def find_list(document: Document) -> tuple[str, ...]:
    """
    Find the list of records in an object: one of a usual name, or the only one.

    Raises: ``LoadFailed`` with ``json.no_list``, ``json.several_lists``, and what ``Document``
    raises.
    """
    paths = []
    for found in _find_lists(document, ()):
        if found[-1] in _LIST_NAMES:
            return found
        paths.append(found)
    document.check_end()
    if len(paths) > 1:
        listed = ", ".join(f"“{'.'.join(each)}”" for each in paths)
        raise LoadFailed("json.several_lists", paths=listed)
    if not paths:
        raise LoadFailed("json.no_list")
    return paths[0]


def _find_lists(document: Document, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Find the lists of objects or lists, each before it has been read."""
    for name in document.read_members():
        path = (*above, name)
        if document.peek_character() == "{" and len(path) < _MAX_PATH_LENGTH:
            yield from _find_lists(document, path)
        elif document.peek_character() == "[":
            for position, element in enumerate(document.read_elements()):
                if position == 0 and isinstance(element, dict | list):
                    yield path
        else:
            document.skip_value()


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
    shapes = []
    names = set()
    for name in document.read_members():
        names.add(name)
        shapes.append(_get_shape(document.read_value()))
    if names >= _STAT_MEMBERS:
        return Layout.CUBE
    kinds = {kind for kind, _members in shapes}
    members = {members for _kind, members in shapes}
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


def read_field_names(document: Document, path: Sequence[str]) -> tuple[str, ...]:
    """
    Read the names of fields that stand above the list at a path; none where there are none.

    Source: CKAN ``datastore_search`` and ``datastore_dump``, member ``fields``.
    """
    if not path or document.peek_character() != "{":
        return ()
    for name in document.read_members():
        if len(path) > 1 and name == path[0]:
            return read_field_names(document, path[1:])
        if len(path) == 1 and name == "fields" and document.peek_character() == "[":
            fields = list(document.read_elements())
            ids = [field.get("id") for field in fields if isinstance(field, dict)]
            names = tuple(each for each in ids if isinstance(each, str))
            return names if len(names) == len(fields) <= MAX_FIELDS else ()
        if len(path) == 1 and name == path[0]:
            return ()
        document.skip_value()
    return ()


def read_records(document: Document, source: Source) -> Iterator[Any]:
    """Read the elements of a source, and the file to its end."""
    yield from _read_below(document, source.path, source.layout)
    document.check_end()


def _read_below(document: Document, path: Sequence[str], layout: Layout) -> Iterator[Any]:
    if not path:
        yield from _READERS[layout](document)
        return
    start = "[" if len(path) == 1 and layout is Layout.LIST else "{"
    for name in document.read_members():
        if name == path[0] and document.peek_character() == start:
            yield from _read_below(document, path[1:], layout)
        else:
            document.skip_value()


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


def _read_cube(document: Document) -> Iterator[Any]:
    """
    Read a cube of JSON-stat: a record for each value, with the codes and labels of its dimensions.

    Source: JSON-stat 2.0, class ``dataset``.
    """
    cube = _read_object(document)
    try:
        dimensions = [_read_dimension(name, cube["dimension"][name]) for name in cube["id"]]
        sizes = [int(size) for size in cube["size"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise LoadFailed("json.invalid_cube") from error
    count = 1
    for size, dimension in zip(sizes, dimensions, strict=False):
        count *= size
        if size != len(dimension) or count > _MAX_CUBE_CELLS:
            raise LoadFailed("json.invalid_cube")
    values, status = cube["value"], cube.get("status")
    if len(sizes) != len(dimensions) or not isinstance(values, list | dict):
        raise LoadFailed("json.invalid_cube")
    if isinstance(values, list) and len(values) != count:
        raise LoadFailed("json.invalid_cube")
    for position, categories in enumerate(product(*dimensions)):
        record = {name: value for category in categories for name, value in category.items()}
        record["value"] = _get_cell(values, position)
        if isinstance(status, list | dict):
            record["status"] = _get_cell(status, position)
        yield record


def _read_dimension(name: str, dimension: Any) -> list[dict[str, Any]]:
    """Read the categories of a dimension, each with the fields that it gives to a record."""
    category = dimension["category"]
    labels = category.get("label", {})
    index = category.get("index", list(labels))
    codes = sorted(index, key=lambda code: int(index[code])) if isinstance(index, dict) else index
    if all(labels.get(code, code) == code for code in codes):
        return [{name: code} for code in codes]
    return [{name: code, f"{name} label": labels.get(code)} for code in codes]


def _get_cell(cells: Any, position: int) -> Any:
    if isinstance(cells, Mapping):
        return cells.get(str(position))
    return cells[position] if position < len(cells) else None


_READERS = {
    Layout.LIST: Document.read_elements,
    Layout.KEYED: _read_keyed,
    Layout.COLUMNS: _read_columns,
    Layout.CUBE: _read_cube,
    Layout.RECORD: _read_record,
}
