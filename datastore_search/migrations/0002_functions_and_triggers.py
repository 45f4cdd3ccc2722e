"""
The functions of ``sql/functions.sql`` and ``sql/casts.sql``, the triggers of ``sql/versions.sql``.

Backwards, the record tables are dropped first: their search vectors call the functions.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from datastore_search.storage import drop_records, stored_loads, stored_sql


def drop_all_records(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop every record table."""
    for load_id in stored_loads(editor.connection):
        drop_records(editor.connection, load_id)


class Migration(migrations.Migration):
    """Create the functions and the triggers."""

    dependencies = [("datastore_search", "0001_initial")]

    operations = [
        migrations.RunSQL(stored_sql("functions.sql"), stored_sql("drop_functions.sql")),
        migrations.RunSQL(stored_sql("casts.sql"), stored_sql("drop_casts.sql")),
        migrations.RunSQL(stored_sql("versions.sql"), stored_sql("drop_versions.sql")),
        migrations.RunPython(migrations.RunPython.noop, drop_all_records),
    ]
