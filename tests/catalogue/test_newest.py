"""The datasets that have changed last, which indexes have in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from datastore_search.contrib.catalogue import datasets
from datastore_search.contrib.catalogue.datasets import open_public_datasets
from datastore_search.contrib.catalogue.models import Dataset, State
from datastore_search.contrib.catalogue.query import parse_catalogue_sort
from datastore_search.database.statements import execute
from datastore_search.models import Resource, TableVersion

from ..deployment.test_many_tables import count_scanned_rows, list_statements

pytestmark = pytest.mark.django_db

SEARCH = "/en/api/action/package_search?rows=10"
TIMES = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 8)]


def make_resources(number: int, random: Random, *, private: float = 0.0) -> None:
    """Make loaded resources, some of them private, without the ways of a single one."""
    resources = Resource.objects.bulk_create(
        Resource(name=f"table-{each:04}", title=f"Table {each}", private=random.random() < private)
        for each in range(number)
    )
    versions = TableVersion.objects.bulk_create(
        TableVersion(resource=each, language="english", published_at=timezone.now())
        for each in resources
    )
    for resource, version in zip(resources, versions, strict=True):
        resource.table_version = version
    Resource.objects.bulk_update(resources, ["table_version"])


def make_dataset(name: str, **values: object) -> Dataset:
    """Make a dataset as a client publishes it."""
    given = {"is_public": True, "members": {}, "metadata_modified": timezone.now()}
    return Dataset.objects.create(id=f"{name}-id", name=name, **given | values)


@pytest.mark.parametrize("is_published", [False, True])
def test_a_page_reads_as_few_rows_of_many_datasets(
    client: Client, no_resource: None, is_published: bool
) -> None:
    make_resources(2_000, Random(1))
    if is_published:
        make_dataset("published")
    for setting in ("random_page_cost = 1.1", "jit = off"):
        execute(connection, f"SET LOCAL {setting}")
    execute(connection, "ANALYZE")
    assert client.get(SEARCH).json()["result"]["count"] == 2_000 + is_published

    statements = list_statements(lambda: client.get(SEARCH))

    reading = [each for each in statements if "SELECT COUNT(" not in each]
    assert len(reading) < len(statements)
    assert sum(map(count_scanned_rows, reading)) < 200


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sort", ["metadata_modified desc", "metadata_modified asc"])
def test_the_first_by_an_index_are_the_first_of_all(
    no_resource: None, monkeypatch: pytest.MonkeyPatch, seed: int, sort: str
) -> None:
    random = Random(seed)
    make_resources(40, random, private=0.2)
    homes = [
        make_dataset(
            f"home-{each}",
            is_public=random.random() < 0.5,
            state=random.choice([State.ACTIVE, State.ACTIVE, State.DELETED]),
            members=random.choice([None, {}]),
            metadata_modified=random.choice([None, *TIMES]),
        )
        for each in range(12)
    ]
    for row in Dataset.objects.filter(resource__isnull=False):
        row.part_of = random.choice([None, None, *homes[:2]])
        row.metadata_modified = random.choice([*[None] * 8, TIMES[0]])
        row.save()
    execute(connection, "SET CONSTRAINTS ALL IMMEDIATE")
    execute(connection, "ALTER TABLE datastore_search_resource DISABLE TRIGGER USER")
    for resource in Resource.objects.all():
        Resource.objects.filter(pk=resource.pk).update(modified_at=random.choice(TIMES))
    Resource.objects.filter(name="table-0007").update(table_version=None)
    Dataset.objects.filter(resource__name="table-0008").delete()
    order = parse_catalogue_sort(sort)
    bounds = [slice(first, first + size) for first in (0, 1, 9, 90) for size in (0, 1, 5, 60)]

    def read(number: int) -> list[tuple[list[str], int]]:
        monkeypatch.setattr(datasets, "MIN_INDEXED", number)
        pages = [open_public_datasets(connection.alias).read_page(order, each) for each in bounds]
        return [([each.dataset.pk for each in page], count) for page, count in pages]

    assert read(0) == read(1_000)


def test_a_hidden_dataset_changes_no_page_and_no_count(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "MIN_INDEXED", 0)
    make_resources(20, Random(1))
    make_dataset("published", metadata_modified=timezone.now() - timedelta(days=1))
    before = client.get(SEARCH).json()["result"]

    make_dataset("private", is_public=False)
    make_dataset("deleted", state=State.DELETED)
    Resource.objects.create(name="private", private=True)
    Resource.objects.create(name="empty")

    assert client.get(SEARCH).json()["result"] == before
