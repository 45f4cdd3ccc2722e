"""
Read from a workbook's XML what calamine does not give: some cells, and which sheets have values.

calamine gives a cell with an error (``#N/A``) as an empty one, and so a cell of an ODS that has a
text but not the value of its type; it leaves out the tabs and line breaks within a paragraph of an
ODS, and reads the readings of letters with them; it makes a time of day of a negative number, and
refuses a sheet with an error that it does not know.  The XML is read block by block.
"""

from __future__ import annotations

import errno
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from ...exceptions.loads import LoadFailed

_BLOCK_BYTES = 2**20
#: Of a sheet.
_MAX_COLUMNS = 16_384

# What belongs to a tag has neither “<” nor “>”: so each search ends where the next tag begins, and
# a block is read once however it is made.
_XLSX_VALUE = re.compile(rb"<(?:\w++:)?(?:v|is)[\s>]")
_XLSX_ERROR = re.compile(
    rb"<(?:\w++:)?c\s(?=[^<>]*?\bt=[\"']e[\"'])[^<>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'][^<>]*>"
    rb"(?:<(?:\w++:)?f[\s/>](?:[^<]|<(?!/?(?:\w++:)?[cv][\s>]))*+)?<(?:\w++:)?v>([^<]*)<"
)
#: An error in a cell that does not say which one it is.
_XLSX_UNPLACED_ERROR = re.compile(
    rb"<(?:\w++:)?c\s(?=[^<>]*?\bt=[\"']e[\"'])(?![^<>]*?\br=[\"'])[^<>]*>"
)
#: An error, and what stands before its name.
_XLSX_ERROR_NAME = re.compile(
    rb"(<(?:\w++:)?c\s(?=[^<>]*?\bt=[\"']e[\"'])[^<>]*>"
    rb"(?:<(?:\w++:)?f[\s/>](?:[^<]|<(?!/?(?:\w++:)?[cv][\s>]))*+)?<(?:\w++:)?v>)[^<]*"
)
_KNOWN_ERROR = b"#N/A"
#: The parts that are read; others are pictures.
_XLSX_PARTS = (".xml", ".rels")
#: A formula whose result is no text and is not there.
_XLSX_EMPTY_FORMULA = re.compile(
    rb"<(?:\w++:)?c\b(?![^<>]*?\bt=[\"']str)[^<>]*+>"
    rb"<(?:\w++:)?f\b(?:[^<>]*/>|[^<>]*+>[^<]*+</(?:\w++:)?f>)"
    rb"(?:<(?:\w++:)?v\s*+(?:/>|></(?:\w++:)?v>))?</(?:\w++:)?c>"
)
_ODS_SHEET, _ODS_ROW = re.compile(rb"<table:table\s"), b"<table:table-row"
#: What follows in the names of elements that hold rows: groups of rows, and all of them.
_ODS_ROW_PARENTS = (b"-group", b"s")
_ODS_CELL = re.compile(rb"<table:(?:covered-)?table-cell\b[^<>]*+>")
_ODS_ERROR = b'calcext:value-type="error"'
#: A cell of a type whose value is missing, or is none; it may have a text.
_ODS_NO_VALUE = re.compile(
    rb"<table:(?:covered-)?table-cell\b(?=[^<>]*?\boffice:value-type=[\"'](?!string|void))"
    rb"(?![^<>]*?\boffice:(?:(?:date-|time-)?value=[\"'][^\"']|boolean-value=[\"'](?:true|false)[\"']))"
    rb"[^<>]*+>"
)
#: Errors as older programs write them, into cells with the number 0.
_ODS_OLD_ERROR = re.compile(rb"\s*+<text:p>(#[A-Z][A-Z/0]*[!?A]|Err:[0-9]{3})</text:p>")
_ODS_FORMULA = b"table:formula="
_ODS_REPEATED = re.compile(rb"table:number-(?:rows|columns)-repeated=[\"']([0-9]{1,9})[\"']")
_ODS_TEXT = re.compile(rb"\s*+<text:p[^<>]*+>([^<]*)")
#: Tabs and line breaks, and the readings of letters, which stand above them.
_ODS_UNUSUAL_TEXT = re.compile(rb"<text:(?:tab|line-break|ruby-text)\b")
_ODS_CELL_END = re.compile(rb"</table:(?:covered-)?table-cell>")
_ODS_ASIDE = re.compile(
    rb"<office:annotation\b.*?</office:annotation>|<text:ruby-text\b.*?</text:ruby-text>", re.DOTALL
)
_ODS_PARAGRAPH = re.compile(rb"<text:p\b[^<>]*+(?:/>|>(.*?)</text:p>)", re.DOTALL)
_ODS_ELEMENT = re.compile(rb"<(/?)(text:tab|text:line-break|text:s|[^<>\s/]*)\b([^<>]*)>")
_ODS_BLANKS = re.compile(rb"text:c=[\"']([0-9]{1,4})[\"']")

