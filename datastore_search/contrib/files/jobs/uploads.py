"""Delete uploads: the files of loads and drafts in the portal's storage."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from django.db.models import Q, QuerySet
from django.utils import timezone

from ..conf import conf
from ..models import FINISHED, UPLOADS_FOLDER, Load, LoadState, get_upload_storage

logger = logging.getLogger(__name__)

#: Characters of a file's name or URL that a load stores: the last ones.
MAX_SOURCE_LENGTH = 500


def delete_upload(load: Load) -> None:
    """Delete the upload of a load that no longer needs it."""
    if not load.file:
        return
    name = load.file.name
    load.file = ""
    Load.objects.filter(pk=load.pk).update(file="")
    _delete_files([name] if name else [])


def delete_old_uploads(loads: QuerySet[Load]) -> None:
    """
    Delete drafts, and uploads of loads that are over, after ``UPLOAD_RETENTION``.

    The upload of a load that is ready is deleted at once: a process that was killed has left it.
    """
    oldest = timezone.now() - conf.UPLOAD_RETENTION
    is_unneeded = Q(state__in=(LoadState.READY, LoadState.UNCHANGED)) | Q(
        state__in=FINISHED, finished_at__lt=oldest
    )
    for load in loads.filter(is_unneeded).exclude(file=""):
        delete_upload(load)
    loads.filter(state=LoadState.DRAFT, created_at__lt=oldest).delete()


def delete_stray_uploads() -> None:
    """Delete uploads without a load: the request that stored them failed."""
    uploads, oldest = get_upload_storage(), timezone.now() - conf.UPLOAD_RETENTION
    with suppress(NotImplementedError, OSError):  # of a storage that cannot list its files
        _folders, names = uploads.listdir(UPLOADS_FOLDER)
        names_of_uploads = {f"{UPLOADS_FOLDER}/{name}" for name in names}
        names_of_uploads -= set(Load.objects.exclude(file="").values_list("file", flat=True))
        _delete_files(name for name in names_of_uploads if uploads.get_modified_time(name) < oldest)


def _delete_files(names: Iterable[str]) -> None:
    for name in names:
        try:
            get_upload_storage().delete(name)
        except (
            Exception
        ):  # of the storage, which may raise anything: nothing depends on the deletion
            logger.exception("The upload %s could not be deleted.", name)
