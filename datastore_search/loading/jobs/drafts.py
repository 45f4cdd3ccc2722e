"""
Drafts: loads that have their file and their options, and wait for somebody's word.

What a draft's file holds is found out once and kept with the draft: at once where that takes
seconds, otherwise by a worker, so that no request waits for it.
"""

from __future__ import annotations

import logging
from functools import partial

from django.core.files import File
from django.db import router, transaction
from django.utils import timezone

from ...conf import conf
from ...exceptions.loads import LoadFailed, UnexpectedFailure
from ...models import Load, LoadState, Resource
from ..typing.options import LoadOptions
from . import queue
from .draft_previews import preview_draft, save_preview
from .uploads import delete_upload

logger = logging.getLogger(__name__)

#: A file of this size is read within seconds; what is packed may hold a hundred times as much.
_AT_ONCE_BYTES = 8 * 2**20
_PACKED_AT_ONCE_BYTES = 2**20
#: How gzip, zip (so XLSX and ODS) and Parquet begin.
_PACKED = (b"\x1f\x8b", b"PK", b"PAR1")
_NAME_LETTERS = 500


def create_draft(
    resource: Resource, options: LoadOptions, *, file: File | None = None, url: str = ""
) -> Load:
    """Store an upload, or note an address, and find out what is there."""
    name = (file.name if file else "") or url
    load = queue.create_load(
        resource, options, source=name, file=file, url=url, state=LoadState.DRAFT
    )
    _look_soon(load)
    return load


def create_draft_from(load: Load, options: LoadOptions) -> Load:
    """
    Make a draft of a load that is over: it takes the file over.

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
    """Take other options for a draft, or another file, and look again."""
    if file or url:
        delete_upload(load)
        load.source = ((file.name if file else "") or url)[-_NAME_LETTERS:]
        load.url = url
        if file:
            load.file = file
    load.preview = None
    _take(load, options)
    load.save()
    _look_soon(load)


def submit_draft(load: Load, options: LoadOptions) -> None:
    """
    Queue a draft; the types that are chosen are kept for the next loads, too.

    Raises: ``LoadFailed`` with ``load.not_retryable`` when it is no draft any more.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        found = Load.objects.select_for_update().select_related(None)
        if not found.filter(pk=load.pk, state=LoadState.DRAFT).exists():
            raise LoadFailed("load.not_retryable")
        _take(load, options)
        load.language, load.indexes = load.resource.language, load.resource.index_kinds
        load.preview = None
        load.save()
        queue.enqueue_load(load)


def delete_draft(load: Load) -> None:
    """Delete a draft, and its file."""
    delete_upload(load)
    load.delete()


def _take(load: Load, options: LoadOptions) -> None:
    load.mode, load.options = options.mode, options.to_json()


# Looking at the file ------------------------------------------------------------------------------


def _look_soon(load: Load) -> None:
    if load.file and _is_read_soon(load.file):
        preview_draft(load)
    else:
        queue.run_on_commit(partial(_hand_over, load))


def _is_read_soon(file: File) -> bool:
    try:
        with file.open("rb") as opened:
            is_packed = opened.read(4).startswith(_PACKED)
            return file.size <= (_PACKED_AT_ONCE_BYTES if is_packed else _AT_ONCE_BYTES)
    except OSError:
        return True  # whoever looks says what is wrong


def _hand_over(load: Load) -> None:
    load.queued_at = timezone.now()
    Load.objects.filter(pk=load.pk).update(queued_at=load.queued_at)
    try:
        # The backend is asked when tasks are imported; a check reports what it refuses.
        from .tasks import preview_draft as task  # noqa: PLC0415

        task.using(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE).enqueue(load.pk)
    except Exception:  # backends raise what they like; nobody must wait for ever
        logger.exception("Draft %s could not be queued.", load.pk)
        save_preview(load, {"failure": UnexpectedFailure().to_json()})
    load.refresh_from_db()
