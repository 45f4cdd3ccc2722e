"""Stored downloads of whole resources."""

from typing import Final

import django.db.models.deletion
from django.db import migrations, models

import datastore_search.contrib.files.models
from datastore_search.database.migration_statements import lock_tables

_LOCK: Final = lock_tables("datastore_search_resource")


class Migration(migrations.Migration):
    """Add the table."""

    dependencies = [
        ("datastore_search", "0004_placement"),
        ("datastore_search_files", "0003_user"),
    ]

    operations = [
        _LOCK,
        migrations.CreateModel(
            name="StoredDownload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("format", models.CharField(max_length=50)),
                ("version", models.BigIntegerField()),
                (
                    "file",
                    models.FileField(
                        blank=True,
                        max_length=500,
                        storage=datastore_search.contrib.files.models.get_upload_storage,
                        upload_to="",
                    ),
                ),
                ("size_bytes", models.BigIntegerField(default=0)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("used_at", models.DateTimeField()),
                (
                    "resource",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="datastore_search.resource",
                    ),
                ),
            ],
            options={
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("resource", "format", "version"),
                        name="datastore_search_one_download",
                    )
                ],
            },
        ),
        _LOCK,
    ]
