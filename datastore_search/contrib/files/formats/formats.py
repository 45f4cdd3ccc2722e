"""Detect the format of a file, by its content first and by its name second, and read it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from ..messages.failures import LoadFailed
from ..sources.archives import UnpackedFile, is_workbook, is_zip_archive, unpack, unpack_shapefile
from .headers import clean_labels, describe_name_changes
from .options import ReadOptions
from .staging import StagedTable, StagingArea


class Format(StrEnum):
    """The formats that are read, with their names."""

    DELIMITED = "CSV"
    GEOPACKAGE = "GeoPackage"
    GPX = "GPX"
    JSON = "JSON"
    KML = "KML"
    NDJSON = "NDJSON"
    PARQUET = "Parquet"
    SHAPEFILE = "Shapefile"
    WORKBOOK = "Workbook"


_START_BYTES = 2**12

#: The formats that are recognised by their first bytes.
_SIGNATURES = (
    (b"PAR1", Format.PARQUET),
    (b"PARE", Format.PARQUET),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Format.WORKBOOK),
)
#: SQLite, and what it keeps for programs: four bytes that say which one made the file.
_SQLITE, _PROGRAM = b"SQLite format 3\0", slice(68, 72)
_GEOPACKAGE_PROGRAMS = (b"GPKG", b"GP10", b"GP11")
_GEOPACKAGE_SUFFIX = ".gpkg"
#: The names of formats that are not read.
_OTHER_SIGNATURES = (
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF89a", "GIF"),
    (_SQLITE, "SQLite"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"BZh91AY&SY", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"{\\rtf", "RTF"),
)
_HTML = re.compile(r"<(!doctype html|html|head|body)\b", re.IGNORECASE)
_XML = re.compile(r"<(\?xml|!doctype)\b", re.IGNORECASE)
#: The root of a document of places, which has no DOCTYPE: that could declare entities.
_PLACES = re.compile(r"(?>\s|<\?.*?\?>|<!--.*?-->)*+<(?:[\w.-]+:)?(kml|gpx)[\s>]", re.DOTALL)
_JSON = re.compile(r'\{\s*("|\}|$)|\[\s*(\{|\]|$)')
#: A call of JavaScript around JSON, and a comment above it, are reported as what is no JSON.
_MAYBE_JSON = re.compile(r"[\[{]|[\w.$]+\(|/[/*]")
_JSON_SUFFIXES = (".json", ".geojson", ".ndjson", ".jsonl", ".jsonlines")
_XML_SUFFIXES = (".xml", ".rdf", ".rss", ".atom")
_NDJSON_SUFFIXES = (".ndjson", ".jsonl", ".jsonlines")


def read_file(
    path: Path, options: ReadOptions, staging_area: StagingArea, *, name: str = ""
) -> StagedTable:
    """
    Stage a file of any known format, packed or not.

    ``name`` is the file's own name, if ``path`` has another one: its suffix is a hint at the
    format.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    folder, limits, member = staging_area.folder, staging_area.limits, options.member
    if is_zip_archive(path) and (shapes := unpack_shapefile(path, folder, limits, member=member)):
        table = _read_places(Format.SHAPEFILE, shapes, options, staging_area)
    else:
        file = unpack(path, name or path.name, folder, limits, member=member)
        table = _read_unpacked(file, options, staging_area)
    return replace(
        table,
        labels=clean_labels(table.labels),
        notices=(*table.notices, *describe_name_changes(table.labels, table.names)),
    )


def _read_unpacked(
    file: UnpackedFile, options: ReadOptions, staging_area: StagingArea
) -> StagedTable:
    """Stage a file that is not an archive."""
    # Imports take most of the time of a small file: only the reader that is needed is imported.
    file_format = detect_format(file.path, file.name)
    match file_format:
        case Format.PARQUET:
            from .parquet import read_parquet as read
        case Format.WORKBOOK:
            from .workbooks import read_workbook as read
        case Format.GEOPACKAGE | Format.GPX | Format.KML:
            return _read_places(file_format, file.path, options, staging_area)
        case Format.JSON:
            from .json import read_json as read
        case Format.NDJSON:
            from .json import read_ndjson as read
        case Format.DELIMITED:
            from .delimited import read_delimited as read
    return read(file.path, options, staging_area)


def _read_places(
    file_format: Format, path: Path, options: ReadOptions, staging_area: StagingArea
) -> StagedTable:
    """Stage a file of a format of places."""
    # Else each thread of numpy's OpenBLAS takes memory.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from .geo import READERS
    except ModuleNotFoundError as error:
        raise LoadFailed("file.extra_missing", format=file_format.value, extra="geo") from error
    return READERS[file_format](path, options, staging_area)


def detect_format(path: Path, name: str) -> Format:
    """
    Detect the format of a file with a name; a file of no other format is delimited.

    Raises: ``LoadFailed`` with ``file.unsupported_format``, ``file.save_as_csv``; for a zip that
    cannot be read, with what is wrong with it.
    """
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    for signature, file_format in _SIGNATURES:
        if start.startswith(signature):
            return file_format
    is_geopackage = start[_PROGRAM] in _GEOPACKAGE_PROGRAMS or name.lower().endswith(
        _GEOPACKAGE_SUFFIX
    )
    if start.startswith(_SQLITE) and is_geopackage:
        return Format.GEOPACKAGE
    for signature, other in _OTHER_SIGNATURES:
        if start.startswith(signature):
            raise LoadFailed("file.unsupported_format", format=other)
    if is_workbook(path):
        return Format.WORKBOOK
    return _detect_text_format(_decode_start(start), name.lower())


def _detect_text_format(text: str, name: str) -> Format:
    """Detect the format of a text."""
    if _HTML.match(text):
        raise LoadFailed("file.unsupported_format", format="HTML")
    if places := _PLACES.match(text):
        return Format.KML if places[1] == "kml" else Format.GPX
    if _XML.match(text) or (text.startswith("<") and name.endswith(_XML_SUFFIXES)):
        raise LoadFailed("file.save_as_csv", format="XML")
    if not (_JSON.match(text) or (_MAYBE_JSON.match(text) and name.endswith(_JSON_SUFFIXES))):
        return Format.DELIMITED
    return Format.NDJSON if name.endswith(_NDJSON_SUFFIXES) else Format.JSON


def _decode_start(start: bytes) -> str:
    """Decode the start of a file as far as its format needs it, without blanks before it."""
    encoding = json.detect_encoding(start)  # by its mark, or by where NULs are
    return start.decode(encoding, errors="replace").lstrip("\ufeff \t\r\n")
