"""
Read a file into a staged table: detect its format, and find its fields and its rows.

``process.open_table`` starts ``child``, a process with limits in which everything else here runs
(decision 0023).  ``formats`` is the table of formats: how each is recognised, and the function of
its module that reads it.  Readers write to the staging area (``staging``, ``row_writer``,
``duckdb_sql``) and share ``headers_and_footers``.  Nothing here depends on models or PostgreSQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from json import detect_encoding  # ``json`` is a module beside this one
from pathlib import Path

from ....contributions import Table
from ..messages import LoadFailed
from ..sources.archives import is_workbook, unpack_shapefile

_START_BYTES = 2**12


@dataclass(frozen=True, slots=True)
class Start:
    """
    The start of a file, by which its format is recognised.

    ``text`` is as much of it as is known without its encoding, from the first letter on; ``name``
    is the file's own, in small letters.
    """

    path: Path
    name: str
    content: bytes
    text: str


@dataclass(frozen=True, slots=True)
class InputFormat:
    """
    A format of files.

    - ``sniff`` recognises a file that is of no format before it in the table;
    - ``read`` is the reader, ``module:function``, which is imported only to read; a file of a
      format without one is refused with the message ``refusal``;
    - ``extra`` is the extra of this package that the reader needs;
    - ``unpack`` finds the main file in a zip whose files are one table (``unpack_shapefile``).
    """

    name: str
    sniff: Callable[[Start], object]
    read: str = ""
    extra: str = ""
    refusal: str = "file.unsupported_format"
    unpack: Callable[..., Path | None] | None = None


def _begins(*signatures: bytes) -> Callable[[Start], bool]:
    return lambda start: start.content.startswith(signatures)


def _matches(
    pattern: str,
    flags: re.RegexFlag = re.IGNORECASE,
    *,
    suffixes: tuple[str, ...] = (),
    maybe: str = "",
) -> Callable[[Start], object]:
    """Recognise a text, or one that it may be where the file has one of the suffixes."""
    text, named = re.compile(pattern, flags), re.compile(maybe)
    return lambda start: (
        text.match(start.text) or (start.name.endswith(suffixes) and named.match(start.text))
    )


_SQLITE = b"SQLite format 3\0"
#: What SQLite keeps for programs: four bytes that say which one made the file.
_PROGRAM, _GEOPACKAGE_PROGRAMS = slice(68, 72), (b"GPKG", b"GP10", b"GP11")
#: The root of a document of places, which has no DOCTYPE: that could declare entities.
_ROOT = r"(?>\s|<\?.*?\?>|<!--.*?-->)*+<(?:[\w.-]+:)?%s[\s>]"
#: A page, or a part of one: some servers call an error, and some programs a table, a CSV.
_HTML = r"(?>\s|<!--.*?-->)*+<(!doctype html|html|head|body|title|meta|style|script|div|table)[\s>]"
#: What a clone has in place of a large file.
_POINTER = r"version https?://(git-lfs|hawser|git-media)\.|(\.git)?/annex/objects/"
_NDJSON_SUFFIXES = (".ndjson", ".jsonl", ".jsonlines")
_is_json = _matches(
    r'\{\s*("|\}|$)|\[\s*(\{|\]|$)',
    suffixes=(".json", ".geojson", *_NDJSON_SUFFIXES),
    # A call of JavaScript around JSON, and a comment above it, are reported as what is no JSON.
    maybe=r"[\[{]|[\w.$]+\(|/[/*]",
)
_is_xml = _matches(r"<(\?xml|!doctype)\b", suffixes=(".xml", ".rdf", ".rss", ".atom"), maybe="<")


#: The formats of other apps, which are recognised before those of this one.  Their functions are
#: in modules that the reading process can import: it has neither models nor the portal's settings.
input_formats: Table[InputFormat] = Table("input formats")

#: Every format of this app; a file of no other format is delimited.
formats = (
    InputFormat(
        "Shapefile", lambda _: False, ".geo:read_shapefile", "geo", unpack=unpack_shapefile
    ),
    InputFormat(
        "GeoPackage",
        lambda start: (
            start.content.startswith(_SQLITE)
            and (start.content[_PROGRAM] in _GEOPACKAGE_PROGRAMS or start.name.endswith(".gpkg"))
        ),
        ".geo:read_geopackage",
        "geo",
    ),
    InputFormat("SQLite", _begins(_SQLITE)),
    InputFormat("PDF", _begins(b"%PDF-")),
    InputFormat("PNG", _begins(b"\x89PNG")),
    InputFormat("JPEG", _begins(b"\xff\xd8\xff")),
    InputFormat("GIF", _begins(b"GIF89a")),
    InputFormat("RAR", _begins(b"Rar!\x1a\x07")),
    InputFormat("7z", _begins(b"7z\xbc\xaf\x27\x1c")),
    InputFormat("bzip2", _begins(b"BZh91AY&SY")),
    InputFormat("xz", _begins(b"\xfd7zXZ\0")),
    InputFormat("zstd", _begins(b"\x28\xb5\x2f\xfd")),
    InputFormat("RTF", _begins(b"{\\rtf")),
    InputFormat("Parquet", _begins(b"PAR1", b"PARE"), ".parquet:read_parquet"),
    InputFormat("Git LFS, git-annex", _matches(_POINTER), refusal="file.pointer"),
    InputFormat("HTML", _matches(_HTML, re.IGNORECASE | re.DOTALL), refusal="file.save_as_csv"),
    InputFormat("GPX", _matches(_ROOT % "gpx", re.DOTALL), ".geo:read_gpx", "geo"),
    InputFormat("KML", _matches(_ROOT % "kml", re.DOTALL), ".geo:read_kml", "geo"),
    InputFormat("XML", _is_xml, refusal="file.save_as_csv"),
    InputFormat(
        "NDJSON",
        lambda start: start.name.endswith(_NDJSON_SUFFIXES) and _is_json(start),
        ".json:read_ndjson",
    ),
    InputFormat("JSON, GeoJSON", _is_json, ".json:read_json"),
    InputFormat("XLS", _begins(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), ".workbooks:read_workbook"),
    InputFormat("XLSX, ODS", lambda start: is_workbook(start.path), ".workbooks:read_workbook"),
    InputFormat("CSV, TSV", lambda _: True, ".delimited:read_delimited"),
)


def list_formats() -> list[InputFormat]:
    """List the formats of apps and of this one, in the order in which they are recognised."""
    return [*input_formats.values(), *formats]


def detect_format(path: Path, name: str) -> InputFormat:
    """
    Detect the format of a file with a name, by its content first and by its name second.

    Raises: ``LoadFailed`` with ``file.unsupported_format``, ``file.save_as_csv``; for a zip that
    cannot be read, with what is wrong with it.
    """
    with path.open("rb") as file:
        content = file.read(_START_BYTES)
    encoding = detect_encoding(content)  # by its mark, or by where NULs are
    text = content.decode(encoding, errors="replace").lstrip("\ufeff \t\r\n")
    start = Start(path, name.lower(), content, text)
    found = next(each for each in list_formats() if each.sniff(start))
    if not found.read:
        raise LoadFailed(found.refusal, format=found.name)
    return found
