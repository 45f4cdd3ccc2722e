"""The app that answers agents."""

from __future__ import annotations

from ...apps import ContribAppConfig


class AgentsConfig(ContribAppConfig):
    packages = {"mcp": "agents"}
