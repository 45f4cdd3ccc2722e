"""Files that take very long or unpack to very large content are refused or read within limits."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from datastore_search.contrib.analysis.engine.process import engine
from datastore_search.contrib.files.formats import process
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.formats.staging import Interrupter
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import LoadFailed

from ..builders import fails_with
from .bombs import BOMBS

_MB = 2**20

#: The maximum memory of a process that reads, with the pages of its libraries.
_MAX_MEMORY_BYTES = 560 * _MB

#: The maximum time for a small file, and in addition for its size.
_MAX_SECONDS, _MAX_SECONDS_PER_MB = 10, 0.25


class ResourceUsage(Interrupter):
    """The time and memory of the process that reads, as measured by the kernel."""

    peak_bytes = 0
    seconds = 0.0

    def raise_if_cancelled(self) -> None:
        """Measure again, each time that the parent checks for a cancellation."""
        for pid in Path("/proc/thread-self/children").read_text().split():
            with suppress(psutil.Error, OSError):
                times = psutil.Process(int(pid)).cpu_times()
                self.seconds = max(self.seconds, times.user + times.system)
                status = Path(f"/proc/{pid}/status").read_text()
                if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
                    self.peak_bytes = max(self.peak_bytes, int(peak[1]) * 1024)


@pytest.fixture
def usage(monkeypatch: pytest.MonkeyPatch) -> ResourceUsage:
    """Measure the process that reads fifty times a second; that of the engine has ended."""
    engine.close()
    monkeypatch.setattr(process, "_CHECK_INTERVAL_SECONDS", 0.02)
    return ResourceUsage()


#: The codes of failures that are certain; other files may be read, or fail with any code.
_EXPECTED_CODES: dict[str, str] = {
    "declared.xml": "file.save_as_csv",
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
    "rows.parquet": "archive.suspicious",
    "short_texts.parquet": "archive.suspicious",
    "lists.parquet": "archive.suspicious",
    "wide.parquet": "archive.suspicious",
    "empty_objects_of_many_fields.json": "archive.suspicious",
    "gzip.csv.gz": "archive.suspicious",
    "zip.zip": "archive.suspicious",
    "twice.csv.gz": "archive.nested",
    "deep.json": "json.too_deep",
    "many_keys.json": "json.no_list",
    "many_members.json": "file.too_many_fields",
    "columns.csv": "file.unknown_dialect",
    "open_quote_over_lines.csv": "file.unknown_dialect",
    "nuls.csv": "file.nul",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_or_read_within_limits(
    name: str, tmp_path: Path, usage: ResourceUsage
) -> None:
    path = tmp_path / name
    content = BOMBS[name]()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    if code := _EXPECTED_CODES.get(name):
        with fails_with(code):
            read_file(path, usage)
    else:
        with suppress(LoadFailed):
            read_file(path, usage)

    max_seconds = _MAX_SECONDS + _MAX_SECONDS_PER_MB * path.stat().st_size / _MB
    assert 0 < usage.seconds < max_seconds
    assert 0 < usage.peak_bytes < _MAX_MEMORY_BYTES


def read_file(path: Path, usage: ResourceUsage) -> None:
    with open_table(path, LoadOptions(), interrupter=usage) as table:
        table.count_rows()
