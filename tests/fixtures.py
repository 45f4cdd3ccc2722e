"""Fixtures that the tests of several apps share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from .builders import make_resource, make_user
from .shared import ModuleTransaction, restore_shared_resource
from .typed import make_resource_of_every_type


@pytest.fixture(scope="module")
def _hidden(module_transaction: ModuleTransaction) -> Resource:
    return make_resource(name="hidden", private=True)


@pytest.fixture
def hidden(_hidden: Resource, db: None) -> Resource:
    """A private resource with the records of ``builders.SURVEY``."""
    return restore_shared_resource(_hidden) or make_resource(private=True)


@pytest.fixture(scope="module")
def _every_type(module_transaction: ModuleTransaction) -> Resource:
    return make_resource_of_every_type()


@pytest.fixture
def typed(_every_type: Resource, db: None) -> Resource:
    """A resource with a field of each type, and a table ``typed`` that holds the same."""
    return _every_type


@pytest.fixture
def large(transactional_db: None) -> Iterator[Resource]:
    """A resource whose file is larger than what a connection holds on its way."""
    rows = "".join(f"{number},{'x' * 10_000}\n" for number in range(4_000))
    yield make_resource(f"number,text\n{rows}")
    Resource.objects.all().delete()


@pytest.fixture
def no_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """New tables have all indexes, however small they are."""
    monkeypatch.setattr("datastore_search.database.tables.MAX_UNINDEXED_BYTES", -1)


@pytest.fixture
def large_bodies(settings: Any) -> None:
    """A portal that lets clients without a token send as much as those with one."""
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = 2**20


@pytest.fixture
def boss(db: None) -> Any:
    return make_user("boss", is_staff=True, is_superuser=True)


@pytest.fixture
def staff(client: Client, boss: Any) -> Client:
    client.force_login(boss)
    return client
