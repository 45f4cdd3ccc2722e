"""Portals with psycopg's pool: a load uses the connections that there are."""

from __future__ import annotations

import importlib.util

import pytest
from django.db import connection

from datastore_search.contrib.files.checks import check_pool
from datastore_search.models import Resource

from ..files.builders import load_csv

pytestmark = pytest.mark.skipif(
    not importlib.util.find_spec("psycopg_pool"), reason="needs psycopg_pool"
)


def use_pool(patch: pytest.MonkeyPatch, size: int) -> None:
    patch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    pool = {"min_size": 0, "max_size": size, "timeout": 10}
    patch.setitem(connection.settings_dict["OPTIONS"], "pool", pool)


def close_pool() -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [3, 5])
def test_a_large_load_uses_the_connections_of_the_pool(transactional_db: None, size: int) -> None:
    connection.close()
    with pytest.MonkeyPatch.context() as patch:
        use_pool(patch, size)
        try:
            resource = Resource.objects.create(name="large")
            load_csv(resource, "n,t\n" + "".join(f"{n},word{n}\n" for n in range(12_000)))
        finally:
            close_pool()

    version = Resource.objects.get().table_version
    assert version
    assert version.record_count == 12_000


def test_a_pool_that_is_too_small_for_a_load_is_w014() -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_pool(patch, 2)
        (message,) = check_pool()
        assert (message.id, "2 connections" in message.msg) == ("datastore_search.W014", True)
        use_pool(patch, 3)
        assert [*check_pool()] == []
