"""Serve the example portal: a web server, and a worker that runs the loads."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import InterfaceError, OperationalError, connection

_CHECK_INTERVAL_SECONDS = 0.5

#: Requests that each worker of the web server answers at once: twice as many as its slots, its
#: streams and the requests that wait, which take long.
DEFAULT_THREADS = 32

#: Memory of a worker of the web server, in MiB, above which it is replaced.
MAX_WORKER_RSS_MIB = 256

#: Seconds in which a worker that is replaced finishes its answers; then it is killed, which ends a
#: download as broken.
MAX_DRAIN_SECONDS = 60

#: A web server that ends sooner than this after its start would end again: its port is taken, or
#: the project cannot be imported.
_MIN_UPTIME_SECONDS = 10.0

#: Seconds after a restart in which the sessions of the killed process end.
_CLEAN_UP_DELAY_SECONDS = 2.0

#: Seconds for a process to end before it is killed, which cuts off requests and loads.
_TERMINATION_SECONDS = 10


class Command(BaseCommand):
    """
    Both are restarted when they die, and end with this process or with its parent.

    A web server that dies as soon as it is started ends both.
    """

    help = "Serve the example portal under granian, with a worker that runs its loads."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=2)
        parser.add_argument("--threads", type=int, default=DEFAULT_THREADS, help="of each worker")

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate the database, and serve until a signal ends it."""
        check_port(options["port"])
        parent = os.getppid()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit())
        call_command("migrate", verbosity=0)
        call_command("datastore_cleanup", stdout=StringIO())  # marks loads that were cut off
        web = _Program(
            build_web_server_command(options["port"], options["workers"], options["threads"])
        )
        worker = _Program(
            [sys.executable, "manage.py", "db_worker", "--no-reload", "--verbosity", "0"]
        )
        try:
            with suppress(KeyboardInterrupt):
                web.start()
                worker.start()
                clean_up_at = math.inf
                while os.getppid() == parent:
                    if web.has_ended() and web.uptime_seconds < _MIN_UPTIME_SECONDS:
                        raise CommandError("The web server cannot be started.")
                    for program in (web, worker):
                        if program.has_ended():  # it was killed, or its database was unavailable
                            program.start()
                            clean_up_at = time.monotonic() + _CLEAN_UP_DELAY_SECONDS
                    if time.monotonic() > clean_up_at:
                        is_done = _clean_up()
                        clean_up_at = (
                            math.inf if is_done else time.monotonic() + _CLEAN_UP_DELAY_SECONDS
                        )
                    time.sleep(_CHECK_INTERVAL_SECONDS)
        finally:
            _end_programs((web, worker))


def check_port(port: int) -> None:
    """
    Check that no other program listens on a port: granian would share it.

    Raises: ``CommandError``.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that just ended
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used: {error.strerror}. Another portal may be served there;"
                f" end it, or choose another port: make demo PORT={port + 1}"
            ) from error


def _clean_up() -> bool:
    """Mark or queue again the loads of a killed worker; False if the database cannot do it."""
    try:
        call_command("datastore_cleanup", stdout=StringIO())
    except (CommandError, InterfaceError, OperationalError):  # read-only, full, or away
        return False
    finally:
        connection.close()
    return True


class _Program:
    """A program with its child processes, in a process group of their own."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def start(self) -> None:
        """Start the program, after killing an earlier one's workers, which outlive granian."""
        self.kill_group()
        self._started_at = time.monotonic()
        # A session of its own has its own share of the processors.
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, start_new_session=True
        )

    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    @property
    def uptime_seconds(self) -> float:
        return time.monotonic() - self._started_at

    def terminate(self) -> None:
        if self._process:
            self._process.terminate()

    def wait(self, seconds: float) -> None:
        """Wait for the end of the program, not of its child processes."""
        if self._process:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def kill_group(self) -> None:
        """Kill the program and its child processes that still run."""
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def build_web_server_command(port: int, workers: int, threads: int) -> list[str]:
    """Build the command that starts the web server."""
    return [
        sys.executable, "-m", "granian", "example_project.wsgi:application",
        "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
        "--workers", str(workers), "--blocking-threads", str(threads),
        "--respawn-failed-workers",  # or it ends with the first worker that dies
        "--workers-max-rss", str(MAX_WORKER_RSS_MIB),
        "--rss-sample-interval", "5", "--rss-samples", "2",
        "--workers-kill-timeout", str(MAX_DRAIN_SECONDS),
        "--no-ws", "--log-level", "error",
    ]  # fmt: skip


def _end_programs(programs: Sequence[_Program]) -> None:
    """End the programs, and ignore further signals meanwhile."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for program in programs:
        program.terminate()
    for program in programs:
        program.wait(1)
    for program in programs:  # after a second signal, a worker does not finish its load
        program.terminate()
    for program in programs:
        program.wait(_TERMINATION_SECONDS)
    for program in programs:
        program.kill_group()
