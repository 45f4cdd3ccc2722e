"""The functions of ``sql/casts.sql``: how PostgreSQL reads a text as a field's type."""

from django.db import migrations

from datastore_search.storage import stored_sql


class Migration(migrations.Migration):
    """Make the functions."""

    dependencies = [("datastore_search", "0003_aliases_and_origins")]

    operations = [migrations.RunSQL(stored_sql("casts.sql"), stored_sql("drop_casts.sql"))]
