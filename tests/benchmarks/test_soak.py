"""A short soak, with one fault of each kind."""

from __future__ import annotations

import re

import pytest

from .programs import run_benchmark


@pytest.mark.slow
def test_a_short_soak_with_every_fault_loses_nothing_and_leaves_nothing() -> None:
    printed = run_benchmark(
        *("benchmarks.soak", "--rows", "5000", "--quiet-seconds", "2"),
        *("--minutes", "0.4", "--fault-minutes", "0.25"),
    ).stdout

    assert "The portal passed." in printed
    for line in ("quiet", "under load"):
        (count,) = re.findall(rf"^\| {line} +\| +([\d,]+)", printed, re.MULTILINE)
        assert int(count.replace(",", "")) > 20
    for fault in ("a worker", "the load worker"):
        assert f"kill -9 of {fault}" in printed
    assert "immediate stop of PostgreSQL" in printed
