"""The basic rules of ``datastore_search``."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import ask, check_error, get_ids, get_result, make_resource, make_slow, search

PATH = "/en/api/action/datastore_search"


def test_the_best_match_comes_first_with_its_rank(client: Client, db: None) -> None:
    resource = make_resource("a,b\nwater,air\nwater,water water\nair,air\nwater,air\n")

    result = get_result(search(client, resource, q="water"))

    assert [record["_id"] for record in result["records"]] == [2, 1, 4]
    assert list(result["records"][0]) == ["_id", "a", "b", "rank"]
    assert result["fields"][-1] == {"id": "rank", "type": "float"}
    assert result["total"] == 3


@pytest.mark.parametrize(
    ("limit", "in_force"),
    [(None, 100), ("", 100), ("3", 3), (0, 0), (40_000, 32_000), (5.0, 5), (1e28, 32_000)],
)
def test_the_effective_limit_is_in_the_answer(
    client: Client, resource: Resource, limit: object, in_force: int
) -> None:
    result = get_result(search(client, resource, limit=limit))

    assert result["limit"] == in_force
    assert len(result["records"]) == min(6, in_force)


def test_the_maximum_limit_is_a_setting(client: Client, resource: Resource, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_LIMIT = 3

    assert len(get_ids(search(client, resource))) == 3
    assert len(get_ids(search(client, resource, limit=5))) == 3


def test_an_offset_behind_the_end_gives_no_records(client: Client, resource: Resource) -> None:
    for parameters in ({}, {"q": "river"}, {"filters": {"stage": "active"}}):
        for offset in (6, 2**63, 10**30):
            result = get_result(search(client, resource, offset=offset, **parameters))
            assert result["records"] == []


def test_a_record_has_its_fields_in_order_with_nulls(client: Client, resource: Resource) -> None:
    response = search(client, resource, filters={"_id": 6})

    assert (
        '"records": [{"_id":6,"code":"006","subject":null,"stage":"active",'
        '"title":"No subject at all","amount":9.00,"seen":"2023-09-09"}]'
    ) in response.content.decode()


def test_get_and_post_answer_alike(client: Client, resource: Resource) -> None:
    parameters = {"resource_id": str(resource.pk), "limit": 2, "q": "ha noi"}
    filters = {"stage": ["active", "planned"]}

    by_post = ask(client, {**parameters, "filters": filters})
    by_get = client.get(f"{PATH}?{urlencode({**parameters, 'filters': json.dumps(filters)})}")
    by_form = client.post(PATH, {**parameters, "filters": json.dumps(filters)})
    by_query = client.post(f"{PATH}?{urlencode({**parameters, 'filters': json.dumps(filters)})}")

    assert get_ids(by_post) == [5, 4] or get_ids(by_post) == [4, 5]
    assert get_result(by_post) == get_result(by_get) == get_result(by_form) == get_result(by_query)


def test_links_lead_to_the_other_pages(client: Client, resource: Resource) -> None:
    base, path = "/en_GB", "/api/3/action/datastore_search"
    first = get_result(
        ask(
            client,
            {"resource_id": str(resource.pk), "limit": 2, "filters": {"stage": ["active"]}},
            path=base + path,
        )
    )

    second = get_result(client.get(base + first["_links"]["next"]))
    again = get_result(client.get(base + second["_links"]["prev"]))

    assert first["_links"]["next"].startswith(path)
    assert "prev" not in first["_links"]
    assert [record["_id"] for record in second["records"]] == [4, 6]
    assert again["records"] == first["records"]
    assert get_result(client.get(base + second["_links"]["start"]))["records"] == first["records"]


# Failures -----------------------------------------------------------------------------------------


def test_an_unknown_resource_is_404(client: Client, db: None) -> None:
    for unknown in ("b1e00f9c-5551-4d39-ac98-de198a7980bd", "no-id", 5, ["x"], {"a": 1}, True):
        error = check_error(ask(client, {"resource_id": unknown}), 404, "Not Found Error")
        assert set(error) == {"message"}


def test_a_resource_that_was_never_loaded_is_404(client: Client, db: None) -> None:
    empty = Resource.objects.create(name="empty")

    check_error(search(client, empty), 404, "Not Found Error")


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[1]",
        '"text"',
        "5",
        "null",
        '{"a": NaN}',
        "\ud800".encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00",
        '{"a":' * 5000,
        '{"limit": ' + "9" * 5000 + "}",
    ],
)
def test_a_body_that_is_no_json_object_is_400(client: Client, db: None, body: str | bytes) -> None:
    check_error(ask(client, body), 400, "Bad Request")


@pytest.mark.parametrize("value", ["abc", 1.5, "5.0", "1e3", " ", [], [5], {"a": 1}, "٣x"])
def test_a_limit_that_is_no_integer_is_refused(
    client: Client, resource: Resource, value: object
) -> None:
    error = check_error(search(client, resource, limit=value), 409, "Validation Error")
    assert error == {"limit": ["Invalid integer"]}


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
@pytest.mark.parametrize("name", ["q", "filters", "resource_id", "id"])
def test_texts_that_postgresql_cannot_store_are_refused(
    client: Client, resource: Resource, name: str, text: str
) -> None:
    sent: dict[str, Any] = {name: {"subject": ["x", text]} if name == "filters" else text}
    error = check_error(search(client, resource, **sent), 409, "Validation Error")

    assert set(error) == {name}


def test_sql_in_any_place_is_only_text(client: Client, resource: Resource) -> None:
    evil = "'; DROP TABLE auth_user; -- %s {} \\"

    assert get_ids(search(client, resource, q=evil)) == []
    assert get_ids(search(client, resource, filters={"subject": [evil] * 12})) == []
    assert get_ids(search(client, resource, filters={"subject": evil})) == []
    check_error(search(client, resource, filters={evil: 1}), 409, "Validation Error")
    unknown: dict[str, Any] = {evil: 1}
    check_error(search(client, resource, **unknown), 409, "Validation Error")


def test_a_slow_search_is_ended(client: Client, resource: Resource, settings: Any) -> None:
    make_slow(resource)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=50)

    error = check_error(search(client, resource), 409, "Validation Error")

    assert error == {"query": ["Search took too long"]}


def test_an_unexpected_error_discloses_nothing(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(*_args: object) -> None:
        raise RuntimeError("SELECT secret FROM django")

    monkeypatch.setattr("datastore_search.api.actions.search.read_answer", raise_error)

    error = check_error(search(client, resource), 500, "Internal Server Error")

    assert error == {"message": "Internal server error"}
