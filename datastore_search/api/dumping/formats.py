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
from .xml_rows import NAMESPACE, RowWriter

#: So much is sent at once, and kept in memory.
BLOCK_BYTES = 2**16

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()

#: What the data dictionary says about each field.
Info = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """
    One format: what comes before the rows, the rows, and what comes after them.

    A file that breaks off where it might end ``needs_mark``: a line that says so.
    """

    content_type: str
    begin: Callable[[RecordCopy, Info], str]
    rows: Callable[[RecordCopy], AbstractContextManager[Iterator[bytes]]]
    end: bytes = b""
    needs_mark: bool = False

    @property
    def broken(self) -> bytes:
        """What is written when the rows break off: a quotation mark that is never closed, too."""
        mark = _("This file is incomplete: the server could not send the rest.")
        return f'"{mark}\n'.encode() if self.needs_mark else b""

    def blocks(self, copy: RecordCopy, info: Info, *, bom: bool) -> Generator[bytes]:
        """Write everything, in blocks; none of them is empty."""
        block = bytearray(_BOM if bom else b"")
        block += self.begin(copy, info).encode()
        with self.rows(copy) as rows:
            for row in rows:
                block += row
                if len(block) >= BLOCK_BYTES:
                    yield bytes(block)
                    block.clear()
        block += self.end
        if block:
            yield bytes(block)


# CSV and TSV --------------------------------------------------------------------------------------


def _header(copy: RecordCopy, info: Info, *, delimiter: str) -> str:
    """Write the names of the fields; this line alone ends in CRLF, as CKAN's does."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter).writerow(name for name, _kind in copy.fields)
    return line.getvalue()


def _separated(content_type: str, delimiter: str) -> DumpFormat:
    return DumpFormat(
        content_type=content_type,
        begin=partial(_header, delimiter=delimiter),
        rows=lambda copy: copy.csv(delimiter),
        needs_mark=True,
    )


# JSON ---------------------------------------------------------------------------------------------


def _described(copy: RecordCopy, info: Info) -> list[dict[str, Any]]:
    """Describe the fields as ``datastore_search`` does."""
    return [
        {"id": name, "type": kind, **({"info": info[name]} if info.get(name) else {})}
        for name, kind in copy.fields
    ]


def _json_begin(copy: RecordCopy, info: Info) -> str:
    fields = json.dumps(_described(copy, info), ensure_ascii=False, separators=(",", ":"))
    return f'{{\n  "fields": {fields},\n  "records": ['


@contextmanager
def _json_rows(copy: RecordCopy) -> Iterator[Iterator[bytes]]:
    before = chain([b"\n    "], repeat(b",\n    "))
    with copy.lists() as rows:
        yield (start + row[:-1] for start, row in zip(before, rows))  # noqa: B905 - one never ends


# XML ----------------------------------------------------------------------------------------------


def _xml_begin(copy: RecordCopy, info: Info) -> str:
    return f'<data xmlns:xsi="{NAMESPACE}">\n'


@contextmanager
def _xml_rows(copy: RecordCopy) -> Iterator[Iterator[bytes]]:
    write = RowWriter(copy.fields)
    with copy.cells() as rows:
        yield map(write, rows)


# The table ----------------------------------------------------------------------------------------

formats: Mapping[str, DumpFormat] = {
    "csv": _separated("text/csv; charset=utf-8", ","),
    "tsv": _separated("text/tab-separated-values; charset=utf-8", "\t"),
    "json": DumpFormat(
        content_type="application/json; charset=utf-8",
        begin=_json_begin,
        rows=_json_rows,
        end=b"\n]}\n",
    ),
    "xml": DumpFormat(
        content_type="text/xml; charset=utf-8",
        begin=_xml_begin,
        rows=_xml_rows,
        end=b"</data>\n",
    ),
}

DEFAULT = "csv"
