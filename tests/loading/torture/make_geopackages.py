"""The GeoPackages."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from .make_files import register_builder

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

_POINT, _LINE, _POLYGON, _POINTS, _LINES, _POLYGONS, _COLLECTION, _ARC = range(1, 9)
_Z, _M, _ZM = 1000, 2000, 3000


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


def build_wkb(code: int, *values: float | bytes, order: str = "<") -> bytes:
    """Build WKB: integers are counts, floats are coordinates, bytes are geometries."""
    content = struct.pack(f"{order}BI", order == "<", code)
    for value in values:
        if isinstance(value, bytes):
            content += value
        else:
            content += struct.pack(f"{order}{'d' if isinstance(value, float) else 'I'}", value)
    return content


def build_geometry(wkb: bytes, *, flags: int = 1, system: int = 4326, more: bytes = b"") -> bytes:
    """Build the value of a column: the header, with an envelope if there is ``more``, and WKB."""
    order = "<" if flags & 1 else ">"
    return struct.pack(f"{order}2sBBi", b"GP", 0, flags, system) + more + wkb


_HANOI = build_wkb(_POINT, 105.8525, 21.0287)

_PLACES = """
CREATE TABLE places (
    fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, code TEXT(10), name TEXT, geom POINT,
    people MEDIUMINT, total INTEGER, share DOUBLE, capital BOOLEAN, day DATE, moment DATETIME,
    photo BLOB, twice INTEGER AS (people * 2) STORED, void SMALLINT
);
CREATE TABLE layer_styles (id INTEGER PRIMARY KEY, name TEXT);
CREATE VIEW large_places AS SELECT * FROM places;
"""


@register_builder("places.gpkg")
def _build_places() -> bytes:
    """A column of each type, a geometry with its envelope, a view, and the styles of QGIS."""
    envelope = struct.pack("<4d", 105.8525, 105.8525, 21.0287, 21.0287)
    hanoi = build_geometry(_HANOI, flags=3, more=envelope)
    moment, photo = "2024-03-05T10:11:12.500Z", b"\x89PNG\0"
    typed = [8053663, 2**53 + 1, 8.25, True, "2024-03-05", moment, photo, None]
    return build_geopackage(
        _PLACES,
        {
            "places": [
                (7, "007", "Hà Nội", hanoi, *typed),
                (9, "12", "", None, None, None, 2.5e-7, False, *[None] * 4),
            ],
        },
        # SQLite's names are the same in upper and lower case.
        layers={
            "Places": "features",
            "large_places": "features",
            "layer_styles": "attributes",
        },
    )


@register_builder("layers.gpkg")
def _build_layers() -> bytes:
    """Two layers and a table, one of whose names needs quotation marks."""
    script = """
    CREATE TABLE "po""ints" (fid INTEGER PRIMARY KEY, geom GEOMETRY);
    CREATE TABLE rivers (fid INTEGER PRIMARY KEY, name TEXT, geom GEOMETRY);
    CREATE TABLE codes (code TEXT PRIMARY KEY, [the "name"] TEXT);
    """
    return build_geopackage(
        script,
        {
            'po"ints': [(1, build_geometry(_HANOI))],
            "rivers": [(1, "Hương", None)],
            "codes": [("01", "one"), ("02", None)],
        },
        layers={'po"ints': "features", "rivers": "features", "codes": "attributes"},
    )


_SHAPES = "CREATE TABLE shapes (kind TEXT, geom GEOMETRY);"
_RING = (4, 0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 0.0)
_HOLE = (4, 2.0, 1.0, 3.0, 1.0, 3.0, 2.0, 2.0, 1.0)
_NAN = float("nan")


@register_builder("shapes.gpkg")
def _build_shapes() -> bytes:
    """Every kind, in both orders of bytes, with height and measure, and empty."""
    shapes = {
        "point Z": build_wkb(_Z + _POINT, 1.0, 2.0, 3.5),
        "point M": build_wkb(_M + _POINT, 1.0, 2.0, 9.0),
        "line ZM": build_wkb(_ZM + _LINE, 2, 1.0, 2.0, 3.0, 9.0, 4.0, 5.0, 6.0, 9.0),
        "polygon": build_wkb(_POLYGON, 2, *_RING, *_HOLE, order=">"),
        "points": build_wkb(
            _POINTS, 2, build_wkb(_POINT, 1.0, 2.0, order=">"), build_wkb(_POINT, _NAN, _NAN)
        ),
        "lines": build_wkb(_LINES, 1, build_wkb(_LINE, 2, 1.0, 2.0, 3.0, 4.0)),
        "polygons": build_wkb(_POLYGONS, 1, build_wkb(_POLYGON, 1, *_RING)),
        "collection": build_wkb(
            _COLLECTION, 2, build_wkb(_COLLECTION, 1, build_wkb(_POINT, 1.0, 2.0)), _HANOI
        ),
        "empty point": build_wkb(_POINT, _NAN, _NAN),
        "empty polygon": build_wkb(_POLYGON, 0),
        "empty collection": build_wkb(_COLLECTION, 0),
    }
    rows = [(kind, build_geometry(wkb, flags=0)) for kind, wkb in shapes.items()]
    return build_geopackage(_SHAPES, {"shapes": rows}, layers={"shapes": "features"})


@register_builder("curves.gpkg")
def _build_curves() -> bytes:
    arc = build_geometry(build_wkb(_ARC, 3, 0.0, 0.0, 1.0, 1.0, 2.0, 0.0))
    return build_geopackage(_SHAPES, {"shapes": [("arc", arc)]}, layers={"shapes": "features"})


def _build_point_in(system: int, x: float, y: float) -> bytes:
    """Build a layer of one point, in a system that is no longitude and latitude."""
    point = build_geometry(build_wkb(_Z + _POINT, x, y, 12.5), system=system)
    return build_geopackage(
        "CREATE TABLE points (geom POINT);",
        {"points": [(point,)]},
        layers={"points": "features"},
        system=system,
    )


@register_builder("mercator.gpkg")
def _build_mercator() -> bytes:
    return _build_point_in(3857, 11783446.399194991, 2395301.085486744)


@register_builder("vn2000.gpkg")
def _build_vn2000() -> bytes:
    return _build_point_in(3405, 588388.5863166997, 2325668.530394446)


@register_builder("no_system.gpkg")
def _build_no_system() -> bytes:
    return build_geopackage("CREATE TABLE t (geom POINT);", {}, layers={"t": "features"}, system=-1)


@register_builder("no_records.gpkg")
def _build_no_records() -> bytes:
    return build_geopackage(
        "CREATE TABLE t (n MEDIUMINT, geom POINT);", {}, layers={"t": "features"}
    )


@register_builder("tiles.gpkg")
def _build_tiles() -> bytes:
    return build_geopackage("CREATE TABLE photos (tile BLOB);", {}, layers={"photos": "tiles"})


def _build_open() -> tuple[bytes, bytes]:
    """Build a GeoPackage with a record that only the file beside it has; return both."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "codes.gpkg")
        path.write_bytes(_build_codes())
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("INSERT INTO codes VALUES ('b')")
            connection.commit()
            return path.read_bytes(), path.with_name("codes.gpkg-wal").read_bytes()


def _build_codes() -> bytes:
    return build_geopackage(
        "CREATE TABLE codes (code TEXT);", {"codes": [("a",)]}, layers={"codes": "attributes"}
    )


@register_builder("wal.gpkg")
def _build_wal() -> bytes:
    return _build_open()[0]


@register_builder("cut.gpkg")
def _build_cut() -> bytes:
    return _build_layers()[:-512]


@register_builder("no_geopackage.gpkg")
def _build_other_database() -> bytes:
    """A database of SQLite that only has the name of a GeoPackage."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("PRAGMA page_size = 512; CREATE TABLE t (n INTEGER);")
        return connection.serialize()
