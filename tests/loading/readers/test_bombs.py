"""Files that never end, or unpack to everything: refused or read, and nobody else suffers."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from datastore_search.exceptions.loads import LoadFailed
from datastore_search.loading.jobs import LoadOptions
from datastore_search.loading.readers import process
from datastore_search.loading.readers.interrupter import Interrupter
from datastore_search.loading.readers.process import open_table

from ...failures import fails_with
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
        for pid in Path("/proc/thread-self/children").read_text().split():
            with suppress(psutil.Error, OSError):
                times = psutil.Process(int(pid)).cpu_times()
                self.seconds = max(self.seconds, times.user + times.system)
                status = Path(f"/proc/{pid}/status").read_text()
                if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
                    self.peak_bytes = max(self.peak_bytes, int(peak[1]) * 1024)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Used:
    """Look at the process that reads fifty times a second."""
    monkeypatch.setattr(process, "_CHECK_SECONDS", 0.02)
    return Used()


#: What must be said of those whose fault is known; others may be read, or refused in another way.
_REFUSALS: dict[str, str] = {
    "open_cells.xlsx": "workbook.damaged",
    "laughs.xlsx": "workbook.damaged",
    "laughs_beside_sheets.xlsx": "workbook.damaged",
    "repeated_cells.ods": "load.out_of_memory",
    "laughs.ods": "workbook.empty",
    "lying_texts.xlsx": "workbook.damaged",
    "lying_sheet.xlsx": "workbook.damaged",
    "large_part.xlsx": "archive.suspicious",
    "large_texts.xlsx": "archive.suspicious",
    "far_corner.xlsx": "load.out_of_memory",
    "last_row.xlsx": "load.out_of_memory",
    "many_columns.xlsx": "file.too_many_fields",
    "rows.parquet": "archive.suspicious",
    "short_texts.parquet": "archive.suspicious",
    "lists.parquet": "archive.suspicious",
    "wide.parquet": "archive.suspicious",
    "gzip.csv.gz": "archive.suspicious",
    "zip.zip": "archive.suspicious",
    "twice.csv.gz": "archive.nested",
    "deep.json": "json.too_deep",
    "many_members.json": "file.too_many_fields",
    "columns.csv": "file.unknown_dialect",
    "open_quote_over_lines.csv": "file.unknown_dialect",
    "nuls.csv": "file.binary",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_and_harms_nobody(name: str, tmp_path: Path, used: Used) -> None:
    path = tmp_path / name
    content = BOMBS[name]()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    if refusal := _REFUSALS.get(name):
        with fails_with(refusal):
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
