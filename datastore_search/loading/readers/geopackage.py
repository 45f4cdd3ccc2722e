"""
Read a layer of a GeoPackage by SQLite: its columns, and its geometry as GeoJSON in WGS 84.

Only tables are read: what could run, such as views and virtual tables, is not even looked at.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from .duckdb_sql import SQL, quote_identifier
from .geo_coordinates import CoordinateConverter
from .geopackage_geometry import UNDEFINED_SYSTEMS, GeometryReader
from .headers import clean_labels, make_unique_names
from .json_parser import format_json
from .options import ReadOptions
from .row_writer import MAX_ROW_BYTES, RowWriter
from .staging import StagedTable, StagingArea
from .stored_rows import count_cell_bytes
from .workbook_cells import format_number

_CPU_FACTOR = 20
_MAX_SQL_BYTES = 2**20
_MAX_DEFINITION_LENGTH = 2**16
_MAX_SHOWN_LAYERS = 20

#: The versions of the format for writing and reading, which tell where the last changes are.
_VERSIONS, _WAL = slice(18, 20), b"\2\2"

_GEOMETRY = "geometry"
#: Where QGIS keeps how layers are drawn, which is no data.
_STYLES = "layer_styles"

#: The names of field types for those that columns declare; what is missing is text.
_FIELD_TYPES = {
    "BOOLEAN": "bool",
    **dict.fromkeys(("TINYINT", "SMALLINT", "MEDIUMINT"), "int4"),
    **dict.fromkeys(("INT", "INTEGER", "BIGINT"), "int8"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL"), "float8"),
    **dict.fromkeys(("NUMERIC", "DECIMAL"), "numeric"),
    "DATE": "date",
    "DATETIME": "timestamptz",
}

#: Rows of the schema that are tables, and neither views nor virtual tables.
_IS_TABLE = SQL("sqlite_master.type = 'table' AND sqlite_master.sql LIKE 'CREATE TABLE%'")
_COUNT_TABLES = SQL(
    "SELECT count(*) FROM sqlite_master WHERE name = ? COLLATE NOCASE AND {}"
).format(_IS_TABLE)
_LIST_LAYERS = SQL(
    "SELECT sqlite_master.name, data_type = 'features' FROM gpkg_contents"
    " JOIN sqlite_master ON sqlite_master.name = table_name COLLATE NOCASE AND {}"
    " WHERE data_type IN ('features', 'attributes', 'aspatial') AND sqlite_master.name <> ?"
    " ORDER BY sqlite_master.rowid"
).format(_IS_TABLE)
_FIND_GEOMETRY = (
    "SELECT column_name, srs_id FROM gpkg_geometry_columns WHERE table_name = ? COLLATE NOCASE"
)
_FIND_SYSTEM = "SELECT * FROM gpkg_spatial_ref_sys WHERE srs_id = ?"
#: Columns, also those that are calculated from others of the record.
_LIST_COLUMNS = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1"


def read_geopackage(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a layer of a GeoPackage: the only one, or the one whose name or number ``sheet`` is.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    staging_area.limits.extend_cpu_time(path.stat().st_size, factor=_CPU_FACTOR)
    with _translate_errors(), _open_database(path) as connection:
        layer = _choose_layer(connection, options.sheet.strip())
        table = _stage_layer(connection, layer, staging_area)
    return replace(table, notices=(*_describe_mode(path), *table.notices))


def _describe_mode(path: Path) -> Iterator[Notice]:
    """Describe that the last changes may be in a file beside this one."""
    with path.open("rb") as file:
        if file.read(_VERSIONS.stop)[_VERSIONS] == _WAL:
            yield Notice("notice.wal_mode")


@contextmanager
def _translate_errors() -> Iterator[None]:
    """
    Translate the errors of SQLite.

    Raises: ``LoadFailed`` with ``gpkg.long_record``, ``gpkg.damaged``.
    """
    try:
        yield
    except sqlite3.DataError as error:
        raise LoadFailed("gpkg.long_record", most=MAX_ROW_BYTES // 2**20) from error
    except (sqlite3.Error, UnicodeError) as error:
        raise LoadFailed("gpkg.damaged") from error


@contextmanager
def _open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that nobody changes, and that is not trusted."""
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _MAX_SQL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.row_factory = sqlite3.Row
        yield connection


