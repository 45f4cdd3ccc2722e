"""The messages between a load and the process that builds its search vectors."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import IO

_HEADER = struct.Struct(">BI")
#: Neither a text of PostgreSQL nor a search vector has this character, or is this text.
_SEPARATOR, _NONE = "\0", "\1"


class Kind(IntEnum):
    """The kinds of messages."""

    #: Texts of records, to the child; and their vectors, from the child.
    TEXTS = 1
    #: What the child asks of the lexicon, and the answer.
    WORDS = 2


class PipeEndedError(Exception):
    """The process at the other end has ended."""


def write_message(pipe: IO[bytes], kind: Kind, content: bytes) -> None:
    """Write a message."""
    pipe.write(_HEADER.pack(kind, len(content)) + content)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> tuple[Kind, bytes]:
    """Wait for a message, and read it."""
    kind, size = _HEADER.unpack(_read_bytes(pipe, _HEADER.size))
    return Kind(kind), _read_bytes(pipe, size)


def _read_bytes(pipe: IO[bytes], size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise PipeEndedError
    return content


def pack_texts(texts: Sequence[str | None]) -> bytes:
    """Pack texts, of which at least one is there."""
    return _SEPARATOR.join(_NONE if text is None else text for text in texts).encode()


def unpack_texts(content: bytes) -> list[str | None]:
    """Unpack texts."""
    return [None if text == _NONE else text for text in content.decode().split(_SEPARATOR)]
