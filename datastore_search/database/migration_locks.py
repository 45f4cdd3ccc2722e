"""Locks of migrations, which never make the portal wait."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, Final

from django.core.management.base import CommandError
from django.db import OperationalError, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.utils.translation import gettext as _
from psycopg import errors, sql

from .sessions import to_milliseconds
from .statements import execute, fetch_column

#: How long a migration waits for a lock at once; all later statements on the table wait meanwhile.
_LOCK_TIMEOUT: Final = timedelta(milliseconds=300)

#: Between two attempts, in which the statements that have waited run.
_PAUSE_SECONDS: Final = 0.5

_MAX_ATTEMPTS: Final = 75  # within a minute


class LockTables(Operation):
    """
    Lock the tables that the other operations of a migration change.

    A statement that waits for a lock makes all later statements on the table wait, too: one long
    read would stop the portal.  So this waits for a short time, gives way, and tries again.  It is
    the first and the last operation of a migration, because backwards the last comes first.
    """

    reversible = True

    def __init__(self, *tables: str) -> None:
        """Lock ``tables``, by their names in the database."""
        self.tables = tables

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """Return what the operation is made of."""
        return type(self).__qualname__, list(self.tables), {}

    def state_forwards(self, app_label: str, state: object) -> None:
        """Change no model."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: object,
        to_state: object,
    ) -> None:
        """
        Lock the tables until the migration ends, in the databases that have them.

        Raises: ``CommandError`` when they are in use for too long.
        """
        connection = schema_editor.connection
        if not router.allow_migrate(connection.alias, app_label):
            return
        statement = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(
            sql.SQL(", ").join(map(sql.Identifier, self.tables))
        )
        if schema_editor.collect_sql:  # of ``sqlmigrate``
            schema_editor.execute(statement.as_string(None))
            return
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            if _try_to_lock(connection, statement):
                return
            if attempt < _MAX_ATTEMPTS:
                time.sleep(_PAUSE_SECONDS)
        raise CommandError(
            _(
                "Other sessions (%(sessions)s) use %(tables)s for a long time, so the tables cannot"
                " be changed now. Nothing was changed by this migration. Try again when these"
                " sessions have ended."
            )
            % {
                "sessions": ", ".join(map(str, _list_holders(connection, self.tables))) or "–",
                "tables": ", ".join(self.tables),
            }
        )

    database_backwards = database_forwards

    def describe(self) -> str:
        """Describe the operation for ``migrate --plan``."""
        return f"Lock {', '.join(self.tables)}"


def _try_to_lock(connection: BaseDatabaseWrapper, statement: sql.Composable) -> bool:
    try:
        with transaction.atomic(using=connection.alias):
            # It also holds for the other statements of the migration, if there are locks left.
            limit = to_milliseconds(_LOCK_TIMEOUT)
            execute(connection, "SELECT set_config('lock_timeout', %s, true)", [limit])
            execute(connection, statement)
    except OperationalError as error:
        if not isinstance(error.__cause__, errors.LockNotAvailable):
            raise
        return False
    return True


def _list_holders(connection: BaseDatabaseWrapper, tables: tuple[str, ...]) -> list[int]:
    return fetch_column(
        connection,
        "SELECT DISTINCT pid FROM pg_locks WHERE granted AND relation IN"
        " (SELECT to_regclass(quote_ident(name)) FROM unnest(%s::text[]) AS name)"
        " AND pid <> pg_backend_pid() ORDER BY pid",
        [list(tables)],
    )
