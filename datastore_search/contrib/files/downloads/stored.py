"""
Downloads of whole public resources: each a file of one version, made once, in Django's storage.

A thread makes the file beside the first request for it.  A row says so, so that no other process
makes it again.  Requests wait for it a little.  Where it is not there in time, or cannot be made,
records are streamed as those of any query are.
"""

from __future__ import annotations

import logging
import os
import secrets
import uuid
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from hashlib import blake2b
from threading import BoundedSemaphore, Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.parse import quote

from django.core.files import File
from django.db import DatabaseError, InterfaceError, connections, router, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ....database.statements import Call
from ....downloads.dump import Dump
from ....downloads.formats import DumpFormat, formats
from ....downloads.parameters import build_dump_query, complete_query
from ....downloads.stored import StoredFile
from ....guards.cache import BoundedCache
from ....guards.folders import (
    STRAY_AFTER,
    create_working_folder,
    delete_files,
    delete_stray_files,
    store_file,
)
from ....guards.shares import Client
from ....messages.availability import ClientDisconnected, TemporarilyUnavailable
from ....models import Resource
from ....search import ConsistentRead, Stream
from ..conf import conf
from ..models import UPLOADS_FOLDER, StoredDownload, get_upload_storage

logger = logging.getLogger(__name__)

FOLDER = f"{UPLOADS_FOLDER}/downloads"

#: The time for which a request waits for a file, and the requests of a process that may.
WAIT_SECONDS, _MAX_WAITING = 20.0, 4

#: A table with more cells takes longer: only a request that needs the file waits for it.
_MAX_AWAITED_CELLS = 15_000_000

#: A process that makes a file reports so often, and has ended if it has not for the longer time.
_REPORT_SECONDS, _LEASE = 10.0, timedelta(minutes=2)

#: Files that are kept.
_MAX_FILES = 10_000

#: After a failure, a version is streamed for this time.
_RETRY_SECONDS = 600.0

_CHECK_SECONDS = 0.1

_OUTDATED = ~Q(version=F("resource__version"), resource__private=False)


class FileBeingMade(TemporarilyUnavailable):
    wait = 5
    message = _("The file is being prepared. Try again in a moment.")


class _Key(NamedTuple):
    resource_id: uuid.UUID
    format: str
    version: int


#: Files that could not be made or read, and until when that counts.
_failed: BoundedCache[_Key, float] = BoundedCache("failed_downloads", 1_000)


def open_download(
    resource: Resource, kind: DumpFormat, client: Client, *, is_needed: bool
) -> StoredFile | None:
    """See ``downloads.stored.OpenStored``."""
    alias = router.db_for_write(StoredDownload)
    if not conf.MAX_DOWNLOADS_BYTES or connections[alias].in_atomic_block:
        return None
    count = resource.table_version.record_count if resource.table_version else 0
    is_awaited = is_needed or count * len(resource.types) <= _MAX_AWAITED_CELLS
    has_place = is_awaited and _maker.places.acquire(blocking=False)
    try:
        key = _Key(resource.pk, kind.name, resource.version)
        return _open_or_make(key, client, monotonic() + (WAIT_SECONDS if has_place else 0))
    except (DatabaseError, InterfaceError):  # a primary that is down, and a replica that answers
        logger.exception("Stored downloads cannot be read.")
        return None
    except FileBeingMade:
        if is_needed:
            raise
        return None
    finally:
        if has_place:
            _maker.places.release()


def _open_or_make(key: _Key, client: Client, deadline: float) -> StoredFile | None:
    rows, thread = StoredDownload.objects.filter(**key._asdict()), None
    while (_failed.get(key) or 0) < monotonic():
        row = rows.first()
        if row is not None and row.file:
            if stored := _open(key, row):
                return stored
            continue  # it is made again, or has failed
        if row is None or row.used_at <= timezone.now() - _LEASE:
            thread = _maker.begin(key)
        if monotonic() >= deadline:
            raise FileBeingMade
        if client.is_gone():  # the file is made for those who ask next
            raise ClientDisconnected
        if thread and thread.is_alive():
            thread.join(_CHECK_SECONDS)
        else:
            sleep(_CHECK_SECONDS)
    return None


def open_stored_file(
    name: str, size_bytes: int, digest: str, *, may_redirect: bool = True
) -> StoredFile | None:
    """
    Open a file of the storage, or find what sends it; None if it has another size.

    With ``may_redirect`` the storage itself may send it, with its own headers, to whoever knows its
    address.

    Raises: ``FileNotFoundError``, and whatever the storage raises.
    """
    storage, sender = get_upload_storage(), conf.DOWNLOADS_SENT_BY
    if not sender or (sender == "redirect" and not may_redirect):
        file = storage.open(name)
        if file.size == size_bytes:
            return StoredFile(size_bytes, digest, file)
        file.close()
    elif storage.size(name) == size_bytes:
        sent_by = ("X-Accel-Redirect", quote(sender + name))
        if sender == "redirect":
            sent_by = ("Location", storage.url(name))
        return StoredFile(size_bytes, digest, sent_by=sent_by)
    return None


