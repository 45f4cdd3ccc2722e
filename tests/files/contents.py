"""Build the contents of small files: archives, workbooks, Parquet and GeoPackages."""

from __future__ import annotations

import io
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import duckdb
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet


def build_archive(members: Mapping[str, str | bytes]) -> bytes:
    """Build a zip with the same bytes each time; the member “mimetype” is stored, as in ODF."""
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in members.items():
            packing = ZIP_STORED if name == "mimetype" else ZIP_DEFLATED
            archive.writestr(ZipInfo(name), content, packing)
    return target.getvalue()


def edit_archive(archive: bytes, changes: Mapping[str, Callable[[str], str]]) -> bytes:
    with ZipFile(io.BytesIO(archive)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    for name, change in changes.items():
        members[name] = change(members[name].decode()).encode()
    return build_archive(members)


# Workbooks ----------------------------------------------------------------------------------------


def save_workbook(workbook: Workbook) -> bytes:
    """Save a workbook, the same each time."""
    workbook.properties.created = workbook.properties.modified = datetime.fromisoformat(
        "2024-01-01"
    )
    target = io.BytesIO()
    workbook.save(target)
    return edit_archive(target.getvalue(), {})


def build_sheet(*rows: list[object], title: str = "Sheet") -> tuple[Workbook, Worksheet]:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet.title = title
    for row in rows:
        sheet.append(row)
    return workbook, sheet


_ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    '<?xml version="1.0"?><manifest:manifest'
    ' xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">{}'
    "</manifest:file-entry></manifest:manifest>"
)


def build_ods(*sheets: str, manifest: str = "") -> bytes:
    """Build an ODS from the XML of its tables, as LibreOffice writes them."""
    spaces = {"office": "office", "table": "table", "text": "text"}
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in spaces.items()
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {names}'
        ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
        f"<office:body><office:spreadsheet>{''.join(sheets)}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    return build_archive(
        {
            "mimetype": _ODS_TYPE,
            "content.xml": content,
            "META-INF/manifest.xml": _MANIFEST.format(manifest),
        }
    )


def build_ods_table(name: str, *rows: str) -> str:
    """Build a sheet; like LibreOffice, end it with all empty rows that are possible."""
    written = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return (
        f'<table:table table:name="{name}">{written}<table:table-row'
        ' table:number-rows-repeated="1048000"><table:table-cell'
        ' table:number-columns-repeated="16384"/></table:table-row></table:table>'
    )


def build_ods_cell(kind: str, text: str, **attributes: str) -> str:
    attributes_xml = "".join(
        f' office:{name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )
    return (
        f'<table:table-cell office:value-type="{kind}"{attributes_xml} calcext:value-type="{kind}">'
        f"<text:p>{text}</text:p></table:table-cell>"
    )


def build_ods_texts(*texts: str) -> str:
    return "".join(build_ods_cell("string", text) for text in texts)


# Parquet ------------------------------------------------------------------------------------------


def build_parquet(query: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "made.parquet")
        duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


# GeoPackages --------------------------------------------------------------------------------------

_TABLES = """
PRAGMA page_size = 512;
PRAGMA application_id = 0x47504B47;
PRAGMA user_version = 10300;
CREATE TABLE gpkg_spatial_ref_sys (
    srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
    organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT
);
CREATE TABLE gpkg_contents (
    table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT,
    description TEXT, last_change TEXT, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE,
    srs_id INTEGER
);
CREATE TABLE gpkg_geometry_columns (
    table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL,
    srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL
);
INSERT INTO gpkg_spatial_ref_sys VALUES ('cartesian', -1, 'NONE', -1, 'undefined', NULL);
INSERT INTO gpkg_spatial_ref_sys VALUES ('geographic', 0, 'NONE', 0, 'undefined', NULL);
"""


def build_geopackage(
    script: str,
    rows: Mapping[str, Sequence[Sequence[object]]],
    *,
    layers: Mapping[str, str],
    system: int = 4326,
) -> bytes:
    """
    Build a GeoPackage of the tables of a script and their rows.

    ``layers`` are the kinds of tables: ``features`` have their geometry in the column ``geom``.
    The system is known by its code alone.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES + script)
        if system > 0:
            described = ("system", system, "EPSG", system, "undefined", None)
            _insert(connection, "gpkg_spatial_ref_sys", [described])
        contents = [(name, kind, *[None] * 7, system) for name, kind in layers.items()]
        _insert(connection, "gpkg_contents", contents)
        shapes = [name for name, kind in layers.items() if kind == "features"]
        described_shapes = [(name, "geom", "GEOMETRY", system, 2, 2) for name in shapes]
        _insert(connection, "gpkg_geometry_columns", described_shapes)
        for table, records in rows.items():
            _insert(connection, table, records)
        connection.commit()
        return connection.serialize()


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    name = table.replace('"', '""')
    for row in rows:
        marks = ", ".join("?" * len(row))
        connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', row)


def build_wkb(code: int, *numbers: float) -> bytes:
    """Build WKB: integers are counts, floats are coordinates."""
    kinds = "".join("d" if isinstance(number, float) else "I" for number in numbers)
    return struct.pack(f"<BI{kinds}", 1, code, *numbers)


def build_geometry(wkb: bytes, *, system: int = 4326) -> bytes:
    """Build the value of a column: the header without an envelope, and WKB."""
    return struct.pack("<2sBBi", b"GP", 0, 1, system) + wkb
