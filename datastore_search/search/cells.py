"""
Copy the cells of records out of PostgreSQL, as CSV or row by row.

Of more columns than PostgreSQL can return, it writes lists of texts, one to a line, from which the
same cells are made here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg import Copy

from ..filters import Clause
from .consistency import JSON_LINES, ConsistentRead, compose_csv_options
from .rendering import Columns

Row = tuple[str | None, ...]


@contextmanager
def copy_csv(
    read: ConsistentRead, statement: Clause, columns: Columns, delimiter: str
) -> Iterator[tuple[Copy, Iterator[bytes]]]:
    """Copy the ``cells`` of columns as PostgreSQL's CSV: each row with its line's end."""
    options = JSON_LINES if columns.are_many else compose_csv_options(delimiter)
    with read.copy(statement, options) as copy:
        lines = map(bytes, copy)
        yield copy, map(_build_csv_writer(delimiter), lines) if columns.are_many else lines


def read_cells(line: bytes) -> Row:
    """Read the cells of a line that has a list of them."""
    return tuple(json.loads(line))


def _build_csv_writer(delimiter: str) -> Callable[[bytes], bytes]:
    """
    Build a function that writes the cells of a line as a row of CSV.

    Source: PostgreSQL's COPY, which quotes a text only where it must, and the empty one.
    """
    is_quoted = re.compile(f'[{re.escape(delimiter)}"\\r\\n]|\\A\\Z').search

    def write(line: bytes) -> bytes:
        cells = (
            "" if cell is None else _quote(cell) if is_quoted(cell) else cell
            for cell in read_cells(line)
        )
        return f"{delimiter.join(cells)}\n".encode()

    return write


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
