"""Parse JSON piece by piece: memory holds one value of a list, and numbers keep their digits."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ....field_types import dump_json
from ..messages import LoadFailed, NestedTooDeep

_BLOCK_LENGTH = 2**20
#: Of a value in a list, and of a line.
MAX_VALUE_LENGTH = 16 * 2**20
#: Lists and objects within each other.
MAX_DEPTH = 100
_BLANKS = " \t\n\r"
_BLANK = re.compile(rf"[{_BLANKS}]*")
#: The longest literal or escape that the end of a block may cut.
_MAX_CUT_LENGTH = 16


class Number(str):
    """A number as the file writes it, or NaN or an infinity, which JSON does not have."""

    __slots__ = ()


class Parser:
    """Python's parser of JSON, with numbers as they are written; objects are dicts."""

    def __init__(self) -> None:
        self._decoder = json.JSONDecoder(
            parse_float=Number,
            parse_int=Number,
            parse_constant=Number,
            object_pairs_hook=self._build_object,
            strict=False,  # a tab within a text does no harm
        )
        self._repeated: str | None = None

    def _build_object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) < len(members):
            counts = Counter(name for name, _value in members)
            self._repeated = next(name for name, count in counts.items() if count > 1)
        return found

    def pop_repeated_member(self) -> str | None:
        """Return a member that an object has had twice since the last call."""
        found, self._repeated = self._repeated, None
        return found

    def parse_value(self, text: str, start: int | None = None) -> Any:
        """
        Parse a text that is one value, or return the value that begins at ``start``, and its end.

        Raises: ``json.JSONDecodeError``, ``NestedTooDeep``.
        """
        try:
            if start is None:
                return self._decoder.decode(text)
            return self._decoder.raw_decode(text, start)
        except RecursionError:
            raise NestedTooDeep(most=MAX_DEPTH) from None


class Document:
    """
    A JSON file, read from its start to its end.

    Every method raises ``NestedTooDeep``, or ``LoadFailed`` with ``json.invalid``,
    ``json.truncated``, ``json.long_value`` or ``file.unknown_encoding`` when what follows
    cannot be read.
    """

    def __init__(self, path: Path, encoding: str, parser: Parser) -> None:
        self._file = path.open(encoding=encoding, newline="")
        self._parser = parser
        self._text = ""
        self._position = 0
        self._has_ended = False
        self._line, self._column = 1, 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def peek_character(self) -> str:
        """Return the next character that is not blank, without reading it; empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._position)
            self._position = blank.end() if blank else self._position
            if self._position < len(self._text):
                return self._text[self._position]
            if self._has_ended:
                return ""
            self._read_block()

    def _read_character(self, characters: str) -> str:
        character = self.peek_character()
        if not character or character not in characters:
            raise self._describe_error(self._position)
        self._position += 1
        return character

    def read_value(self) -> Any:
        self.peek_character()
        while True:
            try:
                value, end = self._parser.parse_value(self._text, self._position)
            except json.JSONDecodeError as error:
                is_near_end = error.pos > len(self._text) - _MAX_CUT_LENGTH
                may_be_cut = is_near_end or error.msg.startswith("Unterminated")
                if self._has_ended or not may_be_cut:
                    raise self._describe_error(error.pos, error.msg) from error
            else:
                # A number may continue in the next block.
                if end < len(self._text) or self._has_ended:
                    self._position = end
                    return value
            if len(self._text) - self._position > MAX_VALUE_LENGTH:
                raise LoadFailed("json.long_value", most=MAX_VALUE_LENGTH // 2**20, line=self._line)
            self._read_block()

    def skip_value(self) -> None:
        """Read a value that is not needed; of a list, element by element."""
        if self.peek_character() == "[":
            deque(self.read_elements(), maxlen=0)
        else:
            self.read_value()
        self._parser.pop_repeated_member()

    def read_elements(self) -> Iterator[Any]:
        for _item in self._find_items("[", "]"):
            yield self.read_value()

    def read_members(self) -> Iterator[str]:
        """Read an object: give each member's name; the caller then reads or skips the value."""
        for _item in self._find_items("{", "}"):
            if self.peek_character() != '"':
                raise self._describe_error(self._position)
            name = self.read_value()
            self._read_character(":")
            yield name

    def check_end(self) -> None:
        if self.peek_character():
            raise self._describe_error(self._position)

    def _find_items(self, start: str, end: str) -> Iterator[None]:
        """Stop before each item of a list or an object; the caller reads it."""
        self._read_character(start)
        if self.peek_character() == end:
            self._read_character(end)
            return
        while True:
            yield
            if self._read_character(f",{end}") == end:
                return

    def _read_block(self) -> None:
        self._count_lines(self._position)
        rest = self._text[self._position :]
        try:
            block = self._file.read(max(_BLOCK_LENGTH, len(rest)))
        except UnicodeError as error:
            raise LoadFailed("file.unknown_encoding") from error
        self._has_ended = not block
        self._text, self._position = rest + block, 0

    def _count_lines(self, end: int) -> None:
        """Count lines and columns up to a position, for messages."""
        lines = self._text.count("\n", 0, end)
        if lines:
            self._line += lines
            self._column = end - self._text.rindex("\n", 0, end)
        else:
            self._column += end

    def _describe_error(self, position: int, message: str = "") -> LoadFailed:
        if position >= len(self._text) or message.startswith("Unterminated"):
            return LoadFailed("json.truncated")
        self._count_lines(position)
        return LoadFailed("json.invalid", line=self._line, column=self._column)


def format_json(value: Any, depth: int = 1) -> str:
    """Write a value as JSON text, with its numbers as they were."""
    if depth > MAX_DEPTH:
        raise NestedTooDeep(most=MAX_DEPTH)
    if isinstance(value, Number):
        return f'"{value}"' if value[-1] in "Ny" else value  # NaN, Infinity
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        members = (
            f"{json.dumps(name, ensure_ascii=False)}:{format_json(each, depth + 1)}"
            for name, each in value.items()
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join([format_json(each, depth + 1) for each in value]) + "]"
    return dump_json(value)
