"""What the XML of an ODS says of its sheets: where their cells are, and which hold errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.parsers import expat

from ...exceptions.loads import LoadFailed
from .workbooks import CELLS_MOST, ROW_BYTES_MOST, blocks_of, strict_parser

_REPEATED = re.compile(rb"table:number-(?:rows|columns)-repeated=[\"']([0-9]{1,9})[\"']")
_CELL = re.compile(rb"<table:(?:covered-)?table-cell\b[^<>]*+>")


_SHEET = b"<table:table "
_IS_ERROR = b'calcext:value-type="error"'
_TEXT = re.compile(rb"\s*+<text:p[^<>]*+>([^<]*)")


def look_at_cells(path: Path) -> bool:
    """
    Make sure that an ODS may be read, and tell whether cells of it hold errors.

    calamine reads all its sheets, repeats what is repeated, and never ends where XML is broken.

    Raises: ``LoadFailed`` with ``workbook.sheet_too_large``, ``workbook.damaged``.
    """
    rows = width = 0
    errors = False
    for start in _rows(path):
        head, _, cells = start.partition(b">")
        if b"value-type=" not in cells and b"<text:p" not in cells:
            continue
        errors = errors or _IS_ERROR in cells
        rows += _repeated(head)
        width = max(width, _width(cells))
        if rows * width > CELLS_MOST:
            raise LoadFailed("workbook.sheet_too_large", most=CELLS_MOST)
    return errors


def errors_in(path: Path, number: int) -> Iterator[tuple[int, int, str]]:
    """
    Give the errors of a sheet, counted from 0: row and column from 1, and the error's name.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    sheet, line = -1, 0
    for place, start in enumerate(_rows(path)):
        if place and sheet == number:
            if _IS_ERROR in start:
                yield from ((line + 1, column, name) for column, name in _errors_of(start))
            line += _repeated(start.partition(b">")[0])
        sheet += start.count(_SHEET)


def _errors_of(cells: bytes) -> Iterator[tuple[int, str]]:
    column = 1
    for cell in _CELL.finditer(cells):
        if _IS_ERROR in cell[0]:
            text = _TEXT.match(cells, cell.end())
            yield column, unescape(text[1].decode(errors="replace")) if text else ""
        column += _repeated(cell[0])


def _rows(path: Path) -> Iterator[bytes]:
    """
    Give the XML of each row, without the beginning of its tag.

    Raises: ``LoadFailed`` with ``workbook.damaged``, also where the XML is not whole.
    """
    parser = strict_parser()
    rest = b""
    try:
        for block in blocks_of(path, "content.xml", b">"):
            parser.Parse(block, False)  # its only parameters
            *rows, rest = (rest + block).split(b"<table:table-row")
            yield from rows
            if len(rest) > ROW_BYTES_MOST:
                raise LoadFailed("workbook.damaged")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise LoadFailed("workbook.damaged") from error
    yield rest


def _width(cells: bytes) -> int:
    tags = _CELL.findall(cells)
    width = sum(_repeated(tag) for tag in tags)
    # The last cell of a row stands for all the empty ones up to the edge.
    if tags and b"value-type=" not in tags[-1]:
        width -= _repeated(tags[-1])
    return width


def _repeated(tag: bytes) -> int:
    found = _REPEATED.search(tag)
    return int(found[1]) if found else 1
