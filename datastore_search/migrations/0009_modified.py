"""An index that a search has wanted is no change of a resource."""

from django.db import migrations

from ..database.server import read_sql_file


class Migration(migrations.Migration):
    """Let a transaction keep the time of the last change."""

    dependencies = [("datastore_search", "0008_datastore")]

    operations = [
        migrations.RunSQL(read_sql_file("0009_modified.sql"), read_sql_file("versions.sql")),
    ]