#: Numbers that are no day and no time: negative ones, and 60, which Excel shows as a 29th of
#: February in 1900.
_XLSX_NO_DATE = re.compile(
    rb"<(?:\w++:)?c\s(?![^<>]*?\bt=[\"'][^n])[^<>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'][^<>]*>"
    rb"(?:<(?:\w++:)?f[\s/>](?:[^<]|<(?!/?(?:\w++:)?[cv][\s>]))*+)?"
    rb"<(?:\w++:)?v>(-[^<]*[1-9][^<]*|60(?:\.[0-9]*)?)<"
)


#: What is raised for a member that is missing, damaged, or packed in an unknown way.
_DAMAGES = (
    BadZipFile,
    ET.ParseError,
    EOFError,
    LookupError,
    RuntimeError,
    ValueError,
    zlib.error,
)


class ErrorCell(NamedTuple):
    """A cell with an error: its row and column in the sheet, from 1, and the error's name."""

    row: int
    column: int
    name: str


class TextCell(NamedTuple):
    """A cell with a text or a number, by its row and column in the sheet, from 1."""

    row: int
    column: int
    text: str


@contextmanager
def open_archive(path: Path) -> Iterator[ZipFile]:
    """
    Open a workbook's zip; what is wrong with it during the block is raised as a failure.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    try:
        with ZipFile(path) as archive:
            yield archive
    except _DAMAGES as error:
        raise LoadFailed("workbook.damaged") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # an offset before the file's start
            raise
        raise LoadFailed("workbook.damaged") from error


def find_xlsx_sheets(archive: ZipFile) -> list[str]:
    """
    Find the parts of an XLSX that hold its sheets, in their order.

    Raises: ``LookupError``, ``ParseError`` where they are not listed.
    """
    targets = {
        link.get("Id"): link.get("Target", "")
        for link in _find_elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
    }
    sheets = _find_elements(archive, "xl/workbook.xml", "sheet")
    links = [
        next((value for name, value in sheet.items() if name.endswith("}id")), None)
        for sheet in sheets
    ]
    # What is missing here is a LookupError, as a part that is missing.
    return [
        targets[link].removeprefix("/") if targets[link].startswith("/") else f"xl/{targets[link]}"
        for link in links
    ]


def _find_elements(archive: ZipFile, part: str, name: str) -> list[ET.Element]:
    root = ET.fromstring(archive.read(part))  # noqa: S314 - the process is bounded, so entities are
    return [element for element in root.iter() if element.tag.rpartition("}")[2] == name]


def xlsx_counts_from_1904(path: Path) -> bool:
    """
    Return whether an XLSX counts days from the first one of 1904, and not of 1900.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with open_archive(path) as archive:
        properties = _find_elements(archive, "xl/workbook.xml", "workbookPr")
    return any(each.get("date1904") in {"1", "true"} for each in properties)


def has_xlsx_values(archive: ZipFile, part: str) -> bool:
    """Return whether a sheet of an XLSX has a cell with a value."""
    return any(_XLSX_VALUE.search(block) for block in _read_blocks(archive, part, b">"))


def count_empty_xlsx_formulas(path: Path, number: int) -> int:
    """
    Count the formulas in a sheet of an XLSX, counted from 0, whose values are not in the file.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with open_archive(path) as archive:
        part = find_xlsx_sheets(archive)[number]
        blocks = _read_blocks(archive, part, b"c>")
        return sum(len(_XLSX_EMPTY_FORMULA.findall(block)) for block in blocks)


def find_xlsx_errors(path: Path, number: int) -> Iterator[ErrorCell]:
    """
    Find the errors in a sheet of an XLSX, counted from 0.

    Raises: ``LoadFailed`` with ``workbook.damaged``, ``workbook.disordered``.
    """
    last = 0
    with open_archive(path) as archive:
        part = find_xlsx_sheets(archive)[number]
        for block in _read_blocks(archive, part, b"c>"):
            if b't="e"' in block or b"t='e'" in block:
                if _XLSX_UNPLACED_ERROR.search(block):
                    raise LoadFailed("workbook.disordered")
                for column, row, name in _XLSX_ERROR.findall(block):
                    last = _check_order(int(row), last)
                    yield ErrorCell(int(row), _parse_column(column), _decode(name))


def replace_xlsx_errors(path: Path, number: int, target: Path) -> None:
    """
    Copy an XLSX with one sheet, counted from 0, in which all errors have one name.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with open_archive(path) as archive, ZipFile(target, "w", ZIP_DEFLATED) as copy:
        parts = find_xlsx_sheets(archive)
        for name in set(archive.namelist()).difference(parts):
            if name.endswith(_XLSX_PARTS):
                copy.writestr(name, archive.read(name))
        with copy.open(parts[number], "w") as sheet:
            for block in _read_blocks(archive, parts[number], b"c>"):
                sheet.write(_XLSX_ERROR_NAME.sub(rb"\1" + _KNOWN_ERROR, block))


