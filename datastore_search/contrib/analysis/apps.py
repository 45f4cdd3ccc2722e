"""The app that analyses records."""

from __future__ import annotations

from collections.abc import Iterator

from ...apps import ContribAppConfig
from ...contributions import Contribution


class AnalysisConfig(ContribAppConfig):
    packages = {"duckdb": "analysis"}

    def contribute(self) -> Iterator[Contribution]:
        from ...api.actions import actions
        from ...api.actions.search import SearchParameters
        from ...database.findings import cleanups, finders
        from ...models.table_versions import copier
        from ...search.plan import page_finder
        from ...search.reads import profiler
        from .actions import analysis_actions
        from .conf import conf
        from .engine.snapshots import clean_up_snapshots, find_missing_snapshots, make_beside
        from .engine.source import find_page
        from .highlighting import HIGHLIGHT
        from .profiles import read_profiles

        yield actions.entries(*analysis_actions)
        if conf.SQL_SEARCH:
            from .statements.answers import datastore_search_sql

            yield actions.entries(datastore_search_sql)
        yield SearchParameters.entries(highlight=HIGHLIGHT)
        yield page_finder.entries(find_page)
        yield copier.entries(make_beside)
        yield finders.entries(find_missing_snapshots)
        yield cleanups.entries(clean_up_snapshots)
        yield profiler.entries(read_profiles)