def _open(key: _Key, row: StoredDownload) -> StoredFile | None:
    """Open a file; a row whose file is missing or damaged is deleted."""
    name, stored = str(row.file), None
    try:
        stored = open_stored_file(name, row.size_bytes, row.digest)
    except FileNotFoundError:
        logger.warning("The stored download %s is missing.", name)
    except Exception:  # of any storage; records are streamed
        logger.exception("The stored download %s cannot be read.", name)
        _failed.add(key, monotonic() + _RETRY_SECONDS)
        return None
    now = timezone.now()
    if stored is None:
        row.delete()
    elif row.used_at < now - timedelta(minutes=10):  # it need not be known more exactly
        StoredDownload.objects.filter(pk=row.pk).update(used_at=now)
    return stored


class _Maker:
    """Makes one file at a time in this process."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = Lock()
        self.places = BoundedSemaphore(_MAX_WAITING)

    def begin(self, key: _Key) -> Thread | None:
        """Begin to make a file, unless this process makes another, or another process makes it."""
        if not self._lock.acquire(blocking=False):
            return None
        with ExitStack() as at_failure:
            at_failure.callback(self._lock.release)
            now = timezone.now()
            row, is_new = StoredDownload.objects.get_or_create(
                **key._asdict(), defaults={"used_at": now}
            )
            left = StoredDownload.objects.filter(pk=row.pk, file="", used_at__lt=now - _LEASE)
            if not (is_new or left.update(used_at=now)):
                return None
            thread = Thread(
                target=self._run, args=(key, row.pk), name="datastore_search_download", daemon=True
            )
            thread.start()
            at_failure.pop_all()
        return thread

    def _run(self, key: _Key, pk: int) -> None:
        try:
            _make(key, pk)
        except Exception as error:  # whatever it is, records are streamed
            if isinstance(error, _NotStoredError):
                logger.warning("The download of %s as %s is not stored.", *key[:2])
            else:
                logger.exception("The download of %s as %s cannot be stored.", *key[:2])
            _failed.add(key, monotonic() + _RETRY_SECONDS)
            with suppress(DatabaseError, InterfaceError):
                _discard(pk=pk, file="")
        finally:
            connections.close_all()
            self._lock.release()


_maker = _Maker()


class _NotStoredError(Exception):
    """The file is too large, or no longer of the version that all may read."""


def _make(key: _Key, pk: int) -> None:
    kind, row = formats[key.format], StoredDownload.objects.filter(pk=pk)

    def begin(read: ConsistentRead) -> Generator[bytes]:
        if read.resource.version != key.version or read.resource.private:
            raise _NotStoredError
        return kind.write_blocks(
            Dump(read, complete_query(build_dump_query({}), read.relation), {})
        )

    name = f"{FOLDER}/{secrets.token_urlsafe(24)}.{kind.extension}"
    digest, size_bytes, reported_at = blake2b(digest_size=16), 0, monotonic()
    with create_working_folder() as folder:
        path = folder / "download"
        with path.open("wb") as file, closing(Stream.open(key.resource_id, begin)) as blocks:
            for block in blocks:
                file.write(block)
                digest.update(block)
                size_bytes += len(block)
                if size_bytes > conf.MAX_DOWNLOADS_BYTES:
                    raise _NotStoredError
                if monotonic() - reported_at > _REPORT_SECONDS:
                    if not row.update(used_at=timezone.now()):
                        raise _NotStoredError
                    reported_at = monotonic()
        with path.open("rb") as made:
            name = store_file(name, File(made))
        is_kept, values = False, {"size_bytes": size_bytes, "digest": digest.hexdigest()}
        try:
            is_kept = bool(row.update(file=name, used_at=timezone.now(), **values))
        finally:
            if not is_kept:
                delete_files([name])
    _discard(_OUTDATED, resource=key.resource_id)
    _evict()


def _discard(*conditions: Q, **values: Any) -> None:
    StoredDownload.objects.filter(*conditions, **values).delete()


def discard_saved(*, instance: Resource, using: str, **_signal: Any) -> None:
    """Delete the files of a resource whose row has changed."""
    discard = Call(_discard, _OUTDATED, resource=instance.pk)
    transaction.on_commit(discard, using=using, robust=True)


def _evict() -> None:
    """Delete the files that were asked for longest ago, as far as there are too many."""
    size_bytes, evicted = 0, []
    kept = StoredDownload.objects.exclude(file="").order_by("-used_at", "-pk")
    for number, (pk, size) in enumerate(kept.values_list("pk", "size_bytes"), 1):
        size_bytes += size
        if size_bytes > conf.MAX_DOWNLOADS_BYTES or number > _MAX_FILES:
            evicted.append(pk)
    _discard(pk__in=evicted)


def clean_up() -> Iterator[str]:
    """Delete files that are outdated, too many or left over."""
    now = timezone.now()
    _discard(_OUTDATED | Q(file="", used_at__lt=now - _LEASE))
    _evict()
    if deleted := delete_stray_files(FOLDER, StoredDownload.objects.all(), now - STRAY_AFTER):
        yield f"Deleted files of downloads: {deleted}."
