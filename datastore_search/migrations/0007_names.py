"""The function and the triggers of ``sql/names.sql``, which check names, ids and aliases."""

from django.db import migrations

from datastore_search.storage import read_sql_file
from datastore_search.storage.migration_locks import LockTables

CHANGED = ("datastore_search_resource", "datastore_search_alias")


class Migration(migrations.Migration):
    """Create the function and the triggers."""

    dependencies = [("datastore_search", "0006_vector_trigger")]

    operations = [
        LockTables(*CHANGED),
        migrations.RunSQL(
            read_sql_file("names.sql"),
            "DROP TRIGGER datastore_search_name ON datastore_search_resource;"
            "DROP TRIGGER datastore_search_name ON datastore_search_alias;"
            "DROP FUNCTION datastore_search_check_name();",
        ),
        LockTables(*CHANGED),
    ]