# Layers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Layer:
    """A table, which may have a geometry."""

    name: str
    has_geometry: bool


def _choose_layer(connection: sqlite3.Connection, wanted: str) -> _Layer:
    """
    Choose the layer of a name, of a number from 1, or the only one.

    Raises: ``LoadFailed`` with ``file.unsupported_format``, ``gpkg.no_layers``,
    ``gpkg.unknown_layer``, ``gpkg.several_layers``.
    """
    if not _has_table(connection, "gpkg_contents"):
        raise LoadFailed("file.unsupported_format", format="SQLite")
    layers = [
        _Layer(name, bool(has_geometry))
        for name, has_geometry in connection.execute(_LIST_LAYERS.text, [_STYLES])
    ]
    if not layers:
        raise LoadFailed("gpkg.no_layers")
    names = clean_labels([layer.name for layer in layers])
    shown = ", ".join(f"“{name}”" for name in names[:_MAX_SHOWN_LAYERS])
    if wanted:
        numbered = {str(number): layer for number, layer in enumerate(layers, start=1)}
        named = {layer.name: layer for layer in layers}
        layer = named.get(wanted) or numbered.get(wanted)
        if not layer:
            raise LoadFailed("gpkg.unknown_layer", layer=wanted, layers=shown)
        return layer
    if len(layers) > 1:
        raise LoadFailed("gpkg.several_layers", layers=shown)
    return layers[0]


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    return bool(connection.execute(_COUNT_TABLES.text, [name]).fetchone()[0])


@dataclass(frozen=True, slots=True)
class _Column:
    """A column; ``is_key`` says that its integers number the rows of the table."""

    name: str
    field_type: str
    is_key: bool


def _list_columns(connection: sqlite3.Connection, layer: _Layer) -> list[_Column]:
    found = connection.execute(_LIST_COLUMNS, [layer.name]).fetchall()
    has_key = sum(bool(key) for _name, _kind, key in found) == 1
    return [
        _Column(
            name,
            _FIELD_TYPES.get(kind.partition("(")[0].strip().upper(), "text"),
            is_key=has_key and bool(key) and kind.upper() == "INTEGER",
        )
        for name, kind, key in found
    ]


# Geometry -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Geometry:
    """The column of the geometry, and how its values become texts of GeoJSON."""

    column: str
    reader: GeometryReader
    converter: CoordinateConverter

    def describe(self) -> Iterator[Notice]:
        """Describe what differs from the file."""
        yield from self.converter.describe()
        yield from self.reader.describe()

    def format_value(self, value: Any) -> str | None:
        """
        Write a geometry as text of GeoJSON.

        Raises: ``ValueError`` if it cannot be read or converted.
        """
        if value is None:
            return None
        content = value if isinstance(value, bytes) else b""
        geometry = self.converter.convert(self.reader.read(content))
        return format_json(geometry) if geometry else None


def _find_geometry(connection: sqlite3.Connection, layer: _Layer) -> _Geometry:
    """
    Find the geometry of a layer.

    Raises: ``LoadFailed`` with ``gpkg.damaged``, ``geo.unknown_coordinates``.
    """
    found = None
    if _has_table(connection, "gpkg_geometry_columns"):
        found = connection.execute(_FIND_GEOMETRY, [layer.name]).fetchone()
    if not (found and isinstance(found["column_name"], str)):
        raise LoadFailed("gpkg.damaged")
    system = found["srs_id"]
    converter = _build_converter(connection, system)
    return _Geometry(found["column_name"], GeometryReader(system), converter)


def _build_converter(connection: sqlite3.Connection, system: Any) -> CoordinateConverter:
    """
    Build the converter from a system of the file: by its definition, or else by its code.

    Raises: ``LoadFailed`` with ``geo.unknown_coordinates``.
    """
    found = None
    if _has_table(connection, "gpkg_spatial_ref_sys"):
        found = connection.execute(_FIND_SYSTEM, [system]).fetchone()
    if not found or system in UNDEFINED_SYSTEMS:
        raise LoadFailed("geo.unknown_coordinates")
    described = {name: str(value) for name, value in dict(found).items()}
    definitions = [described.get(name, "") for name in ("definition", "definition_12_063")]
    code = f"{described.get('organization')}:{described.get('organization_coordsys_id')}"
    for definition in (*(each for each in definitions if "[" in each), code):
        with suppress(LoadFailed):
            return CoordinateConverter(definition[:_MAX_DEFINITION_LENGTH])
    raise LoadFailed("geo.unknown_coordinates")


