"""Make a file readable on this machine, wherever it comes from; the folders it is copied to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import cast

from django.core.files import File, locks
from django.core.files.uploadedfile import TemporaryUploadedFile

from ..messages.failures import LoadFailed
from .fetching import ReportProgress, SourceFile, fetch_file, write_blocks

_BLOCK_BYTES = 2**20

#: Of the name of a working folder; the file in it that its process locks while it lives.
_PREFIX, _LOCK = "datastore_search_", "lock"


def copy_source(
    source: Path | File | str, folder: Path, *, report_progress: ReportProgress | None = None
) -> SourceFile:
    """
    Copy a source into a folder: a file of Django's (an upload, a ``FieldFile``), or a URL.

    A file of this machine is read where it is.

    Raises: ``LoadFailed`` when the file cannot be read.
    """
    if isinstance(source, str):
        return fetch_file(source, folder, report_progress=report_progress)
    found: Path | str | None = None
    if isinstance(source, Path):
        found = source
    elif isinstance(source, TemporaryUploadedFile):
        found = source.temporary_file_path()
    else:
        # A storage elsewhere has no paths, and says so by this error: its file is copied.
        with suppress(NotImplementedError):
            found = getattr(source, "path", None)
    path = Path(found) if found else None
    copy = None if path else folder / "copied"
    try:
        with (path or source).open("rb") as opened:
            size = path.stat().st_size if path else cast(File, source).size
            blocks = iter(partial(opened.read, _BLOCK_BYTES), b"")
            checksum = write_blocks(blocks, copy, size, report_progress)
    except FileNotFoundError as error:
        raise LoadFailed("file.missing") from error
    return SourceFile(path or folder / "copied", Path(source.name or "upload").name, checksum)


# Working folders ----------------------------------------------------------------------------------


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
