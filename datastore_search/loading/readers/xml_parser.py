"""
Parse XML element by element, by Python's expat, with limits.

Documents that declare entities are refused, so nothing expands; no external part is fetched.
Memory holds one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ...exceptions.loads import LoadFailed
from .row_writer import MAX_ROW_BYTES

MAX_DEPTH = 100

_BLOCK_BYTES = 2**16
_SEPARATOR = "}"
_NIL = "http://www.w3.org/2001/XMLSchema-instance}nil"
#: What an element takes in memory besides its texts, roughly.
_ELEMENT_BYTES = 200
#: What expat raises for an encoding that it does not know.
_UNKNOWN_ENCODINGS = frozenset(
    (
        expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING],
        expat.errors.codes[expat.errors.XML_ERROR_INCORRECT_ENCODING],
    )
)

#: The names of an element and of those around it, from the root on.
ElementPath = tuple[str, ...]


@dataclass(slots=True)
class Element:
    """
    An element: names are without namespace, ``attributes`` without declarations of those.

    One that ``has_records`` takes no more children: what was read of it does not change.
    """

    name: str
    attributes: dict[str, str]
    is_nil: bool = False
    has_records: bool = False
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the element itself; line breaks around it are indentation."""
        text = "".join(self.pieces)
        stripped = text.strip("\t\n\r ")
        if not self.children and text != stripped:
            outside = text.partition(stripped) if stripped else (text, "", "")
            return stripped if "\n" in outside[0] + outside[2] else text
        return stripped

    @property
    def is_leaf(self) -> bool:
        """Whether it has a text or nothing."""
        return not (self.children or self.attributes)

    def find(self, name: str) -> Element | None:
        """Return the first child of a name."""
        return next((child for child in self.children if child.name == name), None)

    def iterate(self) -> Iterator[Element]:
        """Iterate over the element and all elements in it."""
        yield self
        for child in self.children:
            yield from child.iterate()


@dataclass(frozen=True, slots=True)
class Record:
    """
    A record: its element, None if it is too long, and the elements around it, from the root on.

    Those have the children without elements of their own that came before the first record.
    """

    element: Element | None
    ancestors: tuple[Element, ...]


def parse_elements(path: Path, encoding: str, start: Callable[[ElementPath, bool], None]) -> None:
    """
    Call ``start`` for each element with its path, and whether it has attributes.

    Raises: ``LoadFailed``, with what is wrong with the document.
    """
    names: list[str] = []

    def start_element(name: str, attributes: list[str]) -> None:
        _push_name(names, name)
        start(tuple(names), bool(attributes))

    def end_element(_name: str) -> None:
        names.pop()

    parser = _create_parser(encoding)
    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            _parse_block(parser, block)
            _check_piece(parser, file.tell())
        _parse_block(parser, b"", is_last=True)


def parse_records(
    path: Path, encoding: str, is_record: Callable[[ElementPath], bool]
) -> Iterator[Record]:
    """
    Parse the elements whose paths are those of records, in their order.

    Raises: ``LoadFailed``, with what is wrong with the document.
    """
    collector = _Collector(is_record)
    parser = _create_parser(encoding)
    collector.attach(parser)
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            _parse_block(parser, block)
            _check_piece(parser, file.tell())
            yield from collector.pop_records()
        _parse_block(parser, b"", is_last=True)
        yield from collector.pop_records()


def _create_parser(encoding: str) -> expat.XMLParserType:
    parser = expat.ParserCreate(encoding or None, _SEPARATOR)
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.EntityDeclHandler = _refuse_entities
    parser.SkippedEntityHandler = _refuse_entities
    return parser


def _refuse_entities(*_declaration: object) -> None:
    raise LoadFailed("xml.entities")


def _parse_block(parser: expat.XMLParserType, block: bytes, *, is_last: bool = False) -> None:
    try:
        parser.Parse(block, is_last)
    except expat.ExpatError as error:
        if error.code in _UNKNOWN_ENCODINGS:
            raise LoadFailed("file.unknown_encoding") from error
        column = error.offset + 1
        raise LoadFailed("xml.invalid", line=error.lineno, column=column) from error
    except (LookupError, ValueError) as error:  # an encoding of several bytes
        raise LoadFailed("file.unknown_encoding") from error


