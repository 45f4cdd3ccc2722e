"""Pages of other origins: which requests to the portal their browsers allow."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.test import Client
from selenium.webdriver import Chrome

from datastore_search.models import Resource

from ..builders import ask, check_error, make_resource, make_token

ORIGIN = "https://elsewhere.example"
SEARCH = "api/action/datastore_search"

#: Headers of an answer about other origins.
ALLOW_ORIGIN = "Access-Control-Allow-Origin"
ALLOW_CREDENTIALS = "Access-Control-Allow-Credentials"


def split_words(value: str) -> set[str]:
    return {word.strip().lower() for word in value.split(",")}


# Headers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        f"/{SEARCH}",
        "/api/3/action/datastore_upsert",
        f"/vi/{SEARCH}",
        f"/en_GB/{SEARCH}",
        f"/zh-hans/{SEARCH}",
        "/datastore/dump/some-id",
        "/sr_Latn/datastore/dump/some-id",
    ],
)
def test_a_preflight_allows_a_post_with_a_token_from_anywhere(client: Client, path: str) -> None:
    response = client.options(
        path,
        headers={
            "Origin": ORIGIN,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        },
    )

    assert response.status_code == 200
    assert response[ALLOW_ORIGIN] == "*"
    methods = {"get", "head", "options", "post"}
    assert split_words(response["Access-Control-Allow-Methods"]) == methods
    allowed = {"authorization", "content-type", "if-none-match"}
    assert split_words(response["Access-Control-Allow-Headers"]) == allowed
    assert ALLOW_CREDENTIALS not in response


@pytest.mark.parametrize("prefix", ["", "/vi", "/en_GB"])
def test_an_answer_may_be_read_by_a_page_of_any_origin(
    client: Client, resource: Resource, prefix: str
) -> None:
    response = client.get(
        f"{prefix}/{SEARCH}?resource_id={resource.pk}&limit=1", headers={"Origin": ORIGIN}
    )

    assert response.status_code == 200
    assert response[ALLOW_ORIGIN] == "*"
    assert ALLOW_CREDENTIALS not in response
    assert {"origin", "authorization"} <= split_words(response["Vary"])


def test_a_page_may_read_descriptions_and_the_name_of_a_file(
    client: Client, resource: Resource
) -> None:
    table = f"/en/datastore/{resource.pk}"
    catalogue = [f"/vi/datastore/{name}" for name in ("catalog.ttl", "catalog.jsonld")]
    described = [f"{table}/schema.json", f"{table}/datapackage.json"]
    for path in (*described, *catalogue, "/en/datastore/changes.atom"):
        response = client.get(path, headers={"Origin": ORIGIN})
        assert (response.status_code, response[ALLOW_ORIGIN]) == (200, "*")

    dump = client.get(f"/en/datastore/dump/{resource.pk}", headers={"Origin": ORIGIN})
    exposed = split_words(dump["Access-Control-Expose-Headers"])
    assert {"content-disposition", "content-range"} <= exposed


@pytest.mark.parametrize(
    ("parameters", "status"),
    [({"limit": -1}, 409), ({"resource_id": "nope"}, 404), ({}, 403), ("{", 400)],
)
def test_a_page_may_read_a_refusal_too(
    client: Client, db: None, parameters: Any, status: int
) -> None:
    hidden = make_resource(private=True)
    if not isinstance(parameters, str):
        parameters = {"resource_id": str(hidden.pk), **parameters}

    response = ask(client, parameters, Origin=ORIGIN)

    check_error(response, status)
    assert response[ALLOW_ORIGIN] == "*"


def test_a_page_may_read_an_unexpected_error(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("datastore_search.api.actions.search.read_answer", fail)

    response = ask(client, {"resource_id": str(resource.pk)}, Origin=ORIGIN)

    check_error(response, 500)
    assert response[ALLOW_ORIGIN] == "*"


@pytest.mark.parametrize(
    "path",
    [
        "/en/admin/login/",
        "/en/admin/api/",
        "/en/datastore/",
        "/en/datastore/5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11/",
        "/en/",
        "/admin/api/action/",
        "/i18n/setlang/",
        "/static/api/action/x.css",
    ],
)
def test_other_addresses_are_for_this_origin_alone(client: Client, db: None, path: str) -> None:
    preflight = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}

    for response in (
        client.get(path, headers={"Origin": ORIGIN}),
        client.options(path, headers=preflight),
    ):
        assert not [name for name in response.headers if name.startswith("Access-Control-")]


# A browser ----------------------------------------------------------------------------------------


class _EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>Elsewhere</title><link rel=icon href=data:,>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
        """Log nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of an empty page of another origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join(30)


_FETCH = """
const [address, options, done] = arguments
fetch(address, options)
    .then(async answer => done([answer.status, await answer.text()]))
    .catch(error => done([0, error.name]))
"""


def fetch_from_page(browser: Chrome, address: str, **options: Any) -> tuple[int, str]:
    """Fetch an address from the open page; 0 and the error's name if the browser forbids it."""
    status, text = browser.execute_async_script(_FETCH, address, options)
    return status, text


@pytest.mark.slow
def test_a_page_of_another_origin_searches_a_private_table_with_its_token(
    browser: Chrome, base: str, elsewhere: str
) -> None:
    hidden = make_resource(private=True)
    browser.get(elsewhere)

    def search(**headers: str) -> tuple[int, str]:
        return fetch_from_page(
            browser,
            f"{base}/vi/{SEARCH}",
            method="POST",
            headers={"Content-Type": "application/json", **headers},
            body=json.dumps({"resource_id": str(hidden.pk), "filters": {"code": "003"}}),
        )

    status, text = search(Authorization=make_token())
    refused, refusal = search()

    assert status == 200
    assert json.loads(text)["result"]["records"][0]["title"] == "Mực nước sông Hồng"
    assert (refused, json.loads(refusal)["success"]) == (403, False)
