"""Workers in separate processes, on the database of the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...processes import PROJECT, build_environment


def build_worker_command(*arguments: str) -> list[str]:
    return [
        sys.executable, "manage.py", "db_worker", "--no-reload", "--no-startup-delay",
        "--interval", "0.1", "--skip-checks", *arguments,
    ]  # fmt: skip


@contextmanager
def run_worker(url: str, uploads: Path) -> Iterator[subprocess.Popen[Any]]:
    with subprocess.Popen(
        build_worker_command(),
        cwd=PROJECT,
        env=build_environment(url, uploads),
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run_queued_tasks(url: str, uploads: Path) -> None:
    subprocess.run(
        build_worker_command("--batch"),
        cwd=PROJECT,
        env=build_environment(url, uploads),
        check=True,
        stderr=subprocess.DEVNULL,
        timeout=240,
    )
