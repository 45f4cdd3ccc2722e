"""Recognise a shortage of memory or disk, of this machine or of the database's."""

from __future__ import annotations

from django.db import Error
from psycopg.errors import DiskFull

from ..formats.shortages import find_machine_shortage
from ..messages.failures import LoadFailed


def find_shortage(error: BaseException) -> LoadFailed | None:
    """Find the shortage that an error reports; None for any other error."""
    if isinstance(error.__cause__ if isinstance(error, Error) else error, DiskFull):
        return LoadFailed("load.disk_full")
    return find_machine_shortage(error)
