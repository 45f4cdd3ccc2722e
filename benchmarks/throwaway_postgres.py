"""A separate PostgreSQL that can be stopped immediately, as by a power failure."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, LiteralString

import psutil
import psycopg

from example_project import embedded_postgres

#: For the end of the server, and for its recovery.
_MAX_WAIT_SECONDS = 60


class ThrowawayServer:
    """The embedded PostgreSQL, started and stopped by the test instead of its package."""

    def __init__(self, folder: Path) -> None:
        """Create a cluster in a folder, and start it."""
        self._folder = folder
        self.url = embedded_postgres.start_server(folder)
        #: For what only a superuser may do: other roles, settings of the server, replication.
        self.superuser_url = re.sub("//[^@]*@", "//postgres@", self.url)
        process = self._get_process()
        self.command, self.user = process.cmdline(), process.username()
        self._started: subprocess.Popen[Any] | None = None

    @property
    def pid(self) -> int:
        """The process that started all others of the server."""
        return int(self._get_process().pid)

    def superuser_execute(self, statement: LiteralString) -> None:
        """Run a statement outside a transaction, as a superuser."""
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            connection.execute(statement)

    def stop_immediately(self) -> None:
        """
        End every process of the server immediately, as a power failure does.

        Source: PostgreSQL's immediate shutdown, which is the signal SIGQUIT.
        """
        self._stop(signal.SIGQUIT)

    def restart(self) -> None:
        """Stop the server without a loss, which is the signal SIGINT, and start it again."""
        self._stop(signal.SIGINT)
        self.start()

    def _stop(self, number: signal.Signals) -> None:
        process = self._get_process()
        process.send_signal(number)
        if self._started:
            self._started.wait(_MAX_WAIT_SECONDS)
        else:
            process.wait(_MAX_WAIT_SECONDS)

    def start(self) -> None:
        """Start the server again, and wait until it has recovered."""
        path = self._folder / "started.log"
        for _attempt in range(5):  # processes of the old server may still run
            with path.open("wb") as log:
                started = subprocess.Popen(
                    self.command, user=self.user, cwd=self._folder, stdout=log, stderr=log
                )
            self._started = started
            deadline = time.monotonic() + _MAX_WAIT_SECONDS
            while started.poll() is None and time.monotonic() < deadline:
                if self._accepts_connections():
                    return
                time.sleep(0.05)
            time.sleep(0.5)
        raise AssertionError(path.read_text()[-3000:])

    def _accepts_connections(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _get_process(self) -> psutil.Process:
        pid = (self._folder / "postmaster.pid").read_text().split()[0]
        return psutil.Process(int(pid))


@contextmanager
def run_throwaway_server(
    prefix: str, kept: Path | None = None
) -> Iterator[tuple[Path, ThrowawayServer]]:
    """Run a server in a folder that is ``kept``, or in a temporary one; yield both."""
    with ExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # PostgreSQL does not run as root, and enters it as another user
        server = ThrowawayServer(folder / "postgres")
        stack.callback(server.stop_immediately)
        yield folder, server
