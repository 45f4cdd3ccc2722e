"""The app for operators: doctor, health, metrics."""

from __future__ import annotations

from datastore_search.apps import ContribAppConfig


class OperationsConfig(ContribAppConfig):
    """What operators look at."""

    default = True
    name = "datastore_search.contrib.operations"
    label = "datastore_search_operations"
    verbose_name = "datastore_search: operations"
