"""The tables that a load makes: a record table, and one of rows that are to be merged."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from ....database.tables import LOCK_TIMEOUT, drop_table, list_numbers

_PREFIX = "datastore_search_staging_"


def quote_staging_table(load_id: int) -> sql.Identifier:
    """Name the staging table of a load."""
    return sql.Identifier(f"{_PREFIX}{load_id}")


@dataclass(frozen=True, slots=True)
class NewTable:
    """A record table that a load is making."""

    id: int
    load_id: int


def drop_staging_table(connection: BaseDatabaseWrapper, load_id: int) -> bool:
    """Drop the staging table of a load, if there is one, and return whether it was possible."""
    return drop_table(connection, quote_staging_table(load_id), LOCK_TIMEOUT)


def list_staging_tables(connection: BaseDatabaseWrapper) -> set[int]:
    """List the loads that have a staging table."""
    return list_numbers(connection, _PREFIX)
