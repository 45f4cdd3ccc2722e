"""The search functions of ``sql/functions.sql``; backwards, the record tables go first."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from datastore_search.storage import drop_records, stored_loads, stored_sql


def drop_all_records(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Drop every record table: their search vectors are made by the functions."""
    for load_id in stored_loads(editor.connection):
        drop_records(editor.connection, load_id)


class Migration(migrations.Migration):
    """Make the functions."""

    dependencies = [("datastore_search", "0001_initial")]

    operations = [
        migrations.RunSQL(stored_sql("functions.sql"), stored_sql("drop_functions.sql")),
        migrations.RunPython(migrations.RunPython.noop, drop_all_records),
    ]
