"""What the XML of an XLSX says of its sheets: where their cells are, and which hold errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from ...exceptions.loads import SheetTooLarge
from .workbooks import CELLS_MOST, blocks_of, opened

#: Excel's rows.
_ROWS_MOST = 2**20

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
    rb"(?:<(?:\w+:)?f[\s/>](?:(?!</?(?:\w+:)?c[\s>]).)*?)??<(?:\w+:)?v>([^<]*)<",
    re.DOTALL,
)


def sheet_part(path: Path, number: int) -> str:
    """
    Name the part of an XLSX that holds a sheet; ``number`` is its place in the workbook, from 0.

    Raises: ``DamagedWorkbook``.
    """
    with opened(path) as archive:
        links = {}
        for link in _LINK.findall(archive.read("xl/_rels/workbook.xml.rels")):
            name, found = _ID.search(link), _TARGET.search(link)
            if name and found:
                links[name[1]] = unescape(found[1].decode())
        # What is missing here is a LookupError, as a part that is missing.
        target = links[_SHEET.findall(archive.read("xl/workbook.xml"))[number]]
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def has_values(path: Path, part: str) -> bool:
    """Tell whether a sheet of an XLSX has a cell with a value."""
    return any(_VALUE.search(block) for block in blocks_of(path, part, b">"))


def look_at_cells(path: Path, part: str) -> bool:
    """
    Make sure that a sheet of an XLSX may be read, and tell whether cells of it hold errors.

    Raises: ``SheetTooLarge``, ``DamagedWorkbook``.
    """
    columns: set[bytes] = set()
    errors = False
    for block in blocks_of(path, part, b">"):
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
    for block in blocks_of(path, part, b"c>"):
        for column, row, error in _ERROR.findall(block):
            yield int(row), _number_of_column(column), unescape(error.decode(errors="replace"))


def _number_of_column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _last_row(path: Path, part: str) -> int:
    last = counted = 0
    for block in blocks_of(path, part, b">"):
        last = max(last, max(map(int, _PLACE.findall(block)), default=0))
        counted += _ROW_OR_CELL.findall(block).count(b"row")
    return max(last, counted)


def _cells_in_a_row(path: Path, part: str) -> int:
    most = count = 0
    for block in blocks_of(path, part, b">"):
        for name in _ROW_OR_CELL.findall(block):
            count = 0 if name == b"row" else count + 1
            most = max(most, count)
    return most