# Rows ---------------------------------------------------------------------------------------------


def _stage_layer(
    connection: sqlite3.Connection, layer: _Layer, staging_area: StagingArea
) -> StagedTable:
    """
    Stage the rows of a layer.

    Raises: ``LoadFailed`` with ``gpkg.damaged``, ``geo.unknown_coordinates``, and of too many
    cells ``archive.too_large`` or ``archive.suspicious``.
    """
    columns = _list_columns(connection, layer)
    geometry = _find_geometry(connection, layer) if layer.has_geometry else None
    if geometry:
        others = [each for each in columns if each.name.lower() != geometry.column.lower()]
        if len(others) != len(columns) - 1:
            raise LoadFailed("gpkg.damaged")
        columns = others
    labels = tuple(column.name for column in columns)
    names = make_unique_names(labels)
    types = tuple(column.field_type for column in columns)
    if geometry:  # it keeps its name, whatever the names of the others
        name, *rest = make_unique_names((_GEOMETRY, *labels))
        names, labels, types = (*rest, name), (*labels, _GEOMETRY), (*types, "json")
    if row_bytes := count_cell_bytes(1, len(names)):  # a damaged tree may have rows without end
        count = SQL("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT ?)").format(
            quote_identifier("main", layer.name)
        )
        most = staging_area.limits.max_unpacked_bytes // row_bytes + 1
        (rows,) = connection.execute(count.text, [most]).fetchone()
        staging_area.limits.check_unpacked_bytes(rows * row_bytes)
    with RowWriter(staging_area, len(names)) as writer:
        binary = _write_rows(_read_rows(connection, layer, columns, geometry), geometry, writer)
        writer.finish(names)
    return StagedTable(
        staging_area=staging_area,
        names=names,
        labels=labels,
        declared_types=types,
        notices=(
            *(geometry.describe() if geometry else ()),
            *(Notice("notice.binary_values", field=names[position]) for position in sorted(binary)),
        ),
    )


def _read_rows(
    connection: sqlite3.Connection,
    layer: _Layer,
    columns: Sequence[_Column],
    geometry: _Geometry | None,
) -> Iterator[Sequence[Any]]:
    """
    Read the rows by their key, which must ascend: a damaged tree may have some of them twice.

    Raises: ``LoadFailed`` with ``gpkg.damaged``.
    """
    names = [column.name for column in columns] + ([geometry.column] if geometry else [])
    query = SQL("SELECT {} FROM {}").format(
        SQL(", ").join(map(quote_identifier, names)), quote_identifier("main", layer.name)
    )
    keys = [position for position, column in enumerate(columns) if column.is_key]
    for position in keys:
        query = SQL("{} ORDER BY {}").format(query, quote_identifier(names[position]))
    connection.text_factory = _decode_text
    previous = -math.inf
    for row in connection.execute(query.text):
        for position in keys:
            if not (isinstance(row[position], int) and row[position] > previous):
                raise LoadFailed("gpkg.damaged")
            previous = row[position]
        yield tuple(row)


def _decode_text(content: bytes) -> str:
    """Decode a text so that bytes that are not UTF-8 become bad rows."""
    return content.decode(errors="surrogateescape")


def _write_rows(
    rows: Iterator[Sequence[Any]], geometry: _Geometry | None, writer: RowWriter
) -> set[int]:
    """Write the rows, and return the positions of fields with bytes that are not text."""
    binary: set[int] = set()
    for line, row in enumerate(rows, start=1):
        values, shape = (row[:-1], row[-1:]) if geometry else (row, ())
        cells = [_format_value(value) for value in values]
        binary.update(at for at, value in enumerate(values) if isinstance(value, bytes))
        if geometry:
            try:
                cells.append(geometry.format_value(*shape))
            except ValueError:
                writer.add_error(line, BadRow("row.bad_geometry"))
                continue
        writer.add_row(line, cells)
    return binary


def _format_value(value: Any) -> str | None:
    """Write a value as text; bytes as PostgreSQL does, in hexadecimal."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return rf"\x{value.hex()}"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return format_number(value) if isinstance(value, float) else str(value)
