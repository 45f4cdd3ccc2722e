"""Which format a file has: by its content first, by its name second."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from ..options import LoadOptions
from ..table import Stage, Table

Reader = Callable[[Path, LoadOptions, Stage], Table]

_START_BYTES = 2**16


class Format(StrEnum):
    """The formats that there is a reader for."""

    DELIMITED = "delimited"
    SHEET = "sheet"
    JSON = "json"
    NDJSON = "ndjson"
    GEOJSON = "geojson"
    PARQUET = "parquet"


_READERS = {
    Format.DELIMITED: "delimited.read_delimited",
    Format.SHEET: "sheets.read_sheet",
    Format.JSON: "documents.read_json",
    Format.NDJSON: "documents.read_ndjson",
    Format.GEOJSON: "documents.read_geojson",
    Format.PARQUET: "parquet.read_parquet",
}


def reader_of(path: Path, name: str) -> Reader:
    """Find the function that reads a file; ``name`` is what the file is called."""
    module, function = _READERS[format_of(path, name)].split(".")
    return getattr(import_module(f"{__package__}.{module}"), function)  # type: ignore[no-any-return]


def format_of(path: Path, name: str) -> Format:
    """Recognise a file's format; what is nothing else is taken for delimited cells."""
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    if start.startswith(b"PAR1"):
        return Format.PARQUET
    if start.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") or _is_workbook(path, start):
        return Format.SHEET
    return _json_format(start, name) or Format.DELIMITED


def _is_workbook(path: Path, start: bytes) -> bool:
    if not start.startswith(b"PK\x03\x04"):
        return False
    try:
        with ZipFile(path) as archive:
            members = set(archive.namelist())
    except BadZipFile:
        return False
    return "xl/workbook.xml" in members or {"content.xml", "META-INF/manifest.xml"} <= members


def _json_format(start: bytes, name: str) -> Format | None:
    text = start.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if re.match(r"\[\s*(\{|\]|$)", text):
        return Format.JSON
    if not re.match(r'\{\s*("|\}|$)', text):
        return None
    if re.search(r'"type"\s*:\s*"FeatureCollection"', text) or name.lower().endswith(".geojson"):
        return Format.GEOJSON
    return Format.NDJSON if _is_whole(text.splitlines()[0]) else Format.JSON


def _is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
