"""
Mark the cells of a workbook that calamine would change, in a copy that it reads instead.

It gives an error as an empty cell, a number as a double, a day that never was as another one, and
the texts of an ODS without tabs and breaks.  Such a cell becomes a text that begins with a mark.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET
from zipfile import ZipFile

from django.utils.dateparse import parse_duration
from xlrd.formatting import std_format_strings

from ..sources.archives import open_zip
from .cell_values import BadCell, format_padded, has_day, has_lost_digits, read_date
from .options import CellRange

_BLOCK_BYTES = 2**20

# What belongs to a tag has neither “<” nor “>”: so each search ends where the next tag begins.
_XLSX_VALUE = re.compile(rb"<(?:\w++:)?(?:v|is)[\s>]")
#: A formula without a result, unless its type is text.
_XLSX_EMPTY_FORMULA = re.compile(
    rb"<(?:\w++:)?c\b(?![^<>]*?\bt=[\"']str)[^<>]*+>"
    rb"<(?:\w++:)?f\b(?:[^<>]*/>|[^<>]*+>[^<]*+</(?:\w++:)?f>)"
    rb"(?:<(?:\w++:)?v\s*+(?:/>|></(?:\w++:)?v>))?</(?:\w++:)?c>"
)

_XLSX_FORMULA = rb"(?:<(?:\w++:)?f[\s/>](?:[^<]|<(?!/?(?:\w++:)?[cv][\s>]))*+)?"
_XLSX_CELL = (
    rb"(<(?:\w++:)?c\b)(?=%%s)([^<>]*+)(>%s<(?:\w++:)?v(?:\s[^<>]*+)?>)"
    rb"(?=%%s)(#[^<]*+|-?[0-9.]+(?:[eE][-+]?[0-9]{1,3})?)(?=<)" % _XLSX_FORMULA
)
_XLSX_TYPE, _XLSX_STYLE = (re.compile(rb"\s%s=[\"'](\w*)[\"']" % name) for name in (b"t", b"s"))
#: What may be the number of no day, and of no time.
_NO_DAY, _NO_TIME = rb"(?:-|0|60[.<]|[0-9]{7}|[0-9.]+[eE]-)", rb"(?:-|60[.<]|[0-9]{7})"

#: A number that may have more digits than a double.
_LONG = rb"-?(?=[0-9.]{16})[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,3})?"
_XLSX_LONG, _ODS_LONG = re.compile(rb">(%s)</" % _LONG), re.compile(rb"office:value=.(%s)." % _LONG)

_ODS_ROW_END = b"</table:table-row>"
_ODS_TAG = re.compile(rb"<table:(?:table(?:[\s>]|-(?:row|cell)\b[^<>]*+>)|covered-[^<>]*+>)")
_ODS_CELL = re.compile(
    rb"(<table:(?:covered-)?table-cell\b)(?=[^<>]*(?:value-type=[\"'](?!string)|:formula=))"
    rb"([^<>]*+)(>(?:<text:p\b[^<>]*+>([^<]*+))?)"
)
_REPEATED = (b"table:number-rows-repeated", b"table:number-columns-repeated")
_SPANNED = (b"table:number-rows-spanned", b"table:number-columns-spanned")
_ODS_ATTRIBUTE = re.compile(rb"\s([\w:-]+)=(?:\"([^\"]*)\"|'([^']*)')")
_ODS_BREAK = re.compile(rb"<text:(?:(tab)|line-break)\b[^<>]*?(?:/>|></text:[\w-]+>)")
_ODS_ERROR = re.compile(rb"#[A-Z][A-Z0-9/_]*[!?]?|Err:[0-9]{3}")
#: How the digits of a code are shown: with zeros before them, or signs between them.
_ODS_PADDED = re.compile(
    rb"(?:[^<0-9.,%]*+0[^<.,%eE]*[0-9]|[0-9]+[-/()][-/() 0-9]*[0-9]|[A-Za-z]+-?[0-9]+)(?=<|\Z)"
)
#: The times that calamine reads.
_ODS_TIME = re.compile(rb"PT(?:[01][0-9]|2[0-3])H[0-5][0-9]M[0-5][0-9](?:\.[0-9]+)?S")
_ODS_MARKS = [
    re.compile(pattern)
    for pattern in (
        rb"<text:(?:tab|line-break)\b",
        rb"office:time-value=(?!.%s.)" % _ODS_TIME.pattern,
        rb"office:value=.-?[0-9]+[\"'][^<>]*+><text:p\b[^<>]*+>%s" % _ODS_PADDED.pattern,
        rb"<text:p>(?:%s)</" % _ODS_ERROR.pattern,
        rb"value-type=.error",
    )
]

#: XML has no such character.
_MARK = "\uffff"
_READERS: Mapping[str, Callable[[str], Any]] = {"e": BadCell, "n": Decimal, "t": parse_duration}

#: Opens the zip of a workbook, and raises ``workbook.damaged`` for what its block finds damaged.
open_archive = partial(open_zip, damaged="workbook.damaged")


def _list_xlsx_sheets(archive: ZipFile) -> list[str]:
    targets = {
        link.get("Id"): link.get("Target", "")
        for link in _find_elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
    }
    links = [
        next((value for name, value in sheet.items() if name.endswith("}id")), None)
        for sheet in _find_elements(archive, "xl/workbook.xml", "sheet")
    ]
    # What is missing here is a LookupError, as a part that is missing.
    return [posixpath.join("/xl", targets[link])[1:] for link in links]


def _find_elements(archive: ZipFile, part: str, name: str) -> list[ET.Element]:
    root = ET.fromstring(archive.read(part))  # noqa: S314 - the reading process has limits
    return [element for element in root.iter() if element.tag.rpartition("}")[2] == name]


def list_filled_xlsx_sheets(path: Path, numbers: Sequence[int]) -> list[int]:
    """List the sheets of an XLSX that have a value; calamine would read each to its end."""
    with open_archive(path) as archive:
        parts = _list_xlsx_sheets(archive)
        return [
            number
            for number in numbers
            if any(map(_XLSX_VALUE.search, _read_blocks(archive, parts[number], b">")))
        ]


def mark_xlsx_sheet(path: Path, number: int, target: Path) -> int:
    """
    Write a copy of an XLSX with marks in a sheet, counted from 0, if calamine would change it.

    Return the number of formulas without values.
    """
    with open_archive(path) as archive:
        part = _list_xlsx_sheets(archive)[number]
        cells = _XlsxCells(archive)
        empty_formulas, is_marked = 0, False
        for block in _read_blocks(archive, part, b"c>"):
            if b"<f" in block or b":f" in block:
                empty_formulas += len(_XLSX_EMPTY_FORMULA.findall(block))
            is_marked = is_marked or cells.needs_marks(block)
        if is_marked:
            _copy_archive(archive, part, target, b"c>", cells.mark)
    return empty_formulas


class _XlsxCells:
    def __init__(self, archive: ZipFile) -> None:
        properties = _find_elements(archive, "xl/workbook.xml", "workbookPr")
        is_1904 = any(each.get("date1904") in {"1", "true"} for each in properties)
        self._datemode: Literal[0, 1] = 1 if is_1904 else 0
        self._formats: dict[bytes, str] = {}
        styles: dict[bytes, list[bytes]] = {_NO_DAY: [], _NO_TIME: [], b"": []}
        codes = {str(number): code for number, code in std_format_strings.items()}
        cell_styles: list[ET.Element] = []
        if (part := "xl/styles.xml") in archive.namelist():
            for each in _find_elements(archive, part, "numFmt"):
                codes[each.get("numFmtId", "")] = each.get("formatCode", "")
            cell_styles = [*chain.from_iterable(_find_elements(archive, part, "cellXfs"))]
        for number, each in enumerate(cell_styles):
            code = codes.get(each.get("numFmtId", ""), "")
            is_padded, is_day = format_padded(Decimal(1), code), has_day(code)
            if is_padded or is_day is not None:
                style = str(number).encode()
                self._formats[style] = code
                styles[b"" if is_padded else _NO_DAY if is_day else _NO_TIME].append(style)
        # A pattern that begins with letters is found the fastest; “.” is a quotation mark.
        self._patterns = [re.compile(b"t=.e[\"']")] + [
            re.compile(
                rb"s=.(?:%s)[\"'][^<>]*+>%s<(?:\w++:)?v>%s"
                % (b"|".join(some), _XLSX_FORMULA, values)
            )
            for values, some in styles.items()
            if some and values
        ]
        places = [(b"", rb"#|%s|%s" % (_NO_DAY, _LONG))]
        if padded := b"|".join(styles[b""]):
            places.append((rb"[^<>]*\ss=.(?:%s)[\"']" % padded, b""))
        self._cells = [re.compile(_XLSX_CELL % place) for place in places]

    def needs_marks(self, block: bytes) -> bool:
        return self._has_odd(block) or any(cell.search(block) for cell in self._cells[1:])

    def mark(self, block: bytes) -> bytes:
        for cell in self._cells[not self._has_odd(block) :]:
            block = cell.sub(self._mark_cell, block)
        return block

    def _has_odd(self, block: bytes) -> bool:
        return any(pattern.search(block) for pattern in self._patterns) or any(
            has_lost_digits(text.decode()) for text in _XLSX_LONG.findall(block)
        )

    def _mark_cell(self, match: re.Match[bytes]) -> bytes:
        start, attributes, before, value = match.groups()
        kind, text = _XLSX_TYPE.search(attributes), value.decode()
        marked = None
        if kind and kind[1] == b"e":
            marked = f"{_MARK}e{text}"
        elif not kind or kind[1] == b"n":
            style = _XLSX_STYLE.search(attributes)
            marked = self._mark_number(text, self._formats.get(style[1], "") if style else "")
        if marked is None:
            return match[0]
        return start + _XLSX_TYPE.sub(b"", attributes) + b' t="str"' + before + marked.encode()

    def _mark_number(self, text: str, number_format: str) -> str | None:
        number = float(text)
        if (padded := format_padded(Decimal(text), number_format)) is not None:
            return escape(padded)
        if has_day(number_format) is None:
            return f"{_MARK}n{text}" if has_lost_digits(text) else None
        moment = read_date(number, number_format, self._datemode)
        if isinstance(moment, BadCell):
            return f"{_MARK}e{moment}"
        # calamine takes the first day of 1904 for a time.
        is_first = self._datemode and number < 1 and isinstance(moment, date)
        return str(moment) if is_first or isinstance(moment, str) else None


def _read_blocks(archive: ZipFile, part: str, end: bytes) -> Iterator[bytes]:
    """Read a part in blocks that end with ``end``; the last one is what is left."""
    with archive.open(part) as file:
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            complete, found, rest = (rest + block).rpartition(end)
            if found:
                yield complete + found
        yield rest


def mark_ods(path: Path, target: Path) -> None:
    """Write a copy of an ODS with marks, if calamine would change cells."""

    def mark(block: bytes) -> bytes:
        if not _needs_ods_marks(block):
            return block
        block = _ODS_BREAK.sub(lambda match: b"\t" if match[1] else b"\n", block)
        return _ODS_CELL.sub(_mark_ods_cell, block)

    with open_archive(path) as archive:
        if any(map(_needs_ods_marks, _read_blocks(archive, "content.xml", _ODS_ROW_END))):
            _copy_archive(archive, "content.xml", target, _ODS_ROW_END, mark)


def list_ods_merged_cells(path: Path, number: int) -> list[CellRange]:
    """List the merged cells in a sheet of an ODS, whose number is counted from 0."""
    merged: list[CellRange] = []
    sheet, row, column, repeated = -1, 0, 1, 1
    with open_archive(path) as archive:
        read_blocks = partial(_read_blocks, archive, "content.xml", _ODS_ROW_END)
        if not any(b"-spanned=" in block for block in read_blocks()):
            return merged
        for block in read_blocks():
            for tag in _ODS_TAG.findall(block):
                found = _read_attributes(tag)
                rows, columns = (int(found.get(name, 1)) for name in _REPEATED)
                if tag.startswith(b"<table:table-row"):
                    row, column, repeated = row + repeated, 1, rows
                elif b"-cell" not in tag:
                    sheet, row, repeated = sheet + 1, 0, 1
                elif sheet == number:
                    high, wide = (int(found.get(name, 1)) for name in _SPANNED)
                    if max(high, wide) > 1:
                        merged.append(CellRange(row, column, row + high - 1, column + wide - 1))
                    column += columns
    return merged


def _needs_ods_marks(block: bytes) -> bool:
    return any(each.search(block) for each in _ODS_MARKS) or any(
        has_lost_digits(text.decode()) for text in _ODS_LONG.findall(block)
    )


def _mark_ods_cell(match: re.Match[bytes]) -> bytes:
    start, attributes, inner, shown = match.groups(b"")
    found = _read_attributes(attributes)
    kind, value = found.get(b"office:value-type", b""), found.get(b"office:value", b"")
    duration = found.get(b"office:time-value", b"")
    digits = re.sub(rb"[^0-9]", b"", shown)
    if b"error" in {kind, found.get(b"calcext:value-type")} or _ODS_ERROR.fullmatch(shown):
        text = _MARK.encode() + b"e" + (shown or b"#N/A")
    elif kind == b"time" and not _ODS_TIME.fullmatch(duration):
        text = _MARK.encode() + b"t" + duration
    elif kind == b"float" and _ODS_PADDED.match(shown) and int(digits) == abs(float(value)):
        text = shown
    elif _ODS_LONG.search(attributes) and has_lost_digits(value.decode()):
        text = _MARK.encode() + b"n" + value
    else:
        return match[0]
    kept = b"".join(b' %s="%s"' % each for each in found.items() if each[0].startswith(b"table:"))
    text = text.replace(b'"', b"&quot;")
    typed = b' office:value-type="string" office:string-value="%s"' % text
    return start + kept + typed + (b"/" if attributes.endswith(b"/") else b"") + inner


def _read_attributes(tag: bytes) -> dict[bytes, bytes]:
    return {name: one or other for name, one, other in _ODS_ATTRIBUTE.findall(tag)}


def _copy_archive(
    archive: ZipFile, part: str, target: Path, end: bytes, mark: Callable[[bytes], bytes]
) -> None:
    """Copy the parts of a workbook that calamine reads, with marks in one of them."""
    with ZipFile(target, "w") as copy:
        for name in archive.namelist():
            if name == part or name.endswith((".xml", ".rels", "mimetype")):
                with copy.open(name, "w", force_zip64=True) as file:
                    for block in _read_blocks(archive, name, end if name == part else b">"):
                        file.write(mark(block) if name == part else block)


def read_marks(rows: Iterable[list[Any]]) -> Iterator[list[Any]]:
    for row in rows:
        for position, cell in enumerate(row):
            if type(cell) is str and cell.startswith(_MARK):
                # An invalid document has the mark itself.
                with suppress(LookupError, ValueError, ArithmeticError):
                    found = _READERS[cell[1:2]](cell[2:])
                    row[position] = cell if found is None else found
        yield row
