"""The database and the secret key of the example portal, for each of its settings modules."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from . import embedded_postgres

BASE_DIR = Path(__file__).resolve().parent.parent


def read_secret_key() -> str:
    """Read the key of this machine, or make one that no commit ever holds."""
    path = BASE_DIR / ".secret_key"
    try:
        with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text()


def build_database_settings() -> dict[str, Any]:
    """Read ``DATABASE_URL``, or start the embedded PostgreSQL."""
    url, template = os.environ.get("DATABASE_URL"), "template0"
    if not url:
        url = embedded_postgres.start_server(BASE_DIR / ".postgres")
        template = embedded_postgres.TEMPLATE
    try:
        database = dj_database_url.parse(url, conn_max_age=600, conn_health_checks=True)
    except ValueError as error:
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be understood. It should look like"
            " postgres://user:password@localhost:5432/portal."
        ) from error
    # The folder of a socket is an option in the URL, where "manage.py dbshell" does not look.
    host = database.get("OPTIONS", {}).pop("host", database["HOST"])
    return {**database, "HOST": host, "TEST": {"TEMPLATE": template}}
