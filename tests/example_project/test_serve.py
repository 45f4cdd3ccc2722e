"""``make serve`` without make: a web server and a worker, which begin and end together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import pytest
from django.core.files.base import ContentFile

from datastore_search.loading.jobs import submit_load
from datastore_search.models import LoadState, Resource
from example_project.management.commands import serve

from ..loading.jobs.holds import wait_for
from ..loading.jobs.workers import DATABASE, PROJECT, database_url, environment


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


def serve_command(port: int, workers: int) -> list[str]:
    return [
        sys.executable, "manage.py", "serve", "--port", str(port), "--workers", str(workers)
    ]  # fmt: skip


@contextmanager
def serving(uploads: Path, workers: int = 1) -> Iterator[tuple[psutil.Popen, int]]:
    """Serve on a port, as soon as there is an answer; all processes are killed in the end."""
    port = free_port()
    # A shell lets what it runs in the background ignore SIGINT, and so would all its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        served = psutil.Popen(
            serve_command(port, workers), cwd=PROJECT,
            env=environment(database_url(), uploads), stderr=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        wait_for(lambda: answers(port), "an answer", alive=lambda: served.poll() is None)
        yield served, port
    finally:
        processes = served.children(recursive=True) if served.is_running() else []
        for process in [served, *processes]:  # the first one, or it would start the others again
            with suppress(psutil.NoSuchProcess):
                process.kill()
        served.wait()


def web_among(served: psutil.Popen) -> psutil.Process:
    (found,) = [process for process in served.children() if "granian" in process.cmdline()]
    return found


def worker_among(processes: list[psutil.Process]) -> psutil.Process:
    (found,) = [process for process in processes if "db_worker" in process.cmdline()]
    return found


@pytest.fixture
def resource(transactional_db: None, settings: Any) -> Iterator[Resource]:
    settings.TASKS = DATABASE
    yield Resource.objects.create(name="served")
    Resource.objects.all().delete()


def loaded(resource: Resource, served: psutil.Popen) -> str:
    load = submit_load(resource, file=ContentFile(b"a\n1\n2\n", name="file.csv"))

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
    with serving(uploads) as (served, _port):
        processes = served.children(recursive=True)
        assert loaded(resource, served) == LoadState.READY
        assert len(processes) >= 3

        os.kill(served.pid, number)
        served.wait()

        left, alive = psutil.wait_procs(processes, timeout=0)
        assert alive == []
        assert len(left) == len(processes)


def test_a_worker_that_dies_is_replaced(resource: Resource, uploads: Path) -> None:
    with serving(uploads) as (served, _port):
        worker_among(served.children()).kill()

        assert loaded(resource, served) == LoadState.READY


@pytest.mark.parametrize("killed", [1, 2], ids=["one", "all"])
@pytest.mark.usefixtures("transactional_db")
def test_workers_of_the_web_server_that_are_killed_are_replaced(uploads: Path, killed: int) -> None:
    with serving(uploads, workers=2) as (served, port):
        web = web_among(served)
        before = web.children()
        for process in before[:killed]:
            process.kill()

        def are_replaced() -> bool:
            alive = [process for process in web.children() if process.is_running()]
            return len(alive) == 2 and len({*alive} - {*before}) == killed

        wait_for(are_replaced, "other workers", alive=web.is_running)
        wait_for(lambda: answers(port), "an answer", alive=web.is_running)
        assert web_among(served) == web


@pytest.mark.usefixtures("transactional_db")
def test_a_web_server_that_is_killed_is_started_again_and_leaves_no_worker_behind(
    uploads: Path,
) -> None:
    with serving(uploads) as (served, port):
        web = web_among(served)
        orphans = web.children()
        time.sleep(max(0, web.create_time() + serve._MIN_UPTIME_SECONDS + 1 - time.time()))
        web.kill()

        left, alive = psutil.wait_procs(orphans, timeout=30)
        assert (len(left), alive) == (1, [])
        wait_for(lambda: answers(port), "an answer", alive=lambda: served.poll() is None)
        assert web_among(served) != web


def test_a_web_server_that_cannot_be_started_ends_everything(
    resource: Resource, uploads: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            serve_command(taken.getsockname()[1], 1), cwd=PROJECT, capture_output=True, text=True,
            env=environment(database_url(), uploads), check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.endswith("CommandError: The web server cannot be started.\n")


def changed(command: list[str], **options: int) -> list[str]:
    """The same command with other values of some of its options."""
    command = command.copy()
    for name, value in options.items():
        command[command.index("--" + name.replace("_", "-")) + 1] = str(value)
    return command


@pytest.mark.usefixtures("transactional_db")
def test_a_worker_over_the_limit_of_memory_is_replaced(uploads: Path) -> None:
    port = free_port()
    command = changed(
        serve.build_web_server_command(port, 1, 1),
        workers_max_rss=1,
        rss_sample_interval=1,
        rss_samples=1,
    )
    web = psutil.Popen(command, cwd=PROJECT, env=environment(database_url(), uploads))
    try:
        wait_for(lambda: answers(port), "an answer", alive=lambda: web.poll() is None)
        first = web.children()
        wait_for(
            lambda: not any(process.is_running() for process in first),
            "another worker", alive=lambda: web.poll() is None,
        )  # fmt: skip
        wait_for(lambda: answers(port), "an answer", alive=lambda: web.poll() is None)
    finally:
        web.terminate()
        web.wait()
