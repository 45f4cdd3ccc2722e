"""The history of the database: which versions made its tables."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.db import connections, router

from .statements import fetch_value

#: A table of the versions before 1.0, whose migrations have the same names as those of today.
_OLD_TABLE = "datastore_search_load"


def refuse_old_database(*, using: str, **_options: Any) -> None:
    """
    Refuse to migrate a database of a version before 1.0; a receiver of ``pre_migrate``.

    Raises: ``CommandError``.
    """
    connection = connections[using]
    if connection.vendor != "postgresql" or not router.allow_migrate(using, "datastore_search"):
        return
    if fetch_value(connection, "SELECT to_regclass(%s) IS NOT NULL", [_OLD_TABLE]):
        raise CommandError(
            f"The database “{using}” has tables of datastore_search before version 1.0, which"
            " cannot be upgraded. Nothing was changed. With the old version, save what you need"
            " (datastore/dump, or pg_dump), and run “migrate datastore_search zero”, or use a new"
            " database. Then migrate with this version, and load the resources again."
        )
