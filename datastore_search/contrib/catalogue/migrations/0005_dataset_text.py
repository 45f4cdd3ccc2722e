"""The table of what searches of the catalogue read."""

from typing import Final

import django.db.models.deletion
from django.db import migrations, models

import datastore_search.contrib.catalogue.models
from datastore_search.database.migration_statements import lock_tables

_LOCK: Final = lock_tables("datastore_search_catalogue_dataset")


class Migration(migrations.Migration):
    dependencies = [
        ("datastore_search", "0006_text_of_records"),
        ("datastore_search_catalogue", "0004_organizations"),
    ]

    operations = [
        _LOCK,
        migrations.CreateModel(
            name="DatasetText",
            fields=[
                (
                    "dataset",
                    models.OneToOneField(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="searched",
                        serialize=False,
                        to="datastore_search_catalogue.dataset",
                    ),
                ),
                (
                    "resource",
                    models.OneToOneField(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="searched",
                        to="datastore_search.resource",
                    ),
                ),
                ("version", models.BigIntegerField(editable=False)),
                ("text", models.TextField(editable=False)),
                ("language", models.CharField(editable=False, max_length=63)),
                (
                    "words",
                    datastore_search.contrib.catalogue.models.WordsField(editable=False, null=True),
                ),
                ("read_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["language"], name="datastore_search_text_language"),
                ],
            },
        ),
        _LOCK,
    ]
