"""Find the errors (``#N/A``) in a sheet of an XLSX or ODS, which calamine gives as empty cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET
from zipfile import ZipFile

from ..messages.failures import LoadFailed
from ..sources.archives import open_zip
from .cell_ranges import parse_column

#: The names of the errors of a sheet, by the row and the column of the cell, counted from 1.
CellErrors = dict[int, dict[int, str]]

_BLOCK_BYTES = 2**20

# What belongs to a tag has neither “<” nor “>”: so each search ends where the next tag begins.
_XLSX_VALUE = re.compile(rb"<(?:\w++:)?(?:v|is)[\s>]")
_XLSX_ERROR = re.compile(
    rb"<(?:\w++:)?c\s(?=[^<>]*?\bt=[\"']e[\"'])[^<>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"'][^<>]*>"
    rb"(?:<(?:\w++:)?f[\s/>](?:[^<]|<(?!/?(?:\w++:)?[cv][\s>]))*+)?<(?:\w++:)?v>([^<]*)<"
)
_XLSX_ERROR_TYPE = re.compile(rb"<(?:\w++:)?c\s[^<>]*?\bt=[\"']e[\"']")
#: A formula without a result, unless its type is text.
_XLSX_EMPTY_FORMULA = re.compile(
    rb"<(?:\w++:)?c\b(?![^<>]*?\bt=[\"']str)[^<>]*+>"
    rb"<(?:\w++:)?f\b(?:[^<>]*/>|[^<>]*+>[^<]*+</(?:\w++:)?f>)"
    rb"(?:<(?:\w++:)?v\s*+(?:/>|></(?:\w++:)?v>))?</(?:\w++:)?c>"
)

#: The beginning of a sheet, and the type of a cell with an error.
_ODS_MARKS = re.compile(rb"<table:table[\s>]|value-type=[\"']error[\"']")

#: Opens a workbook's zip, which ``is_workbook`` has measured.
open_archive = partial(open_zip, damaged="workbook.damaged", is_measured=True)


def _list_xlsx_sheets(archive: ZipFile) -> list[str]:
    """List the parts of an XLSX that hold its sheets."""
    targets = {
        link.get("Id"): link.get("Target", "")
        for link in _find_elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
    }
    links = [
        next((value for name, value in sheet.items() if name.endswith("}id")), None)
        for sheet in _find_elements(archive, "xl/workbook.xml", "sheet")
    ]
    # What is missing here is a LookupError, as a part that is missing.
    return [
        targets[link].removeprefix("/") if targets[link].startswith("/") else f"xl/{targets[link]}"
        for link in links
    ]


def _find_elements(archive: ZipFile, part: str, name: str) -> list[ET.Element]:
    root = ET.fromstring(archive.read(part))  # noqa: S314 - the reading process has limits
    return [element for element in root.iter() if element.tag.rpartition("}")[2] == name]


def list_filled_xlsx_sheets(path: Path, numbers: Sequence[int]) -> list[int]:
    """
    List the sheets of an XLSX that have a value; calamine would read each to its end.

    Raises: ``LoadFailed`` with ``workbook.damaged``.
    """
    with open_archive(path) as archive:
        parts = _list_xlsx_sheets(archive)
        return [
            number
            for number in numbers
            if any(map(_XLSX_VALUE.search, _read_blocks(archive, parts[number], b">")))
        ]


def find_xlsx_errors(path: Path, number: int) -> tuple[CellErrors, int]:
    """
    Find the errors in a sheet of an XLSX, counted from 0, and count the formulas without values.

    Raises: ``LoadFailed`` with ``workbook.damaged``, ``workbook.unplaced``.
    """
    errors: CellErrors = {}
    empty_formulas = 0
    with open_archive(path) as archive:
        part = _list_xlsx_sheets(archive)[number]
        for block in _read_blocks(archive, part, b"c>"):
            empty_formulas += len(_XLSX_EMPTY_FORMULA.findall(block))
            if b't="e"' in block or b"t='e'" in block:
                found = _XLSX_ERROR.findall(block)
                if len(found) < len(_XLSX_ERROR_TYPE.findall(block)):
                    raise LoadFailed("workbook.unplaced")
                for column, row, name in found:
                    text = unescape(name.decode(errors="replace"))
                    errors.setdefault(int(row), {})[parse_column(column.decode())] = text
    return errors, empty_formulas


def _read_blocks(archive: ZipFile, part: str, end: bytes) -> Iterator[bytes]:
    """Read a part in blocks that end with ``end``; the last one is what is left."""
    with archive.open(part) as file:
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            complete, found, rest = (rest + block).rpartition(end)
            if found:
                yield complete + found
        yield rest


def refuse_ods_errors(path: Path, number: int) -> None:
    """
    Refuse an ODS if a sheet of it, counted from 0, has errors.

    Raises: ``LoadFailed`` with ``workbook.damaged``, ``workbook.unplaced``.
    """
    sheet = -1
    with open_archive(path) as archive:
        for block in _read_blocks(archive, "content.xml", b">"):
            for mark in _ODS_MARKS.findall(block):
                if mark.startswith(b"<"):
                    sheet += 1
                elif sheet == number:
                    raise LoadFailed("workbook.unplaced")
