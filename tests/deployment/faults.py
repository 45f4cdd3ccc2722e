"""Faults of a PostgreSQL server: what stands still, and for how long."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from benchmarks.throwaway_postgres import ThrowawayServer

#: Large enough for the table of a small load, and too small for that of a large one.
_DISK_MIB = 8


@contextmanager
def stop_server(server: ThrowawayServer) -> Iterator[None]:
    """Stop a server immediately, and start it again after the block."""
    server.stop_immediately()
    try:
        yield
    finally:
        server.start()


@contextmanager
def occupy_connections(server: ThrowawayServer) -> Iterator[None]:
    """Take every connection that a server allows, within the block."""
    with ExitStack() as stack:
        with pytest.raises(psycopg.OperationalError, match=r"too many clients|reserved for roles"):
            _open_connections(server, stack)
        yield


def _open_connections(server: ThrowawayServer, stack: ExitStack) -> None:
    while True:
        stack.enter_context(psycopg.connect(server.url))


@contextmanager
def make_read_only(server: ThrowawayServer) -> Iterator[None]:
    """Let a server refuse every write, within the block."""
    name = "default_transaction_read_only"
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {name} = on")
        connection.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            connection.execute(f"ALTER SYSTEM RESET {name}")
            connection.execute("SELECT pg_reload_conf()")


@contextmanager
def use_small_disk(server: ThrowawayServer) -> Iterator[Path]:
    """
    Put the new tables of a server on a disk of a few MiB, within the block; yield its folder.

    The test is skipped where this user may not mount a file system.
    """
    with tempfile.TemporaryDirectory(prefix="disk_") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MIB}m", "none", name]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a file system")
        try:
            folder = Path(name, "tables")
            folder.mkdir()
            shutil.chown(folder, server.user)
            Path(name).chmod(0o755)
            with psycopg.connect(server.superuser_url, autocommit=True) as connection:
                _use_table_space(connection, folder)
                try:
                    yield folder
                finally:
                    _drop_table_space(connection)
        finally:
            subprocess.run(["umount", name], check=True)


def _use_table_space(connection: psycopg.Connection, folder: Path) -> None:
    connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
    connection.execute("GRANT CREATE ON TABLESPACE small TO PUBLIC")
    connection.execute("ALTER SYSTEM SET default_tablespace = 'small'")
    connection.execute("SELECT pg_reload_conf()")


def _drop_table_space(connection: psycopg.Connection) -> None:
    connection.execute("ALTER SYSTEM RESET default_tablespace")
    connection.execute("SELECT pg_reload_conf()")
    database = connection.info.dbname
    # What the test has left there moves to the large disk.
    connection.execute("ALTER TABLE ALL IN TABLESPACE small SET TABLESPACE pg_default")
    connection.execute("ALTER INDEX ALL IN TABLESPACE small SET TABLESPACE pg_default")
    assert database
    connection.execute("DROP TABLESPACE small")


@contextmanager
def fill_disk(folder: Path) -> Iterator[None]:
    """Leave no room on the disk of a folder, within the block."""
    filler = folder.parent / "filler"
    free = shutil.disk_usage(folder).free
    filler.write_bytes(b"\0" * free)
    try:
        yield
    finally:
        filler.unlink()
