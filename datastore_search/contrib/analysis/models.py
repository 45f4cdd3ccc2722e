"""The snapshots of tables: copies in columns, from which the engine answers."""

from __future__ import annotations

from typing import Any

from django.db import connections, models, transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from ...database.statements import Call, execute
from ...guards.folders import get_storage
from ...models import TableVersion
from ...models.base import PrimaryModel


class Snapshot(PrimaryModel):
    """
    A file of the engine with the records of a table at a moment.

    ``file`` is its name in the storage; it is empty while there is none.  ``moment`` is
    PostgreSQL's snapshot of transactions, which has a meaning in one database: ``server`` is the
    system and the database that it is of.  Of a table on a worker of Citus, which notes no changes,
    the file is of one ``version`` of the resource.  ``columns`` are those of the fields, in their
    order.
    """

    table_version = models.OneToOneField(
        TableVersion, models.CASCADE, related_name="+", primary_key=True
    )
    file = models.CharField(max_length=200, blank=True, editable=False)
    columns = models.JSONField(editable=False)
    moment = models.TextField(blank=True, editable=False)
    version = models.BigIntegerField(null=True, editable=False)
    server = models.CharField(max_length=60, editable=False)
    size_bytes = models.BigIntegerField(editable=False)
    created_at = models.DateTimeField(auto_now=True)

    class Meta(PrimaryModel.Meta):
        # Pages import this module where the app is not installed: then it is no model of the core.
        app_label = "datastore_search_analysis"
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")

    def __str__(self) -> str:
        return self.file


@receiver(post_delete, sender=Snapshot)
def delete_file_on_commit(instance: Snapshot, using: str, **_more: Any) -> None:
    """Delete what is noted of a table that is gone, and its file once that is committed."""
    forget = "DELETE FROM datastore_search_analysis_change WHERE table_id = %s"
    execute(connections[using], forget, [instance.pk])
    if instance.file:
        delete = Call(get_storage().delete, instance.file)
        transaction.on_commit(delete, using=using, robust=True)
