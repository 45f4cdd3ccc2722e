"""PostgreSQL, too, deletes the files of resources with them (``0002_deletions``)."""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import delete_in_database, lock_tables

_KEY: Final = ("datastore_search_files_resourcefile", "datastore_search_resource", "CASCADE")
_LOCK: Final = lock_tables(*sorted(_KEY[:2]))


class Migration(migrations.Migration):
    """Let PostgreSQL delete the rows."""

    dependencies = [("datastore_search_files", "0006_resource_files")]

    operations = [_LOCK, delete_in_database(*_KEY), _LOCK]
