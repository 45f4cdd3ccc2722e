"""
A row for each resource, and versions of resources that change with their datasets.

Without this app in ``INSTALLED_APPS`` Django knows nothing of its tables, so PostgreSQL, too,
deletes the row of a resource with it.
"""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import delete_in_database, lock_tables
from datastore_search.database.server import read_sql_file

_APP: Final = "datastore_search.contrib.catalogue"
_DATASETS: Final = "datastore_search_catalogue_dataset"
_LOCK: Final = lock_tables(_DATASETS, "datastore_search_resource")


class Migration(migrations.Migration):
    """Create the triggers, and a row for each resource that there is."""

    dependencies = [
        ("datastore_search", "0002_functions_and_triggers"),
        ("datastore_search_catalogue", "0001_initial"),
    ]

    operations = [
        _LOCK,
        delete_in_database(_DATASETS, "datastore_search_resource", "CASCADE"),
        delete_in_database(_DATASETS, _DATASETS, "SET NULL"),
        migrations.RunSQL(
            read_sql_file("triggers.sql", _APP), read_sql_file("drop_triggers.sql", _APP)
        ),
        _LOCK,
    ]
