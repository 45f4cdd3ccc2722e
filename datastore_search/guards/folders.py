"""Files of this app: the folders in which a process works, and the storage of what is kept."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Any

from django.core.files import File, locks
from django.core.files.storage import Storage, storages
from django.db.models import QuerySet

from ..messages.availability import FileNotStored

logger = logging.getLogger(__name__)

#: The alias in ``STORAGES`` of the storage of this app; ``default`` if there is none.
_STORAGE = "datastore_search"

#: Of the name of a working folder; the file in it that its process locks while it lives.
_PREFIX, _LOCK = "datastore_search_", "lock"


def get_storage() -> Storage:
    """Return the storage of this app's files: one of their own, or the portal's usual one."""
    return storages[_STORAGE if _STORAGE in storages.backends else "default"]


@contextmanager
def create_working_folder() -> Iterator[Path]:
    """Create a working folder, which this process deletes at the end of the block."""
    folder, process = Path(mkdtemp(prefix=_PREFIX)), os.getpid()
    try:
        new = folder / "new"
        with new.open("wb") as lock:
            locks.lock(lock, locks.LOCK_EX)
            new.rename(folder / _LOCK)  # no other process finds it before it is locked
            yield folder
    finally:
        if os.getpid() == process:  # and not a fork of it
            shutil.rmtree(folder, ignore_errors=True)


def delete_abandoned_folders() -> int:
    """Delete the folders of this user whose process has ended, and return their number."""
    deleted = 0
    for lock_path in Path(gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        folder = lock_path.parent
        with suppress(OSError):  # another user's, or gone meanwhile
            if folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
                with lock_path.open("rb") as lock:
                    if locks.lock(lock, locks.LOCK_EX | locks.LOCK_NB):
                        shutil.rmtree(folder)
                        deleted += 1
    return deleted


# Files of the storage -----------------------------------------------------------------------------

#: After this time, a file without a row is left over: its request failed, or its row is deleted.
STRAY_AFTER = timedelta(hours=1)


def _list_files(folder: str) -> set[str] | None:
    """List the files of a folder by their names in the storage; None if it cannot list."""
    try:
        _folders, names = get_storage().listdir(folder)
    except FileNotFoundError:  # a folder is made with its first file
        return set()
    except NotImplementedError:  # Django lets a storage be unable to list
        return None
    return {f"{folder}/{name}" for name in names}


def list_missing_files(folder: str, names: set[str]) -> set[str]:
    """List the files of a folder that the storage lacks; one that cannot list is asked for each."""
    found = _list_files(folder)
    if found is None:
        return {each for each in names if not get_storage().exists(each)}
    return names - found


def delete_stray_files(folder: str, rows: QuerySet[Any], oldest: datetime) -> int:
    """Delete the files of a folder that are the ``file`` of no row, and older; return how many."""
    storage, known = get_storage(), set(rows.values_list("file", flat=True))
    try:
        stray = (_list_files(folder) or set()) - known
        old = [name for name in stray if storage.get_modified_time(name) < oldest]
    except (NotImplementedError, FileNotFoundError):
        # Django lets a storage know no times, and a file may just have been deleted by another
        # process: nothing is wrong, and the next clean-up tries again.
        return 0
    except Exception:  # of any storage; the next clean-up tries again
        logger.exception("The files in %s could not be listed.", folder)
        return 0
    delete_files(old)
    return len(old)


def store_file(name: str, file: File) -> str:
    """Store a file, and return its name.  Raises: ``FileNotStored``; no part of it is kept."""
    try:
        return get_storage().save(name, file)
    except Exception as error:  # of any storage
        logger.exception("The file %s could not be stored.", name)
        delete_files([name])
        raise FileNotStored from error


def delete_files(names: Iterable[str]) -> None:
    """Delete files by their names in the storage, as far as it can."""
    for name in names:
        try:
            get_storage().delete(name)
        except Exception:  # of any storage; nothing depends on the deletion
            logger.exception("The file %s could not be deleted.", name)
