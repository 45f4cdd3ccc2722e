"""The app that a portal installs for spans."""

from __future__ import annotations

from collections.abc import Iterator

from ....apps import ContribAppConfig
from ....contributions import Contribution


class TracingConfig(ContribAppConfig):
    def contribute(self) -> Iterator[Contribution]:
        from ....search.reads import tracer
        from .spans import trace_statement

        yield tracer.entries(trace_statement)
