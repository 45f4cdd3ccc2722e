"""
Folders for what a load has on disk: gone at its end, or cleared up if its process was killed.

A folder holds a file that is locked for as long as its process lives.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from django.core.files import locks

_PREFIX = "datastore_search_"
_LOCK = "at_work"


@contextmanager
def working_folder() -> Iterator[Path]:
    """Make a folder, for the time of the block."""
    with TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        new = folder / "new"
        with new.open("wb") as lock:
            locks.lock(lock, locks.LOCK_EX)
            new.rename(folder / _LOCK)  # nobody finds it before it is locked
            yield folder


def clear_left_folders() -> int:
    """Delete the folders of this user whose process is gone, and return how many."""
    return sum(map(_is_cleared, Path(gettempdir()).glob(f"{_PREFIX}*/{_LOCK}")))


def _is_cleared(path: Path) -> bool:
    """Delete a folder, given its locked file, if nobody is at work in it."""
    with suppress(OSError):  # somebody else's, or gone meanwhile
        folder = path.parent.lstat()
        if folder.st_uid != os.geteuid() or path.parent.is_symlink():
            return False
        with path.open("rb") as lock:
            if locks.lock(lock, locks.LOCK_EX | locks.LOCK_NB):
                shutil.rmtree(path.parent)
                return True
    return False
