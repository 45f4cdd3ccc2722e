"""JSON in one document, and in a line for each record."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from itertools import chain, repeat

from ..search import RecordCopy, RecordsFormat, describe_fields
from .dump import Dump, join_pieces


@join_pieces
def write_json(dump: Dump, copy: RecordCopy) -> Generator[bytes]:
    """Write the fields, and a list for each record."""
    described = describe_fields(copy.fields, dump.infos)
    fields = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    yield dump.start + f'{{\n  "fields": {fields},\n  "records": ['.encode()
    before = chain([b"\n    "], repeat(b",\n    "))
    with copy.open_texts() as rows:
        yield from (start + row[:-1] for start, row in zip(before, rows, strict=False))
    yield b"\n]}\n"


@join_pieces
def write_ndjson(dump: Dump, _copy: RecordCopy) -> Generator[bytes]:
    """Write an object for each record, each in a line of its own."""
    as_objects = replace(dump.query, records_format=RecordsFormat.OBJECTS)
    yield dump.start
    with RecordCopy(dump.read, as_objects).open_texts() as rows:
        yield from rows
