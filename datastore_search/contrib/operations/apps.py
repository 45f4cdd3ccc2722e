"""The app for operators: doctor, health, metrics."""

from __future__ import annotations

from ...apps import ContribAppConfig


class OperationsConfig(ContribAppConfig):
    """What operators look at."""
