"""Which indexes a table has, and the version of a resource."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from datastore_search.storage import stored_sql


def note_indexes(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Say of the tables that are there by what they are indexed."""
    load = apps.get_model("datastore_search", "Load")
    load.objects.filter(state="ready").update(indexes=["filters", "words"])


class Migration(migrations.Migration):
    """Add the fields and the triggers; the question of a full-text query asks for less."""

    dependencies = [("datastore_search", "0004_casts")]

    operations = [
        migrations.AddField(
            model_name="field",
            name="ordered",
            field=models.BooleanField(default=False, editable=False),
        ),
        migrations.AddField(
            model_name="resource",
            name="indexes",
            field=models.JSONField(
                blank=True,
                help_text="What is found fast. Every index takes time with each load, and room. "
                "Without a choice the portal’s settings decide. A change takes effect with the "
                "next load.",
                null=True,
                verbose_name="indexes",
            ),
        ),
        migrations.AddField(
            model_name="load",
            name="indexes",
            field=models.JSONField(default=list, editable=False),
        ),
        migrations.AddField(
            model_name="load",
            name="common",
            field=models.JSONField(default=dict, editable=False),
        ),
        migrations.RunPython(note_indexes, migrations.RunPython.noop),
        migrations.RunSQL(stored_sql("functions.sql"), migrations.RunSQL.noop),
        migrations.RunSQL(stored_sql("versions.sql"), stored_sql("drop_versions.sql")),
    ]
