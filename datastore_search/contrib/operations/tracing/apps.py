"""The app that a portal installs for spans."""

from __future__ import annotations

from django.apps import AppConfig


class TracingConfig(AppConfig):
    """Spans of OpenTelemetry."""

    name = "datastore_search.contrib.operations.tracing"
    label = "datastore_search_tracing"
    verbose_name = "datastore_search: tracing"

    def ready(self) -> None:
        """Trace the statements of this process."""
        from .spans import start_tracing

        start_tracing()
