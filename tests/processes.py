"""Processes that tests start: the database of the test, tasks, and waiting for what happens."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import django
from django.db import connection

from datastore_search.database.statements import fetch_value

PROJECT = Path(__file__).resolve().parents[1]

#: The backend of the tests, which runs tasks at once.
_TASKS = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
IMMEDIATE = {"default": {"BACKEND": f"{_TASKS}.backends.immediate.ImmediateBackend"}}

#: The backend of the example project.
DATABASE = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}

#: Longer than anything takes that a test waits for, on a machine that is busy.
MAX_WAIT_SECONDS = 240


def build_database_url() -> str:
    parameters = {key: str(value or "") for key, value in connection.settings_dict.items()}
    user, password = quote(parameters["USER"], safe=""), quote(parameters["PASSWORD"], safe="")
    port = f":{parameters['PORT']}" if parameters["PORT"] else ""
    # The folder of a socket may be an option, as in the URL of a server.
    host = quote(connection.settings_dict["OPTIONS"].get("host") or parameters["HOST"], safe="")
    return f"postgres://{user}:{password}@{host}{port}/{parameters['NAME']}"


def build_environment(url: str, uploads: Path) -> dict[str, str]:
    """Build the environment of a process on a database, with a folder for uploads."""
    return {**os.environ, "DATABASE_URL": url, "MEDIA_ROOT": str(uploads)}


def run_program(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with other variables of the environment."""
    return subprocess.run(
        [*map(str, command)],
        cwd=PROJECT,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def count_waiting_sessions() -> int:
    """Count the sessions of this database that wait for a lock; those of other tests wait, too."""
    statement = (  # unlike pg_stat_activity, pg_locks is read anew within a transaction
        "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN ("
        "SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database"
        " WHERE datname = current_database())"
    )
    return int(fetch_value(connection, statement))


def wait_until(condition: Callable[[], object], event: str, *, alive: Callable[[], object]) -> None:
    """Wait for a condition, while the process that fulfils it is alive, but not for ever."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while not condition():
        assert alive(), f"{event} cannot happen: the process has ended"
        assert time.monotonic() < deadline, f"{event} has not happened in {MAX_WAIT_SECONDS} s"
        time.sleep(0.05)


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def has_answer(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/en/datastore/", timeout=30) as answer:
            return bool(answer.status == 200)
    except HTTPError:
        raise
    except OSError:
        return False
