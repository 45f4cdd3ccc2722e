"""
Workbooks before they are read: which kind they are, and whether they may be unpacked.

A workbook is an archive, so a small file may hold far too much; and calamine reads a sheet whole,
as the rectangle from its first cell to its last. So ``xlsx`` and ``ods`` look at the places of the
cells before, in the XML, block by block. The errors that cells hold are read there, too, for
calamine makes empty cells of them.
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from enum import StrEnum
from pathlib import Path
from typing import IO
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ...exceptions.loads import LoadFailed
from ..sources.limits import ReadingLimits

#: All rows that Excel has, of 20 columns.
CELLS_MOST = 20 * 2**20
_MB = 2**20
_UNPACKED_BYTES_MOST = 1024 * _MB
_TEXTS_BYTES_MOST = 512 * _MB
_BLOCK_BYTES = _MB
#: Of the XML of one row.
ROW_BYTES_MOST = 64 * _MB

#: What zipfile raises at a member that is not there, or damaged, or packed in a strange way.
_DAMAGES = (BadZipFile, LookupError, ValueError, zlib.error, EOFError, RuntimeError)

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: How OLE spells the name of the stream that an encrypted workbook is in.
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")


class Kind(StrEnum):
    """The kinds of workbooks, by the endings of their names."""

    XLSX = "xlsx"
    XLS = "xls"
    ODS = "ods"


def kind_of(path: Path, limits: ReadingLimits) -> Kind:
    """
    Recognise a workbook, whatever it is called, and make sure that it may be unpacked.

    Raises: ``LoadFailed`` with ``workbook.unknown_format``, ``workbook.encrypted``,
    ``workbook.damaged``, ``workbook.too_large``, ``archive.too_large``, ``archive.suspicious``.
    """
    with path.open("rb") as file:
        start = file.read(len(_OLE))
    if start == _OLE:
        if _holds(path, _ENCRYPTED_STREAM):
            raise LoadFailed("workbook.encrypted")
        return Kind.XLS
    if not start.startswith(_ZIP):
        raise LoadFailed("workbook.unknown_format")
    with opened(path) as archive:
        kind = _kind_of_archive(archive)
        size = _unpacked_bytes(archive)
        if size > _UNPACKED_BYTES_MOST:
            raise LoadFailed("workbook.too_large", most=_UNPACKED_BYTES_MOST // _MB)
        limits.check_unpacked_bytes(size)
        limits.extend_cpu_time(size)
        _look_at_parts(archive)
    return kind


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    """
    Open the archive that a workbook is.

    Raises: ``LoadFailed`` with ``workbook.damaged``, also for what is wrong while it is being read.
    """
    try:
        with ZipFile(path) as archive:
            yield archive
    except _DAMAGES as error:
        raise LoadFailed("workbook.damaged") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the beginning of the file
            raise
        raise LoadFailed("workbook.damaged") from error


def _holds(path: Path, wanted: bytes) -> bool:
    with path.open("rb") as file:
        end = b""
        while block := file.read(_BLOCK_BYTES):
            if wanted in end + block:
                return True
            end = block[-len(wanted) :]
    return False


def _kind_of_archive(archive: ZipFile) -> Kind:
    members = {member.filename: member for member in archive.infolist()}
    texts = members.get("xl/sharedStrings.xml")
    if texts and texts.file_size > _TEXTS_BYTES_MOST:
        raise LoadFailed("workbook.too_large", most=_TEXTS_BYTES_MOST // _MB)
    if any(member.flag_bits & 1 for member in members.values()):
        raise LoadFailed("workbook.encrypted")
    if "xl/workbook.xml" in members:
        return Kind.XLSX
    if _is_opendocument(archive, members.keys()):
        return Kind.ODS
    raise LoadFailed("workbook.unknown_format")


def _is_opendocument(archive: ZipFile, members: object) -> bool:
    if "content.xml" not in archive.namelist() or "mimetype" not in archive.namelist():
        return False
    if b"opendocument.spreadsheet" not in archive.read("mimetype")[:200]:
        return False
    manifest = "META-INF/manifest.xml"
    if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
        raise LoadFailed("workbook.encrypted")
    return True


def strict_parser() -> expat.XMLParserType:
    """Make a parser of XML that refuses what a workbook never has: declarations of entities."""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    return parser


def _refuse(*_declared: object) -> None:
    """Refuse a document that declares types: it might define letters that stand for millions."""
    raise LoadFailed("workbook.damaged")


# Parts --------------------------------------------------------------------------------------------

#: Parts that are read block by block before calamine reads them.
_LOOKED_AT_LATER = ("xl/worksheets/", "content.xml")
_ONLY_COPIED = ("xl/media/", "Pictures/", "Thumbnails/")


def blocks_of(path: Path, part: str, end: bytes) -> Iterator[bytes]:
    """
    Read a part in blocks that break after ``end``.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    parts: list[bytes] = []
    size = 0
    with opened(path) as archive:
        for block in _inflated(archive, archive.getinfo(part)):
            # What ends here may have begun in the block before.
            before = parts[-1][-len(end) + 1 :] if parts and len(end) > 1 else b""
            cut = (before + block).rfind(end) + len(end) - len(before)
            if cut + len(before) >= len(end):
                yield b"".join((*parts, block[:cut]))
                parts, size = [], 0
                block = block[cut:]  # noqa: PLW2901 - the rest of it
            parts.append(block)
            size += len(block)
            if size > ROW_BYTES_MOST:
                raise LoadFailed("workbook.damaged")
    yield b"".join(parts)


