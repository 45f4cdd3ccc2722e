"""Who writes, and what to."""

from __future__ import annotations

import pytest
from django.db import connection

from ..shared import ModuleTransaction
from .tables import STOCK_RECORDS, Table, make_stock, token_of_writer


@pytest.fixture(scope="module")
def _shared(module_transaction: ModuleTransaction) -> Table:
    """Make ``stock`` once for all tests of a module: each takes back what it does to it."""
    return make_stock(Table(token_of_writer()))


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


@pytest.fixture
def widened(stock: Table) -> Table:
    """``stock`` with a field that its last record fills; the one before says null."""
    stock.result("create", fields=[{"id": "new", "type": "int4"}])
    stock.result("create", records=[{"code": "d", "new": None}, {"code": "e", "new": 7}])
    return stock
