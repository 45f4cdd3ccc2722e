"""Settings of analysing records."""

from __future__ import annotations

from datetime import timedelta

from ...conf import MAX_TIMEOUT, Setting, Settings


class AnalysisSettings(Settings):
    FACETS_TIMEOUT = Setting(
        timedelta(seconds=2),
        "Time limit of all facets of a call together, and of its suggestions; the time limit "
        "of a search applies, too. Slower ones are [answered "
        "incompletely](facets-and-aggregates.md#complete).",
        maximum=MAX_TIMEOUT,
    )


conf = AnalysisSettings()
