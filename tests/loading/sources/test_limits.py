"""The processor time that a file may take."""

from __future__ import annotations

import subprocess
import sys

import pytest

_MB = 2**20
_SCRIPT = """
import resource, sys
from django.conf import settings
from datastore_search.loading.sources.limits import ReadingLimits

settings.configure()
sent, unpacked, factor = map(int, sys.argv[1:])
limits = ReadingLimits(sent).enforce()
limits.extend_cpu_time(unpacked, factor=factor)
print(resource.getrlimit(resource.RLIMIT_CPU)[0])
"""


@pytest.mark.parametrize(
    ("sent", "unpacked", "factor", "seconds"),
    [
        (4 * _MB, 4 * _MB, 1, 8 + 1),
        (4 * _MB, 64 * _MB, 1, 8 + 16),
        (4 * _MB, 4 * _MB, 20, 8 + 20),
        (2 * _MB, 64 * _MB, 20, 8 + 20 * 16),
        # Packed to less than a fiftieth, which files that people send rarely are.
        (64 * 2**10, 64 * _MB, 20, 8 + 16 + 14),
        (1_000, 64 * _MB, 20, 8 + 16),
    ],
)
def test_a_file_may_take_time_by_its_bytes_packed_and_unpacked(
    sent: int, unpacked: int, factor: int, seconds: int
) -> None:
    printed = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(sent), str(unpacked), str(factor)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert int(printed) == seconds + 1  # whole seconds, rounded up
