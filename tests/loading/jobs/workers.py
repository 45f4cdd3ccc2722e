"""Workers in separate processes, on the database of the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import django
from django.db import connection

PROJECT = Path(__file__).resolve().parents[3]

#: The backend of the tests, which runs tasks at once.
_TASKS = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
IMMEDIATE = {"default": {"BACKEND": f"{_TASKS}.backends.immediate.ImmediateBackend"}}

#: The backend of the example project.
DATABASE = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}


def build_database_url() -> str:
    """Build the URL of the test's database."""
    parameters = {key: str(value or "") for key, value in connection.settings_dict.items()}
    user, password = quote(parameters["USER"], safe=""), quote(parameters["PASSWORD"], safe="")
    port = f":{parameters['PORT']}" if parameters["PORT"] else ""
    # The folder of a socket may be an option, as in the URL of a server.
    host = quote(connection.settings_dict["OPTIONS"].get("host") or parameters["HOST"], safe="")
    return f"postgres://{user}:{password}@{host}{port}/{parameters['NAME']}"


def build_environment(url: str, uploads: Path) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": url, "MEDIA_ROOT": str(uploads)}


def build_worker_command(*arguments: str) -> list[str]:
    return [
        sys.executable, "manage.py", "db_worker", "--no-reload", "--no-startup-delay",
        "--interval", "0.1", "--skip-checks", *arguments,
    ]  # fmt: skip


@contextmanager
def run_worker(url: str, uploads: Path) -> Iterator[subprocess.Popen[Any]]:
    """Run a worker within the block, and kill it at the end."""
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
    """Run all queued tasks in a worker."""
    subprocess.run(
        build_worker_command("--batch"),
        cwd=PROJECT,
        env=build_environment(url, uploads),
        check=True,
        stderr=subprocess.DEVNULL,
        timeout=240,
    )
