"""Where parameters are read from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..builders import check_error, get_ids

PATH = "/en/api/action/datastore_search"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/ld+json", ""]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_json_is_read_in_any_unicode_encoding(
    client: Client, resource: Resource, kind: str, encoding: str
) -> None:
    body = json.dumps({"resource_id": str(resource.pk), "q": "Hà Nội"}, ensure_ascii=False)

    response = client.post(PATH, body.encode(encoding), content_type=kind)

    assert get_ids(response) == [4]


def test_json_sent_as_a_form_is_read_whole(client: Client, resource: Resource) -> None:
    body = json.dumps(
        {"resource_id": str(resource.pk), "filters": {"title": "a=b&c"}, "q": "x&y=z"}
    )

    response = client.post(PATH, body, content_type=FORM)

    assert response.json()["result"]["filters"] == {"title": "a=b&c"}
    assert response.json()["result"]["q"] == "x&y=z"


def test_a_form_is_read(client: Client, resource: Resource) -> None:
    body = f"resource_id={resource.pk}&limit=2&q=h%C3%A0+n%E1%BB%99i"

    assert get_ids(client.post(PATH, body, content_type=FORM)) == [4]


def test_an_empty_form_leaves_the_query_string(client: Client, resource: Resource) -> None:
    for kind in (FORM, "application/json", "text/plain"):
        response = client.post(f"{PATH}?resource_id={resource.pk}&limit=1", "", content_type=kind)
        assert get_ids(response) == [1]


def test_a_query_string_wins_over_a_json_body(client: Client, resource: Resource) -> None:
    response = client.post(
        f"{PATH}?resource_id={resource.pk}&limit=1", '{"limit": 3}', content_type="application/json"
    )

    assert get_ids(response) == [1]


def test_of_a_repeated_json_member_the_last_counts(client: Client, resource: Resource) -> None:
    body = f'{{"resource_id": "{resource.pk}", "limit": 1, "limit": 2}}'

    assert get_ids(client.post(PATH, body, content_type="application/json")) == [1, 2]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"--b\r\nrubbish"),
        (FORM, b"&".join(b"a%d=1" % i for i in range(2000))),
        (FORM, b"{"),
    ],
)
def test_a_broken_form_is_refused(client: Client, db: None, kind: str, body: bytes) -> None:
    response = client.post(PATH, body, content_type=kind)

    assert response.status_code in (400, 409)
    assert response.json()["success"] is False


def test_invalid_bytes_never_break_anything(client: Client, resource: Resource) -> None:
    bodies: list[tuple[str, Any]] = [
        (FORM, f"resource_id={resource.pk}&q=%ff%fe".encode()),
        (FORM, b"resource_id=%00"),
        (FORM, b"\xff\xfe=\x00"),
        ("application/json", b'{"resource_id": "\xff"}'),
    ]
    for kind, body in bodies:
        assert client.post(PATH, body, content_type=kind).status_code in (200, 400, 404, 409)
    check_error(client.get(PATH + "?resource_id=%00"), 409, "Validation Error")
