"""Routers of portals that read from a replica."""

from __future__ import annotations

from random import Random
from typing import Any

#: Apps whose own state a portal does not read from a replica.
_ON_PRIMARY = {"django_tasks_database", "sessions"}


class ReplicaRouter:
    """Reads from the replica and writes to the primary, as Django's documentation has it."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Read all that may be old from the replica."""
        return "default" if model._meta.app_label in _ON_PRIMARY else "replica"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        """Write to the primary."""
        return "default"

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        """Both are the same data."""
        return True

    def allow_migrate(self, alias: str, app_label: str, **hints: Any) -> bool:
        """Migrate the primary alone."""
        return alias == "default"


class ChangingRouter(ReplicaRouter):
    """Reads now here and now there, as one that chooses among several replicas."""

    _chance = Random(13)

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Leave it to chance."""
        return self._chance.choice(("replica", "default"))


class CarelessRouter(ReplicaRouter):
    """Reads everything from the replica, tasks too."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Read from the replica."""
        return "replica"
