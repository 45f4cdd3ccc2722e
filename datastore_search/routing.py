"""
Where the app reads: from the primary, unless a read says otherwise.

A portal may have a router that reads from a replica, and a replica lags behind.  What decides over
data (a load, a write, a clean-up, the admin) must see what is there.  So the managers of the app
read where they write; only searches ask the router where to read, and say it with ``using``.
"""

from __future__ import annotations

from typing import TypeVar

from django.db import models

_Model = TypeVar("_Model", bound=models.Model, covariant=True)  # noqa: PLC0105 - as Django's stubs have it


class PrimaryManager(models.Manager[_Model]):
    """
    A manager that reads from the database that it writes to.

    As the base manager of a model it also reads related objects there, and ``refresh_from_db``.
    """

    def get_queryset(self) -> models.QuerySet[_Model]:
        """Mark the QuerySet as Django marks one that is about to write."""
        found = super().get_queryset()
        found._for_write = True  # type: ignore[attr-defined] # noqa: SLF001 - `using` would fix an alias, which subqueries may not mix
        return found
