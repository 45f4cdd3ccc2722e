"""``make serve`` without make: a web server and a worker, which begin and end together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import pytest
from django.core.files.base import ContentFile

from datastore_search.loading import submit
from datastore_search.models import LoadState, Resource

from ..loading.holds import wait_for
from ..loading.workers import DATABASE, PROJECT, database_url, environment


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/en/datastore/") as answer:
            return bool(answer.status == 200)
    except HTTPError:
        raise
    except OSError:
        return False


@contextmanager
def serving(uploads: Path) -> Iterator[tuple[psutil.Popen, list[psutil.Process]]]:
    """Serve, as soon as there is an answer; all processes are killed in the end."""
    port = free_port()
    command = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", "1"]
    # A shell lets what it runs in the background ignore SIGINT, and so would all its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        served = psutil.Popen(
            command, cwd=PROJECT, env=environment(database_url(), uploads), start_new_session=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        wait_for(lambda: answers(port), "an answer", alive=lambda: served.poll() is None)
        yield served, served.children(recursive=True)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(served.pid, signal.SIGKILL)
        served.wait()


def worker_among(processes: list[psutil.Process]) -> psutil.Process:
    (found,) = [process for process in processes if "db_worker" in process.cmdline()]
    return found


@pytest.fixture
def resource(transactional_db: None, settings: Any) -> Iterator[Resource]:
    settings.TASKS = DATABASE
    yield Resource.objects.create(name="served")
    Resource.objects.all().delete()


def loaded(resource: Resource, served: psutil.Popen) -> str:
    load = submit(resource, file=ContentFile(b"a\n1\n2\n", name="file.csv"))

    def is_over() -> bool:
        load.refresh_from_db()
        return load.is_finished

    wait_for(is_over, "the end of the load", alive=served.is_running)
    assert load.error == ""
    return load.state


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_what_is_queued_is_loaded_and_nobody_is_left_behind(
    resource: Resource, uploads: Path, number: int
) -> None:
    with serving(uploads) as (served, processes):
        assert loaded(resource, served) == LoadState.READY
        assert len(processes) >= 3

        os.kill(served.pid, number)
        served.wait()

        left, alive = psutil.wait_procs(processes, timeout=0)
        assert alive == []
        assert len(left) == len(processes)


def test_a_worker_that_dies_is_replaced(resource: Resource, uploads: Path) -> None:
    with serving(uploads) as (served, processes):
        worker_among(processes).kill()

        assert loaded(resource, served) == LoadState.READY


def test_a_web_server_that_dies_takes_the_worker_with_it(resource: Resource, uploads: Path) -> None:
    with serving(uploads) as (served, processes):
        (web,) = [process for process in served.children() if "granian" in process.cmdline()]
        worker = worker_among(processes)
        web.kill()
        served.wait()

        assert not worker.is_running()
