"""
The container of an XLS, before calamine reads it.

A file in it is a chain of sectors; a damaged chain may lead back into itself, and calamine would
follow it for ever.

Source: Microsoft's “Compound File Binary File Format”, [MS-CFB].
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ...exceptions.loads import LoadFailed

_HEADER_BYTES = 512
_SHIFTS = frozenset({9, 12})
#: Places in the header: how large sectors are, and where its own lists of sectors begin.
_SHIFT, _MINI_START, _MORE_START, _LIST = 30, 60, 68, 76
#: Numbers from here on are no sectors.
_RESERVED = 0xFFFFFFFA


def look_at_chains(path: Path) -> None:
    """
    Make sure that every chain of sectors has an end.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or _number(header, _SHIFT, "H") not in _SHIFTS:
            raise LoadFailed("workbook.damaged")
        container = _Container(file, 1 << _number(header, _SHIFT, "H"))
        following = container.following(header)
        _look_for_end(following)
        small = list(_chain(following, _number(header, _MINI_START)))
        _look_for_end([number for sector in small for number in container.sector(sector)])


class _Container:
    """The sectors of a file, each read as numbers."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size

    def sector(self, number: int) -> Sequence[int]:
        """Read a sector; what is missing of it is empty."""
        self._file.seek((number + 1) * self._size)
        content = self._file.read(self._size)
        count = len(content) // 4
        return struct.unpack(f"<{count}I", content[: 4 * count])

    def following(self, header: bytes) -> list[int]:
        """Read which sector follows which: the table's own sectors are listed in the header."""
        listed = [*struct.unpack_from("<109I", header, _LIST)]
        more, seen = _number(header, _MORE_START), set[int]()
        while more < _RESERVED:
            if more in seen:
                raise LoadFailed("workbook.damaged")
            seen.add(more)
            *numbers, more = self.sector(more) or (_RESERVED,)
            listed += numbers
        # A sector that is listed again and again would be as good as an endless chain.
        sectors = [sector for sector in listed if sector < _RESERVED]
        if len(sectors) != len(set(sectors)):
            raise LoadFailed("workbook.damaged")
        return [number for sector in sectors for number in self.sector(sector)]


def _number(header: bytes, place: int, kind: str = "I") -> int:
    (number,) = struct.unpack_from(f"<{kind}", header, place)
    return int(number)


def _chain(following: Sequence[int], start: int) -> Iterator[int]:
    while start < len(following):
        yield start
        start = following[start]


def _look_for_end(following: Sequence[int]) -> None:
    """Follow every chain once: one that meets itself has no end."""
    passed = [0] * len(following)
    for walk, start in enumerate(range(len(following)), start=1):
        place = start
        while place < len(following) and not passed[place]:
            passed[place] = walk
            place = following[place]
        if place < len(following) and passed[place] == walk and following[place] < _RESERVED:
            raise LoadFailed("workbook.damaged")
