"""
Drafts: loads that have their file and their options, and wait for somebody's word.

What a draft's file holds is found out once and kept with the draft: at once where that takes
seconds, otherwise by a worker, so that no request waits for it.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import connections, router, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from ...conf import conf
from ...exceptions.loads import LoadBroken, LoadFailed, NothingToRetry
from ...models import Load, LoadState, Resource
from ..publishing.preview import Preview, PreviewedField, PreviewedRowError, build_preview
from ..sources.files import bring
from ..sources.folders import working_folder
from ..typing.options import LoadOptions
from . import queue
from .completion import delete_upload
from .monitor import DraftMonitor

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

    Raises: ``NothingToRetry``.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        old = Load.objects.select_for_update().select_related(None).filter(pk=load.pk).first()
        if old is None or not old.can_be_retried:
            raise NothingToRetry
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

    Raises: ``NothingToRetry`` when it is no draft any more.
    """
    with transaction.atomic(using=router.db_for_write(Load)):
        found = Load.objects.select_for_update().select_related(None)
        if not found.filter(pk=load.pk, state=LoadState.DRAFT).exists():
            raise NothingToRetry
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
    load.mode, load.options = options.mode, options.kept()


# Looking at the file ------------------------------------------------------------------------------


def _look_soon(load: Load) -> None:
    if load.file and _is_read_soon(load.file):
        preview_draft(load)
    else:
        queue.when_committed(partial(_hand_over, load))


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
        # By its path, for tasks know loads and not the other way round.
        task = import_string("datastore_search.loading.jobs.tasks.preview_draft")
        task.using(backend=conf.TASKS_BACKEND, queue_name=conf.TASKS_QUEUE).enqueue(load.pk)
    except Exception:  # backends raise what they like; nobody must wait for ever
        logger.exception("Draft %s could not be queued.", load.pk)
        _keep(load, {"failure": LoadBroken().kept()})
    load.refresh_from_db()


def preview_draft(load: Load) -> None:
    """Find out what is in a draft's file, and keep it with the draft."""
    load.heartbeat_at = timezone.now()
    Load.objects.filter(pk=load.pk, state=LoadState.DRAFT).update(heartbeat_at=load.heartbeat_at)
    try:
        with working_folder() as folder:
            found = _looked(load, folder)
    except LoadFailed as failure:
        found = {"failure": failure.kept()}
    except Exception:  # somebody waits for an answer
        logger.exception("The file of draft %s could not be looked at.", load.pk)
        found = {"failure": LoadBroken().kept()}
    _keep(load, found)


def _looked(load: Load, folder: Path) -> dict[str, Any]:
    source = bring(load.file or load.url, folder)
    if not load.file:
        _store(load, source.path, source.name)
    options = LoadOptions.revived(load.options)
    connection = connections[router.db_for_write(Load)]
    with DraftMonitor(load).watching(connection):
        return _as_json(build_preview(load.resource, source.path, options, name=load.source))


def _store(load: Load, path: Path, name: str) -> None:
    """Keep what was fetched, so that it is loaded as it was seen."""
    load.source = name[-_NAME_LETTERS:]
    with path.open("rb") as opened:
        load.file.save(name, File(opened), save=False)
    Load.objects.filter(pk=load.pk).update(file=load.file.name, source=load.source)


def _keep(load: Load, found: dict[str, Any]) -> None:
    """Keep what was found, unless somebody has changed or submitted the draft meanwhile."""
    load.preview = found = _storable(found)
    Load.objects.filter(
        pk=load.pk, state=LoadState.DRAFT, options=load.options, file=load.file.name or ""
    ).update(preview=found)


def _storable(value: Any) -> Any:
    """Make “�” of the character U+0000, which PostgreSQL's JSON cannot hold."""
    if isinstance(value, str):
        return value.replace("\0", "�")
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list | tuple) else value


def _as_json(found: Preview) -> dict[str, Any]:
    """
    Give a preview as what JSON can hold.

    Messages are kept as such, so that each reader is told in their own language.
    """
    before = {each.name: each.before for each in found.changes.retyped}
    return {
        "fields": [_field(field, before, found.changes.added) for field in found.fields],
        "rows": found.rows,
        "total": found.total,
        "faulty": found.faulty,
        "faults": [_fault(fault) for fault in found.faults],
        "remarks": [remark.kept() for remark in found.remarks],
        "missing": found.changes.missing,
    }


def _field(
    field: PreviewedField, before: Mapping[str, str], added: Container[str]
) -> dict[str, Any]:
    return {
        "name": field.name,
        "label": field.label,
        "form": field.form,
        "reason": field.reason and field.reason.kept(),
        "values": field.values,
        "before": before.get(field.name, ""),
        "is_new": field.name in added,
    }


def _fault(fault: PreviewedRowError) -> dict[str, Any]:
    return {
        "line": fault.line,
        "field": fault.field,
        "value": fault.value,
        "reason": fault.reason and fault.reason.kept(),
    }
