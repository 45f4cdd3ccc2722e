"""The app that answers agents."""

from __future__ import annotations

from datastore_search.apps import ContribAppConfig


class AgentsConfig(ContribAppConfig):
    """The Model Context Protocol, for agents."""

    default = True
    name = "datastore_search.contrib.agents"
    label = "datastore_search_agents"
    verbose_name = "datastore_search: agents"
    packages = {"mcp": "agents"}
