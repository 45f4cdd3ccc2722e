"""Damaged files of every format are read, or refused with a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_COUNT = 200


@pytest.mark.slow
def test_a_damaged_file_raises_nothing_but_a_load_failure() -> None:
    # 10,000 of them: python -m tests.files.formats.mutations --count 10000
    ended = subprocess.run(
        [sys.executable, "-m", "tests.files.formats.mutations", f"--count={_COUNT}"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=540,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    counts = {end: int(count) for count, end in map(str.split, ended.stdout.splitlines())}
    assert sum(counts.values()) == _COUNT
    assert counts["read"] >= _COUNT / 10  # most of these changes hurt no structure
