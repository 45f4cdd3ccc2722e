"""
What all models share: saving without overwriting, reading from the primary, reporting changes.

A portal may have a router that reads from a replica, which lags behind.  A load, a write, a
clean-up and the admin must see the current data.  So the managers read from the database that they
write to; only searches ask the router where to read, and pass the answer with ``using``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar, TypeVar

from django.db import models, transaction

from ..database.statements import Report
from ..signals import CATALOGUE_KEY, answers_changed

_View = TypeVar("_View", bound=Callable[..., Any])
_Model_co = TypeVar("_Model_co", bound=models.Model, covariant=True)


#: An id of a resource, as text.
RESOURCE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def parse_resource_id(name: str) -> uuid.UUID | None:
    """Read the id of a resource; None for what can only be an alias."""
    return uuid.UUID(name) if RESOURCE_ID.fullmatch(name) else None


def report_change(rows: models.QuerySet[Any]) -> None:
    """Send ``answers_changed`` after the commit for the resources of rows, at their paths."""
    paths = getattr(rows.model, "resource_paths", ())
    if not (paths and answers_changed.receivers):
        return
    if found := list(rows.values_list(*paths)):
        keys = {CATALOGUE_KEY, *map(str, {*chain.from_iterable(found)} - {None})}
        send = Report(answers_changed.send_robust, rows.model, keys=keys)
        transaction.on_commit(send, using=rows.db, robust=True)


class ReportedQuerySet(models.QuerySet[_Model_co]):
    """Rows whose updates are reported, for which Django sends no signal."""

    def update(self, **values: Any) -> int:
        with transaction.atomic(using=self.db, savepoint=False):  # the report is of a commit
            report_change(self)
            return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined] # Django's mark


class GuardedModel(models.Model):
    """
    A row with fields that only loading and writing change; a plain ``save`` does not write them.

    An object that was read before a load therefore cannot undo what the load has published.
    ``update`` writes these fields, and so does ``save`` with their names in ``update_fields``.
    """

    #: The names of those fields.
    guarded_fields: ClassVar[frozenset[str]]

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        is_copied = options.get("using") not in {None, self._state.db}
        is_whole = self._state.adding or options.get("force_insert") or is_copied
        if options.get("update_fields") is None and not is_whole:
            left = self.get_deferred_fields()
            options["update_fields"] = [
                field.name
                for field in self._meta.concrete_fields
                if not field.primary_key
                and field.name not in self.guarded_fields
                and field.attname not in left
            ]
        super().save(*args, **options)

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark


class PrimaryManager(models.Manager[_Model_co]):
    """
    A manager that reads from the database that it writes to.

    As the base manager of a model it also serves related objects and ``refresh_from_db``.
    """

    _queryset_class = ReportedQuerySet

    def get_queryset(self) -> models.QuerySet[_Model_co]:
        queryset = super().get_queryset()
        queryset._for_write = True  # type: ignore[attr-defined] # noqa: SLF001 - `using` would fix an alias, which subqueries may not mix
        return queryset


class PrimaryModel(models.Model):
    """A row that is read from the database that it is written to."""

    objects = PrimaryManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"


class _EveryAlias(set[str]):
    """The databases for which a view is no transaction: all, also those that come later."""

    def __contains__(self, alias: object) -> bool:
        return True


def exclude_from_atomic_requests(view: _View) -> _View:
    """
    Disable ``ATOMIC_REQUESTS`` for a view, or for the ``dispatch`` of one.

    A search keeps what it has ranked and counted only outside a transaction, which may see records
    that are not committed; a dump ends after its view; a write has a transaction of its own.
    """
    transaction.non_atomic_requests(view)
    view._non_atomic_requests = _EveryAlias()  # type: ignore[attr-defined] # noqa: SLF001 - Django's mark
    return view
