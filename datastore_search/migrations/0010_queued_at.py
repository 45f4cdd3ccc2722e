"""A load knows since when it waits for a worker."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that may be null, which takes no time; it is unknown for loads so far."""

    dependencies = [("datastore_search", "0009_primary_managers")]

    operations = [
        migrations.AddField(
            model_name="load",
            name="queued_at",
            field=models.DateTimeField(editable=False, null=True),
        )
    ]
