"""Why a load has failed: from whatever was raised to what people are told."""

from __future__ import annotations

import logging

import duckdb
import psycopg
from django.db import Error, InterfaceError, connections, router
from psycopg.errors import DiskFull

from ...exceptions.loads import LoadFailed, UnexpectedFailure
from ...models import Load
from ..readers.shortages import shortage_of_machine

logger = logging.getLogger(__name__)

#: Somebody has ended the process, or what it was doing.
_ENDED = (KeyboardInterrupt, SystemExit, duckdb.InterruptException)


def translate_error(error: BaseException, load: Load) -> LoadFailed:
    """Say why a load has failed, and log what nobody has foreseen."""
    if isinstance(error, LoadFailed):
        return error
    if isinstance(error, _ENDED):
        return LoadFailed("load.interrupted")
    if is_connection_lost(error):
        return LoadFailed("load.database_lost")
    return find_shortage(error) or _unforeseen(error, load)


def find_shortage(error: BaseException) -> LoadFailed | None:
    """Say what a load has too little of, here or in the database, if that is what is wrong."""
    if isinstance(error.__cause__ if isinstance(error, Error) else error, DiskFull):
        return LoadFailed("load.disk_full")
    return shortage_of_machine(error)


def _unforeseen(error: BaseException, load: Load) -> LoadFailed:
    connection = connections[router.db_for_write(Load)]
    is_told = not (connection.in_atomic_block and connection.needs_rollback)
    if is_told and not Load.objects.filter(pk=load.pk).exists():
        return LoadFailed("load.resource_deleted")  # and the table with it
    logger.error("Load %s of resource %s failed.", load.pk, load.resource_id, exc_info=error)
    return UnexpectedFailure()


def is_connection_lost(error: BaseException) -> bool:
    """
    Tell whether PostgreSQL has gone away, or has ended the connection.

    Source: PostgreSQL's error codes, of which class 08 is a broken connection and 57P an ended one.
    """
    cause = error.__cause__ if isinstance(error, Error) else error
    if isinstance(error, InterfaceError) or isinstance(cause, psycopg.InterfaceError):
        return True
    if not isinstance(cause, psycopg.OperationalError):
        return False
    state = cause.sqlstate
    return state is None or state.startswith(("57P", "08"))
