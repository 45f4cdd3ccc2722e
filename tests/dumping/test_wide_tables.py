"""Files of more columns than PostgreSQL returns: the same cells as of a narrower table."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client

from datastore_search.dumping import parquet
from datastore_search.models import Resource
from datastore_search.search import plan, rendering, sql

from ..builders import make_resource

VALUES = {
    "n": ("1.50", "numeric"),
    "t": ('"a ""b"", c"', "text"),
    "e": ('""', "text"),
    "x": ("", "text"),
    "b": ("true", "bool"),
    "d": ("2024-02-29", "date"),
    "j": ('"{""k"": [1, null]}"', "json"),
    "l": ('"[1, null]"', "_int4"),
    "5 %s": ("5", "int4"),
}


@pytest.fixture
def resource(db: None) -> Resource:
    cells = [cell for cell, _type in VALUES.values()]
    types = {name: kind for name, (_cell, kind) in VALUES.items()}
    empty = "," * (len(cells) - 1)
    return make_resource(f"{','.join(VALUES)}\n{','.join(cells)}\n{empty}\n", types=types)


@pytest.fixture(autouse=True)
def fresh_statements() -> Iterator[None]:
    """What was composed with another limit is not used."""
    forget_statements()
    yield
    forget_statements()


def forget_statements() -> None:
    for cached in (sql._build_narrow_columns, plan._render_narrow_key_scan):
        cached.cache_clear()


def fetch(client: Client, resource: Resource, path: str) -> bytes:
    response: Any = client.get(path.format(resource.pk))
    assert response.status_code == 200
    return b"".join(response) if response.streaming else bytes(response.content)


@pytest.mark.parametrize(
    "path",
    [
        "/en/datastore/dump/{}",
        "/en/datastore/dump/{}?format=tsv",
        "/en/datastore/dump/{}?format=json",
        "/en/datastore/dump/{}?format=ndjson",
        "/en/datastore/dump/{}?format=xml",
        "/en/api/action/datastore_search?resource_id={}&records_format=csv",
        "/en/api/action/datastore_search?resource_id={}&records_format=tsv",
        "/en/api/action/datastore_search?resource_id={}&records_format=lists",
        "/en/api/action/datastore_search?resource_id={}&fields=b,_id,t,rank,n&q=b",
        "/en/api/action/datastore_search?resource_id={}&records_format=csv&q=b",
    ],
)
def test_many_columns_are_written_as_few_are(
    client: Client, monkeypatch: pytest.MonkeyPatch, resource: Resource, path: str
) -> None:
    expected = fetch(client, resource, path)
    forget_statements()
    monkeypatch.setattr(rendering, "MAX_COLUMNS_PER_STATEMENT", 0)

    assert fetch(client, resource, path) == expected
    assert expected.count(b"1.50") == 1


def test_many_columns_are_measured_for_parquet(
    client: Client, monkeypatch: pytest.MonkeyPatch, resource: Resource
) -> None:
    path = "/en/datastore/dump/{}?format=parquet"
    expected = pq.read_table(io.BytesIO(fetch(client, resource, path)))
    monkeypatch.setattr(parquet, "MAX_COLUMNS_PER_STATEMENT", 1)
    parquet.measures_cache.clear()

    assert pq.read_table(io.BytesIO(fetch(client, resource, path))).equals(expected)
