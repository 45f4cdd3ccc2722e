"""Table versions: the sets of records of a resource, each with a record table of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import connections, models, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_lazy as _

from ..contributions import Hook
from ..database.placement import is_wanted
from ..database.tables import (
    drop_record_table,
    list_record_tables,
    mark_unserved,
    read_unserved_since,
    reserve_table_id,
)
from .base import PrimaryModel

#: Called with the types of fields by name when a load has filled a table, which may not be served
#: yet, and again after the load: begins to copy the records, and returns what waits for the end.
copier: Hook[Callable[[TableVersion, Mapping[str, str]], Callable[[], object]]] = Hook(
    "copier of new records", lambda _version, _types: lambda: None
)


class Origin(models.TextChoices):
    """The origin of the records: writes to records of a file need ``force``."""

    FILE = "file", _("file")
    API = "api", _("API")


class TableSettings(NamedTuple):
    """How a table is made: its text search configuration, its indexes, and weights of fields."""

    language: str
    indexes: list[str]
    weights: dict[str, int]


class TableVersion(PrimaryModel):
    """
    A set of records of a resource, in the record table of the same number.

    A load that replaces the records makes one, and so does the first ``datastore_create``; a load
    that merges changes the one that is there.
    """

    resource = models.ForeignKey(
        "Resource",
        models.CASCADE,
        verbose_name=_("resource"),
        related_name="table_versions",
        editable=False,
    )
    origin = models.CharField(_("origin"), max_length=10, choices=Origin, default=Origin.FILE)
    language = models.CharField(_("language of the search"), max_length=63)
    #: Whether Citus has placed the table on a worker.
    is_placed = models.BooleanField(default=is_wanted, db_default=False, editable=False)
    #: The kinds of indexes that the table has (``IndexKind``), some only once it is large.
    indexes = models.JSONField(default=list, editable=False)
    record_count = models.BigIntegerField(_("records"), default=0)
    #: How many records have the common values of some fields, by field and value as JSON text.
    value_counts = models.JSONField(default=dict, editable=False)
    #: Of the version before, which may write it during an upgrade; the next version removes it.
    profiles = models.JSONField(default=dict, db_default={}, editable=False)
    #: A digest of what the records were made of; empty once anything else has changed them.
    fingerprint = models.CharField(max_length=64, blank=True, editable=False)
    #: The format in which files wrote the values of each field (``files.types``), by its name.
    field_formats = models.JSONField(default=dict, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    #: When a resource began to serve it; null while its table is being filled.
    published_at = models.DateTimeField(null=True, editable=False)

    class Meta(PrimaryModel.Meta):
        verbose_name = _("table version")
        verbose_name_plural = _("table versions")
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.resource}, {self.pk}"

    def save(self, *args: Any, **options: Any) -> None:
        """Save the row; a new one gets a number that no record table has."""
        if self._state.adding and self.pk is None:
            alias = options.get("using") or router.db_for_write(TableVersion, instance=self)
            self.pk = reserve_table_id(connections[alias], self._meta.db_table)
            options["force_insert"] = True
        super().save(*args, **options)

    save.alters_data = True  # type: ignore[attr-defined] # Django's mark


# Deleting -----------------------------------------------------------------------------------------

#: A table that is not served since then is dropped by the next clean-up.
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def drop_tables_on_commit(table_ids: Iterable[int], *, using: str) -> None:
    def drop() -> None:
        for table_id in table_ids:
            if not drop_record_table(connections[using], table_id):
                mark_unserved(connections[using], table_id, _LONG_AGO)

    transaction.on_commit(drop, using=using)


def drop_deleted_tables(connection: BaseDatabaseWrapper, *, served: set[int]) -> int:
    """Drop the tables that were being read when they were to be dropped; return how many."""
    since = read_unserved_since(connection, list_record_tables(connection) - served)
    deleted = (table_id for table_id, moment in since.items() if moment == _LONG_AGO)
    return sum(drop_record_table(connection, table_id) for table_id in deleted)
