"""The OpenAPI document and the agents' tools, which show what the tables have."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from ..agents.exchange import list_tools
from ..openapi.portals import fetch_document


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    return fetch_document()


@pytest.fixture
def tools(client: Client, db: None) -> dict[str, dict[str, Any]]:
    """The properties of the arguments of each tool, by its name."""
    return {tool["name"]: tool["inputSchema"]["properties"] for tool in list_tools(client)}
