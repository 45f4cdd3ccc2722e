"""Tables of the tests of writing, and the token that writes to them."""

from __future__ import annotations

import pytest
from django.db import connection

from ...builders import make_writer_token
from ...shared import ModuleTransaction
from ..ckan.writing.step import STOCK_RECORDS
from .tables import Table, make_stock


@pytest.fixture(scope="module")
def _shared(module_transaction: ModuleTransaction) -> Table:
    """Make ``stock`` once for all tests of a module, each of which is rolled back."""
    return make_stock(Table(make_writer_token()))


@pytest.fixture
def token(_shared: Table, db: None) -> str:
    """The token of a user with all permissions for resources."""
    return _shared.token


@pytest.fixture
def table(token: str) -> Table:
    """A resource that does not exist yet."""
    return Table(token)


@pytest.fixture
def stock(_shared: Table, db: None) -> Table:
    """A table with three records, a primary key and an alias."""
    with connection.cursor() as cursor:  # a rollback does not reset a sequence
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence(%s, '_id'), %s)",
            [_shared.get_record_table(), len(STOCK_RECORDS)],
        )
    return _shared


@pytest.fixture
def widened(stock: Table) -> Table:
    """``stock`` with a new field: the last record has a value in it, the one before a null."""
    stock.run("create", fields=[{"id": "new", "type": "int4"}])
    stock.run("create", records=[{"code": "d", "new": None}, {"code": "e", "new": 7}])
    return stock
