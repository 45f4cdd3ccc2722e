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
from enum import StrEnum
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from ...exceptions.loads import (
    DamagedWorkbook,
    EncryptedWorkbook,
    NotAWorkbook,
    WorkbookTooLarge,
)

#: All rows that Excel has, of 20 columns.
CELLS_MOST = 20 * 2**20
_UNPACKED_BYTES_MOST = 2**30
_TEXTS_BYTES_MOST = 512 * 2**20
_BLOCK_BYTES = 2**20
#: Of the XML of one row.
ROW_BYTES_MOST = 64 * 2**20

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


def kind_of(path: Path) -> Kind:
    """
    Recognise a workbook, whatever it is called, and make sure that it may be unpacked.

    Raises: ``NotAWorkbook``, ``EncryptedWorkbook``, ``DamagedWorkbook``, ``WorkbookTooLarge``.
    """
    with path.open("rb") as file:
        start = file.read(len(_OLE))
    if start == _OLE:
        if _holds(path, _ENCRYPTED_STREAM):
            raise EncryptedWorkbook
        return Kind.XLS
    if not start.startswith(_ZIP):
        raise NotAWorkbook
    with opened(path) as archive:
        return _kind_of_archive(archive)


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    """
    Open the archive that a workbook is.

    Raises: ``DamagedWorkbook``, also for what is wrong while it is being read.
    """
    try:
        with ZipFile(path) as archive:
            yield archive
    except _DAMAGES as error:
        raise DamagedWorkbook from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the beginning of the file
            raise
        raise DamagedWorkbook from error


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
    if sum(member.file_size for member in members.values()) > _UNPACKED_BYTES_MOST:
        raise WorkbookTooLarge(most=_UNPACKED_BYTES_MOST // 2**20)
    texts = members.get("xl/sharedStrings.xml")
    if texts and texts.file_size > _TEXTS_BYTES_MOST:
        raise WorkbookTooLarge(most=_TEXTS_BYTES_MOST // 2**20)
    if any(member.flag_bits & 1 for member in members.values()):
        raise EncryptedWorkbook
    if "xl/workbook.xml" in members:
        return Kind.XLSX
    if _is_opendocument(archive, members.keys()):
        return Kind.ODS
    raise NotAWorkbook


def _is_opendocument(archive: ZipFile, members: object) -> bool:
    if "content.xml" not in archive.namelist() or "mimetype" not in archive.namelist():
        return False
    if b"opendocument.spreadsheet" not in archive.read("mimetype")[:200]:
        return False
    manifest = "META-INF/manifest.xml"
    if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
        raise EncryptedWorkbook
    return True


def blocks_of(path: Path, part: str, end: bytes) -> Iterator[bytes]:
    """
    Read a part in blocks that break after ``end``.

    Raises: ``DamagedWorkbook``.
    """
    rest = b""
    with opened(path) as archive, archive.open(part) as file:
        while block := file.read(_BLOCK_BYTES):
            rest += block
            cut = rest.rfind(end) + len(end)
            if cut >= len(end):
                yield rest[:cut]
                rest = rest[cut:]
            elif len(rest) > ROW_BYTES_MOST:
                raise DamagedWorkbook
    yield rest
