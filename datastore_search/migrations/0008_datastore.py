"""The page *Datastore* of the admin has a model, a proxy, which changes no table."""

from django.db import migrations


class Migration(migrations.Migration):
    """Add the proxy."""

    dependencies = [("datastore_search", "0007_near")]

    operations = [
        migrations.CreateModel(
            name="Datastore",
            fields=[],
            options={
                "verbose_name": "Datastore",
                "verbose_name_plural": "Datastore",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("datastore_search.resource",),
        )
    ]
