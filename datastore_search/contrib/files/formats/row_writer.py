"""Write rows from Python into the staging area, as CSV in batches: DuckDB reads that fastest."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Self

from ....conf import conf as core_conf
from ..messages import UNSTORABLE, BadRow, LoadFailed
from .duckdb_sql import SQL, read_csv
from .staging import (
    MAX_SHOWN_LENGTH,
    ROW_ERRORS,
    ROWS_AT_ONCE,
    STAGED_ROWS,
    StagingArea,
    check_field_count,
    list_columns,
)

#: A row may have as much as the boundary of a country with all its islands.
MAX_ROW_BYTES = 16 * 2**20
TOO_LONG = BadRow("row.too_long", most=MAX_ROW_BYTES // 2**20)
_BATCH_BYTES = 64 * 2**20
_ERRORS_PER_BATCH = 1_000

#: csv writes texts with quotes and numbers without: so null and the text "0" differ.
_NULL = 0


class RowWriter:
    """
    Writes ``STAGED_ROWS`` and ``ROW_ERRORS``; fields may be added on the way.

    The table is created with the first batch: fields that come one by one cost nothing until then.

    A row that PostgreSQL could not store becomes an error.  ``ROW_ERRORS.field`` holds the position
    of a field until ``finish`` replaces it by the field's name.
    """

    def __init__(self, staging_area: StagingArea, width: int = 0) -> None:
        self.width = 0
        self.staging_area = staging_area
        self._path = staging_area.folder / "rows.csv"
        self._errors: list[tuple[int, str, str, str]] = []
        self._bytes = 0
        #: The first line, the rows and the bytes of the last batches: what DuckDB holds at once.
        self._neighbours: deque[tuple[int, int, int]] = deque()
        self._batch = _Batch(self._path)
        #: Fields of the table, None before it is created.
        self._created_width: int | None = None
        self.widen(width)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._batch.file.close()

    def widen(self, width: int) -> None:
        """
        Add fields on the right; earlier rows have no value there.

        Raises: ``LoadFailed`` with ``file.too_many_fields``.
        """
        check_field_count(width)
        self._batch.is_ragged |= width > self.width
        self.width = max(self.width, width)

    def add_row(self, line: int, cells: Sequence[str | None]) -> None:
        try:
            self._batch.add_row(line, cells)
        except UnicodeError:
            for position, cell in enumerate(cells):
                if cell and UNSTORABLE.search(cell):
                    self.add_error(line, BadRow("row.unstorable"), position, cell)
            return
        except OverflowError:
            self.add_error(line, TOO_LONG)
            return
        if self._batch.size > _BATCH_BYTES:
            self._flush_rows()

    def add_error(
        self, line: int, error: BadRow, position: int | None = None, value: str = ""
    ) -> None:
        """Add an error of a row: of the value at a position, or of the whole row."""
        field = "" if position is None else str(position)
        shown = UNSTORABLE.sub("�", value[:MAX_SHOWN_LENGTH])
        self._errors.append((line, field, shown, json.dumps(error.to_json())))
        if len(self._errors) >= _ERRORS_PER_BATCH:
            self._flush_errors()

    def finish(self, names: Sequence[str], order: Sequence[int]) -> None:
        """Write what is left of the fields at the positions of ``order``, with their names."""
        self._flush_rows()
        self._flush_errors()
        self._batch.file.close()
        self._path.unlink()
        if list(order) != list(range(self.width)):
            self.staging_area.rows.reorder_columns(order, self.width)
        self.staging_area.execute(
            "UPDATE {} AS errors SET field = named.name FROM"
            " (SELECT unnest(?::VARCHAR[]) AS position, unnest(?::VARCHAR[]) AS name)"
            " AS named WHERE errors.field = position",
            ROW_ERRORS,
            parameters=[list(map(str, order)), list(names)],
        )

    def _flush_rows(self) -> None:
        self._batch.file.close()
        batch_bytes = self._batch.size
        # Refuse rows that DuckDB would hold at once, and that have more bytes than its memory.
        self._neighbours.append((self._batch.first_line, self._batch.row_count, batch_bytes))
        while sum(rows for _line, rows, _bytes in self._neighbours) > ROWS_AT_ONCE:
            self._neighbours.popleft()
        size = sum(size for _line, _rows, size in self._neighbours)
        if size > core_conf.LOAD_MEMORY_BYTES:
            raise LoadFailed("file.long_rows", line=self._neighbours[0][0], size=size // 2**20)
        self._bytes += batch_bytes
        self.staging_area.limits.check_unpacked_bytes(self._bytes)
        self.staging_area.allow_width(self.width)
        if self._created_width is None:
            self.staging_area.rows.create(self.width)
        else:
            self.staging_area.rows.add_columns(self._created_width, self.width)
        self._created_width = self.width
        if self._batch.row_count:
            self._batch.insert(self.staging_area, self.width)
        self._batch = _Batch(self._path)

    def _flush_errors(self) -> None:
        if self._errors:
            insert = SQL("INSERT INTO {} VALUES (?, ?, ?, ?)").format(ROW_ERRORS)
            self.staging_area.connection.executemany(insert.text, self._errors)
            self._errors.clear()


class _Batch:
    """A file of rows for DuckDB to read; it ``is_ragged`` where later rows have more cells."""

    def __init__(self, path: Path) -> None:
        self.is_ragged = False
        self.first_line = self.row_count = 0
        self._path = path
        self.file: BinaryIO = path.open("wb")
        self.size = 0
        self._writer = csv.writer(self, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")

    def add_row(self, line: int, cells: Sequence[str | None]) -> None:
        """
        Add a row.

        Raises: ``UnicodeError`` where PostgreSQL cannot store a text, ``OverflowError`` above
        ``MAX_ROW_BYTES``.
        """
        self._writer.writerow([line, *[_NULL if cell is None else cell for cell in cells]])
        self.first_line = self.first_line or line
        self.row_count += 1

    def write(self, row: str) -> None:
        """Write a row, as ``csv`` calls it."""
        written = row.encode()
        if b"\0" in written:
            raise UnicodeError
        if len(written) > MAX_ROW_BYTES:
            raise OverflowError
        self.size += self.file.write(written)

    def insert(self, staging_area: StagingArea, width: int) -> None:
        """Insert the rows, once the file is closed, into a table of ``width`` fields."""
        source = read_csv(
            self._path,
            ["line", *list_columns(width)],
            nullstr=str(_NULL),
            max_line_size=2 * MAX_ROW_BYTES,
            buffer_size=4 * MAX_ROW_BYTES,
            null_padding=self.is_ragged,
            parallel=not self.is_ragged,
        )
        staging_area.execute("INSERT INTO {} SELECT * FROM {}", STAGED_ROWS, source)
