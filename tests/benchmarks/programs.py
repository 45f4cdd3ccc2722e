"""Run a program of ``benchmarks``."""

from __future__ import annotations

import os
import subprocess
import sys

from ..processes import PROJECT


def run_benchmark(
    *arguments: object, database_url: str = "", may_fail: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a module of ``benchmarks``; without an address it has a PostgreSQL of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    process = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=PROJECT,
        env=environment | ({"DATABASE_URL": database_url} if database_url else {}),
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert may_fail or process.returncode == 0, f"{process.stdout}\n{process.stderr}"
    return process
