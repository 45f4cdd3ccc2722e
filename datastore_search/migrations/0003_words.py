"""Words of full-text queries and records: codes, apostrophes, and letters that count as equal."""

from django.db import migrations

from ..database.server import read_sql_file


class Migration(migrations.Migration):
    """
    Replace the functions.

    A stored search vector has the old words until its table is loaded again.
    """

    dependencies = [("datastore_search", "0002_functions_and_triggers")]

    operations = [
        migrations.RunSQL(
            "DROP FUNCTION IF EXISTS datastore_search_tsquery(text, regconfig);",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(read_sql_file("functions.sql"), migrations.RunSQL.noop),
    ]
