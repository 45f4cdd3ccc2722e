"""Loads: the jobs that bring files into resources."""

from __future__ import annotations

import secrets
import uuid
from datetime import timedelta
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.files import File
from django.db import models, router, transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ...database.statements import Call
from ...guards.folders import delete_files, get_storage, store_file
from ...messages.texts import show_bidi_controls
from ...models.base import GuardedModel, PrimaryModel
from .messages import BadRow, LoadFailed, Message


class LoadState(models.TextChoices):
    """How far a load is; a draft is loaded when staff confirm its file and its options."""

    DRAFT = "draft", _("draft")
    QUEUED = "queued", _("queued")
    READING = "reading", _("reading")
    COPYING = "copying", _("copying")
    INDEXING = "indexing", _("indexing")
    READY = "ready", _("ready")
    UNCHANGED = "unchanged", _("unchanged")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


#: A load in one of these states is over.
FINISHED = frozenset({LoadState.READY, LoadState.UNCHANGED, LoadState.FAILED, LoadState.CANCELLED})


#: A process runs a load in one of these states, or was killed while it did.
RUNNING = frozenset({LoadState.READING, LoadState.COPYING, LoadState.INDEXING})

#: From this progress on, the remaining time can be estimated.
_MIN_ESTIMABLE_PROGRESS = 0.15


class Mode(models.TextChoices):
    REPLACE = "replace", _("replace the records")
    APPEND = "append", _("add to the records")
    UPSERT = "upsert", _("update by key, add the others")


#: The storage of uploads, by the name that a migration has.
get_upload_storage = get_storage

#: The folder of uploads, within their storage.
UPLOADS_FOLDER = "datastore_search"


def build_upload_name(load: Load, filename: str) -> str:
    """Name an upload by a secret, because the storage may be open to the public."""
    return f"{UPLOADS_FOLDER}/{secrets.token_urlsafe(24)}{PurePath(filename).suffix[:20]}"


def store_upload(file: File) -> str:
    return store_file(build_upload_name(Load(), file.name or ""), file)


def forget_user(collector: Any, field: Any, loads: Any, using: str) -> None:
    """Set the user of loads to null when it is deleted, if they are in its database."""
    if router.allow_migrate_model(using, Load):
        models.SET_NULL(collector, field, loads, using)


forget_user.lazy_sub_objs = True  # type: ignore[attr-defined]  # or Django reads the loads first


