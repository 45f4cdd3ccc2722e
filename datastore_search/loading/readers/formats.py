"""Which format a file has, by its content first and by its name second, and what reads it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from pathlib import Path

from ...exceptions.loads import LoadFailed
from ..sources.archives import is_workbook
from .delimited import read_delimited
from .json import read_geojson, read_json, read_ndjson
from .options import ReadOptions
from .parquet import read_parquet
from .staging import StagedTable, StagingArea
from .workbooks import read_workbook

#: Stages a file of one format; raises a ``LoadFailed`` that says what is wrong with it.
Reader = Callable[[Path, ReadOptions, StagingArea], StagedTable]

_START_BYTES = 2**12

#: How files begin that are told by their first bytes.
_READERS: tuple[tuple[bytes, Reader], ...] = (
    (b"PAR1", read_parquet),
    (b"PARE", read_parquet),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", read_workbook),
)
#: Formats that people send instead, and what a person calls them.
_OTHERS = (
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF89a", "GIF"),
    (b"SQLite format 3\0", "SQLite"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"BZh91AY&SY", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"{\\rtf", "RTF"),
)
_PAGE = re.compile(r"<(!doctype html|html|head|body)\b", re.IGNORECASE)
_MARKUP = re.compile(r"<(\?xml|!doctype)\b", re.IGNORECASE)
_OBJECTS = re.compile(r'\{\s*("|\}|$)|\[\s*(\{|\]|$)')
_MAYBE_JSON = re.compile(r"[\[{]")
_JSON_NAMES = (".json", ".geojson", ".ndjson", ".jsonl", ".jsonlines")
_LINES_NAMES = (".ndjson", ".jsonl", ".jsonlines")


def get_reader(path: Path, name: str) -> Reader:
    """
    Find the function that reads a file; ``name`` is what the file is called.

    What is nothing else is taken for delimited cells.

    Raises: ``LoadFailed`` with ``file.unsupported_format``; ``LoadFailed`` where the file is a zip
    that cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    for mark, reader in _READERS:
        if start.startswith(mark):
            return reader
    for mark, called in _OTHERS:
        if start.startswith(mark):
            raise LoadFailed("file.unsupported_format", format=called)
    if is_workbook(path):
        return read_workbook
    return _reader_of_text(_text(start), name.lower())


def _reader_of_text(text: str, name: str) -> Reader:
    """
    Find the function that reads a text.

    Raises: ``LoadFailed`` with ``file.unsupported_format``.
    """
    if _PAGE.match(text):
        raise LoadFailed("file.unsupported_format", format="HTML")
    if _MARKUP.match(text):
        raise LoadFailed("file.unsupported_format", format="XML")
    if not (_OBJECTS.match(text) or (_MAYBE_JSON.match(text) and name.endswith(_JSON_NAMES))):
        return read_delimited
    if name.endswith(_LINES_NAMES):
        return read_ndjson
    return read_geojson if name.endswith(".geojson") else read_json


def _text(start: bytes) -> str:
    """Decode the start of a file as far as its format goes, without blanks before it."""
    encoding = "utf-8"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in start[:2]:
        encoding = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
    return start.decode(encoding, errors="replace").lstrip("\ufeff \t\r\n")
