"""Who writes, and what to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from .tables import STOCK_RECORDS, Table, make_stock, token_of_writer


@pytest.fixture(scope="module")
def _shared(django_db_setup: None, django_db_blocker: Any) -> Iterator[Table]:
    """Make ``stock`` once for all tests of a module: each takes back what it does to it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_stock(Table(token_of_writer()))
        transaction.set_rollback(True)


@pytest.fixture
def token(_shared: Table, db: None) -> str:
    """The token of a user who may do everything to resources."""
    return _shared.token


@pytest.fixture
def table(token: str) -> Table:
    """A resource that is not there yet."""
    return Table(token)


@pytest.fixture
def stock(_shared: Table, db: None) -> Table:
    """A table with three records, a primary key and an alias."""
    with connection.cursor() as cursor:  # numbers that were given are not taken back
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence(%s, '_id'), %s)",
            [_shared.record_table(), len(STOCK_RECORDS)],
        )
    return _shared
