"""Serve the example portal: a web server, and a worker that runs the loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from io import StringIO
from typing import Any, NoReturn

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

_LOOK_AGAIN = 0.5

#: Requests that each worker of the web server answers at once: some take long, as dumps to slow
#: readers do.
THREADS = 4

#: Seconds that a process gets for its end before it is killed: requests and loads are cut off.
_PATIENCE = 10


class Command(BaseCommand):
    """Both end together: with this process, with the web server, or with who started them."""

    help = "Serve the example portal under granian, with a worker that runs its loads."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=2)
        parser.add_argument("--threads", type=int, default=THREADS, help="of each worker")

    def handle(self, *args: Any, **options: Any) -> None:
        """Bring the database up to date, and serve until somebody ends it."""
        parent = os.getppid()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
        call_command("migrate", verbosity=0)
        call_command("datastore_cleanup", stdout=StringIO())  # marks loads that were cut off
        started: list[subprocess.Popen[bytes]] = []
        try:
            with suppress(KeyboardInterrupt):
                server = web_server(options["port"], options["workers"], options["threads"])
                started += [subprocess.Popen(server)]
                started += [subprocess.Popen(_worker())]
                while started[0].poll() is None and os.getppid() == parent:
                    if started[1].poll() is not None:  # its database was away, perhaps
                        started[1] = subprocess.Popen(_worker())
                    time.sleep(_LOOK_AGAIN)
        finally:
            _end(started)
        sys.exit(max(0, started[0].returncode) if started else 0)


def web_server(port: int, workers: int, threads: int) -> list[str]:
    """Say how the web server is started."""
    return [
        sys.executable, "-m", "granian", "example_project.wsgi:application",
        "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
        "--workers", str(workers), "--blocking-threads", str(threads),
        "--workers-kill-timeout", "5",  # or it does not end while a connection is open
        "--no-ws", "--log-level", "warning",
    ]  # fmt: skip


def _worker() -> list[str]:
    return [sys.executable, "manage.py", "db_worker", "--no-reload", "--verbosity", "0"]


def _leave(_number: int, _frame: object) -> NoReturn:
    sys.exit()


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """End the processes, whatever they are doing; the first who asked has been heard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for process in processes:
        process.terminate()
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    for process in processes:  # asked once more, a worker does not wait for the end of its load
        process.terminate()
    for process in processes:
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
