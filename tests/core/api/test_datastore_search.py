"""The basic rules of ``datastore_search``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import ask, check_error, get_ids, get_result, make_slow, search

PATH = "/en/api/action/datastore_search"


def test_the_maximum_limit_is_a_setting(client: Client, resource: Resource, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_LIMIT = 3

    assert len(get_ids(search(client, resource))) == 3
    assert len(get_ids(search(client, resource, limit=5))) == 3


def test_an_offset_behind_the_end_gives_no_records(client: Client, resource: Resource) -> None:
    for parameters in ({}, {"q": "river"}, {"filters": {"stage": "active"}}):
        for offset in (6, 2**63, 10**30):
            result = get_result(search(client, resource, offset=offset, **parameters))
            assert result["records"] == []
            assert result["total_was_estimated"] is False


def test_a_record_has_its_fields_in_order_with_nulls(client: Client, resource: Resource) -> None:
    response = search(client, resource, filters={"_id": 6})

    assert (
        '"records": [{"_id":6,"code":"006","subject":null,"stage":"active",'
        '"title":"No subject at all","amount":9.00,"seen":"2023-09-09"}]'
    ) in response.content.decode()


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


def test_a_resource_that_was_never_loaded_is_404(client: Client, db: None) -> None:
    empty = Resource.objects.create(name="empty")

    check_error(search(client, empty), 404)


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
    check_error(ask(client, body), 400)


@pytest.mark.parametrize("number", ["9" * 5000, "1e" + "9" * 30])
def test_a_number_that_is_too_long_is_named(client: Client, db: None, number: str) -> None:
    error = check_error(ask(client, f'{{"limit": {number}}}'), 400)

    assert "not valid JSON: a number has too many digits" in str(error)


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
@pytest.mark.parametrize("name", ["q", "filters", "resource_id", "id"])
def test_texts_that_postgresql_cannot_store_are_refused(
    client: Client, resource: Resource, name: str, text: str
) -> None:
    sent: dict[str, Any] = {name: {"subject": ["x", text]} if name == "filters" else text}
    error = check_error(search(client, resource, **sent), 409)

    assert set(error) == {name}


def test_sql_in_any_place_is_only_text(client: Client, resource: Resource) -> None:
    evil = "'; DROP TABLE auth_user; -- %s {} \\"

    assert get_ids(search(client, resource, q=evil)) == []
    assert get_ids(search(client, resource, filters={"subject": [evil] * 12})) == []
    assert get_ids(search(client, resource, filters={"subject": evil})) == []
    check_error(search(client, resource, filters={evil: 1}), 409)
    unknown: dict[str, Any] = {evil: 1}
    check_error(search(client, resource, **unknown), 409)


def test_a_slow_search_is_ended(client: Client, resource: Resource, settings: Any) -> None:
    make_slow(resource)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=50)

    error = check_error(search(client, resource), 409)

    assert error == {"query": ["Search took too long"]}


def test_an_unexpected_error_discloses_nothing(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(*_args: object) -> None:
        raise RuntimeError("SELECT secret FROM django")

    monkeypatch.setattr("datastore_search.api.actions.search.read_answer", raise_error)

    error = check_error(search(client, resource), 500)

    assert error == {"message": "Internal server error"}
