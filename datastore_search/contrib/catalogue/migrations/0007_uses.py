"""The uses of each table in a month; the table is new, so no lock waits for another."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datastore_search", "0008_datastore"),
        ("datastore_search_catalogue", "0006_searched"),
    ]

    operations = [
        migrations.CreateModel(
            name="Use",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("month", models.DateField(editable=False)),
                ("requests", models.BigIntegerField(editable=False)),
                (
                    "resource",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uses",
                        to="datastore_search.resource",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("resource", "month"), name="datastore_search_use_of_month"
                    )
                ],
            },
        ),
    ]
