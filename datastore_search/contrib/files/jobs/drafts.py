"""
Drafts: loads with a file and options that a user has not submitted yet.

A draft's file is previewed once, and the preview is stored with the draft: at once where that takes
seconds, otherwise by a worker, so that no request waits for it.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import suppress
from typing import Any

from django.core.files import File
from django.db import connections, router, transaction
from django.db.models import QuerySet
from django.utils import timezone

from ....guards.folders import create_working_folder
from ....messages.availability import FileNotStored
from ....models import Resource
from ..messages import LoadFailed
from ..models import Load, LoadState, store_upload
from ..publishing.preview import build_preview
from ..sources.fetching import copy_source
from ..types.options import LoadOptions
from . import queue
from .cleanup import delete_upload
from .runner import DraftMonitor

logger = logging.getLogger(__name__)

#: Files up to this size are read within seconds; a compressed one may be a hundred times larger.
_MAX_BYTES_AT_ONCE = 8 * 2**20
_MAX_COMPRESSED_BYTES_AT_ONCE = 2**20
#: The first bytes of gzip, zip (which XLSX and ODS are) and Parquet.
_COMPRESSED = (b"\x1f\x8b", b"PK", b"PAR1")

#: U+0000 in JSON, after backslashes that are escaped themselves.
_NULL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def create_draft(resource: Resource, options: LoadOptions, **values: Any) -> Load:
    """Create a draft; ``values`` are its ``file`` or its ``url``, and its ``user``."""
    load = queue.create_load(resource, options, state=LoadState.DRAFT, **values)
    _start_preview(load)
    return load


def update_draft(
    load: Load, options: LoadOptions, *, file: File | None = None, url: str = ""
) -> None:
    if file or url:
        stored = store_upload(file) if file else ""  # before the earlier one is deleted
        delete_upload(load)
        load.source = ((file.name if file else "") or url)[-queue.MAX_SOURCE_LENGTH :]
        load.url, load.file = url, stored
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


def _start_preview(load: Load) -> None:
    """Preview a draft's file at once if it is small, otherwise by a worker."""
    is_small = bool(load.file)
    with suppress(OSError):  # the preview reports what is wrong
        if is_small:
            with load.file.open("rb") as opened:
                is_compressed = opened.read(4).startswith(_COMPRESSED)
            most = _MAX_COMPRESSED_BYTES_AT_ONCE if is_compressed else _MAX_BYTES_AT_ONCE
            is_small = load.file.size <= most
    if is_small:
        preview_draft(load)
        return
    load.queued_at = timezone.now()
    Load.objects.filter(pk=load.pk).update(queued_at=load.queued_at)
    failed = {"failure": LoadFailed("load.unexpected").to_json()}
    queue.run_on_commit(
        lambda: queue.enqueue_task("preview_draft", load) or _save_preview(load, failed)
    )


def preview_draft(load: Load) -> None:
    load.heartbeat_at = timezone.now()
    Load.objects.filter(pk=load.pk, state=LoadState.DRAFT).update(heartbeat_at=load.heartbeat_at)
    try:
        with create_working_folder() as folder:
            source = copy_source(load.file or load.url, folder)
            if not load.file:  # the load is to have the same file as the preview
                load.source = source.name[-queue.MAX_SOURCE_LENGTH :]
                with source.path.open("rb") as opened:
                    load.file = store_upload(File(opened, source.name))
                Load.objects.filter(pk=load.pk).update(file=load.file.name, source=load.source)
            options, monitor = LoadOptions.from_json(load.options), DraftMonitor(_select(load))
            with monitor.poll_during(connections[router.db_for_write(Load)]):
                preview = build_preview(
                    load.resource, source.path, options, name=load.source, interrupter=monitor
                ).to_json()
    except LoadFailed as failure:
        preview = {"failure": failure.to_json()}
    except FileNotStored:
        preview = {"failure": LoadFailed("load.disk_full").to_json()}
    except Exception:  # a user waits for the preview
        logger.exception("The file of draft %s could not be looked at.", load.pk)
        preview = {"failure": LoadFailed("load.unexpected").to_json()}
    _save_preview(load, preview)


def _save_preview(load: Load, preview: dict[str, Any]) -> bool:
    """Store the preview of a draft; False if the draft was changed or submitted meanwhile."""
    # PostgreSQL's JSON cannot store the character U+0000.
    load.preview = json.loads(_NULL.sub(r"\1�", json.dumps(preview)))
    return bool(_select(load).update(preview=load.preview))


def _select(load: Load) -> QuerySet[Load]:
    """Select a draft, unless it has other options or another file now."""
    return Load.objects.filter(
        pk=load.pk, state=LoadState.DRAFT, options=load.options, file=load.file.name or ""
    )
