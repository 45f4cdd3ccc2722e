"""
The function of the triggers that maintain search vectors.

Backwards it stays: the tables of later loads need it, and older code reads and writes these.
"""

from django.db import migrations

from datastore_search.storage import read_sql_file


class Migration(migrations.Migration):
    """Create the function."""

    dependencies = [("datastore_search", "0005_linear_search_values")]

    operations = [
        migrations.RunSQL(read_sql_file("functions.sql"), migrations.RunSQL.noop),
    ]
