"""The app that analyses records."""

from __future__ import annotations

from ...apps import ContribAppConfig


class AnalysisConfig(ContribAppConfig):
    """Facets, aggregates, suggestions and marked words."""

    def register(self) -> None:
        """Add the actions, and highlights to the answers of a search."""
        from ...api.actions import register
        from ...api.parameters import SearchParameters
        from .actions import analysis_actions
        from .parameters import HIGHLIGHT

        register(*analysis_actions)
        SearchParameters.add(highlight=HIGHLIGHT)
