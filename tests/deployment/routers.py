"""Routers of portals that read from a replica."""

from __future__ import annotations

from random import Random
from typing import Any

#: Apps whose rows a portal reads from the primary.
_ON_PRIMARY = {"django_tasks_database", "sessions"}


class ReplicaRouter:
    """Reads from the replica and writes to the primary, as Django's documentation has it."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Read from the replica, except the apps in ``_ON_PRIMARY``."""
        return "default" if model._meta.app_label in _ON_PRIMARY else "replica"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return "default"

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        """Allow every relation: both databases have the same data."""
        return True

    def allow_migrate(self, alias: str, app_label: str, **hints: Any) -> bool:
        """Migrate only the primary."""
        return alias == "default"


class ChangingRouter(ReplicaRouter):
    """Reads from a random database, like a router that chooses among several replicas."""

    _chance = Random(13)

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Choose a database at random."""
        return self._chance.choice(("replica", "default"))


class CarelessRouter(ReplicaRouter):
    """Reads everything from the replica, tasks too."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "replica"
