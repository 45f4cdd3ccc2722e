"""
What all models share: saving without overwriting, reading from the primary, reporting changes.

A portal may have a router that reads from a replica, which lags behind.  A load, a write, a
clean-up and the admin must see the current data.  So the managers read from the database that they
write to; only searches ask the router where to read, and pass the answer with ``using``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, ClassVar, TypeVar

from django.db import connections, models, router, transaction

from ..signals import CATALOGUE_KEY, answers_changed

_View = TypeVar("_View", bound=Callable[..., Any])
_Model_co = TypeVar("_Model_co", bound=models.Model, covariant=True)


# Reports of changes -------------------------------------------------------------------------------


def report_change(rows: models.QuerySet[Any]) -> None:
    """
    Let ``answers_changed`` be sent after the commit, for the resources of rows that change.

    Call it before rows are changed or deleted, and after they are created.  Without a receiver of
    the signal, nothing is read.
    """
    paths = getattr(rows.model, "resource_paths", ())
    if not (paths and answers_changed.receivers):
        return
    if found := list(rows.values_list(*paths)):
        keys = {CATALOGUE_KEY, *map(str, {*chain.from_iterable(found)} - {None})}
        send = partial(answers_changed.send_robust, rows.model, keys=keys)
        transaction.on_commit(send, using=rows.db, robust=True)


class ReportedQuerySet(models.QuerySet[_Model_co]):
    """Rows whose changes are reported."""

    def update(self, **values: Any) -> int:
        """Update the rows, which may move to another resource."""
        report_change(self)
        moved = list(self.values_list("pk", flat=True)) if "resource" in values else []
        count = super().update(**values)
        report_change(self.model._base_manager.using(self.db).filter(pk__in=moved))  # noqa: SLF001 - Django documents it
        return count

    update.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows."""
        report_change(self)
        return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark
    delete.queryset_only = True  # type: ignore[attr-defined] # Django's mark

    def bulk_create(self, *args: Any, **options: Any) -> list[_Model_co]:
        """Create rows."""
        created = super().bulk_create(*args, **options)
        report_change(self.filter(pk__in=[row.pk for row in created]))
        return created

    bulk_create.alters_data = True  # type: ignore[attr-defined] # Django's mark


class ReportedModel(models.Model):
    """A row whose changes are reported, if answers depend on it."""

    #: From the row to the ids of the resources whose answers depend on it.
    resource_paths: ClassVar[tuple[str, ...]] = ()

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Save the row, which may have belonged to another resource before."""
        report_change(self._select_own(options.get("using")))
        super().save(*args, **options)
        report_change(self._select_own(options.get("using")))

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete the row."""
        report_change(self._select_own(options.get("using")))
        return super().delete(*args, **options)

    delete.alters_data = True  # type: ignore[attr-defined] # Django's mark

    def _select_own(self, using: str | None) -> models.QuerySet[Any]:
        using = using or router.db_for_write(type(self), instance=self)
        return type(self)._base_manager.using(using).filter(pk=self.pk)  # noqa: SLF001 - Django documents it


# Saving -------------------------------------------------------------------------------------------


class GuardedModel(ReportedModel):
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
        """Save the row; its guarded fields only if it is new, copied, or they are named."""
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


# Reading ------------------------------------------------------------------------------------------


class PrimaryManager(models.Manager[_Model_co]):
    """
    A manager that reads from the database that it writes to.

    As the base manager of a model it also serves related objects and ``refresh_from_db``.
    """

    _queryset_class = ReportedQuerySet

    def get_queryset(self) -> models.QuerySet[_Model_co]:
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
