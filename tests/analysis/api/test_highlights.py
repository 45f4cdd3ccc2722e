"""``highlight``: where the records of an answer match."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import ask, check_error, get_result

pytestmark = pytest.mark.django_db

RIVER = {"title": [[0, 5]]}


def search(client: Client, resource: Resource, **sent: Any) -> Any:
    return ask(client, {"resource_id": str(resource.pk), **sent})


def test_each_record_has_its_matches(client: Client, resource: Resource) -> None:
    found = get_result(search(client, resource, q="ha noi", highlight=True, fields="code,title"))

    assert [record["title"] for record in found["records"]] == [
        "Running waters of Ha Noi",
        "Chất lượng không khí Hà Nội",
    ]
    assert found["highlights"] == [{"title": [[18, 20], [21, 24]]}, {"title": [[21, 23], [24, 27]]}]


@pytest.mark.parametrize("sent", [{}, {"highlight": False}, {"highlight": None}])
def test_nothing_is_added_unless_it_is_asked_for(
    client: Client, resource: Resource, sent: dict[str, Any]
) -> None:
    found = get_result(search(client, resource, q="river", **sent))

    assert "highlights" not in found
    assert "highlight" not in found


def test_lists_and_get_give_the_same_matches(client: Client, resource: Resource) -> None:
    found = get_result(search(client, resource, q="river", highlight=True))

    as_lists = search(client, resource, q="river", highlight=True, records_format="lists")
    by_get = client.get(
        "/en/api/action/datastore_search",
        {"resource_id": str(resource.pk), "q": "river", "highlight": "true"},
    )

    assert found["highlights"] == [RIVER]
    assert get_result(as_lists)["highlights"] == get_result(by_get)["highlights"] == [RIVER]
    assert "highlight=true" in get_result(by_get)["_links"]["next"]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"records_format": "csv"}, "Highlights need the “records_format” objects or lists."),
        ({"records_format": "tsv"}, "Highlights need the “records_format” objects or lists."),
        (
            {"limit": 1_001},
            "Highlights are given for at most 1000 records. Lower the “limit”.",
        ),
    ],
)
def test_what_has_no_highlights_is_refused_by_name(
    client: Client, resource: Resource, sent: dict[str, Any], message: str
) -> None:
    answer = search(client, resource, q="river", highlight=True, **sent)

    assert check_error(answer, 409, "Validation Error") == {"highlight": [message]}
