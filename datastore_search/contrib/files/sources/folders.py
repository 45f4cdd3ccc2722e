"""Working folders, locked while their process lives, so that remains can be found and deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from django.core.files import locks

_PREFIX = "datastore_search_"
_LOCK = "lock"


@contextmanager
def create_working_folder() -> Iterator[Path]:
    """Create a working folder, which is deleted at the end of the block."""
    with TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        new = folder / "new"
        with new.open("wb") as lock:
            locks.lock(lock, locks.LOCK_EX)
            new.rename(folder / _LOCK)  # no other process finds it before it is locked
            yield folder


def delete_abandoned_folders() -> int:
    """Delete the folders of this user whose process has ended, and return their number."""
    return sum(map(_delete_if_abandoned, Path(gettempdir()).glob(f"{_PREFIX}*/{_LOCK}")))


def _delete_if_abandoned(lock_path: Path) -> bool:
    """Delete the folder of a lock that no process holds, and return whether it was deleted."""
    folder = lock_path.parent
    with suppress(OSError):  # another user's, or gone meanwhile
        if folder.lstat().st_uid != os.geteuid() or folder.is_symlink():
            return False
        with lock_path.open("rb") as lock:
            if locks.lock(lock, locks.LOCK_EX | locks.LOCK_NB):
                shutil.rmtree(folder)
                return True
    return False