def _check_piece(parser: expat.XMLParserType, read_bytes: int) -> None:
    """
    Check what has been read of a tag, a comment or another piece that has no end yet.

    Raises: ``LoadFailed`` with ``xml.tag_too_long``.
    """
    if read_bytes - parser.CurrentByteIndex > MAX_ROW_BYTES:
        raise LoadFailed("xml.tag_too_long", most=MAX_ROW_BYTES // 2**20)


def _push_name(names: list[str], name: str) -> None:
    if len(names) >= MAX_DEPTH:
        raise LoadFailed("xml.too_deep", most=MAX_DEPTH)
    names.append(_get_local_name(name))


def _get_local_name(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]


def _shorten_names(attributes: Mapping[str, str]) -> dict[str, str]:
    """Leave out the namespaces of attributes, unless two would have one name."""
    shortened = {_get_local_name(name): value for name, value in attributes.items()}
    return shortened if len(shortened) == len(attributes) else dict(attributes)


class _Collector:
    """Collects the elements of records; one that is longer than a row is dropped."""

    def __init__(self, is_record: Callable[[ElementPath], bool]) -> None:
        self._is_record = is_record
        self._names: list[str] = []
        self._open: list[Element] = []
        #: The depth of the current record, 0 outside of records.
        self._depth = 0
        #: Of the current record, and of all elements outside of records.
        self._size = self._outer_size = 0
        self._records: list[Record] = []

    def attach(self, parser: expat.XMLParserType) -> None:
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._add_text

    def pop_records(self) -> list[Record]:
        records, self._records = self._records, []
        return records

    def _start_element(self, name: str, attributes: list[str]) -> None:
        _push_name(self._names, name)
        pairs = dict(zip(attributes[::2], attributes[1::2], strict=True))
        element = Element(
            self._names[-1],
            _shorten_names({key: value for key, value in pairs.items() if key != _NIL}),
            is_nil=pairs.get(_NIL) in {"true", "1"},
        )
        if not self._depth and self._is_record(tuple(self._names)):
            self._depth, self._size = len(self._names), 0
            for ancestor in self._open:
                ancestor.has_records = True
        self._open.append(element)
        self._has_room(_ELEMENT_BYTES + sum(map(len, attributes)))

    def _end_element(self, _name: str) -> None:
        element = self._open.pop()
        has_room = self._has_room(0)
        if self._depth == len(self._names):
            kept = element if has_room else None
            self._records.append(Record(kept, tuple(self._open)))
            self._depth = 0
        elif has_room and self._open and self._is_kept(element):
            self._open[-1].children.append(element)
        self._names.pop()

    def _is_kept(self, element: Element) -> bool:
        """Return whether an element is in a record, or is a text above the first record."""
        is_above = not (element.children or element.has_records or self._open[-1].has_records)
        return bool(self._depth) or is_above

    def _add_text(self, text: str) -> None:
        if self._open and self._has_room(len(text)):
            self._open[-1].pieces.append(text)

    def _has_room(self, size: int) -> bool:
        """Count what is read, and return whether more of it may be held."""
        if self._depth:
            self._size += size
            return self._size <= MAX_ROW_BYTES
        self._outer_size += size
        return self._outer_size <= MAX_ROW_BYTES


def describe_element(element: Element) -> Any:
    """Describe an element as what JSON can hold: a text, null, or an object of its parts."""
    if element.is_nil or (element.is_leaf and not element.pieces):
        return None
    if element.is_leaf:
        return element.text
    described: dict[str, Any] = {f"@{name}": value for name, value in element.attributes.items()}
    described |= group_children(element)
    if element.text:
        described["#text"] = element.text
    return described


def group_children(element: Element) -> dict[str, Any]:
    """Describe the children of an element by their names; of a repeated one, a list of all."""
    grouped: dict[str, list[Any]] = {}
    for child in element.children:
        grouped.setdefault(child.name, []).append(describe_element(child))
    return {name: each[0] if len(each) == 1 else each for name, each in grouped.items()}
