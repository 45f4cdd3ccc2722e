"""What clients publish: members of CKAN's that no column holds, and datasets that are deleted."""

from typing import Final

from django.db import migrations, models

from datastore_search.database.migration_statements import lock_tables
from datastore_search.database.server import read_sql_file

_APP: Final = "datastore_search.contrib.catalogue"
_LOCK: Final = lock_tables("datastore_search_catalogue_dataset")


class Migration(migrations.Migration):
    dependencies = [
        ("datastore_search", "0005_without_profiles"),
        ("datastore_search_catalogue", "0002_triggers"),
    ]

    operations = [
        _LOCK,
        migrations.AddField(
            model_name="dataset",
            name="members",
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="dataset",
            name="state",
            field=models.CharField(
                choices=[("active", "Active"), ("deleted", "Deleted")],
                db_default="active",
                default="active",
                editable=False,
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="dataset",
            name="name",
            field=models.SlugField(blank=True, max_length=100, null=True),
        ),
        migrations.AddConstraint(
            model_name="dataset",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "active")),
                fields=("name",),
                name="datastore_search_dataset_name",
            ),
        ),
        migrations.RunSQL(
            read_sql_file("published.sql", _APP), read_sql_file("drop_published.sql", _APP)
        ),
        _LOCK,
    ]
