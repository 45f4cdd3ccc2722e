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
    ("kind", "encoding"),
    [
        ("application/json", "utf-8"),
        ("application/json; charset=latin-1", "utf-8"),
        ("application/json; charset=nonsense", "utf-8"),
        ("application/json; charset=utf-8", "utf-8-sig"),
        ("Application/JSON; odata=verbose; x", "utf-16"),
        ("application/ld+json", "utf-16-le"),
        ("", "utf-32-be"),
    ],
)
def test_json_is_read_in_any_unicode_encoding(
    client: Client, resource: Resource, kind: str, encoding: str
) -> None:
    body = json.dumps({"resource_id": str(resource.pk), "q": "Hà Nội"}, ensure_ascii=False)

    response = client.generic("POST", PATH, body.encode(encoding), kind)

    assert get_ids(response) == [4]


def test_an_empty_form_leaves_the_query_string(client: Client, resource: Resource) -> None:
    for kind in (FORM, "application/json", "text/plain"):
        response = client.post(f"{PATH}?resource_id={resource.pk}&limit=1", "", content_type=kind)
        assert get_ids(response) == [1]


def test_a_query_string_wins_over_a_json_body(client: Client, resource: Resource) -> None:
    response = client.post(
        f"{PATH}?resource_id={resource.pk}&limit=1", '{"limit": 3}', content_type="application/json"
    )

    assert get_ids(response) == [1]


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
