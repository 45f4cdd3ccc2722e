"""
The function that collects the values of a record reads long geometries in the time of their bytes.

Its text is the same as before, so no vector changes.  Backwards it stays, for the same reason.
"""

from django.db import migrations

from datastore_search.storage import read_sql_file


class Migration(migrations.Migration):
    """Replace the function."""

    dependencies = [("datastore_search", "0004_database_defaults")]

    operations = [
        migrations.RunSQL(read_sql_file("functions.sql"), migrations.RunSQL.noop),
    ]
