"""Make a file readable on this machine, wherever it comes from, and compute its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile

from ..messages.failures import LoadFailed
from .fetching import fetch_file
from .responses import ReportProgress

_BLOCK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """
    A file that can be read.

    ``name`` is its own name, a hint at its format; ``checksum`` is its SHA-256 in hexadecimal;
    ``http_validators`` come from its server, for a file that was fetched.
    """

    path: Path
    name: str
    checksum: str
    http_validators: Mapping[str, str] = field(default_factory=dict)


def copy_source(
    source: Path | File | str,
    folder: Path,
    *,
    known_validators: Mapping[str, str] | None = None,
    report_progress: ReportProgress | None = None,
) -> SourceFile:
    """
    Copy a source into a folder: a file of Django's (an upload, a ``FieldFile``), or a URL.

    A file of this machine is read where it is.  ``known_validators`` belong to the file that the
    URL had the last time.

    Raises: ``NotModified`` when the URL still has that file; ``LoadFailed`` when the file cannot be
    read.
    """
    if isinstance(source, str):
        fetched = fetch_file(
            source, folder, known_validators=known_validators, report_progress=report_progress
        )
        checksum = _compute_checksum(fetched.path, None)
        return SourceFile(fetched.path, fetched.name, checksum, fetched.http_validators)
    if isinstance(source, File):
        return _copy_django_file(source, folder, report_progress)
    return SourceFile(source, source.name, _compute_checksum(source, report_progress))


def _copy_django_file(
    file: File, folder: Path, report_progress: ReportProgress | None
) -> SourceFile:
    name = Path(file.name or "upload").name
    path = _find_local_path(file)
    if path is not None:
        return SourceFile(path, name, _compute_checksum(path, report_progress))
    path = folder / "copied"
    try:
        with file.open("rb") as opened, path.open("wb") as target:
            checksum = _copy_blocks(opened, target, file.size, report_progress)
    except FileNotFoundError as error:
        raise LoadFailed("file.missing") from error
    return SourceFile(path, name, checksum)


def _find_local_path(file: File) -> Path | None:
    """Find a file of Django's on this machine; None where it is in memory or another storage."""
    if isinstance(file, TemporaryUploadedFile):
        return Path(file.temporary_file_path())
    try:
        path = getattr(file, "path", None)
    except NotImplementedError:
        return None
    return Path(path) if path else None


def _compute_checksum(path: Path, report_progress: ReportProgress | None) -> str:
    try:
        with path.open("rb") as opened:
            return _copy_blocks(opened, None, path.stat().st_size, report_progress)
    except FileNotFoundError as error:
        raise LoadFailed("file.missing") from error


def _copy_blocks(
    opened: BinaryIO | File,
    target: BinaryIO | None,
    size: int,
    report_progress: ReportProgress | None,
) -> str:
    """Read a file to its end, copy it to ``target`` if there is one, and return its checksum."""
    digest, done = hashlib.sha256(), 0
    while block := opened.read(_BLOCK_BYTES):
        digest.update(block)
        if target:
            try:
                target.write(block)
            except OSError as error:
                raise LoadFailed("load.disk_full") from error
        done += len(block)
        if report_progress:
            report_progress(done, size)
    return digest.hexdigest()
