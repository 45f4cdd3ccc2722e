"""Preview the file of a draft, and keep the preview with the draft."""

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
from ..sources.folders import working_folder
from ..typing.options import LoadOptions
from .monitor import DraftMonitor

logger = logging.getLogger(__name__)

_NAME_LETTERS = 500


def preview_draft(load: Load) -> None:
    """Find out what is in a draft's file, and keep it with the draft."""
    load.heartbeat_at = timezone.now()
    Load.objects.filter(pk=load.pk, state=LoadState.DRAFT).update(heartbeat_at=load.heartbeat_at)
    try:
        with working_folder() as folder:
            found = _read_preview(load, folder)
    except LoadFailed as failure:
        found = {"failure": failure.to_json()}
    except Exception:  # somebody waits for an answer
        logger.exception("The file of draft %s could not be looked at.", load.pk)
        found = {"failure": UnexpectedFailure().to_json()}
    save_preview(load, found)


def _read_preview(load: Load, folder: Path) -> dict[str, Any]:
    source = copy_source(load.file or load.url, folder)
    if not load.file:
        _store_fetched_file(load, source.path, source.name)
    options = LoadOptions.from_json(load.options)
    connection = connections[router.db_for_write(Load)]
    monitor = DraftMonitor(load)
    with monitor.watching(connection):
        return build_preview(
            load.resource, source.path, options, name=load.source, interrupter=monitor
        ).to_json()


def _store_fetched_file(load: Load, path: Path, name: str) -> None:
    """Keep what was fetched, so that it is loaded as it was seen."""
    load.source = name[-_NAME_LETTERS:]
    with path.open("rb") as opened:
        load.file.save(name, File(opened), save=False)
    Load.objects.filter(pk=load.pk).update(file=load.file.name, source=load.source)


def save_preview(load: Load, found: dict[str, Any]) -> None:
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
