"""Files that never end, or unpack to everything: refused or read, and nobody else suffers."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from datastore_search.exceptions.loads import (
    BinaryFile,
    DamagedWorkbook,
    LoadFailed,
    NestedArchive,
    NestedTooDeep,
    NoMemory,
    SheetTooLarge,
    SuspiciousArchive,
    TooManyFields,
    UnknownDialect,
)
from datastore_search.loading.jobs import LoadOptions
from datastore_search.loading.readers import open_table, process
from datastore_search.loading.readers.interrupter import Interrupter

from .bombs import BOMBS

_MB = 2**20

#: What a process that reads may have in memory, the pages of its libraries among it.
_MEMORY_BYTES = 560 * _MB

#: What a small file may take, and what it takes for its size.
_SECONDS, _SECONDS_PER_MB = 10, 0.25


class Used(Interrupter):
    """What the process that reads has used, as the kernel counts it."""

    peak_bytes = 0
    seconds = 0.0

    def raise_if_cancelled(self) -> None:
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
    monkeypatch.setattr(process, "_LOOK_AGAIN", 0.02)
    return Used()


#: What must be said of those whose fault is known; others may be read, or refused in another way.
_REFUSALS: dict[str, type[LoadFailed]] = {
    "open_cells.xlsx": DamagedWorkbook,
    "laughs.xlsx": DamagedWorkbook,
    "laughs.ods": DamagedWorkbook,
    "lying_texts.xlsx": DamagedWorkbook,
    "lying_sheet.xlsx": DamagedWorkbook,
    "large_part.xlsx": SuspiciousArchive,
    "large_texts.xlsx": SuspiciousArchive,
    "far_corner.xlsx": SheetTooLarge,
    "last_row.xlsx": NoMemory,
    "many_columns.xlsx": TooManyFields,
    "rows.parquet": SuspiciousArchive,
    "short_texts.parquet": SuspiciousArchive,
    "lists.parquet": SuspiciousArchive,
    "wide.parquet": SuspiciousArchive,
    "gzip.csv.gz": SuspiciousArchive,
    "zip.zip": SuspiciousArchive,
    "twice.csv.gz": NestedArchive,
    "deep.json": NestedTooDeep,
    "many_members.json": TooManyFields,
    "columns.csv": UnknownDialect,
    "open_quote_over_lines.csv": UnknownDialect,
    "nuls.csv": BinaryFile,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_and_harms_nobody(name: str, tmp_path: Path, used: Used) -> None:
    path = tmp_path / name
    content = BOMBS[name]()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    if refusal := _REFUSALS.get(name):
        with pytest.raises(refusal):
            read(path, used)
    else:
        with suppress(LoadFailed):
            read(path, used)

    allowed = _SECONDS + _SECONDS_PER_MB * path.stat().st_size / _MB
    assert 0 < used.seconds < allowed
    assert 0 < used.peak_bytes < _MEMORY_BYTES


def read(path: Path, used: Used) -> None:
    with open_table(path, LoadOptions(), interrupter=used) as table:
        table.count_rows()
