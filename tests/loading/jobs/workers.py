"""Workers in processes of their own, on the database of the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connection

PROJECT = Path(__file__).resolve().parents[3]

#: The backend of the tests, which runs tasks at once.
IMMEDIATE = settings.TASKS

#: The backend that the example project has.
DATABASE = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}


def database_url() -> str:
    """Write the address of the test's database."""
    known = {key: str(value or "") for key, value in connection.settings_dict.items()}
    user, password = quote(known["USER"], safe=""), quote(known["PASSWORD"], safe="")
    port = f":{known['PORT']}" if known["PORT"] else ""
    folder = connection.settings_dict["OPTIONS"].get("host")  # of the embedded server's socket
    where = f"?{urlencode({'host': folder})}" if folder else ""
    host = quote(known["HOST"], safe="")
    return f"postgres://{user}:{password}@{host}{port}/{known['NAME']}{where}"


def environment(url: str, uploads: Path) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": url, "MEDIA_ROOT": str(uploads)}


def worker_command(*arguments: str) -> list[str]:
    return [
        sys.executable, "manage.py", "db_worker", "--no-reload", "--no-startup-delay",
        "--interval", "0.1", "--skip-checks", *arguments,
    ]  # fmt: skip


@contextmanager
def working(url: str, uploads: Path) -> Iterator[subprocess.Popen[Any]]:
    """Let a worker run for the block; it is killed in the end."""
    with subprocess.Popen(
        worker_command(), cwd=PROJECT, env=environment(url, uploads), stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def work_off(url: str, uploads: Path) -> None:
    """Let a worker run all that is queued."""
    subprocess.run(
        worker_command("--batch"), cwd=PROJECT, env=environment(url, uploads), check=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
