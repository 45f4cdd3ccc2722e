"""Files that never end, or unpack to everything: refused or read, and nobody else suffers."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from datastore_search.exceptions.loads import (
    DamagedWorkbook,
    LoadFailed,
    NestedArchive,
    NoMemory,
    ReadingTooLong,
    SheetTooLarge,
    SuspiciousArchive,
    TooManyFields,
    UnknownDialect,
)
from datastore_search.loading import LoadOptions
from datastore_search.loading.reading import open_table, process

from .bombs import BOMBS

_MB = 2**20

#: What a process that reads may have in memory, the pages of its libraries among it.
_MEMORY_BYTES = 560 * _MB

#: What a small file may take, and what it takes for its size.
_SECONDS, _SECONDS_PER_MB = 10, 0.25


class Used:
    """What the process that reads has used, as the kernel counts it."""

    peak_bytes = 0
    seconds = 0.0

    def look(self) -> None:
        """Look at it once more, as often as the parent looks whether to go on."""
        for child in psutil.Process().children():
            with suppress(psutil.Error, OSError):
                times = child.cpu_times()
                self.seconds = max(self.seconds, times.user + times.system)
                status = Path(f"/proc/{child.pid}/status").read_text()
                if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
                    self.peak_bytes = max(self.peak_bytes, int(peak[1]) * 1024)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Used:
    """Look at the process that reads fifty times a second."""
    found = Used()
    monkeypatch.setattr(process, "_LOOK_AGAIN", 0.02)
    monkeypatch.setattr(process, "heed_interrupts", found.look)
    return found


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_and_harms_nobody(name: str, tmp_path: Path, used: Used) -> None:
    path = tmp_path / name
    content = BOMBS[name]()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with suppress(LoadFailed), open_table(path, LoadOptions()) as table:
        table.count()

    allowed = _SECONDS + _SECONDS_PER_MB * path.stat().st_size / _MB
    assert 0 < used.seconds < allowed
    assert 0 < used.peak_bytes < _MEMORY_BYTES


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("open_cells.xlsx", DamagedWorkbook),
        ("laughs.xlsx", DamagedWorkbook),
        ("lying_texts.xlsx", DamagedWorkbook),
        ("lying_sheet.xlsx", DamagedWorkbook),
        ("large_part.xlsx", SuspiciousArchive),
        ("large_texts.xlsx", SuspiciousArchive),
        ("far_corner.xlsx", SheetTooLarge),
        ("many_columns.xlsx", TooManyFields),
        ("rows.parquet", SuspiciousArchive),
        ("texts.parquet", SuspiciousArchive),
        ("short_texts.parquet", SuspiciousArchive),
        ("wide.parquet", SuspiciousArchive),
        ("gzip.csv.gz", SuspiciousArchive),
        ("twice.csv.gz", NestedArchive),
        ("open_quote_over_lines.csv", UnknownDialect),
        ("empty_objects_of_many_fields.json", ReadingTooLong),
        ("last_row.xlsx", NoMemory),
    ],
)
def test_the_refusal_says_what_is_wrong(
    name: str, refusal: type[LoadFailed], tmp_path: Path
) -> None:
    path = tmp_path / name
    content = BOMBS[name]()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(refusal), open_table(path, LoadOptions()):
        pass
