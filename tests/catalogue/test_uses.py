"""The uses of tables are counted, for the list of the most used ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from threading import enumerate as list_threads
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from lxml.html import document_fromstring

from datastore_search.contrib.catalogue import uses
from datastore_search.contrib.catalogue.models import Use
from datastore_search.contrib.catalogue.uses import add_uses, clean_up, find_first_day
from datastore_search.models import Resource

from ..builders import act, make_listed_resource, make_user, make_writer_token


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Mapping[Any, int]:
    """What this process has counted, and not yet written."""
    counts = uses._Counts()
    monkeypatch.setattr(uses, "_counts", counts)
    return counts._by_resource


def count_uses() -> dict[Any, int]:
    return dict(Use.objects.values_list("resource", "requests"))


@pytest.mark.parametrize(
    "path", ["{pk}/", "{pk}/about/", "{pk}/chart/?by=subject", "{pk}/r/1/", "dump/{pk}"]
)
def test_a_page_or_a_download_is_a_use(
    client: Client, resource: Resource, counted: Mapping[Any, int], path: str
) -> None:
    response = client.get(f"/en/datastore/{path.format(pk=resource.pk)}")

    assert response.status_code == 200
    assert counted == {resource.pk: 1}


def test_an_action_that_reads_is_a_use(
    client: Client, resource: Resource, counted: Mapping[Any, int]
) -> None:
    sent = {"resource_id": str(resource.pk)}
    for _number in range(2):
        assert act(client, "datastore_search", sent).status_code == 200
    assert act(client, "datastore_search", {**sent, "limit": -1}).status_code == 409

    assert counted == {resource.pk: 2}


def test_no_write_and_no_refusal_is_a_use(
    client: Client, resource: Resource, counted: Mapping[Any, int]
) -> None:
    sent = {"resource_id": str(resource.pk)}
    Resource.objects.filter(pk=resource.pk).update(private=True)
    written = {**sent, "force": True, "filters": {"code": "001"}}

    assert act(client, "datastore_search", sent).status_code == 403
    assert act(client, "datastore_delete", written, make_writer_token()).status_code == 200
    assert act(client, "package_search", {}).status_code == 200
    assert client.get(f"/en/datastore/{resource.pk}/?page=2").status_code == 403

    assert counted == {}


def test_a_thread_writes_what_is_counted(
    client: Client,
    transactional_db: None,
    monkeypatch: pytest.MonkeyPatch,
    counted: Mapping[Any, int],
) -> None:
    resource = make_listed_resource("r")
    address = f"/en/datastore/{resource.pk}/"
    client.get(address)
    assert count_uses() == {}

    monkeypatch.setattr(uses, "SECONDS_BETWEEN_WRITES", 0)
    client.get(address)
    for thread in list_threads():
        if thread.name == "datastore_search_uses":
            thread.join()

    assert count_uses() == {resource.pk: 2}
    assert uses._counts._by_resource == {}


@pytest.mark.usefixtures("counted")
def test_only_so_many_resources_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "MAX_COUNTED", 2)
    first, second, third = (uuid4() for _number in range(3))
    for resource_id in (first, second, third, first, second):
        uses._counts.add(resource_id)

    assert uses._counts._by_resource == {first: 2, second: 2}


def test_counts_are_added_to_those_of_other_processes(resource: Resource) -> None:
    add_uses({resource.pk: 3})
    add_uses({resource.pk: 4})

    assert count_uses() == {resource.pk: 7}
    Resource.objects.get(pk=resource.pk).delete()
    assert count_uses() == {}


def test_a_resource_that_is_gone_is_no_error(resource: Resource) -> None:
    pk = resource.pk
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    Resource.objects.get(pk=pk).delete()

    add_uses({pk: 1})


def test_uses_of_earlier_months_are_deleted(resource: Resource) -> None:
    first, other = find_first_day(), {"resource": resource, "requests": 5}
    Use.objects.create(month=first - timedelta(days=1), **other)
    Use.objects.create(month=first, **other)

    assert list(clean_up()) == ["Deleted the counts of uses of earlier months: 1."]
    assert list(clean_up()) == []
    assert list(Use.objects.values_list("month", flat=True)) == [first]


@pytest.fixture
def list_used(client: Client, no_resource: None) -> Callable[[], dict[str, list[str]]]:
    """List the texts of the links of the first page, with what follows each, by their heading."""

    def list_texts() -> dict[str, list[str]]:
        page = document_fromstring(client.get("/en/datastore/").content)
        return {
            str(way.findtext("h2")): ["".join(map(str, each.itertext())) for each in way.iter("li")]
            for way in page.iter("section")
        }

    return list_texts


def test_the_first_page_lists_the_most_used_tables(
    client: Client, list_used: Callable[[], dict[str, list[str]]]
) -> None:
    made = [make_listed_resource(f"r{number}") for number in range(10)]
    hidden = make_listed_resource("hidden", private=True)
    first = find_first_day()
    for number, resource in enumerate([*made, hidden]):
        Use.objects.create(resource=resource, month=first, requests=1000 * number)
    add_uses({made[3].pk: 90_000})
    Use.objects.create(resource=made[0], month=date(2020, 1, 1), requests=10**6)

    ways = list_used()

    title = f"Most used since {first:%B} 1, {first:%Y}"
    assert ways[title][:2] == ["r3 93,000 requests", "r9 9,000 requests"]
    assert len(ways[title]) == 8
    assert "hidden" not in str(ways)
    client.force_login(make_user(permissions=("view_resource",)))
    assert "hidden 10,000 requests" in list_used()[title]


def test_tables_that_nobody_uses_are_not_listed(
    list_used: Callable[[], dict[str, list[str]]],
) -> None:
    for number in range(9):
        make_listed_resource(f"r{number}")

    assert "Most used" not in str(list_used())
