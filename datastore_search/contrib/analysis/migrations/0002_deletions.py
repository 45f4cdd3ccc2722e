"""PostgreSQL, too, deletes a snapshot with its table version, as loads with their resource."""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import delete_in_database, lock_tables

_KEY: Final = ("datastore_search_analysis_snapshot", "datastore_search_tableversion", "CASCADE")
_LOCK: Final = lock_tables(*sorted(_KEY[:2]))


class Migration(migrations.Migration):
    """Let PostgreSQL delete the rows."""

    dependencies = [("datastore_search_analysis", "0001_initial")]

    operations = [_LOCK, delete_in_database(*_KEY), _LOCK]
