"""The question of a full-text query is planned once for a session."""

from django.db import migrations

from datastore_search.storage import stored_sql


class Migration(migrations.Migration):
    """Make the functions anew; what they say is the same."""

    dependencies = [("datastore_search", "0006_loading_jobs")]

    operations = [migrations.RunSQL(stored_sql("functions.sql"), migrations.RunSQL.noop)]
