"""
PostgreSQL, too, deletes loads with their resource.

Without this app in ``INSTALLED_APPS`` Django knows nothing of its tables, and their foreign keys
would not let a resource go.
"""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_locks import LockTables

_KEYS: Final = (
    ("datastore_search_files_load", "datastore_search_resource", " ON DELETE CASCADE"),
    ("datastore_search_files_load", "datastore_search_tableversion", " ON DELETE SET NULL"),
    ("datastore_search_files_rowerror", "datastore_search_files_load", " ON DELETE CASCADE"),
)
_LOCK: Final = LockTables(*sorted({table for *tables, _action in _KEYS for table in tables}))

#: Django has chosen the names of the keys.
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


class Migration(migrations.Migration):
    """Let PostgreSQL delete loads with their resource, and rows with their load."""

    dependencies = [("datastore_search_files", "0001_initial")]

    operations = [
        _LOCK,
        *(
            migrations.RunSQL(
                _CHANGE.format(table=table, to=to, old="", new=action),
                _CHANGE.format(table=table, to=to, old=action, new=""),
            )
            for table, to, action in _KEYS
        ),
        _LOCK,
    ]
