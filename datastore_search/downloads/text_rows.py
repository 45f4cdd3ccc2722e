"""
CSV and TSV, as PostgreSQL writes them, CSV for Excel, and JSON.

Excel reads a CSV file by the language of its user: the separator is a semicolon where the decimal
point is a comma.  It calculates any cell that begins like a formula.  A file that
is opened with another separator has other cells, so no part of a cell may begin like a formula.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Generator
from dataclasses import replace
from itertools import chain, repeat

from django.utils.formats import get_format

from ..field_types import get_field_type
from ..search import ID, RecordCopy, RecordsFormat, describe_fields
from .dump import BOM, Dump, join_pieces

_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)


@join_pieces
def write_delimited(dump: Dump, copy: RecordCopy, delimiter: str) -> Generator[bytes]:
    """
    Write the header, and the rows of PostgreSQL's COPY.

    The header ends in LF like the rows: readers take one line ending in a file.
    """
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter).writerow(dump.headers)
    yield dump.start + line.getvalue().removesuffix("\r\n").encode() + b"\n"
    with copy.open_csv(delimiter) as rows:
        yield from rows


# For Excel ----------------------------------------------------------------------------------------


@join_pieces
def write_excel_csv(dump: Dump, copy: RecordCopy) -> Generator[bytes]:
    """Write CSV that Excel opens with a double click, in the language of the first piece."""
    line, decimal_point = io.StringIO(), get_format("DECIMAL_SEPARATOR")
    name, kind = copy.fields[0]
    # A line that begins with a number, such as -5, must not continue it with the next cell.
    begins_with_number = get_field_type(kind).is_number and name != ID
    writer = csv.writer(
        line,
        delimiter=";" if decimal_point == "," else ",",
        quoting=csv.QUOTE_ALL if begins_with_number else csv.QUOTE_MINIMAL,
    )
    writer.writerow(map(disarm, dump.headers))
    writes = [_choose_cell_writer(kind, decimal_point) for _name, kind in copy.fields]
    yield BOM + line.getvalue().encode()
    with copy.open_cells() as rows:
        for row in rows:
            line.seek(0)
            line.truncate()
            writer.writerow(
                None if cell is None else write(cell)
                for write, cell in zip(writes, row, strict=True)
            )
            yield line.getvalue().encode()


def _choose_cell_writer(kind: str, decimal_point: str) -> Callable[[str], str]:
    if get_field_type(kind).is_number:

        def write_number(cell: str) -> str:
            if not _PLAIN_NUMBER.fullmatch(cell):  # an infinity
                return disarm(cell)
            return cell if decimal_point == "." else cell.replace(".", decimal_point)

        return write_number
    if kind == "bool":
        return {"t": "TRUE", "f": "FALSE"}.__getitem__
    if kind == "timestamp":
        return lambda cell: disarm(cell.replace("T", " ", 1).removesuffix(".000"))
    return disarm


#: The place before a sign that a spreadsheet may calculate from, at the beginning of a cell under
#: any separator; it passes over blanks, controls, invisible characters and quotation marks.
_FORMULA_START = re.compile(
    r"(?:^|[,;\t\r\n])"
    r"[ \x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f"
    r'\u205f-\u206f\u3000\ufeff"]*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])'
)


def disarm(text: str) -> str:
    """Put an apostrophe before each part of a text that a spreadsheet may calculate."""
    return _FORMULA_START.sub(r"\g<0>'", text)


def begins_like_formula(text: str) -> bool:
    """Return whether a spreadsheet may calculate a text that is typed into a cell."""
    return _FORMULA_START.match(text) is not None


# JSON in one document, and in a line for each record ---------------------------------------------


@join_pieces
def write_json(dump: Dump, copy: RecordCopy) -> Generator[bytes]:
    described = describe_fields(copy.fields, dump.infos)
    fields = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    yield dump.start + f'{{\n  "fields": {fields},\n  "records": ['.encode()
    before = chain([b"\n    "], repeat(b",\n    "))
    with copy.open_texts() as rows:
        yield from (start + row[:-1] for start, row in zip(before, rows, strict=False))
    yield b"\n]}\n"


@join_pieces
def write_ndjson(dump: Dump, _copy: RecordCopy) -> Generator[bytes]:
    as_objects = replace(dump.query, records_format=RecordsFormat.OBJECTS)
    yield dump.start
    with RecordCopy(dump.read, as_objects).open_texts() as rows:
        yield from rows
