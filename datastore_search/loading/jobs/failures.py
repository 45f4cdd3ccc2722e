"""Translate what a load raised into a failure for users."""

from __future__ import annotations

import logging

import duckdb
from django.db import connections, router

from ... import storage
from ...exceptions.loads import LoadFailed, UnexpectedFailure
from ...models import Load
from ..publishing.shortages import find_shortage

logger = logging.getLogger(__name__)

#: The process, or a statement of DuckDB, was ended from outside.
_INTERRUPTED = (KeyboardInterrupt, SystemExit, duckdb.InterruptException)


def translate_error(error: BaseException, load: Load) -> LoadFailed:
    """Find the failure that describes an error; an unexpected error is logged."""
    if isinstance(error, LoadFailed):
        return error
    if isinstance(error, _INTERRUPTED):
        return LoadFailed("load.interrupted")
    if storage.is_connection_lost(error):
        return LoadFailed("load.database_lost")
    return find_shortage(error) or _translate_unexpected(error, load)


def _translate_unexpected(error: BaseException, load: Load) -> LoadFailed:
    connection = connections[router.db_for_write(Load)]
    can_query = not (connection.in_atomic_block and connection.needs_rollback)
    if can_query and not Load.objects.filter(pk=load.pk).exists():
        return LoadFailed("load.resource_deleted")  # and the table with it
    logger.error("Load %s of resource %s failed.", load.pk, load.resource_id, exc_info=error)
    return UnexpectedFailure()
