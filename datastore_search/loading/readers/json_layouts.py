"""Find the list of records in JSON: the file itself, or a list within objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...table_limits import MAX_FIELDS
from .json_parser import Document, Number

#: Names that programs give to the list of records in an object.
_LIST_NAMES = frozenset(
    ("records", "features", "data", "results", "items", "rows", "value", "entries", "elements")
)
#: The list is looked for in objects within each other, up to this number.
_MAX_PATH_LENGTH = 4

#: The list beside CKAN's records that describes their fields.
_FIELDS = "fields"
#: The records of CKAN's answers, which may be a text of delimited cells.
_RECORDS = "records"
_TEXT_RECORDS = "CKAN JSON (records_format csv, tsv)"
#: Members beside rows that other programs write the names of their cells into.
_OTHER_NAMES = {"columns": "pandas JSON (split)", "meta": "Socrata JSON"}


@dataclass(frozen=True, slots=True)
class Source:
    """A list of records: the names of the members on its way."""

    path: tuple[str, ...]
    is_empty: bool = False
    is_text: bool = False

    def describe(self) -> list[Notice]:
        """Describe where the records are, unless the file itself is their list."""
        if self.path in {(), ("features",)}:
            return []
        return [Notice("notice.nested_list", path=".".join(self.path))]


# Where the records are ----------------------------------------------------------------------------


def find_list(document: Document) -> Source:
    """
    Find the list of records in an object: one of a usual name, or the only one.

    Raises: ``LoadFailed`` with ``json.no_list``, ``json.several_lists``, ``file.save_as_csv``, and
    what ``Document`` raises.
    """
    paths: list[tuple[str, ...]] = []
    others: list[Source] = []
    for found in _find_lists(document, ()):
        if found.is_empty or found.is_text:
            others.append(found)
        elif found.path[-1] in _LIST_NAMES:
            return found
        else:
            paths.append(found.path)
    document.check_end()
    for other in others:
        if not set(paths) - {(*other.path[:-1], _FIELDS)}:
            if other.is_empty:
                return other
            if paths:
                raise LoadFailed("file.save_as_csv", format=_TEXT_RECORDS)
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
            if start == '"' and name == _RECORDS:
                yield Source(path, is_text=True)


def find_chosen(document: Document, wanted: str) -> Source:
    """
    Find the list at a path, whose names are separated by points and may have points themselves.

    Raises: ``LoadFailed`` with ``json.unknown_path``, and what ``Document`` raises.
    """
    path = _walk_to(document, wanted)
    if path is None or document.peek_character() != "[":
        raise LoadFailed("json.unknown_path", path=wanted)
    return Source(path)


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

    Source: CKAN ``datastore_search`` and ``datastore_dump``, member ``fields``.

    Raises: ``LoadFailed`` with ``file.save_as_csv`` where they are beside the rows in another way.
    """
    names: tuple[str, ...] = ()
    other = ""
    if not path or document.peek_character() != "{":
        return names
    for name in document.read_members():
        start = document.peek_character()
        if len(path) > 1 and name == path[0]:
            return find_row_names(document, path[1:])
        if name == path[0] and start == "[":
            is_rows = all(isinstance(element, list) for element in document.read_elements())
            if names or not is_rows:
                return names
        elif len(path) == 1 and name == _FIELDS and start == "[":
            names = _read_names(document)
        elif len(path) == 1 and name in _OTHER_NAMES and start in "[{":
            other = _detect_names(name, document.read_value()) or other
        else:
            document.skip_value()
    if other and not names:
        raise LoadFailed("file.save_as_csv", format=other)
    return names


def _detect_names(name: str, value: Any) -> str:
    """Return the layout of names in another member than ``fields``; empty if they are none."""
    if isinstance(value, dict):
        is_names = isinstance(value.get("view"), dict) and "columns" in value["view"]
    else:
        is_names = not any(isinstance(each, list) for each in value)
    return _OTHER_NAMES[name] if is_names else ""


def _read_names(document: Document) -> tuple[str, ...]:
    """Read a list of names, or of objects that have them; none where one is something else."""
    names = [_get_name(element) for element in document.read_elements()]
    known = tuple(name for name in names if name is not None)
    return known if len(known) == len(names) <= MAX_FIELDS else ()


def _get_name(element: Any) -> str | None:
    if not isinstance(element, dict):
        return element if isinstance(element, str) else None
    named = (element.get("id"), element.get("name"))
    names = (name for name in named if isinstance(name, str) and not isinstance(name, Number))
    return next(names, None)


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
