"""Uploads: the files that loads and drafts keep in the portal's storage, and their deletion."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from django.db.models import QuerySet
from django.utils import timezone

from ...conf import conf
from ...models import FINISHED, UPLOADS_FOLDER, Load, LoadState, upload_storage

logger = logging.getLogger(__name__)


def delete_upload(load: Load) -> None:
    """Delete the upload of a load that needs it no more."""
    if not load.file:
        return
    name = load.file.name
    load.file = ""
    Load.objects.filter(pk=load.pk).update(file="")
    _delete([name] if name else [])


def delete_old_uploads(loads: QuerySet[Load]) -> None:
    """Delete the uploads of failed loads, and the drafts, that nobody has come back to."""
    long_ago = timezone.now() - conf.KEEP_UPLOADS
    for load in loads.filter(state__in=FINISHED, finished_at__lt=long_ago).exclude(file=""):
        delete_upload(load)
    for load in loads.filter(state=LoadState.DRAFT, created_at__lt=long_ago):
        delete_upload(load)
        load.delete()


def delete_stray_uploads() -> None:
    """Delete uploads whose load was never kept, since the request that made it failed."""
    uploads, long_ago = upload_storage(), timezone.now() - conf.KEEP_UPLOADS
    with suppress(NotImplementedError, OSError):  # not every storage can list its files
        _folders, names = uploads.listdir(UPLOADS_FOLDER)
        found = {f"{UPLOADS_FOLDER}/{name}" for name in names}
        found -= set(Load.objects.exclude(file="").values_list("file", flat=True))
        _delete(name for name in found if uploads.get_modified_time(name) < long_ago)


def _delete(names: Iterable[str]) -> None:
    for name in names:
        try:
            upload_storage().delete(name)
        except Exception:  # storages raise what they like, and nothing depends on it
            logger.exception("The upload %s could not be deleted.", name)
