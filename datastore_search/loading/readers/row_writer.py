"""
Rows from Python on their way into the staged table.

DuckDB takes rows fastest from a file: they are written as CSV, in batches, and read from there.
Memory holds one row.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from ...exceptions.loads import LoadFailed
from ...messages import BadRow
from ...table_limits import MAX_FIELDS
from .staging import ROW_ERRORS, STAGED_ROWS, StagingArea, literal

#: Of one row; a boundary of a country with all its islands has more than CSV's rows may.
ROW_BYTES_MOST = 16 * 2**20
_BATCH_BYTES = 64 * 2**20
_FAULTS_AT_ONCE = 1_000
_VALUE_LETTERS = 100

#: What PostgreSQL has not, and what “surrogateescape” makes of bytes that are no UTF-8.
_UNSTORABLE, _UNDECODED = re.compile("[\0\ud800-\udfff]"), re.compile("[\udc80-\udcff]")

#: csv writes texts in quotes and numbers without: so null and the text "0" differ.
_NULL = 0


class Rows:
    """
    The table ``staged`` while it is being filled; fields may be added on the way.

    The table is made with the first rows that are written to it: fields that come one by one cost
    nothing until then.

    Rows that PostgreSQL could not store become faults.  ``faults.field`` holds the place of a field
    until ``finish`` knows their names.
    """

    def __init__(self, place: StagingArea, width: int = 0) -> None:
        """Make the table."""
        self.width = 0
        self._connection = place.connection
        self._path = place.folder / "rows.csv"
        self._faults: list[tuple[int, str, str, str]] = []
        self._limits = place.limits
        self._bytes = 0
        self._batch = _Batch(self._path)
        self._place = place
        #: Fields of the table, None before it is made.
        self._made: int | None = None
        self._has_faults = False
        self.widen(width)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._batch.close()

    def widen(self, width: int) -> None:
        """
        Add fields on the right; rows so far have no value there.

        Raises: ``LoadFailed`` with ``file.too_many_fields``.
        """
        if width > MAX_FIELDS:
            raise LoadFailed("file.too_many_fields", count=width, most=MAX_FIELDS)
        self._batch.is_ragged |= width > self.width
        self.width = max(self.width, width)

    def add(self, line: int, cells: Sequence[str | None]) -> None:
        """Add a row with a cell for each field."""
        try:
            size = self._batch.add(line, cells)
        except (UnicodeEncodeError, _NulError):
            self._note_unstorable(line, cells)
            return
        except _LengthError:
            self.fault(line, BadRow("row.too_long", most=ROW_BYTES_MOST // 2**20))
            return
        if size > _BATCH_BYTES:
            self._flush()

    def fault(self, line: int, why: BadRow, position: int | None = None, value: str = "") -> None:
        """Note that a row cannot be loaded, for the value of one field or as a whole."""
        field = "" if position is None else str(position)
        shown = _UNSTORABLE.sub("�", value[:_VALUE_LETTERS])
        self._faults.append((line, field, shown, json.dumps(why.to_json())))
        if len(self._faults) >= _FAULTS_AT_ONCE:
            self._flush_faults()

    def finish(self, names: Sequence[str], order: Sequence[int] | None = None) -> None:
        """
        Give faults the names of their fields.

        ``order`` are the places of the fields that are kept, in the order in which they shall be.
        """
        self._flush()
        self._flush_faults()
        self._batch.close()
        self._path.unlink()
        order = list(range(self.width)) if order is None else list(order)
        if order != list(range(self.width)):
            self._reorder(order)
        if not self._has_faults:
            return
        # A field may be called “1”: the mark keeps it from being taken for a place.
        for position, name in zip(order, names, strict=True):
            self._connection.execute(
                f"UPDATE {ROW_ERRORS} SET field = ? WHERE field = ?", [f"={name}", str(position)]
            )
        self._connection.execute(f"UPDATE {ROW_ERRORS} SET field = field[2:] WHERE field <> ''")

    def _reorder(self, order: Sequence[int]) -> None:
        for position in range(self.width):
            change = (
                f"RENAME f{position} TO old{position}" if position in order else f"DROP f{position}"
            )
            self._connection.execute(f"ALTER TABLE {STAGED_ROWS} {change}")
        for target, position in enumerate(order):
            self._connection.execute(f"ALTER TABLE {STAGED_ROWS} RENAME old{position} TO f{target}")

    def _note_unstorable(self, line: int, cells: Sequence[str | None]) -> None:
        for position, cell in enumerate(cells):
            if cell and _UNSTORABLE.search(cell):
                why = (
                    BadRow("row.not_utf8") if _UNDECODED.search(cell) else BadRow("row.unstorable")
                )
                self.fault(line, why, position, cell)

    def _flush(self) -> None:
        size = self._batch.close()
        self._bytes += size
        self._limits.check_unpacked_bytes(self._bytes)
        self._make()
        if size:
            columns = ["line BIGINT", *(f"f{place} VARCHAR" for place in range(self.width))]
            typed = ", ".join("'{}': '{}'".format(*column.split()) for column in columns)
            self._connection.execute(
                f"INSERT INTO {STAGED_ROWS} SELECT * FROM read_csv({literal(str(self._path))},"
                " auto_detect = false, header = false, delim = ',', quote = '\"', escape = '\"',"
                f" new_line = '\\n', nullstr = '{_NULL}', allow_quoted_nulls = false,"
                f" max_line_size = {2 * ROW_BYTES_MOST}, buffer_size = {4 * ROW_BYTES_MOST},"
                f" null_padding = {self._batch.is_ragged}, parallel = {not self._batch.is_ragged},"
                f" columns = {{{typed}}})"
            )
        self._batch = _Batch(self._path)

    def _make(self) -> None:
        """Make the table, or add the fields that are new."""
        if self._made is None:
            if not self._has_faults:
                self._place.prepare_width(self.width)
            columns = ["line BIGINT", *(f"f{place} VARCHAR" for place in range(self.width))]
            self._connection.execute(f"CREATE TABLE {STAGED_ROWS} ({', '.join(columns)})")
        for position in range(self.width if self._made is None else self._made, self.width):
            self._connection.execute(f"ALTER TABLE {STAGED_ROWS} ADD COLUMN f{position} VARCHAR")
        self._made = self.width

    def _flush_faults(self) -> None:
        if self._faults:
            self._has_faults = True
            self._connection.executemany(
                f"INSERT INTO {ROW_ERRORS} VALUES (?, ?, ?, ?)", self._faults
            )
            self._faults.clear()


class _NulError(ValueError):
    """PostgreSQL has no NUL in texts."""


class _LengthError(ValueError):
    """A row has more bytes than a row may."""


class _Batch:
    """A file of rows for DuckDB to read; it ``is_ragged`` where later rows have more cells."""

    def __init__(self, path: Path) -> None:
        self.is_ragged = False
        self._file: BinaryIO = path.open("wb")
        self._size = 0
        self._writer = csv.writer(self, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")

    def add(self, line: int, cells: Sequence[str | None]) -> int:
        """Write a row and tell how many bytes the file has now."""
        self._writer.writerow([line, *[_NULL if cell is None else cell for cell in cells]])
        return self._size

    def write(self, row: str) -> None:
        """Take what csv writes: a row at a time."""
        written = row.encode()
        if b"\0" in written:
            raise _NulError
        if len(written) > ROW_BYTES_MOST:
            raise _LengthError
        self._size += self._file.write(written)

    def close(self) -> int:
        """Finish the file and tell its size in bytes."""
        self._file.close()
        return self._size
