"""
From where a file is to where it can be read: a path of this machine, and what the file is.

A file is brought block by block, and its digest is computed on the way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile

from ...exceptions.loads import LoadFailed
from .fetching import fetch

_BLOCK_BYTES = 2**20

#: Called with the bytes so far and all of them, None while nobody knows; may raise.
Advance = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Source:
    """
    A file that can be read.

    ``name`` is what it is called, as a hint at its format; ``checksum`` its SHA-256 in hexadecimal;
    ``received`` what a server has said of it.
    """

    path: Path
    name: str
    checksum: str
    received: Mapping[str, str] = field(default_factory=dict)


def bring(
    what: Path | File | str,
    folder: Path,
    *,
    known: Mapping[str, str] | None = None,
    advance: Advance | None = None,
) -> Source:
    """
    Bring a file to this machine: a path, a file of Django's (an upload, a ``FieldFile``), or a URL.

    What has to be copied is copied into ``folder``; a file that lies on this machine stays where it
    is.  ``known`` is what the server of a URL said the last time.

    Raises: ``fetching.NotModified`` when the file of a URL is that of the last time; ``LoadFailed``
    when the file cannot be had.
    """
    if isinstance(what, str):
        fetched = fetch(what, folder, known=known, watch=advance)
        return Source(fetched.path, fetched.name, _digest(fetched.path, None), fetched.received)
    if isinstance(what, File):
        return _brought(what, folder, advance)
    return Source(what, what.name, _digest(what, advance))


def _brought(file: File, folder: Path, advance: Advance | None) -> Source:
    name = Path(file.name or "upload").name
    path = _local(file)
    if path is not None:
        return Source(path, name, _digest(path, advance))
    path = folder / "brought"
    try:
        with file.open("rb") as opened, path.open("wb") as target:
            return Source(path, name, _copied(opened, target, file.size, advance))
    except FileNotFoundError as error:
        raise LoadFailed("file.missing") from error


def _local(file: File) -> Path | None:
    """Find the file on this machine; None where its storage is elsewhere, or memory."""
    if isinstance(file, TemporaryUploadedFile):
        return Path(file.temporary_file_path())
    try:
        path = getattr(file, "path", None)
    except NotImplementedError:
        return None
    return Path(path) if path else None


def _digest(path: Path, advance: Advance | None) -> str:
    try:
        with path.open("rb") as opened:
            return _copied(opened, None, path.stat().st_size, advance)
    except FileNotFoundError as error:
        raise LoadFailed("file.missing") from error


def _copied(
    opened: BinaryIO | File, target: BinaryIO | None, size: int, advance: Advance | None
) -> str:
    """Read a file to its end, into another one if there is one, and give its digest."""
    digest, done = hashlib.sha256(), 0
    for block in _blocks(opened):
        digest.update(block)
        if target:
            _write(block, target)
        done += len(block)
        if advance:
            advance(done, size)
    return digest.hexdigest()


def _blocks(opened: BinaryIO | File) -> Iterator[bytes]:
    while block := opened.read(_BLOCK_BYTES):
        yield block


def _write(block: bytes, target: BinaryIO) -> None:
    try:
        target.write(block)
    except OSError as error:
        raise LoadFailed("load.disk_full") from error
