"""The files of resources, which are served as they came."""

from typing import Final

import django.db.models.deletion
from django.db import migrations, models

import datastore_search.contrib.files.models
from datastore_search.database.migration_statements import lock_tables

_LOCK: Final = lock_tables("datastore_search_resource")


class Migration(migrations.Migration):
    """Add the table."""

    dependencies = [("datastore_search_files", "0005_download_deletions")]

    operations = [
        _LOCK,
        migrations.CreateModel(
            name="ResourceFile",
            fields=[
                (
                    "resource",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="datastore_search.resource",
                    ),
                ),
                (
                    "file",
                    models.FileField(
                        max_length=500,
                        storage=datastore_search.contrib.files.models.get_upload_storage,
                        upload_to="",
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("size_bytes", models.BigIntegerField()),
                ("stored_at", models.DateTimeField()),
            ],
            options={"base_manager_name": "objects"},
        ),
        _LOCK,
    ]
