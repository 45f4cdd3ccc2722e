"""Clients that others wrote, against a running server: the SDK's own, and the inspector's."""

from __future__ import annotations

import json
import re
import socket
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from datastore_search.contrib.agents.tools import get_tools

from ..builders import make_resource, make_token

pytestmark = pytest.mark.django_db(transaction=True)


async def ask(address: str, token: str, resource_id: str, mode: Any) -> tuple[list[str], Any, Any]:
    """List the tools, find tables, and search a table, as an agent's program does."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        McpClient(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        tools = (await client.list_tools()).tools
        found = await client.call_tool("find_tables", {"q": "river"})
        records = await client.call_tool(
            "search_records", {"resource_id": resource_id, "q": "foxes", "fields": ["code"]}
        )
        return [tool.name for tool in tools], found, records


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_finds_describes_and_reads(live_server: Any, mode: str) -> None:
    resource = make_resource(name="rivers", private=True)
    address, token = f"{live_server.url}/en_GB/datastore/mcp", make_token()

    names, found, records = anyio.run(ask, address, token, str(resource.pk), mode)
    _names, unfound, refused = anyio.run(ask, address, "", str(resource.pk), mode)

    assert names[:3] == ["find_tables", "describe_table", "search_records"]
    assert str(resource.pk) in found.content[0].text
    assert records.content[0].text == "Rows 1 to 1 of 1, as CSV.\n\ncode\n002\n"
    assert unfound.content[0].text == "Nothing was found."
    assert refused.is_error


# The inspector ------------------------------------------------------------------------------------

#: What the command line of ``@modelcontextprotocol/inspector`` 0.15.0 sent, byte for byte, for
#: ``--cli ADDRESS --method tools/call --tool-name search_records --tool-arg resource_id=… q=river
#: limit=2 filters={"stage":"active"} fields=["project_code","stage"]``.
INSPECTOR = sorted(Path(__file__).with_name("inspector").glob("*.http"))
RESOURCE_ID = "5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11"


def exchange_bytes(address: str, content: bytes) -> tuple[int, bytes]:
    """Send a request as it was recorded; return the status and the body of the answer."""
    server = urlsplit(address)
    with socket.create_connection((str(server.hostname), server.port or 80), timeout=60) as sent:
        sent.sendall(content.replace(b"portal.example", server.netloc.encode()))
        answer = HTTPResponse(sent)
        answer.begin()
        return answer.status, answer.read()


def test_the_inspector_lists_and_calls(live_server: Any) -> None:
    make_resource(
        "project_code,stage,title\n1,active,River level\n2,closed,River bed\n", id=RESOURCE_ID
    )

    answers = [exchange_bytes(live_server.url, path.read_bytes()) for path in INSPECTOR]

    # A stream of the server's own messages is asked for, and not offered.
    assert [status for status, _body in answers] == [200, 202, 405, 200, 200]
    assert json.loads(answers[0][1])["result"]["protocolVersion"] == "2025-11-25"
    assert len(json.loads(answers[3][1])["result"]["tools"]) == len(get_tools())
    (content,) = json.loads(answers[4][1])["result"]["content"]
    assert content["text"] == "Rows 1 to 1 of 1, as CSV.\n\nproject_code,stage\n1,active\n"


# The guide ----------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "use-agents.md"


def test_the_program_of_the_guide_finds_a_table(live_server: Any, capfd: Any) -> None:
    resource = make_resource(title="A survey")
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)

    exec(blocks[-1].replace("http://127.0.0.1:8000", live_server.url), {})

    assert str(resource.pk) in capfd.readouterr().out
