"""The app that analyses records."""

from __future__ import annotations

from ...apps import ContribAppConfig


class AnalysisConfig(ContribAppConfig):
    """Facets, aggregates, suggestions and marked words."""

    def register(self) -> None:
        """Add the actions."""
        from ...api.actions import register
        from .actions import analysis_actions

        register(*analysis_actions)
