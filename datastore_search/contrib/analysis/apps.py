"""The app that analyses records."""

from __future__ import annotations

from collections.abc import Iterator

from ...apps import ContribAppConfig
from ...contributions import Contribution


class AnalysisConfig(ContribAppConfig):
    """Facets, aggregates, suggestions and marked words."""

    def contribute(self) -> Iterator[Contribution]:
        from ...api.actions import actions
        from ...api.actions.search import SearchParameters
        from .actions import analysis_actions
        from .highlighting import HIGHLIGHT

        yield actions.entries(*analysis_actions)
        yield SearchParameters.entries(highlight=HIGHLIGHT)
