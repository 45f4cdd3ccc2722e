"""
Records as XML elements.

Source: CKAN's XML dump: its names of elements, its spelling of null, truth values, lists and
objects.  Beyond CKAN, the digits are PostgreSQL's and every dump is well-formed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from xml.parsers import expat

from ...field_types import field_types
from ...search import ID

NAMESPACE = "http://www.w3.org/2001/XMLSchema-instance"

#: Deeper values are written as their JSON text: parsers of XML give up at 256 elements.
_DEPTH_MOST = 200

#: CKAN's, which are Python's.
_TRUTH = {"t": "True", "f": "False"}


# Names --------------------------------------------------------------------------------------------

#: CKAN's rules, in order: what is replaced in a field's name, and by what.
_NAME_RULES = (
    (re.compile(r"^(\d*xml\d*|\d+)", re.IGNORECASE), ""),
    (re.compile(r"\s+"), "_"),
    (re.compile(r"[^\w_.-]"), ""),
    (re.compile(r"^[\d.-]+"), ""),
)

#: The name of an element of whose field's name nothing can be kept.
_NAMELESS = "field"


def element_names(names: Iterable[str]) -> list[str]:
    """Name the element of each field, each differently."""
    taken: set[str] = set()
    found = []
    for name in names:
        element = plain = _element_name(name)
        place = 0
        while element in taken:
            element = f"{plain}_{place}"
            place += 1
        taken.add(element)
        found.append(element)
    return found


def _element_name(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    for pattern, replacement in _NAME_RULES:
        name = pattern.sub(replacement, name)
    name = "".join(letter for letter in name if letter.isascii() or _is_element(f"_{letter}"))
    while name and not _is_element(name[0]):
        name = name[1:]
    return name or _NAMELESS


@lru_cache(maxsize=10_000)
def _is_element(name: str) -> bool:
    """
    Ask the strictest of all parsers, for it knows only the letters of Unicode 2.

    Source: XML 1.0, whose fifth edition takes every name that the earlier ones took.
    """
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<{name}/>", True)
    except expat.ExpatError:
        return False
    return True


# Text ---------------------------------------------------------------------------------------------

#: What XML cannot hold, or reads as something else.  A carriage return would become a newline.
_SPECIAL = re.compile("[&<>\r\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SPECIAL_IN_ATTRIBUTES = re.compile(f'{_SPECIAL.pattern}|["\t\n]')
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_REFERRED = "\t\n\r"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def escaped(text: str) -> str:
    """Write a text between tags; what XML 1.0 cannot hold is replaced."""
    return _SPECIAL.sub(_escape, text)


def attribute(name: str, text: str) -> str:
    """Write an attribute."""
    return f' {name}="{_SPECIAL_IN_ATTRIBUTES.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _REFERRED:
        return f"&#{ord(letter)};"
    return _ESCAPES.get(letter, _REPLACEMENT)


# Values -------------------------------------------------------------------------------------------

#: Writes the cells of one field, None for null, as elements.
_Write = Callable[[str | None], str]


def _element(name: str, attributes: str, content: str) -> str:
    return f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes} />"


def _null(name: str, attributes: str) -> str:
    return f'<{name} xsi:nil="true"{attributes} />'


def _plain(name: str, attributes: str, content: Callable[[str], str]) -> _Write:
    """Prepare all that is the same for each of a million cells."""
    null, empty = _null(name, attributes), _element(name, attributes, "")
    start, end = f"<{name}{attributes}>", f"</{name}>"

    def write(cell: str | None) -> str:
        if cell is None:
            return null
        return f"{start}{content(cell)}{end}" if cell else empty

    return write


def _nested(name: str, attributes: str) -> _Write:
    def write(cell: str | None) -> str:
        text = cell or "null"
        try:
            value = json.loads(text, parse_int=str, parse_float=str)
            return _value(name, attributes, value, _DEPTH_MOST)
        except RecursionError:
            return _element(name, attributes, escaped(text))

    return write


def _value(name: str, attributes: str, value: object, depth: int) -> str:
    """Write a JSON value, whose numbers are their texts, with the elements of its members."""
    if value is None:
        return _null(name, attributes)
    if not isinstance(value, list | dict):
        return _element(name, attributes, escaped(str(value)))
    if not depth:
        raise RecursionError
    members = value.items() if isinstance(value, dict) else enumerate(value)
    content = "".join(
        _value("value", attribute("key", str(key)), member, depth - 1) for key, member in members
    )
    return _element(name, attributes, content)


def _write_of(element: str, name: str, kind: str) -> _Write:
    """Write the cells of a field; where its element has another name, an attribute has its own."""
    attributes = "" if element == name else attribute("name", name)
    if kind in field_types and field_types[kind].is_nested:
        return _nested(element, attributes)
    return _plain(element, attributes, _TRUTH.__getitem__ if kind == "bool" else escaped)


# Rows ---------------------------------------------------------------------------------------------


class RowWriter:
    """Writes rows of cells as XML; where ``_id`` comes first, it is an attribute."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        """Name the elements of the fields, which are names and types."""
        self._has_id = fields[0][0] == ID
        fields = fields[1:] if self._has_id else fields
        elements = element_names(name for name, _kind in fields)
        self._writes = [
            _write_of(element, name, kind)
            for element, (name, kind) in zip(elements, fields, strict=True)
        ]

    def __call__(self, cells: Sequence[str | None]) -> bytes:
        """Write a row, and the end of its line."""
        attributes = ""
        if self._has_id:
            attributes, cells = attribute(ID, str(cells[0])), cells[1:]
        content = "".join([write(cell) for write, cell in zip(self._writes, cells, strict=True)])
        return f"{_element('row', attributes, content)}\n".encode()
