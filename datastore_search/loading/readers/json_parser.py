"""
JSON that is read piece by piece: memory holds one value of a list, and numbers keep their digits.

Python's own parser reads each value; this module finds where in the file they begin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...exceptions.loads import LoadFailed, NestedTooDeep
from ...field_types import dump_json

_BLOCK_LETTERS = 2**20
#: Of one value of a list, or one line.
VALUE_LETTERS_MOST = 16 * 2**20
#: Lists and objects within each other.
DEPTH_MOST = 100
_SPACE = re.compile(r"[ \t\n\r]*")
#: A piece of a literal or of an escape that the end of a block may cut.
_CUT_LETTERS = 16


class Number(str):
    """A number as the file writes it; NaN and the infinities, which JSON has not, among them."""

    __slots__ = ()

    @property
    def is_finite(self) -> bool:
        """Tell it from NaN and the infinities."""
        return self[-1] not in "Ny"


class Parser:
    """Python's parser of JSON, with numbers as they are written; objects are dicts."""

    def __init__(self) -> None:
        """Set the parser up."""
        self._decoder = json.JSONDecoder(
            parse_float=Number,
            parse_int=Number,
            parse_constant=Number,
            object_pairs_hook=self._object,
            strict=False,  # a tab within a text harms nobody
        )
        self._repeated: str | None = None

    def _object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) < len(members):
            seen: set[str] = set()
            for name, _value in members:
                if name in seen:
                    self._repeated = name
                    break
                seen.add(name)
        return found

    def take_repeated(self) -> str | None:
        """Name a member that an object had twice, among all since this was last asked."""
        found, self._repeated = self._repeated, None
        return found

    def value_at(self, text: str, start: int) -> tuple[Any, int]:
        """
        Read the value that begins at a place; give where it ends, too.

        Raises: ``json.JSONDecodeError``, ``NestedTooDeep``.
        """
        try:
            return self._decoder.raw_decode(text, start)
        except RecursionError:
            raise NestedTooDeep(most=DEPTH_MOST) from None

    def value_of(self, text: str) -> Any:
        """
        Read a text that is one value.

        Raises: ``json.JSONDecodeError``, ``NestedTooDeep``.
        """
        text = text.strip(" \t\n\r")
        value, end = self.value_at(text, 0)
        if end < len(text):
            message = "Extra data"
            raise json.JSONDecodeError(message, text, end)
        return value


class Document:
    """
    A JSON file and how far it has been read.

    Every method raises ``NestedTooDeep``, or ``LoadFailed`` with ``json.invalid``,
    ``json.truncated``, ``json.long_value`` or ``file.unknown_encoding``, when what follows cannot
    be read.
    """

    def __init__(self, path: Path, encoding: str, parser: Parser) -> None:
        """Open the file."""
        self._file = path.open(encoding=encoding, newline="")
        self._parser = parser
        self._text = ""
        self._at = 0
        self._ended = False
        self._line, self._letter = 1, 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def next(self) -> str:
        """Look at the next letter that is no space; empty at the end."""
        while True:
            self._at = self._after_space(self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._fill()

    def take(self, letters: str) -> str:
        """Take the next letter, which is to be one of some."""
        found = self.next()
        if not found or found not in letters:
            raise self._broken(self._at)
        self._at += 1
        return found

    def value(self) -> Any:
        """Take a value."""
        self.next()
        while True:
            try:
                value, end = self._parser.value_at(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended or self._is_wrong(error):
                    raise self._broken(error.pos, error) from error
            else:
                # A number may go on in the next block.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if len(self._text) - self._at > VALUE_LETTERS_MOST:
                raise LoadFailed(
                    "json.long_value", most=VALUE_LETTERS_MOST // 2**20, line=self._line
                )
            self._fill()

    def skip(self) -> None:
        """Take a value that nobody needs."""
        self.value()
        self._parser.take_repeated()

    def elements(self) -> Iterator[Any]:
        """Take a list, element by element."""
        self.take("[")
        if self.next() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """Take an object: give the name of each member, whose value is to be taken then."""
        self.take("{")
        if self.next() == "}":
            self.take("}")
            return
        while True:
            if self.next() != '"':
                raise self._broken(self._at)
            name = self.value()
            self.take(":")
            yield name
            if self.take(",}") == "}":
                return

    def end(self) -> None:
        """Make sure that nothing follows."""
        if self.next():
            raise self._broken(self._at)

    def _after_space(self, start: int) -> int:
        found = _SPACE.match(self._text, start)
        return found.end() if found else start

    def _fill(self) -> None:
        self._pass_over(self._at)
        rest = self._text[self._at :]
        try:
            block = self._file.read(max(_BLOCK_LETTERS, len(rest)))
        except UnicodeError as error:
            raise LoadFailed("file.unknown_encoding") from error
        self._ended = not block
        self._text, self._at = rest + block, 0

    def _pass_over(self, end: int) -> None:
        """Count lines and letters, for messages."""
        lines = self._text.count("\n", 0, end)
        if lines:
            self._line += lines
            self._letter = end - self._text.rindex("\n", 0, end)
        else:
            self._letter += end

    def _is_wrong(self, error: json.JSONDecodeError) -> bool:
        """Tell what is wrong from what the end of the block has cut."""
        cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _CUT_LETTERS
        return not cut

    def _broken(self, where: int, error: json.JSONDecodeError | None = None) -> LoadFailed:
        if where >= len(self._text) or (error and error.msg.startswith("Unterminated")):
            return LoadFailed("json.truncated")
        self._pass_over(where)
        return LoadFailed("json.invalid", line=self._line, letter=self._letter)


def written(value: Any, depth: int = 1) -> str:
    """
    Write a value as JSON text, its numbers as they were.

    Raises: ``NestedTooDeep``.
    """
    if depth > DEPTH_MOST:
        raise NestedTooDeep(most=DEPTH_MOST)
    if isinstance(value, Number):
        return value if value.is_finite else f'"{value}"'
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        members = (
            f"{json.dumps(name, ensure_ascii=False)}:{written(each, depth + 1)}"
            for name, each in value.items()
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join([written(each, depth + 1) for each in value]) + "]"
    return dump_json(value)
