"""
The formats of a dump: one table.

Source: CKAN's dump, to the last blank, but for numbers: their digits are PostgreSQL's.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import Any

from django.utils.translation import gettext as _

from ...search import RecordCopy
from ..fields import describe_fields
from .xml_rows import NAMESPACE, RowWriter

#: The size of a block, which is sent at once.
BLOCK_BYTES = 2**16

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()

#: The data dictionary's entry of each field.
Info = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """
    One format: the start of the file, the rows, and the end.

    A format ``needs_mark`` if a truncated file looks complete; ``truncation_mark`` is then written.
    """

    content_type: str
    write_start: Callable[[RecordCopy, Info], str]
    open_rows: Callable[[RecordCopy], AbstractContextManager[Iterator[bytes]]]
    end: bytes = b""
    needs_mark: bool = False

    @property
    def truncation_mark(self) -> bytes:
        """A line, after a quotation mark that is never closed; written when the rows break off."""
        mark = _("This file is incomplete: the server could not send the rest.")
        return f'"{mark}\n'.encode() if self.needs_mark else b""

    def write_blocks(self, copy: RecordCopy, info: Info, *, bom: bool) -> Generator[bytes]:
        """Write the file in blocks, none of which is empty."""
        block = bytearray(_BOM if bom else b"")
        block += self.write_start(copy, info).encode()
        with self.open_rows(copy) as rows:
            for row in rows:
                block += row
                if len(block) >= BLOCK_BYTES:
                    yield bytes(block)
                    block.clear()
        block += self.end
        if block:
            yield bytes(block)


# CSV and TSV --------------------------------------------------------------------------------------


def _write_header(copy: RecordCopy, info: Info, *, delimiter: str) -> str:
    """Write the names of the fields; this line alone ends in CRLF, as CKAN's does."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter).writerow(name for name, _kind in copy.fields)
    return line.getvalue()


def _build_delimited_format(content_type: str, delimiter: str) -> DumpFormat:
    return DumpFormat(
        content_type=content_type,
        write_start=partial(_write_header, delimiter=delimiter),
        open_rows=lambda copy: copy.open_csv(delimiter),
        needs_mark=True,
    )


# JSON ---------------------------------------------------------------------------------------------


def _write_json_start(copy: RecordCopy, info: Info) -> str:
    described = describe_fields(copy.fields, info)
    fields = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    return f'{{\n  "fields": {fields},\n  "records": ['


@contextmanager
def _open_json_rows(copy: RecordCopy) -> Iterator[Iterator[bytes]]:
    before = chain([b"\n    "], repeat(b",\n    "))
    with copy.open_lists() as rows:
        yield (start + row[:-1] for start, row in zip(before, rows))  # noqa: B905 - one never ends


# XML ----------------------------------------------------------------------------------------------


@contextmanager
def _open_xml_rows(copy: RecordCopy) -> Iterator[Iterator[bytes]]:
    write = RowWriter(copy.fields)
    with copy.open_cells() as rows:
        yield map(write, rows)


# The table ----------------------------------------------------------------------------------------

formats: Mapping[str, DumpFormat] = {
    "csv": _build_delimited_format("text/csv; charset=utf-8", ","),
    "tsv": _build_delimited_format("text/tab-separated-values; charset=utf-8", "\t"),
    "json": DumpFormat(
        content_type="application/json; charset=utf-8",
        write_start=_write_json_start,
        open_rows=_open_json_rows,
        end=b"\n]}\n",
    ),
    "xml": DumpFormat(
        content_type="text/xml; charset=utf-8",
        write_start=lambda _copy, _info: f'<data xmlns:xsi="{NAMESPACE}">\n',
        open_rows=_open_xml_rows,
        end=b"</data>\n",
    ),
}

DEFAULT = "csv"
