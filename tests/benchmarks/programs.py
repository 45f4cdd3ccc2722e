"""Run a program of ``benchmarks`` with a PostgreSQL of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from ..processes import PROJECT


def run_benchmark(*arguments: str) -> str:
    """Run a module of ``benchmarks`` that must succeed, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    process = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert process.returncode == 0, f"{process.stdout}\n{process.stderr}"
    return process.stdout
