"""Profiles are counted when they are asked for; the column goes one version after its code."""

from typing import Final

from django.db import migrations, models

from ..database.migration_statements import lock_tables

_LOCK: Final = lock_tables("datastore_search_tableversion")


class Migration(migrations.Migration):
    """Give the column a default, and remove the values that are stored in it."""

    dependencies = [("datastore_search", "0004_placement")]

    operations = [
        _LOCK,
        migrations.AlterField(
            "tableversion",
            "profiles",
            models.JSONField(default=dict, db_default={}, editable=False),
        ),
        migrations.RunSQL(
            "UPDATE datastore_search_tableversion SET profiles = '{}' WHERE profiles <> '{}'",
            migrations.RunSQL.noop,
        ),
        _LOCK,
    ]
