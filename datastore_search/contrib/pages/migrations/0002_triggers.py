"""
Versions of resources that change with their views, which PostgreSQL deletes with them, too.

Without this app in ``INSTALLED_APPS`` Django knows nothing of its table, and its foreign key would
not let a resource go.
"""

from typing import Final

from django.db import migrations

from datastore_search.database.migration_statements import delete_in_database, lock_tables
from datastore_search.database.server import read_sql_file

_VIEWS: Final = "datastore_search_pages_savedview"
_RESOURCES: Final = "datastore_search_resource"
_LOCK: Final = lock_tables(_VIEWS, _RESOURCES)


class Migration(migrations.Migration):
    """Create the triggers of views, and let PostgreSQL delete views with their resource."""

    dependencies = [
        ("datastore_search", "0002_functions_and_triggers"),
        ("datastore_search_pages", "0001_initial"),
    ]

    operations = [
        _LOCK,
        delete_in_database(_VIEWS, _RESOURCES, "CASCADE"),
        migrations.RunSQL(
            read_sql_file("views.sql", "datastore_search.contrib.pages"),
            read_sql_file("drop_views.sql", "datastore_search.contrib.pages"),
        ),
        _LOCK,
    ]
