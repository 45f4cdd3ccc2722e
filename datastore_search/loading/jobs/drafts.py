"""
Drafts: loads with a file and options that a user has not submitted yet.

A draft's file is previewed once, and the preview is stored with the draft: at once where that takes
seconds, otherwise by a worker, so that no request waits for it.
"""

from __future__ import annotations

from functools import partial

from django.core.files import File
from django.db import router, transaction
from django.utils import timezone

from ...exceptions.loads import LoadFailed, UnexpectedFailure
from ...models import Load, LoadState, Resource
from ..typing.options import LoadOptions
from . import queue
from .draft_previews import preview_draft, save_preview
from .uploads import MAX_SOURCE_LENGTH, delete_upload

#: Files up to this size are read within seconds; a compressed one may be a hundred times larger.
_MAX_BYTES_AT_ONCE = 8 * 2**20
_MAX_COMPRESSED_BYTES_AT_ONCE = 2**20
#: The first bytes of gzip, zip (which XLSX and ODS are) and Parquet.
_COMPRESSED = (b"\x1f\x8b", b"PK", b"PAR1")


def create_draft(
    resource: Resource, options: LoadOptions, *, file: File | None = None, url: str = ""
) -> Load:
    """Create a draft of an upload or a URL, and preview its file."""
    name = (file.name if file else "") or url
    load = queue.create_load(
        resource, options, source=name, file=file, url=url, state=LoadState.DRAFT
    )
    _start_preview(load)
    return load


def create_draft_from(load: Load, options: LoadOptions) -> Load:
    """
    Create a draft with the file of a load that is over, which no longer has it.

    Raises: ``LoadFailed`` with ``load.not_retryable``.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        old = Load.objects.select_for_update().select_related(None).filter(pk=load.pk).first()
        if old is None or not old.can_be_retried:
            raise LoadFailed("load.not_retryable")
        values = {"file": old.file.name or "", "url": old.url, "state": LoadState.DRAFT}
        new = queue.create_load(load.resource, options, source=old.source, **values)
        Load.objects.filter(pk=old.pk).update(file="")
    return new


def update_draft(
    load: Load, options: LoadOptions, *, file: File | None = None, url: str = ""
) -> None:
    """Change the options of a draft, or its file, and preview it again."""
    if file or url:
        delete_upload(load)
        load.source = ((file.name if file else "") or url)[-MAX_SOURCE_LENGTH:]
        load.url = url
        if file:
            load.file = file
    load.preview = None
    load.mode, load.options = options.mode, options.to_json()
    load.save()
    _start_preview(load)


def submit_draft(load: Load, options: LoadOptions) -> None:
    """
    Queue a draft with these options.

    Raises: ``LoadFailed`` with ``load.not_retryable`` when it is no longer a draft.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        loads = Load.objects.select_for_update().select_related(None)
        if not loads.filter(pk=load.pk, state=LoadState.DRAFT).exists():
            raise LoadFailed("load.not_retryable")
        load.mode, load.options = options.mode, options.to_json()
        load.preview = None
        load.save()
        queue.enqueue_load(load)


def delete_draft(load: Load) -> None:
    """Delete a draft and its upload."""
    delete_upload(load)
    load.delete()


def _start_preview(load: Load) -> None:
    """Preview a draft's file at once if it is small, otherwise by a worker."""
    if load.file and _is_read_soon(load.file):
        preview_draft(load)
    else:
        queue.run_on_commit(partial(_enqueue_preview, load))


def _is_read_soon(file: File) -> bool:
    try:
        with file.open("rb") as opened:
            is_compressed = opened.read(4).startswith(_COMPRESSED)
            max_bytes = _MAX_COMPRESSED_BYTES_AT_ONCE if is_compressed else _MAX_BYTES_AT_ONCE
            return file.size <= max_bytes
    except OSError:
        return True  # the preview reports what is wrong


def _enqueue_preview(load: Load) -> None:
    load.queued_at = timezone.now()
    Load.objects.filter(pk=load.pk).update(queued_at=load.queued_at)
    queue.enqueue_task(lambda tasks: tasks.preview_draft, load, _report_not_queued)


def _report_not_queued(load: Load) -> None:
    save_preview(load, {"failure": UnexpectedFailure().to_json()})
