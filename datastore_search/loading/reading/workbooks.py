"""
Workbooks before they are read: which kind, and how much is in them.

calamine reads a sheet whole, as the rectangle from its first cell to its last, and a workbook is an
archive: a small file may hold far too much. So the cells' places are looked at before, in the XML,
block by block. The errors that cells hold are read there, too, for calamine makes empty cells of
them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from enum import StrEnum
from html import unescape
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from ...exceptions.loads import (
    DamagedWorkbook,
    EncryptedWorkbook,
    NotAWorkbook,
    SheetTooLarge,
    WorkbookTooLarge,
)

#: All rows that Excel has, of 20 columns.
CELLS_MOST = 20 * 2**20
_UNPACKED_BYTES_MOST = 2 * 2**30
_TEXTS_BYTES_MOST = 512 * 2**20
_BLOCK_BYTES = 2**20
_ROW_BYTES_MOST = 64 * 2**20
_ROWS_MOST = 2**20

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: How OLE spells the name of the stream that an encrypted workbook is in.
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")


class Kind(StrEnum):
    """The kinds of workbooks, by the endings of their names."""

    XLSX = "xlsx"
    XLSB = "xlsb"
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
    try:
        with ZipFile(path) as archive:
            return _kind_of_archive(archive)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
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
    if "xl/workbook.bin" in members:
        return Kind.XLSB
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


# What is in the sheets of an XLSX ----------------------------------------------------------------

_SHEET = re.compile(rb"<(?:\w+:)?sheet\s[^>]*?\w+:id=[\"']([^\"']*)[\"']")
_LINK = re.compile(rb"<(?:\w+:)?Relationship\s[^>]*>")
_ID, _TARGET = (
    re.compile(rb"\sId=[\"']([^\"']*)[\"']"),
    re.compile(rb"\sTarget=[\"']([^\"']*)[\"']"),
)
_VALUE = re.compile(rb"<(?:\w+:)?(?:v|is)[\s>]")
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>](?:[^>]*?\br=[\"']([A-Z]{1,3})[0-9])?")
_PLACE = re.compile(rb"<(?:\w+:)?(?:c|row)\s[^>]*?\br=[\"'][A-Z]{0,3}([0-9]{1,7})[\"']")
_ROW_OR_CELL = re.compile(rb"<(?:\w+:)?(row|c)[\s/>]")
_ERROR = re.compile(
    rb"<(?:\w+:)?c\s(?=[^>]*\bt=[\"']e[\"'])[^>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'][^>]*>"
    rb"(?:<(?:\w+:)?f[\s/>].*?)??<(?:\w+:)?v>([^<]*)<",
    re.DOTALL,
)


def sheet_parts(path: Path) -> list[str]:
    """
    List the parts of an XLSX that hold its sheets, in the order of the workbook.

    Raises: ``DamagedWorkbook``.
    """
    with _archive(path) as archive:
        links = {}
        for link in _LINK.findall(archive.read("xl/_rels/workbook.xml.rels")):
            name, target = _ID.search(link), _TARGET.search(link)
            if name and target:
                links[name[1]] = unescape(target[1].decode())
        sheets = _SHEET.findall(archive.read("xl/workbook.xml"))
    try:
        targets = [links[name] for name in sheets]
    except KeyError as error:
        raise DamagedWorkbook from error
    return [
        target.removeprefix("/") if target.startswith("/") else f"xl/{target}" for target in targets
    ]


def has_values(path: Path, part: str) -> bool:
    """Tell whether a sheet of an XLSX has a cell with a value."""
    return any(_VALUE.search(block) for block in _blocks(path, part, b">"))


def look_at_cells(path: Path, part: str) -> bool:
    """
    Make sure that a sheet of an XLSX may be read, and tell whether cells of it hold errors.

    Raises: ``SheetTooLarge``, ``DamagedWorkbook``.
    """
    columns: set[bytes] = set()
    errors = False
    for block in _blocks(path, part, b">"):
        columns.update(_CELL.findall(block))
        errors = errors or b't="e"' in block or b"t='e'" in block
    width = max(map(_number_of_column, columns), default=0)
    if b"" in columns:  # cells without a place come one after the other
        width = max(width, _cells_in_a_row(path, part))
    if width * _ROWS_MOST > CELLS_MOST and width * _last_row(path, part) > CELLS_MOST:
        raise SheetTooLarge(most=CELLS_MOST)
    return errors


def errors_in(path: Path, part: str) -> Iterator[tuple[int, int, str]]:
    """
    Give the errors of a sheet of an XLSX: row and column from 1, and the error's name.

    Raises: ``DamagedWorkbook``.
    """
    for block in _blocks(path, part, b"c>"):
        for column, row, error in _ERROR.findall(block):
            yield int(row), _number_of_column(column), unescape(error.decode())


def _archive(path: Path) -> ZipFile:
    return ZipFile(path)


def _blocks(path: Path, part: str, end: bytes) -> Iterator[bytes]:
    """
    Read a part in blocks that break after ``end``.

    Raises: ``DamagedWorkbook``.
    """
    rest = b""
    try:
        with _archive(path) as archive, archive.open(part) as file:
            while block := file.read(_BLOCK_BYTES):
                rest += block
                cut = rest.rfind(end) + len(end)
                if cut >= len(end):
                    yield rest[:cut]
                    rest = rest[cut:]
                elif len(rest) > _ROW_BYTES_MOST:
                    raise DamagedWorkbook
    except (BadZipFile, KeyError, zlib.error, EOFError, NotImplementedError) as error:
        raise DamagedWorkbook from error
    yield rest


def _number_of_column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _last_row(path: Path, part: str) -> int:
    last = counted = 0
    for block in _blocks(path, part, b">"):
        last = max(last, max(map(int, _PLACE.findall(block)), default=0))
        counted += _ROW_OR_CELL.findall(block).count(b"row")
    return max(last, counted)


def _cells_in_a_row(path: Path, part: str) -> int:
    most = count = 0
    for block in _blocks(path, part, b">"):
        for name in _ROW_OR_CELL.findall(block):
            count = 0 if name == b"row" else count + 1
            most = max(most, count)
    return most


# What is in an ODS --------------------------------------------------------------------------------

_ODS_REPEATED = re.compile(rb"table:number-(?:rows|columns)-repeated=[\"']([0-9]{1,9})[\"']")
_ODS_CELL = re.compile(rb"<table:(?:covered-)?table-cell\b[^>]*>")


def look_at_tables(path: Path) -> None:
    """
    Make sure that an ODS may be read: calamine reads all its sheets, and repeats what is repeated.

    Raises: ``SheetTooLarge``, ``DamagedWorkbook``.
    """
    rows = width = 0
    for start in _ods_rows(path):
        head, _, cells = start.partition(b">")
        if b"value-type=" not in cells and b"<text:p" not in cells:
            continue
        rows += _repeated(head)
        width = max(width, _ods_width(cells))
        if rows * width > CELLS_MOST:
            raise SheetTooLarge(most=CELLS_MOST)


def _ods_rows(path: Path) -> Iterator[bytes]:
    """Give the XML of each row, without the beginning of its tag."""
    rest = b""
    for block in _blocks(path, "content.xml", b">"):
        *rows, rest = (rest + block).split(b"<table:table-row")
        yield from rows
        if len(rest) > _ROW_BYTES_MOST:
            raise DamagedWorkbook
    yield rest


def _ods_width(cells: bytes) -> int:
    tags = _ODS_CELL.findall(cells)
    width = sum(_repeated(tag) for tag in tags)
    # The last cell of a row stands for all the empty ones up to the edge.
    if tags and b"value-type=" not in tags[-1]:
        width -= _repeated(tags[-1])
    return width


def _repeated(tag: bytes) -> int:
    found = _ODS_REPEATED.search(tag)
    return int(found[1]) if found else 1
