"""
The texts of the datasets that there are; PostgreSQL deletes them with their datasets, too.

Without this app in ``INSTALLED_APPS`` Django knows nothing of the table, and its foreign key would
not let a dataset go.
"""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import delete_in_database, lock_tables
from datastore_search.database.server import read_sql_file

_APP: Final = "datastore_search.contrib.catalogue"
_DATASETS: Final = "datastore_search_catalogue_dataset"
_TEXTS: Final = "datastore_search_catalogue_datasettext"
_RESOURCES: Final = "datastore_search_resource"
_LOCK: Final = lock_tables(_DATASETS, _TEXTS, _RESOURCES)


class Migration(migrations.Migration):
    dependencies = [
        ("datastore_search_catalogue", "0005_dataset_text"),
    ]

    operations = [
        _LOCK,
        delete_in_database(_TEXTS, _DATASETS, "CASCADE"),
        delete_in_database(_TEXTS, _RESOURCES, "CASCADE"),
        migrations.RunSQL(
            read_sql_file("searched.sql", _APP), read_sql_file("drop_searched.sql", _APP)
        ),
        _LOCK,
    ]
