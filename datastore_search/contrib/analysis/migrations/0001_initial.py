import django.db.models.deletion
from django.db import migrations, models

from datastore_search.database.server import read_sql_file


class Migration(migrations.Migration):
    initial = True

    dependencies = [("datastore_search", "0004_placement")]

    operations = [
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                (
                    "table_version",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="datastore_search.tableversion",
                    ),
                ),
                ("file", models.CharField(blank=True, editable=False, max_length=200)),
                ("columns", models.JSONField(editable=False)),
                ("moment", models.TextField(blank=True, editable=False)),
                ("version", models.BigIntegerField(editable=False, null=True)),
                ("server", models.CharField(editable=False, max_length=60)),
                ("size_bytes", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "snapshot",
                "verbose_name_plural": "snapshots",
                "base_manager_name": "objects",
            },
        ),
        migrations.RunSQL(
            read_sql_file("changes.sql", "datastore_search.contrib.analysis"),
            "DROP TABLE datastore_search_analysis_change;"
            " DROP FUNCTION datastore_search_note_changes CASCADE",
        ),
    ]