def _unpacked_bytes(archive: ZipFile) -> int:
    return sum(member.file_size for member in archive.infolist())


def _look_at_parts(archive: ZipFile) -> None:
    """
    Make sure that the parts are as large as the archive says, before calamine believes it.

    Raises: ``LoadFailed`` with ``workbook.damaged``, or what ``opened`` makes of it.
    """
    for member in archive.infolist():
        if not member.filename.startswith((*_LOOKED_AT_LATER, *_ONLY_COPIED)):
            for _block in _inflated(archive, member):
                pass


def _inflated(archive: ZipFile, member: ZipInfo) -> Iterator[bytes]:
    """
    Inflate a part; ``ZipFile`` would stop where the archive says that the part ends.

    Raises: ``LoadFailed`` with ``workbook.damaged`` when it does not end there.
    """
    size = check = 0
    with _packed(archive, member) as file:
        for block in _all_of(file, is_deflated=member.compress_type == ZIP_DEFLATED):
            size, check = size + len(block), zlib.crc32(block, check)
            if size > member.file_size:
                raise LoadFailed("workbook.damaged")
            yield block
    if (size, check) != (member.file_size, member.CRC):
        raise LoadFailed("workbook.damaged")


def _packed(archive: ZipFile, member: ZipInfo) -> IO[bytes]:
    """Open a part as it is packed."""
    if member.compress_type not in {ZIP_STORED, ZIP_DEFLATED} or member.flag_bits & 1:
        raise LoadFailed("workbook.damaged")
    packed = copy(member)
    packed.compress_type, packed.file_size = ZIP_STORED, member.compress_size
    packed.CRC = None  # type: ignore[assignment] # none is checked
    return archive.open(packed)


def _all_of(file: IO[bytes], *, is_deflated: bool) -> Iterator[bytes]:
    if not is_deflated:
        while block := file.read(_BLOCK_BYTES):
            yield block
        return
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    packed = b""
    while not inflater.eof and (packed := inflater.unconsumed_tail or file.read(_BLOCK_BYTES)):
        yield inflater.decompress(packed, _BLOCK_BYTES)
    yield inflater.flush(_BLOCK_BYTES)
    if not inflater.eof:
        raise LoadFailed("workbook.damaged")
