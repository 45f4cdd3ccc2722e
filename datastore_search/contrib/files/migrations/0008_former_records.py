"""Loads keep what they have replaced, so that it can be published again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column."""

    dependencies = [("datastore_search_files", "0007_file_deletions")]

    operations = [
        migrations.AddField(
            model_name="load",
            name="former",
            field=models.JSONField(blank=True, editable=False, null=True),
        )
    ]
