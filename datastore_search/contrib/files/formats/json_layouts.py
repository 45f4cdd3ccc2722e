"""Find the list of records in JSON: the file itself, or a list within objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from ....field_types import MAX_FIELDS
from ..messages.failures import LoadFailed
from .json_parser import Document

#: Names that programs give to the list of records in an object.
_LIST_NAMES = frozenset(
    ("records", "features", "data", "results", "items", "rows", "value", "entries", "elements")
)
#: The list is looked for in objects within each other, up to this number.
_MAX_PATH_LENGTH = 4

#: The lists beside rows that have the names of their cells: CKAN's, which is not a list of records
#: even where there is no other, and that of pandas.
_FIELDS, _COLUMNS = "fields", "columns"


# Where the records are ----------------------------------------------------------------------------


def find_list(document: Document) -> tuple[str, ...]:
    """
    Find the path of the list of records in an object: one of a usual name, or the only one.

    Raises: ``LoadFailed`` with ``json.no_list``, ``json.several_lists``, and what ``Document``
    raises.
    """
    paths: list[tuple[str, ...]] = []
    empty: list[tuple[str, ...]] = []
    for path, is_empty in _find_lists(document, ()):
        if is_empty:
            empty.append(path)
        elif path[-1] in _LIST_NAMES:
            return path
        elif path[-1] != _FIELDS:
            paths.append(path)
    document.check_end()
    if len(paths) > 1:
        listed = ", ".join(f"“{'.'.join(each)}”" for each in paths)
        raise LoadFailed("json.several_lists", paths=listed)
    for path in (*paths, *empty):
        return path
    raise LoadFailed("json.no_list")


def _find_lists(
    document: Document, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Find the paths of lists, unread, and whether they are empty (only those of usual names)."""
    for name in document.read_members():
        path, start = (*above, name), document.peek_character()
        if start == "{" and len(path) < _MAX_PATH_LENGTH:
            yield from _find_lists(document, path)
        elif start == "[":
            position = -1
            for position, element in enumerate(document.read_elements()):
                if position == 0 and isinstance(element, dict | list):
                    yield path, False
            if position < 0 and name in _LIST_NAMES:
                yield path, True
        else:
            document.skip_value()


def find_chosen(document: Document, wanted: str) -> tuple[str, ...]:
    """
    Find the list at a path, whose names are separated by points and may have points themselves.

    Raises: ``LoadFailed`` with ``json.unknown_path``, and what ``Document`` raises.
    """
    path = _walk_to(document, wanted)
    if path is None or document.peek_character() != "[":
        raise LoadFailed("json.unknown_path", path=wanted)
    return path


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


# Names beside rows --------------------------------------------------------------------------------


def find_row_names(document: Document, path: Sequence[str]) -> tuple[str, ...]:
    """
    Find the names of the cells of the rows at a path; none where they are not beside the rows.

    Source: CKAN ``datastore_search`` and ``datastore_dump``, member ``fields``; pandas
    ``DataFrame.to_json(orient="split")``, member ``columns``.
    """
    names: tuple[str, ...] = ()
    if not path or document.peek_character() != "{":
        return names
    for name in document.read_members():
        start = document.peek_character()
        if len(path) > 1 and name == path[0]:
            return find_row_names(document, path[1:])
        if name == path[0] and start == "[":
            if names or not all(isinstance(each, list) for each in document.read_elements()):
                return names
        elif len(path) == 1 and name in {_FIELDS, _COLUMNS} and start == "[":
            names = _read_names(document)
        else:
            document.skip_value()
    return names


def _read_names(document: Document) -> tuple[str, ...]:
    """Read a list of names, or of objects that have them; none where one is something else."""
    names = [
        each.get("id", each.get("name")) if isinstance(each, dict) else each
        for each in document.read_elements()
    ]
    known = tuple(name for name in names if type(name) is str)
    return known if len(known) == len(names) <= MAX_FIELDS else ()


def find_member(document: Document, path: Sequence[str], wanted: str) -> Any:
    """Find the value of a member beside the list at a path; None where there is none."""
    for name in document.read_members():
        start = document.peek_character()
        if len(path) > 1 and name == path[0] and start == "{":
            return find_member(document, path[1:], wanted)
        if len(path) == 1 and name == wanted:
            return document.read_value()
        if start == "[":
            deque(document.read_elements(), maxlen=0)
        else:
            document.skip_value()
    return None


# Reading ------------------------------------------------------------------------------------------


def read_records(document: Document, path: Sequence[str]) -> Iterator[Any]:
    """Read the elements of the list at a path, and the file to its end."""
    yield from _read_below(document, path)
    document.check_end()


def _read_below(document: Document, path: Sequence[str]) -> Iterator[Any]:
    if not path:
        yield from document.read_elements()
        return
    start = "[" if len(path) == 1 else "{"
    was_read = False
    for name in document.read_members():
        if name == path[0] and document.peek_character() == start:
            if was_read:
                raise LoadFailed("json.repeated_member", member=name)
            was_read = True
            yield from _read_below(document, path[1:])
        else:
            document.skip_value()
