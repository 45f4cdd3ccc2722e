"""The app for those who run the portal: doctor, health, metrics."""

from __future__ import annotations

from ...apps import ContribAppConfig


class OperationsConfig(ContribAppConfig):
    """Doctor, health, metrics and middleware."""
