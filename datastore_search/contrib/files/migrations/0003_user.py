"""Who has started a load."""

from typing import Final

from django.conf import settings
from django.db import migrations, models

import datastore_search.contrib.files.models
from datastore_search.database.migration_statements import lock_tables

_LOCK: Final = lock_tables("datastore_search_files_load")


class Migration(migrations.Migration):
    """Add the user, without a constraint: the users may be in another database."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("datastore_search_files", "0002_deletions"),
    ]

    operations = [
        _LOCK,
        migrations.AddField(
            "load",
            "user",
            models.ForeignKey(
                settings.AUTH_USER_MODEL,
                datastore_search.contrib.files.models.forget_user,
                null=True,
                blank=True,
                db_constraint=False,
                editable=False,
                related_name="+",
                verbose_name="user",
            ),
        ),
        _LOCK,
    ]
