"""The app that analyses records."""

from __future__ import annotations

from datastore_search.apps import ContribAppConfig


class AnalysisConfig(ContribAppConfig):
    """Facets, aggregates, suggestions and marked words."""

    default = True
    name = "datastore_search.contrib.analysis"
    label = "datastore_search_analysis"
    verbose_name = "datastore_search: analysis"

    def register(self) -> None:
        """Add the actions."""
        from datastore_search.api.actions import register

        from .actions import analysis_actions

        register(*analysis_actions)
