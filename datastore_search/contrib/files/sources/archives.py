"""
Unpack archives: gzip, zip, and a gzip within a zip.

Members are written into a working folder under names of this code, block by block, up to the
limits: the sizes that an archive states are not trusted.
"""

from __future__ import annotations

import errno
import gzip
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..messages import LoadFailed, quote_names
from .limits import ReadingLimits

_BLOCK_BYTES = 2**20
_GZIP = b"\x1f\x8b"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
#: Members of zips that are documents of office programs, workbooks among them.
_OFFICE_MEMBERS = ({"[Content_Types].xml"}, {"content.xml", "META-INF/manifest.xml"})

_MAX_SHOWN_MEMBERS = 20

#: The main part of a shapefile, and all that are read.
_SHAPES = ".shp"
_SHAPE_PARTS = (_SHAPES, ".dbf", ".shx", ".prj", ".cpg")


def unpack(
    path: Path, name: str, folder: Path, limits: ReadingLimits, *, member: str = ""
) -> tuple[Path, str]:
    """
    Unpack a file into a folder; a file that is not an archive is returned as it is, with its name.

    ``member`` is the wanted member of a zip: its whole name, or the last part of it.

    Raises: ``LoadFailed``, with why the file cannot be unpacked.
    """
    if is_zip_archive(path):
        with open_zip(path) as archive:
            chosen = _choose_member(_list_members(archive), member)
            path, name = folder / "member", _get_last_part(chosen)
            _extract(archive, chosen, path, limits)
        if is_zip_archive(path):
            raise LoadFailed("archive.nested")
    if not _begins_with(path, _GZIP):
        return path, name
    target = folder / "unpacked"
    try:
        with gzip.open(path) as source:
            _copy_unpacked(source, target, limits)
    except EOFError as error:
        raise LoadFailed("archive.truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LoadFailed("archive.damaged") from error
    if _begins_with(target, _GZIP) or is_zip_archive(target):
        raise LoadFailed("archive.nested")
    return target, name.removesuffix(".gz")


def unpack_shapefile(
    path: Path, folder: Path, limits: ReadingLimits, *, member: str = ""
) -> Path | None:
    """
    Unpack the parts of the shapefile in a zip, and return its main part; None for other files.

    Raises: ``LoadFailed`` with ``archive.several_members``, ``geo.incomplete``, and why a part
    cannot be unpacked.
    """
    if not is_zip_archive(path):
        return None
    with open_zip(path) as archive:
        members = _list_members(archive)
        shapes = [each for each in members if each.filename.lower().endswith(_SHAPES)]
        if not shapes or (member and not member.lower().endswith(_SHAPES)):
            return None
        main = _choose_member(shapes, member)
        stem = main.filename[: -len(_SHAPES)]
        size = 0
        for each in members:
            suffix = each.filename[len(stem) :].lower()
            if each.filename.startswith(stem) and suffix in _SHAPE_PARTS:
                target = folder / f"shapes{suffix}"
                _extract(archive, each, target, limits, unpacked_bytes=size)
                size += target.stat().st_size
    if not (folder / "shapes.dbf").exists():
        raise LoadFailed("geo.incomplete", part=".dbf")
    return folder / f"shapes{_SHAPES}"


def is_zip_archive(path: Path) -> bool:
    """Return whether a file is a zip and not a workbook."""
    return _begins_with(path, *_ZIPS) and not is_workbook(path)


def is_workbook(path: Path) -> bool:
    """
    Return whether a file is a zip that is a workbook, or another document of an office program.

    Raises: ``LoadFailed`` when it is a zip that cannot be read.
    """
    if not _begins_with(path, *_ZIPS):
        return False
    if not zipfile.is_zipfile(path):
        raise LoadFailed("archive.truncated")
    with open_zip(path) as archive:
        names = set(archive.namelist())
    return any(members <= names for members in _OFFICE_MEMBERS)


def _begins_with(path: Path, *signatures: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(signatures)


def _extract(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    target: Path,
    limits: ReadingLimits,
    *,
    unpacked_bytes: int = 0,
) -> None:
    """Extract a member of a zip, of which ``unpacked_bytes`` have been unpacked already."""
    if member.flag_bits & 1:
        raise LoadFailed("archive.encrypted", member=member.filename)
    try:
        with archive.open(member) as source:
            _copy_unpacked(source, target, limits, unpacked_bytes)
    except (NotImplementedError, RuntimeError) as error:
        raise LoadFailed("archive.unknown_compression", member=member.filename) from error


def _choose_member(members: list[zipfile.ZipInfo], wanted: str) -> zipfile.ZipInfo:
    """Choose the only member, or the wanted one, by its whole name or the last part of it."""
    shown = quote_names(member.filename for member in members[:_MAX_SHOWN_MEMBERS])
    if wanted:
        members = [member for member in members if member.filename == wanted] or [
            member for member in members if _get_last_part(member) == wanted
        ]
        if not members:
            raise LoadFailed("archive.unknown_member", member=wanted, members=shown)
    if len(members) > 1:
        raise LoadFailed("archive.several_members", members=shown)
    return members[0]


def _list_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """List the members that are files of their own: neither hidden nor added by macOS."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir()
        and not member.filename.startswith("__MACOSX/")
        and not _get_last_part(member).startswith(".")
    ]
    if not members:
        raise LoadFailed("archive.empty")
    return members


def _get_last_part(member: zipfile.ZipInfo) -> str:
    return member.filename.rsplit("/", 1)[-1]


@contextmanager
def open_zip(path: Path, damaged: str = "archive.damaged") -> Iterator[zipfile.ZipFile]:
    """Open a zip; what is wrong with it during the block is raised with the code ``damaged``."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _DAMAGES as error:
        raise LoadFailed(damaged) from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # an offset before the file's start
            raise LoadFailed(damaged) from error
        raise


#: What is raised for a zip, or a part of it, that is damaged, missing, or packed in an unknown way.
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    LookupError,
    RuntimeError,
    SyntaxError,  # ``ElementTree.ParseError`` is one
    struct.error,
    ValueError,
)


def _copy_unpacked(
    source: IO[bytes] | gzip.GzipFile, target: Path, limits: ReadingLimits, size: int = 0
) -> None:
    """Copy the unpacked bytes, up to the limits; ``size`` bytes have been unpacked already."""
    with target.open("wb") as copy:
        while block := source.read(_BLOCK_BYTES):
            size += len(block)
            limits.check_unpacked_bytes(size)
            limits.extend_cpu_time(size)
            copy.write(block)
