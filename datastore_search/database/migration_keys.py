"""Foreign keys that PostgreSQL follows, too: Django may not know the tables of a contrib app."""

from __future__ import annotations

from typing import Final

from django.db.migrations import RunSQL

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
