"""A coordinator and workers of Citus on this machine, from the build that ``CITUS_BIN`` names."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from ..failures import BenchmarkError
from ..server import find_free_port

#: PostgreSQL does not run as root.
_USER = "nobody"
_ROLE = "publisher"
_MAX_WAIT_SECONDS = 60

#: Loopback is trusted.  A rebalancing copies shards by logical replication.  The settings of plans
#: are those that a session sets where it reads: Citus does not pass them on.
_SETTINGS = {
    "shared_preload_libraries": "citus",
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "wal_level": "logical",
    "max_prepared_transactions": "100",
    "max_connections": "200",
    "shared_buffers": "512MB",
    "citus.enable_statistics_collection": "off",
    "random_page_cost": "1.1",
    "jit": "off",
    "work_mem": "64MB",
}


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs with Citus; None where there is no build."""
    folder = os.environ.get("CITUS_BIN")
    return Path(folder) if folder else None


@dataclass(slots=True)
class Node:
    """A server, which can be killed and started again."""

    programs: Path
    folder: Path
    port: int = field(default_factory=find_free_port)
    process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Make the files of the server."""
        command = ["initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8"]
        self._run([*command, "--locale=C.UTF-8", "--no-sync", "-D", str(self.folder / "data")])

    def start(self) -> None:
        """
        Start the server, and wait until it answers.

        Raises: ``BenchmarkError`` when it does not.
        """
        settings = {"port": self.port, "unix_socket_directories": self.folder, **_SETTINGS}
        options = [f"-c{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder,
                **self._choose_user(),
            )  # fmt: skip
        deadline = time.monotonic() + _MAX_WAIT_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.run("SELECT 1")
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise BenchmarkError((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """End every process of the server, as a power failure does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(_MAX_WAIT_SECONDS)

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as superuser, and return its rows."""
        url = f"postgres://postgres@127.0.0.1:{self.port}/{database}"
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def build_url(self, database: str) -> str:
        """Build the URL of a database for the ordinary role that owns it."""
        return f"postgres://{_ROLE}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str) -> None:
        """Create a database of the ordinary role, with Citus."""
        if (_ROLE,) not in self.run("SELECT rolname::text FROM pg_roles"):
            self.run(f"CREATE ROLE {_ROLE} LOGIN")
        self.run(f"CREATE DATABASE {name} OWNER {_ROLE}")
        self.run("CREATE EXTENSION citus; CREATE EXTENSION pg_trgm", name)

    def _run(self, command: Sequence[str]) -> None:
        program, *arguments = command
        subprocess.run(
            [self.programs / program, *arguments], check=True, cwd=self.folder,
            stdout=subprocess.DEVNULL, timeout=_MAX_WAIT_SECONDS, **self._choose_user(),
        )  # fmt: skip

    def _choose_user(self) -> dict[str, Any]:
        # Servers look for certificates in the home of their user.
        environment = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "LC_ALL": "C"}
        if os.geteuid():
            return {"env": environment}
        group = pwd.getpwnam(_USER).pw_gid
        return {"env": environment, "user": _USER, "group": group, "extra_groups": []}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A coordinator, and the workers that it knows or will know."""

    coordinator: Node
    workers: list[Node]

    def create_database(self, name: str) -> str:
        """Create a database on each node, let the coordinator know the workers; return its URL."""
        for node in (self.coordinator, *self.workers):
            node.create_database(name)
        self.coordinator.run(
            f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})", name
        )
        for worker in self.workers:
            self.add_worker(worker, name)
        return self.coordinator.build_url(name)

    def add_worker(self, worker: Node, database: str) -> None:
        """Let the coordinator know a worker."""
        self.coordinator.run(f"SELECT citus_add_node('127.0.0.1', {worker.port})", database)


@contextmanager
def run_node(programs: Path) -> Iterator[Node]:
    """Run a server in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="citus_") as name:
        if not os.geteuid():
            os.chown(name, pwd.getpwnam(_USER).pw_uid, -1)
        node = Node(programs, Path(name))
        node.create()
        try:
            node.start()
            yield node
        finally:
            node.kill()


@contextmanager
def run_cluster(programs: Path, workers: int = 2) -> Iterator[Cluster]:
    """Run a coordinator and workers."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(run_node(programs)) for _ in range(workers + 1)]
        yield Cluster(nodes[0], nodes[1:])
