"""Preview the file of a draft, and store the preview with the draft."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import connections, router
from django.utils import timezone

from ...exceptions.loads import LoadFailed, UnexpectedFailure
from ...models import Load, LoadState
from ..publishing.preview import build_preview
from ..sources.files import copy_source
from ..sources.folders import create_working_folder
from ..typing.options import LoadOptions
from .monitor import DraftMonitor
from .uploads import MAX_SOURCE_LENGTH

logger = logging.getLogger(__name__)


def preview_draft(load: Load) -> None:
    """Preview the file of a draft, and store the preview or the failure."""
    load.heartbeat_at = timezone.now()
    Load.objects.filter(pk=load.pk, state=LoadState.DRAFT).update(heartbeat_at=load.heartbeat_at)
    try:
        with create_working_folder() as folder:
            preview = _build_preview(load, folder)
    except LoadFailed as failure:
        preview = {"failure": failure.to_json()}
    except Exception:  # a user waits for the preview
        logger.exception("The file of draft %s could not be looked at.", load.pk)
        preview = {"failure": UnexpectedFailure().to_json()}
    save_preview(load, preview)


def _build_preview(load: Load, folder: Path) -> dict[str, Any]:
    source = copy_source(load.file or load.url, folder)
    if not load.file:
        _store_fetched_file(load, source.path, source.name)
    options = LoadOptions.from_json(load.options)
    connection = connections[router.db_for_write(Load)]
    monitor = DraftMonitor(load)
    with monitor.poll_during(connection):
        return build_preview(
            load.resource, source.path, options, name=load.source, interrupter=monitor
        ).to_json()


def _store_fetched_file(load: Load, path: Path, name: str) -> None:
    """Store a file that was fetched, so that the load has the same one as the preview."""
    load.source = name[-MAX_SOURCE_LENGTH:]
    with path.open("rb") as opened:
        load.file.save(name, File(opened), save=False)
    Load.objects.filter(pk=load.pk).update(file=load.file.name, source=load.source)


def save_preview(load: Load, preview: dict[str, Any]) -> None:
    """Store the preview of a draft, unless the draft was changed or submitted meanwhile."""
    load.preview = preview = _replace_null_characters(preview)
    Load.objects.filter(
        pk=load.pk, state=LoadState.DRAFT, options=load.options, file=load.file.name or ""
    ).update(preview=preview)


def _replace_null_characters(value: Any) -> Any:
    """Replace the character U+0000, which PostgreSQL's JSON cannot store, by “�”."""
    if isinstance(value, str):
        return value.replace("\0", "�")
    if isinstance(value, dict):
        return {
            _replace_null_characters(name): _replace_null_characters(each)
            for name, each in value.items()
        }
    return (
        [_replace_null_characters(each) for each in value]
        if isinstance(value, list | tuple)
        else value
    )