class Load(GuardedModel, PrimaryModel):
    """
    A job: one run of loading a file into a resource.

    The source is ``file`` (an upload, deleted when the load is ready), or ``url``, or a path, which
    is not stored.
    """

    guarded_fields = frozenset({
        "state", "table_version", "checksum", "record_count", "rows_written",
        "rows_total", "progress", "heartbeat_at", "cancel_requested_at", "notices",
        "row_error_count", "failure", "former", "started_at", "finished_at",
    })  # fmt: skip

    resource = models.ForeignKey(
        "datastore_search.Resource",
        models.CASCADE,
        verbose_name=_("resource"),
        related_name="loads",
    )
    #: Who has started it; null for commands and schedules, and when the user is deleted.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        forget_user,
        null=True,
        blank=True,
        db_constraint=False,
        editable=False,
        related_name="+",
        verbose_name=_("user"),
    )
    #: The table version that it made; null until then, and where it has merged into another's.
    table_version = models.ForeignKey(
        "datastore_search.TableVersion",
        models.SET_NULL,
        null=True,
        related_name="loads",
        editable=False,
    )
    state = models.CharField(_("state"), max_length=20, choices=LoadState, default=LoadState.QUEUED)
    mode = models.CharField(_("mode"), max_length=10, choices=Mode, default=Mode.REPLACE)
    source = models.CharField(_("source"), max_length=500)
    file = models.FileField(
        _("file"),
        max_length=500,
        storage=get_upload_storage,
        upload_to=build_upload_name,
        blank=True,
        editable=False,
    )
    url = models.TextField(_("address"), blank=True, editable=False)
    #: SHA-256 of the file, in hexadecimal.
    checksum = models.CharField(max_length=64, blank=True, editable=False)
    #: How the file is to be read: ``files.types.options.LoadOptions`` as JSON.
    options = models.JSONField(default=dict, blank=True, editable=False)
    #: The rows that became records, or were their values already; 0 until the load is ready.
    record_count = models.BigIntegerField(_("records"), default=0)
    #: The progress of a running load: rows written so far, and all rows; null while unknown.
    rows_written = models.BigIntegerField(default=0, editable=False)
    rows_total = models.BigIntegerField(null=True, editable=False)
    #: How much of the whole work is done, from 0 to 1.
    progress = models.FloatField(default=0, editable=False)
    #: When the process that runs the load last reported.
    heartbeat_at = models.DateTimeField(null=True, editable=False)
    cancel_requested_at = models.DateTimeField(null=True, editable=False)
    #: What users should know about how the file was read: ``Notice``s as JSON.
    notices = models.JSONField(default=list, editable=False)
    #: How many rows could not be loaded; the first of them are the load's ``row_errors``.
    row_error_count = models.BigIntegerField(_("bad rows"), default=0, editable=False)
    #: The preview of a draft (``files.publishing.preview``) as JSON; null until there is one.
    preview = models.JSONField(null=True, editable=False)
    failure = models.JSONField(null=True, blank=True, editable=False)
    #: The version, key and fields that can be published again (``files.publishing.versions``).
    former = models.JSONField(null=True, blank=True, editable=False)
    #: When the load, or the preview of a draft, was queued for a worker.
    queued_at = models.DateTimeField(null=True, editable=False)
    started_at = models.DateTimeField(_("began"), null=True, editable=False)
    created_at = models.DateTimeField(_("started"), auto_now_add=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta(PrimaryModel.Meta):
        verbose_name = _("load")
        verbose_name_plural = _("loads")
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{show_bidi_controls(self.source)} ({self.get_state_display()})"

    @property
    def starter(self) -> Any:
        """Find the user who has started the load, perhaps in another database; None without one."""
        return self.user_id and get_user_model().objects.filter(pk=self.user_id).first()

    @property
    def error(self) -> str:
        """Render why the load failed, in the reader's language; empty if it did not."""
        return str(LoadFailed.from_json(self.failure)) if self.failure else ""

    @property
    def is_finished(self) -> bool:
        return self.state in FINISHED

    @property
    def untaken_for(self) -> timedelta | None:
        """Compute for how long no worker has begun; None when nothing waits for a worker."""
        if self.queued_at is None:
            return None
        if self.state == LoadState.DRAFT and self.preview is None:
            is_taken = self.heartbeat_at is not None and self.heartbeat_at >= self.queued_at
        else:
            is_taken = not (self.state == LoadState.QUEUED and self.started_at is None)
        return None if is_taken else timezone.now() - self.queued_at

    @property
    def can_be_retried(self) -> bool:
        return self.is_finished and bool(self.file or self.url)

    @property
    def percentage(self) -> int | None:
        """Compute how much of the work is done; None while it is unknown."""
        if self.state in {LoadState.READY, LoadState.UNCHANGED}:
            return 100
        is_running = self.state in RUNNING
        return min(99, int(self.progress * 100)) if is_running and self.progress else None

    @property
    def remaining(self) -> timedelta | None:
        """Estimate the remaining time of the load; None while it is unknown."""
        is_known = self.state in RUNNING and self.progress >= _MIN_ESTIMABLE_PROGRESS
        if not (is_known and self.started_at and self.heartbeat_at):
            return None
        return (self.heartbeat_at - self.started_at) * (1 / self.progress - 1)


#: The messages of bad rows, by what they name beside the line.
_BAD_ROWS = {
    ("field", "value"): "row.field_and_value",
    ("field",): "row.field",
    ("value",): "row.value",
    (): "row.line",
}


class RowError(PrimaryModel):
    load = models.ForeignKey(Load, models.CASCADE, related_name="row_errors")
    line = models.BigIntegerField(_("line"))
    field = models.TextField(_("field"), blank=True)
    value = models.TextField(_("value"), blank=True)
    #: Why, as JSON: a ``BadRow``.
    message = models.JSONField()

    class Meta(PrimaryModel.Meta):
        verbose_name = _("bad row")
        verbose_name_plural = _("bad rows")
        ordering = ("load", "line", "pk")

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}"

    @property
    def reason(self) -> str:
        return str(BadRow.from_json(self.message) or "")

    def describe(self) -> Message:
        """Name the line, the field unless the whole row is bad, its value if any, and why."""
        named = {name: text for name in ("field", "value") if (text := getattr(self, name))}
        reason = BadRow.from_json(self.message)
        return Message(_BAD_ROWS[tuple(named)], line=self.line, **named, reason=reason)


class StoredDownload(PrimaryModel):
    """
    A file of a version of a public resource, for all who download it.

    While ``file`` is empty a process makes it, which renews ``used_at``.
    """

    resource = models.ForeignKey("datastore_search.Resource", models.CASCADE, related_name="+")
    format = models.CharField(max_length=50)
    version = models.BigIntegerField()
    file = models.FileField(max_length=500, storage=get_upload_storage, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    #: Of the bytes of the file, in hexadecimal.
    digest = models.CharField(max_length=64, blank=True)
    used_at = models.DateTimeField()

    class Meta(PrimaryModel.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=("resource", "format", "version"), name="datastore_search_one_download"
            ),
        )

    def __str__(self) -> str:
        return f"{self.resource_id}, {self.version}, {self.format}"


class ResourceFile(PrimaryModel):
    """The file of a resource, which is served as it was sent; a load of it may have the same."""

    resource = models.OneToOneField(
        "datastore_search.Resource", models.CASCADE, primary_key=True, related_name="+"
    )
    file = models.FileField(max_length=500, storage=get_upload_storage)
    #: In addresses, as CKAN writes it.
    name = models.CharField(max_length=100)
    size_bytes = models.BigIntegerField()
    stored_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.resource_id}, {self.name}"


def delete_unneeded_file(resource_id: uuid.UUID, name: str) -> None:
    """Delete a file that a load or a resource no longer has, unless it is the resource's file."""
    if not ResourceFile.objects.filter(resource=resource_id, file=name).exists():
        delete_files([name])


@receiver(post_delete, sender=ResourceFile)
@receiver(post_delete, sender=StoredDownload)
@receiver(post_delete, sender=Load)
def delete_file_on_commit(instance: Any, using: str, **_more: Any) -> None:
    """Delete the file of a deleted row once that is committed; a clean-up deletes the rest."""
    if name := instance.file.name:
        delete = Call(delete_unneeded_file, instance.resource_id, name)
        transaction.on_commit(delete, using=using, robust=True)
