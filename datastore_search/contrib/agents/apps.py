"""The app that answers agents."""

from ...apps import ContribAppConfig


class AgentsConfig(ContribAppConfig):
    packages = {"mcp": "agents"}
