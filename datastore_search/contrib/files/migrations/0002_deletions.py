"""
PostgreSQL, too, deletes loads with their resource.

Without this app in ``INSTALLED_APPS`` Django knows nothing of its tables, and their foreign keys
would not let a resource go.
"""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import delete_in_database, lock_tables

_KEYS: Final = (
    ("datastore_search_files_load", "datastore_search_resource", "CASCADE"),
    ("datastore_search_files_load", "datastore_search_tableversion", "SET NULL"),
    ("datastore_search_files_rowerror", "datastore_search_files_load", "CASCADE"),
)
_LOCK: Final = lock_tables(*sorted({table for *tables, _action in _KEYS for table in tables}))


class Migration(migrations.Migration):
    """Let PostgreSQL delete loads with their resource, and rows with their load."""

    dependencies = [("datastore_search_files", "0001_initial")]

    operations = [_LOCK, *(delete_in_database(*key) for key in _KEYS), _LOCK]
