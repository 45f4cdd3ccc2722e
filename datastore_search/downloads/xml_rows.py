"""
Records as XML elements.

Source: CKAN's XML dump: its names of elements, and its spelling of null, booleans, lists and
objects.  Beyond CKAN, numbers keep PostgreSQL's digits and every dump is well-formed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Generator, Iterable
from functools import lru_cache
from xml.parsers import expat

from ..field_types import get_field_type
from ..search import ID, RecordCopy
from .dump import Dump, join_pieces

NAMESPACE = "http://www.w3.org/2001/XMLSchema-instance"

#: Deeper values are written as their JSON text: some parsers of XML take at most 256 levels.
MAX_DEPTH = 200


# Names --------------------------------------------------------------------------------------------

#: CKAN's rules, in order: the pattern in a field's name, and its replacement.
_NAME_RULES = (
    (re.compile(r"^(\d*xml\d*|\d+)", re.IGNORECASE), ""),
    (re.compile(r"\s+"), "_"),
    (re.compile(r"[^\w_.-]"), ""),
    (re.compile(r"^[\d.-]+"), ""),
)


def name_elements(names: Iterable[str]) -> list[str]:
    """Choose a name for the element of each field; all names differ."""
    taken: set[str] = set()
    elements = []
    for name in names:
        plain = unicodedata.normalize("NFC", name)
        for pattern, replacement in _NAME_RULES:
            plain = pattern.sub(replacement, plain)
        plain = "".join(
            letter for letter in plain if letter.isascii() or _is_element_name(f"_{letter}")
        )
        while plain and not _is_element_name(plain[0]):
            plain = plain[1:]
        element = plain = plain or "field"
        number = 0
        while element in taken:
            element = f"{plain}_{number}"
            number += 1
        taken.add(element)
        elements.append(element)
    return elements


@lru_cache(maxsize=10_000)
def _is_element_name(name: str) -> bool:
    """Return whether expat accepts a name; it is the strictest parser, with Unicode 2's letters."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<{name}/>", True)
    except expat.ExpatError:
        return False
    return True


# Text ---------------------------------------------------------------------------------------------

#: What XML 1.0 forbids, even as references, and PostgreSQL stores: the class of a pattern.
_FORBIDDEN = "\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

#: Characters that XML forbids or interprets.  A carriage return would become a newline.
_SPECIAL = re.compile(f"[&<>\r{_FORBIDDEN}]")
_SPECIAL_IN_ATTRIBUTES = re.compile(f'{_SPECIAL.pattern}|["\t\n]')
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"} | {
    letter: f"&#{ord(letter)};" for letter in "\t\n\r"
}


def clean_xml(text: str) -> str:
    """Replace the characters that XML forbids in a text, or in a whole document."""
    return re.sub(f"[{_FORBIDDEN}]", _REPLACEMENT, text)


def escape(text: str) -> str:
    """Escape the text of an element; characters that XML 1.0 forbids are replaced."""
    return _SPECIAL.sub(_escape_character, text)


def write_attribute(name: str, text: str) -> str:
    return f' {name}="{_SPECIAL_IN_ATTRIBUTES.sub(_escape_character, text)}"'


def _escape_character(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0], _REPLACEMENT)


# Values -------------------------------------------------------------------------------------------

#: Writes a cell of one field, None for null, as an element.
_Write = Callable[[str | None], str]


def _write_element(name: str, attributes: str, content: str) -> str:
    return f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes} />"


def _write_null(name: str, attributes: str) -> str:
    return f'<{name} xsi:nil="true"{attributes} />'


def _write_value(name: str, attributes: str, value: object, depth: int) -> str:
    """Write a JSON value whose numbers are texts, with an element for each member."""
    if value is None:
        return _write_null(name, attributes)
    if not isinstance(value, list | dict):
        return _write_element(name, attributes, escape(str(value)))
    if not depth:
        raise RecursionError
    members = value.items() if isinstance(value, dict) else enumerate(value)
    content = "".join(
        _write_value("value", write_attribute("key", str(key)), member, depth - 1)
        for key, member in members
    )
    return _write_element(name, attributes, content)


def _build_writer(element: str, name: str, kind: str) -> _Write:
    """Build the writer of a field; its name is an attribute if its element has another name."""
    attributes = "" if element == name else write_attribute("name", name)
    # The tags of plain cells are prepared once for all rows.
    null, empty = _write_null(element, attributes), _write_element(element, attributes, "")
    start, end = f"<{element}{attributes}>", f"</{element}>"
    as_in_python = {"t": "True", "f": "False"}  # as CKAN writes booleans
    write_content = as_in_python.__getitem__ if kind == "bool" else escape

    def write_plain(cell: str | None) -> str:
        if cell is None:
            return null
        return f"{start}{write_content(cell)}{end}" if cell else empty

    def write_nested(cell: str | None) -> str:
        text = cell or "null"
        try:
            value = json.loads(text, parse_int=str, parse_float=str)
            return _write_value(element, attributes, value, MAX_DEPTH)
        except RecursionError:
            return _write_element(element, attributes, escape(text))

    return write_nested if get_field_type(kind).is_nested else write_plain


# The file -----------------------------------------------------------------------------------------


@join_pieces
def write_xml(dump: Dump, copy: RecordCopy) -> Generator[bytes]:
    """Write an element for each record; a leading ``_id`` becomes an attribute."""
    yield dump.start + f'<data xmlns:xsi="{NAMESPACE}">\n'.encode()
    has_id = copy.fields[0][0] == ID
    fields = copy.fields[has_id:]
    elements = name_elements(name for name, _kind in fields)
    writes = [
        _build_writer(element, name, kind)
        for element, (name, kind) in zip(elements, fields, strict=True)
    ]
    with copy.open_cells() as rows:
        for row in rows:
            attributes = write_attribute(ID, str(row[0])) if has_id else ""
            cells = row[has_id:]
            content = "".join([write(cell) for write, cell in zip(writes, cells, strict=True)])
            yield f"{_write_element('row', attributes, content)}\n".encode()
    yield b"</data>\n"
