"""The app that a portal installs for spans."""

from __future__ import annotations

from ....apps import ContribAppConfig


class TracingConfig(ContribAppConfig):
    """Spans of OpenTelemetry."""

    def register(self) -> None:
        """Trace the statements of this process."""
        from .spans import start_tracing

        start_tracing()
