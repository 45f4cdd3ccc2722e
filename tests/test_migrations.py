"""The migrations run both ways."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection

from datastore_search import storage

from .builders import make_resource


@pytest.mark.django_db(transaction=True)
def test_the_migrations_can_be_undone_and_done_again() -> None:
    make_resource()

    call_command("migrate", "datastore_search", "zero", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'datastore_search%'"
            " UNION SELECT proname FROM pg_proc WHERE proname LIKE 'datastore_search%'"
        )
        left = cursor.fetchall()
    call_command("migrate", "datastore_search", verbosity=0)

    assert left == []
    assert storage.stored_loads(connection) == set()


@pytest.mark.django_db
def test_the_models_need_no_further_migration() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
