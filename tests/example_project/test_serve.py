"""``make serve`` without make: a web server and a worker that start and end together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest
from django.core.files.base import ContentFile

from datastore_search.contrib.files.jobs import submit_load
from datastore_search.contrib.files.models import LoadState
from datastore_search.models import Resource
from example_project.management.commands import serve

from ..processes import (
    DATABASE,
    PROJECT,
    build_database_url,
    build_environment,
    find_free_port,
    has_answer,
    run_program,
    wait_until,
)


def build_serve_command(port: int, workers: int) -> list[str]:
    return [
        sys.executable, "manage.py", "serve", "--port", str(port), "--workers", str(workers)
    ]  # fmt: skip


@contextmanager
def run_serve(uploads: Path, workers: int = 1) -> Iterator[tuple[psutil.Popen, int]]:
    """Serve on a port, and wait for an answer; kill all processes at the end."""
    port = find_free_port()
    # A process that a shell runs in the background ignores SIGINT, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        supervisor = psutil.Popen(
            build_serve_command(port, workers), cwd=PROJECT,
            env=build_environment(build_database_url(), uploads), stderr=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        wait_until(lambda: has_answer(port), "an answer", alive=lambda: supervisor.poll() is None)
        yield supervisor, port
    finally:
        processes = supervisor.children(recursive=True) if supervisor.is_running() else []
        # The supervisor first, because it restarts the others.
        for process in [supervisor, *processes]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        supervisor.wait(30)


def get_web_server(supervisor: psutil.Popen) -> psutil.Process:
    (server,) = [process for process in supervisor.children() if "granian" in process.cmdline()]
    return server


@pytest.fixture
def resource(transactional_db: None, settings: Any) -> Iterator[Resource]:
    settings.TASKS = DATABASE
    yield Resource.objects.create(name="served")
    Resource.objects.all().delete()


def run_load(resource: Resource, supervisor: psutil.Popen) -> str:
    load = submit_load(resource, file=ContentFile(b"a\n1\n2\n", name="file.csv"))

    def has_ended() -> bool:
        load.refresh_from_db()
        return load.is_finished

    wait_until(has_ended, "the end of the load", alive=supervisor.is_running)
    assert load.error == ""
    return load.state


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_queued_loads_run_and_no_process_is_left(
    resource: Resource, uploads: Path, number: int
) -> None:
    with run_serve(uploads) as (supervisor, _port):
        processes = supervisor.children(recursive=True)
        assert run_load(resource, supervisor) == LoadState.READY
        assert len(processes) >= 3

        os.kill(supervisor.pid, number)
        supervisor.wait(60)

        ended, alive = psutil.wait_procs(processes, timeout=0)
        assert alive == []
        assert len(ended) == len(processes)


@pytest.mark.slow
@pytest.mark.usefixtures("transactional_db")
def test_a_web_server_that_is_killed_is_started_again_and_leaves_no_worker_behind(
    uploads: Path,
) -> None:
    with run_serve(uploads) as (supervisor, port):
        web = get_web_server(supervisor)
        orphans = web.children()
        time.sleep(max(0, web.create_time() + serve._MIN_UPTIME_SECONDS + 1 - time.time()))
        web.kill()

        ended, alive = psutil.wait_procs(orphans, timeout=30)
        assert (len(ended), alive) == (1, [])
        wait_until(lambda: has_answer(port), "an answer", alive=lambda: supervisor.poll() is None)
        assert get_web_server(supervisor) != web


@pytest.mark.slow
def test_a_web_server_that_cannot_be_started_ends_everything(
    resource: Resource, uploads: Path
) -> None:
    process = run_program(
        *build_serve_command(find_free_port(), workers=0),  # which granian refuses
        **build_environment(build_database_url(), uploads),
    )

    assert process.returncode == 1
    assert process.stderr.endswith("CommandError: The web server cannot be started.\n")


def change_options(command: list[str], **options: int) -> list[str]:
    command = command.copy()
    for name, value in options.items():
        command[command.index("--" + name.replace("_", "-")) + 1] = str(value)
    return command


@contextmanager
def replace_workers(uploads: Path, **options: int) -> Iterator[tuple[psutil.Popen, int]]:
    """Run a web server that replaces its worker for its memory, again and again."""
    port = find_free_port()
    command = change_options(
        serve.build_web_server_command(port, 1, 2),
        workers_max_rss=1,
        rss_sample_interval=1,
        rss_samples=1,
        **options,
    )
    web = psutil.Popen(command, cwd=PROJECT, env=build_environment(build_database_url(), uploads))
    try:
        wait_until(lambda: has_answer(port), "an answer", alive=lambda: web.poll() is None)
        yield web, port
    finally:
        processes = web.children()
        web.kill()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        web.wait(30)


@pytest.mark.slow
def test_a_worker_that_is_replaced_finishes_its_downloads(large: Resource, uploads: Path) -> None:
    with replace_workers(uploads) as (web, port):
        with urlopen(
            f"http://127.0.0.1:{port}/en/datastore/dump/{large.pk}", timeout=60
        ) as download:
            start = download.read(100)
            (serving,) = list_busy_workers(web, port)
            wait_until(
                lambda: not is_listening(serving, port),
                "the end of the worker's service", alive=serving.is_running,
            )  # fmt: skip
            wait_until(lambda: has_answer(port), "an answer of the next", alive=serving.is_running)
            time.sleep(6)  # a worker was killed after 5 seconds
            file = start + download.read()
        wait_until(lambda: not serving.is_running(), "the end of the worker", alive=web.is_running)

    assert len(file.splitlines()) == 4_001


def list_busy_workers(web: psutil.Popen, port: int) -> list[psutil.Process]:
    """List the workers that have a connection of a client."""
    return [
        worker
        for worker in web.children()
        if any(
            each.status == psutil.CONN_ESTABLISHED and each.laddr.port == port
            for each in worker.net_connections()
        )
    ]


def is_listening(worker: psutil.Process, port: int) -> bool:
    return any(
        each.status == psutil.CONN_LISTEN and each.laddr.port == port
        for each in worker.net_connections()
    )
