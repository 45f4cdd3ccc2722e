"""
The functions and casts, and the triggers of ``sql/versions.sql`` and ``sql/names.sql``.

Backwards, the record tables are dropped first: their search vectors call the functions.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from ..database.server import read_sql_file
from ..database.tables import drop_record_table, list_record_tables


def drop_all_record_tables(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop every record table."""
    for table_id in list_record_tables(editor.connection):
        drop_record_table(editor.connection, table_id)


class Migration(migrations.Migration):
    """Create the functions and the triggers."""

    dependencies = [("datastore_search", "0001_initial")]

    operations = [
        migrations.RunSQL(read_sql_file("functions.sql"), read_sql_file("drop_functions.sql")),
        migrations.RunSQL(read_sql_file("casts.sql"), read_sql_file("drop_casts.sql")),
        migrations.RunSQL(read_sql_file("versions.sql"), read_sql_file("drop_versions.sql")),
        migrations.RunSQL(read_sql_file("names.sql"), read_sql_file("drop_names.sql")),
        migrations.RunPython(migrations.RunPython.noop, drop_all_record_tables),
    ]
