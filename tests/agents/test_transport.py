"""The protocol: messages, headers, limits, and servers of both kinds."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client
from django.urls import include, path
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION
from rest_framework.throttling import SimpleRateThrottle

from datastore_search.contrib.agents.views import AgentsView
from datastore_search.models import Resource

from ..builders import make_resource
from .exchange import HEADERS, PATH, call_tool, request, send

#: A portal without locales.
urlpatterns = [path("", include("datastore_search.contrib.agents.urls"))]

#: What each request of the newest version carries.
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def initialize(version: str) -> dict[str, Any]:
    return request(
        "initialize",
        protocolVersion=version,
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_every_version_with_a_handshake_is_spoken(client: Client, db: None, version: str) -> None:
    response = send(client, initialize(version))

    result = response.json()["result"]
    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert "Mcp-Session-Id" not in response
    assert response["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    assert send(
        client, request("tools/list"), **{"MCP-Protocol-Version": version}
    ).json()["result"]["tools"]  # fmt: skip


def send_without_handshake(client: Client, method: str, **parameters: Any) -> Any:
    message = request(method, _meta=_ENVELOPE, **parameters)
    headers = {"MCP-Protocol-Version": LATEST_MODERN_VERSION, "Mcp-Method": method}
    return send(client, message, **headers)


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_the_version_without_a_handshake_is_spoken(client: Client, db: None, method: str) -> None:
    response = send_without_handshake(client, method)

    assert response.status_code == 200
    assert response.json()["result"]["resultType"] == "complete"


def test_a_subscription_is_refused_at_once_and_opens_no_stream(client: Client, db: None) -> None:
    response = send_without_handshake(client, "subscriptions/listen", notifications={})

    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]["message"] == "Method not found"


def test_a_notification_is_accepted_without_an_answer(client: Client, db: None) -> None:
    response = send(client, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert (response.status_code, response.content) == (202, b"")


@pytest.mark.parametrize("method", ["get", "delete", "put", "head"])
def test_there_are_neither_streams_nor_sessions(client: Client, db: None, method: str) -> None:
    response = getattr(client, method)(PATH)

    assert response.status_code == 405
    assert response["Allow"] == "POST, OPTIONS"


def test_an_unknown_tool_is_an_error_of_the_protocol(client: Client, db: None) -> None:
    response = send(client, request("tools/call", name="drop_table", arguments={}))

    assert response.json()["error"] == {"code": -32602, "message": "There is no tool “drop_table”."}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"[{}]",
        b'"text"',
        b"\xff",
        b"[" * 1000,
        b'{"a": NaN}',
        b"{}",
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "1.0", "method": "ping"}',
    ],
)
def test_what_is_no_message_is_a_bad_request(client: Client, db: None, body: bytes) -> None:
    response = client.post(PATH, body, content_type="application/json", headers=HEADERS)

    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"]
    assert len(error["message"]) < 200


def test_a_large_message_is_refused_unread(client: Client, db: None, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_ANONYMOUS_BODY_BYTES = 1000

    response = send(client, request("tools/list", filler="x" * 1000))

    assert response.status_code == 413
    assert response.json()["error"]["message"] == "The request's body is larger than 1000 bytes."


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://testserver", 200),
        ("https://agents.example", 200),
        ("http://evil.example", 403),
        ("https://testserver", 403),
        ("null", 403),
    ],
)
def test_pages_of_other_origins_are_refused_and_not_logged(
    client: Client, settings: Any, caplog: Any, origin: str, status: int
) -> None:
    caplog.set_level("DEBUG")
    settings.CSRF_TRUSTED_ORIGINS = ["https://agents.example"]

    assert send(client, request("ping"), Origin=origin).status_code == status
    assert "evil.example" not in caplog.text


def test_a_host_that_the_portal_does_not_have_is_refused(client: Client, db: None) -> None:
    assert send(client, request("ping"), Host="rebound.example").status_code == 400


@pytest.mark.parametrize(
    ("spelling", "language"), [("vi", "vi"), ("en_GB", "en-gb"), ("pt_BR", "pt-br")]
)
def test_the_language_is_that_of_the_path_in_any_spelling(
    client: Client, resource: Resource, spelling: str, language: str
) -> None:
    message = request("tools/call", name="find_tables", arguments={})

    response = send(
        client, message, f"/{spelling}/datastore/mcp", **{"Accept-Language": "fr"}
    )  # fmt: skip

    assert response["Content-Language"] == language
    assert str(resource.pk) in response.json()["result"]["content"][0]["text"]


@pytest.mark.urls("tests.agents.test_transport")
def test_a_portal_without_locales_can_have_it(client: Client, resource: Resource) -> None:
    text, is_error = call_tool(client, "find_tables", path="/datastore/mcp")

    assert not is_error
    assert str(resource.pk) in text


def test_throttles_of_the_portal_count(client: Client, db: None, monkeypatch: Any) -> None:
    class One(SimpleRateThrottle):
        rate = "1/hour"

        def get_cache_key(self, request: Any, view: Any) -> str:
            return "mcp-test"

    monkeypatch.setattr(AgentsView, "throttle_classes", [One])

    statuses = [send(client, request("ping")) for _ in range(2)]

    assert [each.status_code for each in statuses] == [200, 429]
    assert int(statuses[1]["Retry-After"]) > 0


@pytest.mark.django_db(transaction=True)
def test_it_answers_under_asgi() -> None:
    resource = make_resource()

    async def ask() -> Any:
        return await AsyncClient().post(
            PATH,
            json.dumps(
                request(
                    "tools/call",
                    name="search_records",
                    arguments={"resource_id": str(resource.pk), "fields": ["code"], "limit": 1},
                )
            ),
            content_type="application/json",
            headers=HEADERS,
        )

    text = async_to_sync(ask)().json()["result"]["content"][0]["text"]
    assert text.endswith("code\n001\n")


_UNASKED = """
import sys
import django
django.setup()
import example_project.urls
print([name for name in ("mcp", "mcp_types", "starlette") if name in sys.modules])
"""


@pytest.mark.slow
def test_the_sdk_is_imported_only_where_agents_ask() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _UNASKED], capture_output=True, text=True, check=True, timeout=120
    )

    assert done.stdout == "[]\n"