def find_xlsx_numbers_without_date(path: Path, number: int) -> Iterator[TextCell]:
    """
    Find the cells in a sheet of an XLSX, counted from 0, whose numbers are no date and no time.

    Raises: ``LoadFailed`` with ``workbook.damaged``, ``workbook.disordered``.
    """
    last = 0
    with open_archive(path) as archive:
        part = find_xlsx_sheets(archive)[number]
        for block in _read_blocks(archive, part, b"c>"):
            for column, row, text in _XLSX_NO_DATE.findall(block):
                last = _check_order(int(row), last)
                yield TextCell(int(row), _parse_column(column), _decode(text))


def _check_order(row: int, last: int) -> int:
    """
    Check that a row of an XLSX does not stand below a later one; return its number.

    Raises: ``LoadFailed`` with ``workbook.disordered``.
    """
    if row < last:
        raise LoadFailed("workbook.disordered")
    return row


def find_ods_cells(path: Path, number: int) -> Iterator[ErrorCell | TextCell]:
    """
    Find the cells in a sheet of an ODS, counted from 0, that calamine reads as something else.

    They are errors, texts with tabs, line breaks and readings, and the texts of cells without a
    value.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with open_archive(path) as archive:
        rows = _split_ods_rows(archive)
        sheet, line = len(_ODS_SHEET.findall(next(rows))) - 1, 1
        for row in rows:
            if sheet == number:
                repeats = _parse_repeats(row.partition(b">")[0])
                if _is_unusual(row):
                    cells = list(_find_cells_in_row(row))
                    for repeated in range(line, line + repeats):
                        yield from (cell._replace(row=repeated) for cell in cells)
                line += repeats
            found = len(_ODS_SHEET.findall(row))
            sheet, line = sheet + found, 1 if found else line


def _split_ods_rows(archive: ZipFile) -> Iterator[bytes]:
    """Yield the text above the first row, then each row with the text below it."""
    row: bytes | None = None
    for block in _read_blocks(archive, "content.xml", _ODS_ROW):
        for part in block.removesuffix(_ODS_ROW).split(_ODS_ROW):
            if row is not None and part.startswith(_ODS_ROW_PARENTS):
                row += part
                continue
            if row is not None:
                yield row
            row = part
    if row is not None:
        yield row


def _is_unusual(row: bytes) -> bool:
    """Return whether a row has a cell that calamine does not read as it is."""
    return bool(
        _ODS_ERROR in row
        or _ODS_UNUSUAL_TEXT.search(row)
        or _ODS_NO_VALUE.search(row)
        or (_ODS_FORMULA in row and _ODS_OLD_ERROR.search(row))
    )


def _find_cells_in_row(cells: bytes) -> Iterator[ErrorCell | TextCell]:
    column = 1
    for cell in _ODS_CELL.finditer(cells):
        repeats = _parse_repeats(cell[0])
        found: ErrorCell | TextCell | None = None
        end = None if cell[0].endswith(b"/>") else _ODS_CELL_END.search(cells, cell.end())
        content = cells[cell.end() : end.start()] if end else b""
        if _ODS_ERROR in cell[0]:
            text = _ODS_TEXT.match(content)
            found = ErrorCell(0, column, _decode(text[1]) if text else "")
        elif _ODS_FORMULA in cell[0] and (error := _ODS_OLD_ERROR.match(content)):
            found = ErrorCell(0, column, _decode(error[1]))
        elif _ODS_NO_VALUE.fullmatch(cell[0]) or (
            b'"string"' in cell[0]
            and b"office:string-value" not in cell[0]
            and _ODS_UNUSUAL_TEXT.search(content)
        ):
            found = TextCell(0, column, _read_ods_text(content))
        if found:
            for repeated in range(column, column + min(repeats, _MAX_COLUMNS)):
                yield found._replace(column=repeated)
        column += repeats


def _read_ods_text(content: bytes) -> str:
    """Read the paragraphs of a cell, as calamine does, with tabs and breaks, without readings."""
    paragraphs = _ODS_PARAGRAPH.findall(_ODS_ASIDE.sub(b"", content))
    return "\n".join(_decode(_ODS_ELEMENT.sub(_read_ods_element, each)) for each in paragraphs)


def _read_ods_element(element: re.Match[bytes]) -> bytes:
    match element[2]:
        case b"text:tab":
            return b"\t"
        case b"text:line-break":
            return b"\n"
        case b"text:s":
            count = _ODS_BLANKS.search(element[3])
            return b" " * (int(count[1]) if count else 1)
    return b""


def _read_blocks(archive: ZipFile, part: str, end: bytes) -> Iterator[bytes]:
    """Read a part in blocks that end with ``end``; the last one is what is left."""
    with archive.open(part) as file:
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            complete, found, rest = (rest + block).rpartition(end)
            if found:
                yield complete + found
        yield rest


def _parse_column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _parse_repeats(tag: bytes) -> int:
    match = _ODS_REPEATED.search(tag)
    return int(match[1]) if match else 1


def _decode(text: bytes) -> str:
    return unescape(text.decode(errors="replace"))
