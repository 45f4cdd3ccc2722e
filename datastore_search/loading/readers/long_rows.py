"""Explain a shortage of memory by long rows that follow one another in a file of lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...conf import conf
from ...exceptions.loads import LoadFailed
from .row_ranges import ROWS_AT_ONCE
from .shortages import find_machine_shortage

_MB = 2**20

#: DuckDB needs a multiple of the bytes of rows that it reads at once.
_MEMORY_RATIO = 4


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
