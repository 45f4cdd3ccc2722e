"""
The functions and triggers work with an empty search path, so that a dump can be restored.

The search vectors of all tables stay as they are: what the functions say is the same.
"""

from django.db import migrations

from datastore_search.storage import stored_sql


class Migration(migrations.Migration):
    """Make the functions anew; ``datastore_search_folded`` is a part of another one now."""

    dependencies = [("datastore_search", "0007_question")]

    operations = [
        migrations.RunSQL(stored_sql("functions.sql"), migrations.RunSQL.noop),
        migrations.RunSQL(
            "DROP FUNCTION IF EXISTS datastore_search_folded(text)", migrations.RunSQL.noop
        ),
        migrations.RunSQL(stored_sql("versions.sql"), migrations.RunSQL.noop),
    ]
