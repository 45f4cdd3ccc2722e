"""Whether Citus has placed the record table of a table version on a worker."""

from typing import Final

from django.db import migrations, models

from ..database.migration_statements import lock_tables
from ..database.placement import is_wanted

_LOCK: Final = lock_tables("datastore_search_tableversion")


class Migration(migrations.Migration):
    """Add the field."""

    dependencies = [("datastore_search", "0003_words")]

    operations = [
        _LOCK,
        migrations.AddField(
            "tableversion",
            "is_placed",
            models.BooleanField(default=is_wanted, db_default=False, editable=False),
        ),
        _LOCK,
    ]
