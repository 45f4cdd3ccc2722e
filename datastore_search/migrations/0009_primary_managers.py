"""The managers of the app read from the primary; nothing changes in the database."""

from django.db import migrations


class Migration(migrations.Migration):
    """Let related objects be read by the models' own managers."""

    dependencies = [("datastore_search", "0008_restorable_functions")]

    operations = [
        migrations.AlterModelOptions(
            name="resource",
            options={
                "base_manager_name": "objects",
                "ordering": ("name",),
                "verbose_name": "resource",
                "verbose_name_plural": "resources",
            },
        ),
        migrations.AlterModelOptions(
            name="alias",
            options={
                "base_manager_name": "objects",
                "ordering": ("name",),
                "verbose_name": "alias",
                "verbose_name_plural": "aliases",
            },
        ),
        migrations.AlterModelOptions(
            name="field",
            options={
                "base_manager_name": "objects",
                "ordering": ("position",),
                "verbose_name": "field",
                "verbose_name_plural": "fields",
            },
        ),
        migrations.AlterModelOptions(
            name="load",
            options={
                "base_manager_name": "objects",
                "ordering": ("-started", "-pk"),
                "verbose_name": "load",
                "verbose_name_plural": "loads",
            },
        ),
        migrations.AlterModelOptions(
            name="badrowreport",
            options={
                "base_manager_name": "objects",
                "ordering": ("load", "line", "pk"),
                "verbose_name": "bad row",
                "verbose_name_plural": "bad rows",
            },
        ),
    ]
