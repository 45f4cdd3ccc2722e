"""Hand a message to the SDK, which speaks the protocol, and run the tool that it calls."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import anyio
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import gettext as _
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool as ToolDescription,
    ToolAnnotations,
)
from rest_framework.request import Request

from ... import __version__
from ...api.envelope import report_failure
from .answers import MAX_ANSWER_LETTERS, cut_text
from .tools import Tool, get_tools

#: A manager serves one request here, and would log its start and its end.
logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)
#: It would log the header of a page that is refused.
logging.getLogger("mcp.server.transport_security").setLevel(logging.ERROR)

#: Tools end by the limits of their statements; this ends what else may wait.
MAX_EXCHANGE_SECONDS: Final = 600

#: The headers of a request that say who the user is, which does not concern the protocol.
_OWN_HEADERS: Final = ("Authorization", "Cookie")


def answer_message(request: Request, message: Mapping[str, object]) -> HttpResponse:
    """Answer one JSON-RPC message of a body, in this thread with its database connection."""
    host = request.get_host()
    # The origins of pages that may call: the portal's own, and those that it trusts.
    origins = [f"{request.scheme}://{host}", *settings.CSRF_TRUSTED_ORIGINS]
    security = TransportSecuritySettings(allowed_hosts=[host], allowed_origins=origins)
    manager = StreamableHTTPSessionManager(
        _build_server(request, message),
        json_response=True,
        stateless=True,
        security_settings=security,
        max_request_body_size=len(request.body) + 1,  # its size has been checked
    )
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "query_string": b"",
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
            # The host is the one that Django has checked.
            for name, value in {**request.headers, "Host": host}.items()
            if name not in _OWN_HEADERS
        ],
    }
    unread = [{"type": "http.request", "body": request.body, "more_body": False}]
    response = HttpResponse()
    del response["Content-Type"]

    async def receive() -> MutableMapping[str, Any]:
        if not unread:
            await anyio.sleep_forever()  # the client is there until it has its answer
        return unread.pop()

    async def send(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            response.status_code = event["status"]
            for name, value in event["headers"]:
                response[name.decode("latin-1")] = value.decode("latin-1")
        else:
            response.write(event.get("body", b""))

    async def exchange() -> None:
        with anyio.fail_after(MAX_EXCHANGE_SECONDS):
            async with manager.run():
                await manager.handle_request(scope, receive, send)

    async_to_sync(exchange)()
    return response


def _build_server(request: Request, message: Mapping[str, object]) -> Server[Any]:
    async def list_tools(
        context: ServerRequestContext[Any], parameters: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                ToolDescription(
                    name=tool.name,
                    title=str(tool.title),
                    description=str(tool.description),
                    input_schema=tool.build_input_schema(),
                    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for tool in get_tools().values()
            ]
        )

    async def call_tool(
        context: ServerRequestContext[Any], parameters: CallToolRequestParams
    ) -> CallToolResult:
        tool = get_tools().get(parameters.name)
        if tool is None:
            raise MCPError(
                INVALID_PARAMS, _("There is no tool “%(tool)s”.") % {"tool": parameters.name[:100]}
            )
        # As the API reads JSON: all digits of a number count.
        sent = message.get("params")
        given = sent.get("arguments") if isinstance(sent, Mapping) else None
        arguments = given if isinstance(given, Mapping) else {}
        return await sync_to_async(_run_tool)(tool, request, arguments)

    return Server(
        "datastore_search",
        version=__version__,
        instructions=_(
            "Tables of an open data portal. Find a table with find_tables, read its fields "
            "with describe_table, then ask. Compute figures over many records with "
            "aggregate_records; count_values and suggest_values give values to filter by."
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _run_tool(tool: Tool, request: Request, arguments: Mapping[str, object]) -> CallToolResult:
    """Run a tool; a failure is an answer that the agent reads, and can act on."""
    try:
        text, is_error = tool.run(request, arguments), False
    except Exception as error:  # noqa: BLE001 - every failure is reported, as in the API
        text, is_error = report_failure(error).describe(), True
    content = TextContent(type="text", text=cut_text(text, MAX_ANSWER_LETTERS))
    return CallToolResult(content=[content], is_error=is_error)
