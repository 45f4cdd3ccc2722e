"""
Name long rows that follow one another, for which DuckDB has too little memory.

It holds the values of 2,048 rows at once.  Rows that Python writes are counted before; of a file of
lines, which DuckDB itself reads, the longest are found after the shortage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...conf import conf
from ...exceptions.loads import LoadFailed
from .shortages import find_machine_shortage
from .stored_rows import ROWS_AT_ONCE

_MB = 2**20

#: DuckDB needs a multiple of the bytes of rows that it reads at once.
_MEMORY_RATIO = 4


class _WrittenBatch(NamedTuple):
    """Rows that were written together."""

    first_line: int
    rows: int
    size_bytes: int


class Neighbours:
    """The last rows that were written, as many as DuckDB holds at once."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._batches: deque[_WrittenBatch] = deque()

    def add_batch(self, first_line: int, rows: int, size_bytes: int) -> None:
        """
        Add the rows of a batch.

        Raises: ``LoadFailed`` with ``file.long_rows`` if all have more bytes than DuckDB's memory.
        """
        self._batches.append(_WrittenBatch(first_line, rows, size_bytes))
        while sum(batch.rows for batch in self._batches) > ROWS_AT_ONCE:
            self._batches.popleft()
        size = sum(batch.size_bytes for batch in self._batches)
        if size > conf.LOAD_MEMORY_BYTES:
            line = self._batches[0].first_line
            raise LoadFailed("file.long_rows", line=line, size=size // _MB)


@contextmanager
def explain_shortage(path: Path) -> Iterator[None]:
    """
    Name the rows that need the most memory, if the block fails because there is too little.

    Raises: ``LoadFailed`` with ``file.long_rows``, or what the block raises.
    """
    try:
        yield
    except Exception as error:
        shortage = error if isinstance(error, LoadFailed) else find_machine_shortage(error)
        if shortage and shortage.code == "load.out_of_memory":
            line, size = _find_longest_rows(path)
            if _MEMORY_RATIO * size > conf.LOAD_MEMORY_BYTES:
                raise LoadFailed("file.long_rows", line=line, size=size // _MB) from error
        raise


def _find_longest_rows(path: Path) -> tuple[int, int]:
    """Find the neighbouring lines with the most bytes: the number of the first, and their bytes."""
    longest = (1, 0)
    first = line = 1
    size = 0
    with path.open("rb") as file:
        while piece := file.readline(_MB):
            size += len(piece)
            line += piece.endswith(b"\n")
            longest = max(longest, (first, size), key=lambda each: each[1])
            if line - first == ROWS_AT_ONCE:
                first, size = line, 0
    return longest
