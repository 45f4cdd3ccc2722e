"""
The functions of ``sql/casts.sql``: how PostgreSQL reads a text as a field's type.

Those of ``sql/functions.sql`` are made anew; the search vectors of old records change with the next
load.
"""

from django.db import migrations

from datastore_search.storage import stored_sql


class Migration(migrations.Migration):
    """Make the functions."""

    dependencies = [("datastore_search", "0003_aliases_and_origins")]

    operations = [
        migrations.RunSQL(stored_sql("casts.sql"), stored_sql("drop_casts.sql")),
        migrations.RunSQL(stored_sql("functions.sql"), migrations.RunSQL.noop),
    ]
