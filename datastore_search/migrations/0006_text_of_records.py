"""The values of a record are gathered faster; its search vector stays the same."""

from django.db import migrations

from ..database.server import read_sql_file


class Migration(migrations.Migration):
    """Replace the function of the search vector by one that calls a new function."""

    dependencies = [("datastore_search", "0005_without_profiles")]

    operations = [
        migrations.RunSQL(
            read_sql_file("0006_text_of_records.sql"),
            read_sql_file("functions.sql") + "DROP FUNCTION datastore_search_flat_text(jsonb);",
        ),
    ]
