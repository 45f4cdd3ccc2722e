"""
Unpacking: gzip, zip, and a gzip within a zip.

What is packed is written into the stage's folder, under a name of ours, block by block, and only as
far as the settings allow: what an archive says of itself is not believed.
"""

from __future__ import annotations

import errno
import gzip
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...exceptions.loads import LoadFailed
from ..readers.options import ReadOptions
from ..readers.staging import StagingArea
from .limits import ReadingLimits

_BLOCK_BYTES = 2**20
_GZIP = b"\x1f\x8b"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
#: What programs of offices write, sheets among it.
_OFFICE = ({"[Content_Types].xml"}, {"content.xml", "META-INF/manifest.xml"})

#: A zip's list of its files is read into memory, ten times as large.
_LIST_BYTES_MOST = 4 * 2**20
_NAMES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file that is no archive, and what it is called."""

    path: Path
    name: str


def unpacked(file: Unpacked, options: ReadOptions, place: StagingArea) -> Unpacked:
    """
    Unpack a file, if it is packed.

    Raises: ``LoadFailed``, of the kind that says why it cannot be unpacked.
    """
    if _is_archive(file.path):
        file = _member(file, options, place)
        if _is_archive(file.path):
            raise LoadFailed("archive.nested")
    if _is_gzip(file.path):
        file = _unzipped(file, place.folder / "unpacked", _limits(file, place))
        if _is_gzip(file.path) or _is_archive(file.path):
            raise LoadFailed("archive.nested")
    return file


def is_workbook(path: Path) -> bool:
    """
    Tell whether a file is a zip that is a workbook, or another document of an office.

    Raises: ``LoadFailed`` when it is a zip that cannot be read.
    """
    if not _is_zip(path):
        return False
    names = set(_names(path))
    return any(parts <= names for parts in _OFFICE)


def _is_gzip(path: Path) -> bool:
    return _start(path).startswith(_GZIP)


def _is_zip(path: Path) -> bool:
    return _start(path).startswith(_ZIPS)


def _is_archive(path: Path) -> bool:
    return _is_zip(path) and not is_workbook(path)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


# Zip ----------------------------------------------------------------------------------------------


def _member(file: Unpacked, options: ReadOptions, place: StagingArea) -> Unpacked:
    """
    Unpack the one file that is wanted.

    Raises: ``LoadFailed``.
    """
    target = place.folder / "member"
    with _opened(file.path) as archive:
        chosen = _chosen(archive, options.member)
        try:
            with archive.open(chosen) as source:
                _copy(source, target, _limits(file, place))
        except (NotImplementedError, RuntimeError) as error:
            raise LoadFailed("archive.unknown_compression", member=chosen.filename) from error
    return Unpacked(target, _last_part(chosen))


def _chosen(archive: zipfile.ZipFile, wanted: str) -> zipfile.ZipInfo:
    """
    Find the one file, or the one that is wanted, by its whole name or the last part of it.

    Raises: ``LoadFailed`` with ``archive.empty``, ``archive.several_members``,
    ``archive.unknown_member``, ``archive.encrypted``.
    """
    members = [member for member in archive.infolist() if _counts(member)]
    if not members:
        raise LoadFailed("archive.empty")
    shown = ", ".join(f"“{member.filename}”" for member in members[:_NAMES_SHOWN])
    if wanted:
        members = [member for member in members if member.filename == wanted] or [
            member for member in members if _last_part(member) == wanted
        ]
        if not members:
            raise LoadFailed("archive.unknown_member", member=wanted, members=shown)
    if len(members) > 1:
        raise LoadFailed("archive.several_members", members=shown)
    if members[0].flag_bits & 1:
        raise LoadFailed("archive.encrypted", member=members[0].filename)
    return members[0]


def _counts(member: zipfile.ZipInfo) -> bool:
    """Leave out folders, hidden files and what macOS adds."""
    parts = member.filename.split("/")
    return not (member.is_dir() or parts[0] == "__MACOSX" or parts[-1].startswith("."))


def _last_part(member: zipfile.ZipInfo) -> str:
    return member.filename.rsplit("/", 1)[-1]


def _names(path: Path) -> list[str]:
    with _opened(path) as archive:
        return archive.namelist()


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """
    Open a zip, and say what is wrong with it.

    Raises: ``LoadFailed``.
    """
    try:
        if _list_bytes(path) > _LIST_BYTES_MOST:
            raise LoadFailed("archive.too_many_members")
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _BROKEN as error:
        raise LoadFailed("archive.damaged") from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # a place that is said to be before the file's start
            raise LoadFailed("archive.damaged") from error
        raise


_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    struct.error,
    ValueError,
)
_END = b"PK\x05\x06"
_END_BYTES = 22
_COMMENT_BYTES_MOST = 2**16
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_IN_END64 = 0xFFFFFFFF


def _list_bytes(path: Path) -> int:
    """Read how long a zip's list of its files is: ``ZipFile`` would read it whole."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_BYTES - _COMMENT_BYTES_MOST))
        tail = file.read()
        found = tail.rfind(_END)
        if found < 0 or len(tail) - found < _END_BYTES:
            raise LoadFailed("archive.truncated")
        (length,) = struct.unpack_from("<L", tail, found + 12)
        if length != _IN_END64:
            return int(length)
        file.seek(size - len(tail) + found - _END64_LOCATOR.size)
        *_, offset, _disks = _END64_LOCATOR.unpack(file.read(_END64_LOCATOR.size))
        file.seek(min(offset, size))
        return int(_END64.unpack(file.read(_END64.size))[-2])


# Gzip ---------------------------------------------------------------------------------------------


def _unzipped(file: Unpacked, target: Path, limits: ReadingLimits) -> Unpacked:
    """
    Unpack a gzip.

    Raises: ``LoadFailed`` with ``archive.truncated``, ``archive.damaged``, ``archive.too_large``,
    ``archive.suspicious``.
    """
    try:
        with gzip.open(file.path) as source:
            _copy(source, target, limits)
    except EOFError as error:
        raise LoadFailed("archive.truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LoadFailed("archive.damaged") from error
    return Unpacked(target, file.name.removesuffix(".gz"))


def _limits(file: Unpacked, place: StagingArea) -> ReadingLimits:
    """Say what the file that was sent may unpack to, or this one where nobody knows that."""
    return ReadingLimits.for_file(file.path) if place.limits.file_bytes is None else place.limits


def _copy(source: IO[bytes] | gzip.GzipFile, target: Path, limits: ReadingLimits) -> None:
    """
    Copy what is unpacked, as far as that is allowed.

    Raises: ``LoadFailed`` with ``archive.too_large``, ``archive.suspicious``, ``load.disk_full``.
    """
    size = 0
    try:
        with target.open("wb") as copy:
            while block := source.read(_BLOCK_BYTES):
                size += len(block)
                limits.check_unpacked_bytes(size)
                limits.extend_cpu_time(size)
                copy.write(block)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise LoadFailed("load.disk_full") from error
        raise
