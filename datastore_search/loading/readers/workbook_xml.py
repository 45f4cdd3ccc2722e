"""What the XML of an XLSX says of its sheets: where their cells are, and which hold errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.parsers import expat
from zipfile import ZipFile

from ...exceptions.loads import LoadFailed
from .workbooks import CELLS_MOST, blocks_of, opened, strict_parser

#: Excel's rows.
_ROWS_MOST = 2**20

# What belongs to a tag has neither “<” nor “>”: so each search ends where the next tag begins, and
# a block is read once however it is made.
_VALUE = re.compile(rb"<(?:\w++:)?(?:v|is)[\s>]")
_CELL = re.compile(rb"<(?:\w++:)?c[\s/>](?:[^<>]*?\br=[\"']([A-Z]{1,3})[0-9])?")
_PLACE = re.compile(rb"<(?:\w++:)?(?:c|row)\s[^<>]*?\br=[\"'][A-Z]{0,3}([0-9]{1,7})[\"']")
_ROW_OR_CELL = re.compile(rb"<(?:\w++:)?(row|c)[\s/>]")
_ERROR = re.compile(
    rb"<(?:\w++:)?c\s(?=[^<>]*?\bt=[\"']e[\"'])[^<>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'][^<>]*>"
    rb"(?:<(?:\w++:)?f[\s/>](?:[^<]|<(?!/?(?:\w++:)?[cv][\s>]))*+)?<(?:\w++:)?v>([^<]*)<"
)

#: Of the parts that say which sheets there are, and where.
_LIST_BYTES_MOST = 16 * 2**20


def sheet_part(path: Path, number: int) -> str:
    """
    Name the part of an XLSX that holds a sheet; ``number`` is its place in the workbook, from 0.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with opened(path) as archive:
        links = {
            link.get("Id", ""): link.get("Target", "")
            for link in _elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
        }
        sheets = _elements(archive, "xl/workbook.xml", "sheet")
        names = [name for name in sheets[number] if name.endswith(":id")]
        # What is missing here is a LookupError, as a part that is missing.
        target = links[sheets[number][names[0]]]
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _elements(archive: ZipFile, part: str, wanted: str) -> list[dict[str, str]]:
    """
    Read the attributes of all elements of a name, with whatever prefix.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    found: list[dict[str, str]] = []

    def note(name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(":")[2] == wanted:
            found.append(attributes)

    with archive.open(part) as file:
        text = file.read(_LIST_BYTES_MOST + 1)
    if len(text) > _LIST_BYTES_MOST:
        raise LoadFailed("workbook.damaged")
    parser = strict_parser()
    parser.StartElementHandler = note
    try:
        parser.Parse(text, True)  # its only parameters
    except expat.ExpatError as error:
        raise LoadFailed("workbook.damaged") from error
    return found


def has_values(path: Path, part: str) -> bool:
    """Tell whether a sheet of an XLSX has a cell with a value."""
    return any(_VALUE.search(block) for block in blocks_of(path, part, b">"))


def look_at_cells(path: Path, part: str) -> bool:
    """
    Make sure that a sheet of an XLSX may be read, and tell whether cells of it hold errors.

    Raises: ``LoadFailed`` with ``workbook.sheet_too_large``, ``workbook.damaged``.
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
        raise LoadFailed("workbook.sheet_too_large", most=CELLS_MOST)
    return errors


def errors_in(path: Path, part: str) -> Iterator[tuple[int, int, str]]:
    """
    Give the errors of a sheet of an XLSX: row and column from 1, and the error's name.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
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
