"""Tables of any length: the packages repeated, with different rows."""

from __future__ import annotations

import csv
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

from .failures import BenchmarkError
from .packages import Package, read_packages

#: The fields with their types, in order.
FIELDS = {
    **dict.fromkeys(("Package", "Version", "Section", "Priority", "Architecture"), "text"),
    **dict.fromkeys(("Installed-Size", "Size"), "int4"),
    **dict.fromkeys(("Maintainer", "Source", "Homepage", "Description"), "text"),
    "Released": "timestamp",
    "Score": "float8",
    "Share": "numeric",
}
HEADER = tuple(FIELDS)

Row = Sequence[str]

_FIRST_RELEASE = datetime.fromisoformat("2004-01-01")
_RELEASE_SPAN_SECONDS = 22 * 365 * 86_400
_MAX_INT4 = 2**31 - 1
#: One cell in this number is empty.
_EMPTY_EVERY = 128


class Source:
    """
    The source of the rows: a file with the columns of ``HEADER``, or the packages.

    The generated tables are in ``folder``.
    """

    def __init__(self, folder: Path, file: Path | None = None) -> None:
        """Use the rows of ``file``, or those of the packages."""
        self._folder, self._file = folder, file

    def count_available_rows(self, rows: int) -> int:
        """Return the number of rows that a table can have, at most ``rows``."""
        if self._file is None:
            return rows
        return sum(1 for _ in islice(_read_rows(self._file), rows))

    def generate_rows(self) -> Iterator[Row]:
        """Yield rows without end."""
        if self._file is None:
            return vary_rows(self._packages)
        return (row for _ in count() for row in _read_rows(self._file))

    def get_table(self, rows: int) -> Path:
        """Return a file of the first ``rows`` rows; an existing one is reused."""
        if self._file is not None and self.count_available_rows(rows + 1) == rows:
            return self._file
        path = self._folder / f"packages-{rows}.csv"
        if not path.exists():
            part = path.with_suffix(".part")
            write_table(part, islice(self.generate_rows(), rows))
            part.rename(path)
        return path

    @cached_property
    def _packages(self) -> list[Package]:
        return read_packages()


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write a CSV file with the header and some rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)


def _read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a file; raise ``BenchmarkError`` for one with other columns."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != HEADER:
            raise BenchmarkError(f"{path} must have the columns {', '.join(HEADER)}.")
        yield from reader


def vary_rows(base: Sequence[Package]) -> Iterator[Row]:
    """
    Yield the packages repeatedly, without end.

    From the second round on, versions have a suffix and numbers differ.  The changes come from a
    hash, so that the same packages make the same rows everywhere.
    """
    return (_build_row(package, turn) for turn in count() for package in base)


def _build_row(package: Package, turn: int) -> Row:
    key = "\n".join([package.name, package.version, package.architecture, str(turn)])
    first, second, when, score, share, empty = struct.unpack("<6I8x", sha256(key.encode()).digest())
    if turn:
        package = package._replace(
            version=f"{package.version}+{turn}",
            installed_size=_scale(package.installed_size, first),
            size=_scale(package.size, second),
        )
    return (
        *package,
        "" if empty % _EMPTY_EVERY == 0 else _build_timestamp(when),
        "" if empty % _EMPTY_EVERY == 1 else f"{score / 2**32 * 10:.6f}",
        f"{share % 10_000_000 / 100:.2f}",
    )


def _scale(number: str, chance: int) -> str:
    """Change a number by up to a half."""
    if not number:
        return ""
    return str(min(_MAX_INT4, int(number) * (512 + chance % 1024) // 1024))


def _build_timestamp(chance: int) -> str:
    return (_FIRST_RELEASE + timedelta(seconds=chance % _RELEASE_SPAN_SECONDS)).isoformat()
