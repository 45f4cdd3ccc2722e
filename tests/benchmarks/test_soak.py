"""A short soak, with one fault of each kind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_short_soak_with_every_fault_loses_nothing_and_leaves_nothing() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}

    process = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.soak", "--rows", "5000"),
            *("--quiet-seconds", "2", "--minutes", "0.4", "--fault-minutes", "0.25"),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )

    assert process.returncode == 0, f"{process.stdout}\n{process.stderr}"
    assert "The portal passed." in process.stdout
    for line in ("quiet", "under load"):
        (count,) = re.findall(rf"^\| {line} +\| +([\d,]+)", process.stdout, re.MULTILINE)
        assert int(count.replace(",", "")) > 20
    for fault in ("a worker", "the load worker"):
        assert f"kill -9 of {fault}" in process.stdout
    assert "immediate stop of PostgreSQL" in process.stdout
