"""What a portal may have beside its PostgreSQL: another server, and PgBouncer."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.scale.standbys import (
    START_TIMEOUT_SECONDS,
    replace_socket,
    wait_for_server,
    wait_until,
)
from benchmarks.throwaway_postgres import ThrowawayServer, run_throwaway_server

__all__ = ["run_own_server", "run_pgbouncer", "wait_until"]


@contextmanager
def run_own_server() -> Iterator[ThrowawayServer]:
    # The server of a test that runs as root is another user, who may not enter pytest's folders.
    with run_throwaway_server("own_") as (_folder, server):
        yield server


@contextmanager
def run_pgbouncer(server: ThrowawayServer, *, pool_size: int) -> Iterator[str]:
    """Run PgBouncer in transaction mode before a server; yield its URL."""
    with tempfile.TemporaryDirectory(prefix="pgbouncer_") as name:
        folder = Path(name)
        shutil.chown(folder, server.user)
        parameters = psycopg.conninfo.conninfo_to_dict(server.url)
        users, log = folder / "users", folder / "log"
        users.write_text(f'"{parameters["user"]}" ""\n')
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host={parameters['host']} port=5432\n[pgbouncer]\n"
            f"unix_socket_dir = {folder}\nlisten_port = 5432\nauth_type = trust\n"
            f"auth_file = {users}\npool_mode = transaction\ndefault_pool_size = {pool_size}\n"
        )
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [program, configuration], user=server.user, cwd=folder, stdout=file, stderr=file
            )
        url = replace_socket(server.url, folder)
        try:
            wait_for_server(url, process, log)
            yield url
        finally:
            process.kill()
            process.wait(START_TIMEOUT_SECONDS)
