"""Make a file readable on this machine, wherever it comes from."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile

from ..messages import LoadFailed
from .fetching import ReportProgress, SourceFile, fetch_file, write_blocks

_BLOCK_BYTES = 2**20


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
