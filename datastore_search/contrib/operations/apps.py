"""The app for those who run the portal: doctor, health, metrics."""

from ...apps import ContribAppConfig


class OperationsConfig(ContribAppConfig):
    """Doctor, health, metrics and middleware."""
