"""
Find the names of the cells of rows, which some programs write beside the list of the rows.

CKAN and Table Schema have ``fields``, pandas has ``columns``, and Socrata ``meta.view.columns``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...table_limits import MAX_FIELDS
from .json_parser import Document, Number

_NAME_LISTS = frozenset(("fields", "columns"))
#: What is above the names in Socrata's answers.
_NAME_PARENTS = frozenset(("meta", "view"))
_INDEX = "index"


@dataclass(slots=True)
class RowNames:
    """The names of the cells of rows, and the values of ``index``, which precede the cells."""

    names: tuple[str, ...] = ()
    index: Sequence[Any] = ()

    def list_names(self) -> tuple[str, ...]:
        """List the names of all cells."""
        return (_INDEX, *self.names) if self.index else self.names

    def add_index(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Put the values of the index before the cells of the rows."""
        if not self.index:
            yield from rows
            return
        for position, row in enumerate(rows):
            has_index = isinstance(row, list) and position < len(self.index)
            yield [self.index[position], *row] if has_index else row


def find_row_names(document: Document, path: Sequence[str]) -> RowNames:
    """
    Find the names of the cells of the rows at a path; none where they are not beside the rows.

    Source: CKAN ``datastore_search`` and ``datastore_dump``, member ``fields``; pandas ``to_json``
    with ``orient="split"``; Socrata ``rows.json``.
    """
    found = RowNames()
    if not path or document.peek_character() != "{":
        return found
    for name in document.read_members():
        start = document.peek_character()
        if len(path) > 1 and name == path[0]:
            return find_row_names(document, path[1:])
        if name == path[0] and start == "[":
            if found.names or not _skip_rows(document):
                return found
        elif len(path) == 1 and name in _NAME_LISTS and start == "[":
            found.names = _read_names(document)
        elif len(path) == 1 and name in _NAME_PARENTS and start == "{":
            found.names = _find_names_below(document) or found.names
        elif len(path) == 1 and name == _INDEX and start == "[":
            found.index = _read_index(document)
        else:
            document.skip_value()
    return found


def _skip_rows(document: Document) -> bool:
    """Read the list of the rows; stop, and return false, at an element that is none."""
    return all(isinstance(element, list) for element in document.read_elements())


def _find_names_below(document: Document) -> tuple[str, ...]:
    names: tuple[str, ...] = ()
    for name in document.read_members():
        start = document.peek_character()
        if name in _NAME_LISTS and start == "[":
            names = _read_names(document)
        elif name in _NAME_PARENTS and start == "{":
            names = _find_names_below(document) or names
        else:
            document.skip_value()
    return names


def _read_names(document: Document) -> tuple[str, ...]:
    """Read a list of names, or of objects that have them; none where one is something else."""
    names = [_get_name(element) for element in document.read_elements()]
    known = tuple(name for name in names if name is not None)
    return known if len(known) == len(names) <= MAX_FIELDS else ()


def _get_name(element: Any) -> str | None:
    if not isinstance(element, dict):
        return element if isinstance(element, str) else None
    named = (element.get("id"), element.get("name"))
    # Socrata has numbers as ids.
    names = (name for name in named if isinstance(name, str) and not isinstance(name, Number))
    return next(names, None)


def _read_index(document: Document) -> Sequence[Any]:
    """Read the index of rows; none where it only counts them."""
    values = list(document.read_elements())
    is_count = all(value == str(position) for position, value in enumerate(values))
    return [] if is_count else values
