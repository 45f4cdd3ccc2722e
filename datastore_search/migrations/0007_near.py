"""Records near a place are found."""

from django.db import migrations

from ..database.server import read_sql_file


class Migration(migrations.Migration):
    """Add the functions that compare the place of a record with another one."""

    dependencies = [("datastore_search", "0006_text_of_records")]

    operations = [
        migrations.RunSQL(
            read_sql_file("0007_near.sql"),
            "DROP FUNCTION datastore_search_json(text);"
            " DROP FUNCTION datastore_search_is_near(jsonb, float8, float8, float8);"
            " DROP FUNCTION datastore_search_is_near(text, text, float8, float8, float8);",
        ),
    ]
