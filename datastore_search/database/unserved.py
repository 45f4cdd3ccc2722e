"""Since when a table is served by no resource: in the table's comment, which a dump includes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import OperationalError, ProgrammingError
from psycopg import errors, sql

from .statements import execute
from .tables import limit_lock_waits, name_record_table, quote_record_table

_SINCE = "datastore_search: served by no resource since "


def read_unserved_since(
    connection: BaseDatabaseWrapper, table_ids: Iterable[int]
) -> dict[int, datetime]:
    """Read since when tables are served by no resource, for those that are marked."""
    names = {name_record_table(table_id): table_id for table_id in table_ids}
    comments = execute(
        connection,
        "SELECT name, obj_description(to_regclass(name), 'pg_class')"
        " FROM unnest(%s::text[]) AS name",
        [list(names)],
    )
    return {
        names[name]: datetime.fromisoformat(comment.removeprefix(_SINCE))
        for name, comment in comments
        if comment and comment.startswith(_SINCE)
    }


def mark_unserved(connection: BaseDatabaseWrapper, table_id: int, since: datetime | None) -> None:
    """
    Note since when a table is served by no resource; None when one serves it again.

    A table that is being changed or dropped is not marked again.
    """
    comment = sql.NULL if since is None else sql.Literal(f"{_SINCE}{since.isoformat()}")
    statement = sql.SQL("COMMENT ON TABLE {} IS {}").format(quote_record_table(table_id), comment)
    try:
        with limit_lock_waits(connection) as cursor:
            cursor.execute(statement)
    except (OperationalError, ProgrammingError) as error:
        if not isinstance(error.__cause__, errors.LockNotAvailable | errors.UndefinedTable):
            raise
