"""Messages to the MCP server, and their answers."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from datastore_search.models import Resource

ROUTE = "/datastore/mcp"
PATH = f"/en{ROUTE}"
HEADERS = {"Accept": "application/json, text/event-stream"}


def send(client: Client, message: Any, path: str = PATH, **headers: str) -> Any:
    return client.post(
        path, json.dumps(message), content_type="application/json", headers={**HEADERS, **headers}
    )


def request(method: str, **parameters: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}


def call_tool(
    client: Client,
    name: str,
    resource: Resource | None = None,
    *,
    path: str = PATH,
    token: str = "",
    **arguments: Any,
) -> tuple[str, bool]:
    """Call a tool; return the text of its answer, and whether that is an error."""
    if resource:
        arguments["resource_id"] = str(resource.pk)
    headers = {"Authorization": token} if token else {}
    response = send(client, request("tools/call", name=name, arguments=arguments), path, **headers)
    assert response.status_code == 200, response.content
    result = response.json()["result"]
    (content,) = result["content"]
    return content["text"], result["isError"]


def ask_tool(client: Client, name: str, resource: Resource | None = None, **arguments: Any) -> str:
    """Call a tool that must succeed; return the text of its answer."""
    text, is_error = call_tool(client, name, resource, **arguments)
    assert not is_error, text
    return text


def list_tools(client: Client, path: str = PATH) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = send(client, request("tools/list"), path).json()["result"][
        "tools"
    ]
    return tools
