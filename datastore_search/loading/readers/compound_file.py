"""
Check the chains of sectors of a compound file (OLE2), in which an XLS is stored.

The file allocation table (FAT) has, for each sector of a stream, the number of the next one.
calamine follows the numbers: a sector that leads back to an earlier one would fill the memory.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import Struct

from ...exceptions.loads import LoadFailed

#: What the header has from byte 30 on: the sizes of sectors and of small ones, as powers of 2; the
#: size of the FAT, and where the directory begins; where the FAT of small sectors begins, and its
#: size; where the list of the FAT's sectors goes on, and its first 109 numbers.
_HEADER, _HEADER_START = Struct("<HH10xII8xIII4x109I"), 30
_SECTOR_SHIFTS, _SMALL_SECTOR_SHIFT = (9, 12), 6

#: Of an entry of the directory: what it is, where its stream begins, and the bytes of the stream.
_ENTRY = Struct("<66xB49xIQ")
_STREAM, _ROOT = 2, 5
#: Shorter streams are in small sectors.
_MIN_LARGE_BYTES = 4096
#: Files with sectors of 512 bytes count bytes with 32 bits; what follows may be anything.
_COUNTED_BYTES = {9: 2**32 - 1, 12: 2**64 - 1}

#: Numbers from here on are not of sectors: they end a chain, or say what a sector is used for.
_FIRST_MARK = 0xFFFFFFFA


def check_compound_file(path: Path) -> None:
    """
    Check that no chain has a sector twice.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        if len(content) < _HEADER_START + _HEADER.size:
            raise LoadFailed("workbook.damaged")
        _check_chains(content)


def _check_chains(content: mmap) -> None:
    shift, small_shift, fat_size, directory, small_fat_start, small_fat_size, more, *first = (
        _HEADER.unpack_from(content, _HEADER_START)
    )
    if shift not in _SECTOR_SHIFTS or small_shift != _SMALL_SECTOR_SHIFT:
        raise LoadFailed("workbook.damaged")
    sectors = _Sectors(content, 1 << shift)
    if max(fat_size, small_fat_size) > sectors.count:
        raise LoadFailed("workbook.damaged")
    fat = sectors.read_numbers(_list_fat_sectors(sectors, first, more))
    small_fat = sectors.read_numbers(_follow_chain(fat, small_fat_start, small_fat_size))
    for number in _follow_chain(fat, directory, len(fat)):
        for kind, start, counted in _ENTRY.iter_unpack(sectors.read(number)):
            length = counted & _COUNTED_BYTES[shift]
            if kind == _ROOT or (kind == _STREAM and length >= _MIN_LARGE_BYTES):
                _follow_chain(fat, start, -(-length >> shift))
            elif kind == _STREAM:
                _follow_chain(small_fat, start, -(-length >> small_shift))


class _Sectors:
    """The sectors of a file, by their numbers; the last one may be cut short."""

    def __init__(self, content: mmap, size_bytes: int) -> None:
        self._content = content
        self._size = size_bytes
        self.count = -(-len(content) // size_bytes) - 1  # without the header

    def read(self, number: int) -> bytes:
        """
        Read a sector; what the file does not have of it is 0.

        Raises: ``LoadFailed`` with ``workbook.damaged`` for a sector beyond the file.
        """
        if number >= self.count:
            raise LoadFailed("workbook.damaged")
        start = (number + 1) * self._size
        return self._content[start : start + self._size].ljust(self._size, b"\0")

    def read_numbers(self, chain: Sequence[int]) -> Sequence[int]:
        """Read the numbers in some sectors."""
        numbers = array("I", b"".join(map(self.read, chain)))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers


def _list_fat_sectors(sectors: _Sectors, first: Sequence[int], more: int) -> list[int]:
    """
    List the sectors of the FAT: the first ones, and those in a chain of sectors of its own.

    Raises: ``LoadFailed`` with ``workbook.damaged`` for more of them than the file has.
    """
    numbers = list(first)
    while more < _FIRST_MARK:
        *further, more = sectors.read_numbers([more])
        numbers += further
        if len(numbers) > len(first) + sectors.count * len(further):
            raise LoadFailed("workbook.damaged")
    used = [number for number in numbers if number < _FIRST_MARK]
    if len(used) > sectors.count:
        raise LoadFailed("workbook.damaged")
    return used


def _follow_chain(fat: Sequence[int], number: int, max_sectors: int) -> Sequence[int]:
    """
    Follow a chain to its end, or to ``max_sectors``; return its sectors.

    Raises: ``LoadFailed`` with ``workbook.damaged`` for a chain that has a sector twice.
    """
    chain: dict[int, None] = {}
    while number < len(fat) and len(chain) < max_sectors:
        if number in chain:
            raise LoadFailed("workbook.damaged")
        chain[number] = None
        number = fat[number]
    return list(chain)
