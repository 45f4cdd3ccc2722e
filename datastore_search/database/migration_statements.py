"""
Statements of migrations: locks that never make the portal wait, and foreign keys.

PostgreSQL follows the keys, too, for Django may not know the tables of a contrib app.
"""

from __future__ import annotations

from typing import Final

from django.db.migrations import RunSQL

#: For a minute: a statement that waits for a lock makes all later statements on the table wait.
_LOCK: Final = """
DO $$
BEGIN
    -- It also holds for the other statements of the migration, if there are locks left.
    PERFORM set_config('lock_timeout', '300ms', true);
    FOR attempt IN 1..{attempts} LOOP
        BEGIN
            LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.5); -- the statements that have waited run
        END;
    END LOOP;
    RAISE lock_not_available USING MESSAGE = format(
        'Other sessions (%s) use {tables} for a long time, so the tables cannot be changed now.'
        ' Nothing was changed by this migration. Try again when these sessions have ended.',
        (SELECT string_agg(DISTINCT pid::text, ', ') FROM pg_locks WHERE granted
         AND pid <> pg_backend_pid() AND relation = ANY ('{{{tables}}}'::regclass[]))
    );
END
$$"""

#: Django has chosen the name of the key.
_CHANGE: Final = """
DO $$
DECLARE
    key pg_constraint;
BEGIN
    SELECT * INTO STRICT key FROM pg_constraint
    WHERE contype = 'f' AND conrelid = '{table}'::regclass AND confrelid = '{to}'::regclass;
    EXECUTE format(
        'ALTER TABLE {table} DROP CONSTRAINT %I, ADD CONSTRAINT %I %s', key.conname, key.conname,
        replace(pg_get_constraintdef(key.oid), '{old} DEFERRABLE', '{new} DEFERRABLE')
    );
END
$$"""


def lock_tables(*tables: str, attempts: int = 75) -> RunSQL:
    """
    Lock the tables that the other operations of a migration change.

    One long read would stop the portal behind a lock that waits for it.  So this waits for a short
    time, gives way, and tries again; after some ``attempts`` the migration fails.  It is the first
    and the last operation of a migration, because backwards the last comes first.
    """
    statement = _LOCK.format(tables=", ".join(tables), attempts=attempts)
    return RunSQL(statement, statement)


def delete_in_database(table: str, to: str, action: str) -> RunSQL:
    """
    Let PostgreSQL do what Django does when a row of the table ``to`` is deleted.

    ``action`` is what happens to the rows of ``table``: ``CASCADE`` or ``SET NULL``.
    """
    old, new = "", f" ON DELETE {action}"
    return RunSQL(
        _CHANGE.format(table=table, to=to, old=old, new=new),
        _CHANGE.format(table=table, to=to, old=new, new=old),
    )
