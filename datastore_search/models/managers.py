"""
The managers of the models read from the primary database.

A portal may have a router that reads from a replica, which lags behind.  A load, a write, a
clean-up and the admin must see the current data.  So the managers read from the database that they
write to; only searches ask the router where to read, and pass the answer with ``using``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connections, models, transaction

_View = TypeVar("_View", bound=Callable[..., Any])
_Model = TypeVar("_Model", bound=models.Model, covariant=True)  # noqa: PLC0105 - as Django's stubs have it


class PrimaryManager(models.Manager[_Model]):
    """
    A manager that reads from the database that it writes to.

    As the base manager of a model it also serves related objects and ``refresh_from_db``.
    """

    def get_queryset(self) -> models.QuerySet[_Model]:
        """Mark the QuerySet as Django does before a write."""
        queryset = super().get_queryset()
        queryset._for_write = True  # type: ignore[attr-defined] # noqa: SLF001 - `using` would fix an alias, which subqueries may not mix
        return queryset


def exclude_from_atomic_requests(view: _View) -> _View:
    """
    Disable ``ATOMIC_REQUESTS`` for a view, or for the ``dispatch`` of one.

    A search keeps what it has ranked and counted only outside a transaction, which may see records
    that are not committed; a dump ends after its view; a write has a transaction of its own.
    """
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view
