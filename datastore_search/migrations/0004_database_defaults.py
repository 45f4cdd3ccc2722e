"""The columns of 0003 have defaults of the database, so that older code can insert rows."""

import datastore_search.models.resources
import datastore_search.models.translations
import django.contrib.postgres.fields
from django.db import migrations, models

from datastore_search.storage import read_sql_file
from datastore_search.storage.migration_locks import LockTables

CHANGED = ("datastore_search_resource", "datastore_search_field")


class Migration(migrations.Migration):
    dependencies = [
        ("datastore_search", "0003_resource_texts"),
    ]

    operations = [
        LockTables(*CHANGED),
        # Backwards the operations below remove the defaults, which 0003 has.
        migrations.RunSQL(migrations.RunSQL.noop, read_sql_file("text_defaults.sql")),
        migrations.AlterField(
            model_name="field",
            name="translations",
            field=models.JSONField(blank=True, db_default={}, default=dict, editable=False),
        ),
        migrations.AlterField(
            model_name="resource",
            name="contact",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="A person or an office that answers questions.",
                max_length=200,
                verbose_name="contact",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="contact_email",
            field=models.EmailField(
                blank=True,
                db_default="",
                default="",
                max_length=254,
                verbose_name="e-mail of the contact",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="content_language",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The language of the title, the description, the labels and the notes. Empty: unknown.",
                max_length=35,
                validators=[datastore_search.models.translations.validate_content_language],
                verbose_name="language of the texts",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="frequency",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="How often the data change, such as “monthly”.",
                max_length=100,
                verbose_name="frequency of updates",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="license",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="An SPDX id, such as “CC-BY-4.0”, or the address of the licence.",
                max_length=200,
                validators=[datastore_search.models.resources.validate_license],
                verbose_name="licence",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="publisher",
            field=models.CharField(
                blank=True, db_default="", default="", max_length=200, verbose_name="publisher"
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="source",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Where the data come from: an address, or a text.",
                max_length=500,
                verbose_name="source",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="spatial",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The name of a place, or several.",
                max_length=300,
                verbose_name="area covered",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=100),
                blank=True,
                db_default=[],
                default=list,
                help_text="Keywords of the resource, separated by commas.",
                size=50,
                verbose_name="tags",
            ),
        ),
        migrations.AlterField(
            model_name="resource",
            name="translations",
            field=models.JSONField(blank=True, db_default={}, default=dict, editable=False),
        ),
        LockTables(*CHANGED),
    ]
