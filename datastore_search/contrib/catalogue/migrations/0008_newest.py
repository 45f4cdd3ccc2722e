"""Indexes for the datasets that have changed last, and for their number."""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import lock_tables
from datastore_search.database.server import read_sql_file

_APP: Final = "datastore_search.contrib.catalogue"
_LOCK: Final = lock_tables("datastore_search_catalogue_dataset", "datastore_search_resource")


class Migration(migrations.Migration):
    dependencies = [
        ("datastore_search_catalogue", "0007_uses"),
    ]

    operations = [
        _LOCK,
        migrations.RunSQL(
            read_sql_file("newest.sql", _APP), read_sql_file("drop_newest.sql", _APP)
        ),
        _LOCK,
    ]
