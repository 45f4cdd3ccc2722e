"""The processor time that a file may take."""

from __future__ import annotations

import json
import subprocess
import sys

_MB = 2**20
_SCRIPT = """
import json, os, resource, sys
from django.conf import settings
from datastore_search.contrib.files.sources.limits import ReadingLimits

settings.configure()
for sent, unpacked, factor in json.loads(sys.argv[1]):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    limits = ReadingLimits(sent).enforce()
    limits.extend_cpu_time(unpacked, factor=factor)
    print(resource.getrlimit(resource.RLIMIT_CPU)[0], flush=True)
    os._exit(0)
"""


#: Bytes sent, bytes unpacked, the factor, and the seconds.
_CASES = [
    (4 * _MB, 4 * _MB, 1, 8 + 1),
    (4 * _MB, 64 * _MB, 1, 8 + 16),
    (4 * _MB, 4 * _MB, 20, 8 + 20),
    (2 * _MB, 64 * _MB, 20, 8 + 20 * 16),
    # Packed to less than a fiftieth, which files that people send rarely are.
    (64 * 2**10, 64 * _MB, 20, 8 + 16 + 14),
    (1_000, 64 * _MB, 20, 8 + 16),
]


def test_a_file_may_take_time_by_its_bytes_packed_and_unpacked() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps([case[:3] for case in _CASES])],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    # Whole seconds, rounded up.
    assert [*map(int, printed.split())] == [seconds + 1 for *_bytes, seconds in _CASES]
