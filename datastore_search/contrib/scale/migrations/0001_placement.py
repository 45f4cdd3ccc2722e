"""The versions of record tables that Citus places on workers."""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import lock_tables
from datastore_search.database.server import read_sql_file

_APP: Final = "datastore_search.contrib.scale"
_LOCK: Final = lock_tables("datastore_search_resource")


class Migration(migrations.Migration):
    """Create the table of placed tables, and its trigger."""

    dependencies = [("datastore_search", "0004_placement")]

    operations = [
        _LOCK,
        migrations.RunSQL(
            read_sql_file("placement.sql", _APP), read_sql_file("drop_placement.sql", _APP)
        ),
        _LOCK,
    ]
