"""
Read places by GDAL: a layer of a GeoPackage or a GPX, a shapefile, or the placemarks of KML.

The geometry becomes a field of GeoJSON, in WGS 84.  GDAL keeps only the drivers of these formats:
the content of a file can neither choose another one nor name other files.
"""

from __future__ import annotations

import re
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyogrio
from pyogrio.errors import DataLayerError, DataSourceError
from pyogrio.raw import open_arrow

from ....field_types import TEXT, FieldType, declared_types
from ..messages import BadRow, Notice
from ..messages.failures import LoadFailed
from .cell_values import format_number
from .duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from .gdal import CoordinateConverter
from .header_rows import clean_labels, make_unique_names
from .options import ReadOptions
from .row_writer import RowWriter
from .shortages import find_shortage, is_write_refused
from .staging import StagedTable, StagingArea, find_number_types

_CPU_FACTOR = 20
#: GDAL reads a KML whole.
_MEMORY_RATIO = 16
_ROWS_PER_BATCH = 1_000
_MAX_SHOWN_LAYERS = 20
_GEOMETRY, _BINARY = "geometry", "OFTBinary"

_WGS_84 = ("EPSG:4326", "EPSG:4979", "OGC:CRS84")
#: What GDAL calls a system that a GeoPackage does not name.
_UNDEFINED = "Undefined"
#: The failures for what DuckDB says of a curve or a surface, and of a text in another encoding.
_CODES = {
    "Unsupported geometry type": "geo.curves",
    "Invalid unicode": "file.unknown_encoding",
}
#: How the GeoJSON of a shape without coordinates ends, and what is none in it.
_EMPTY, _NOT_FINITE = '":[]}', re.compile("NaN|Infinity")

#: The layers of a GPX whose features are points.
_GPX_LAYERS = ("waypoints", "route_points", "track_points")
#: Members that only style a placemark.
_STYLES = frozenset(("altitudeMode", "tessellate", "extrude", "visibility", "drawOrder", "icon"))
_LABELS = {"Name": "name"}
_QUOTED = re.compile(r"[\\\"']")
#: What GDAL calls a key that a table does not have.
_NO_KEY = frozenset(("OGC_FID",))

#: The tables that are layers: neither views and virtual tables, which could run code, nor styles.
_LIST_TABLES = """
    SELECT sqlite_master.name FROM gpkg_contents
    JOIN sqlite_master ON sqlite_master.name = table_name COLLATE NOCASE
    WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND sqlite_master.name <> 'layer_styles'
    AND data_type IN ('features', 'attributes', 'aspatial') ORDER BY sqlite_master.rowid
"""
#: The versions of the format for writing and reading, which tell where the last changes are.
_VERSIONS, _WAL = slice(18, 20), b"\2\2"


def read_geopackage(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage a layer of a GeoPackage: the only one, or the one whose name or number ``sheet`` is."""
    with _open_file(path, "GeoPackage", "gpkg", staging_area) as source:
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            names = [name for (name,) in connection.execute(_LIST_TABLES)]
        layer = _choose_layer(names, options.sheet)
        table = _stage_layer(
            source, options, staging_area, layer=layer, return_fids=True, IMMUTABLE="YES"
        )
    with path.open("rb") as file:
        is_wal = file.read(_VERSIONS.stop)[_VERSIONS] == _WAL
    notices = [Notice("notice.wal_mode")] if is_wal else []
    return replace(table, notices=(*notices, *table.notices))


def read_shapefile(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage a shapefile, whose parts are beside ``path``."""
    if not path.with_suffix(".prj").exists():
        raise LoadFailed("geo.no_coordinates")
    encoding = options.encoding or (None if path.with_suffix(".cpg").exists() else "UTF-8")
    with _open_file(path, "Shapefile", "", staging_area):
        table = _stage_layer(path, options, staging_area, has_exact_types=False, encoding=encoding)
    if table.labels == (_GEOMETRY,):  # GDAL reads a damaged DBF as none
        raise LoadFailed("geo.damaged", format="Shapefile")
    return table


def read_kml(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage the placemarks of a KML: of all folders, or of the one that ``sheet`` names."""
    with _open_file(path, "KML", "kml", staging_area) as source:
        layers = [name for name, _kind in pyogrio.list_layers(source)]
        # GDAL's own SQL has another way to quote some names.
        if options.sheet or not layers[1:] or any(map(_QUOTED.search, layers)):
            layer = _choose_layer(layers, options.sheet)
            return _stage_layer(source, options, staging_area, is_sparse=True, layer=layer)
        parts = (
            SQL("SELECT {} AS folder, * FROM {}").format(
                quote_literal(each), quote_identifier(each)
            )
            for each in layers
        )
        query = SQL(" UNION ALL ").join(parts)
        return _stage_layer(source, options, staging_area, is_sparse=True, sql=query.text)


def read_gpx(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage the points of a GPX: the waypoints, or the points of routes or tracks."""
    with _open_file(path, "GPX", "gpx", staging_area) as source:
        layers = [
            layer
            for layer in _GPX_LAYERS
            if pyogrio.read_info(source, layer=layer, force_feature_count=True)["features"]
        ]
        layer = _choose_layer(layers, options.sheet)
        return _stage_layer(source, options, staging_area, is_sparse=True, layer=layer)


@contextmanager
def _open_file(path: Path, title: str, suffix: str, staging_area: StagingArea) -> Iterator[Path]:
    """Give a file the suffix that GDAL knows it by, and translate the errors of reading it."""
    size = sum(part.stat().st_size for part in (path, path.with_suffix(".dbf")) if part.exists())
    staging_area.limits.extend_cpu_time(size, factor=_CPU_FACTOR)
    staging_area.limits.extend_memory(_MEMORY_RATIO * size)
    source = staging_area.folder / f"layer.{suffix}"
    source.symlink_to(path.resolve())
    try:
        with warnings.catch_warnings(action="ignore"):
            yield source
    except duckdb.Error as error:
        if find_shortage(error) or is_write_refused(error):
            raise
        found = (code for words, code in _CODES.items() if words in str(error))
        code = next(found, "geo.damaged")
        raise LoadFailed(code, format=title) from error
    except (DataLayerError, DataSourceError, RuntimeError, ValueError, sqlite3.Error) as error:
        raise LoadFailed("geo.damaged", format=title) from error


def _choose_layer(layers: Sequence[str], wanted: str) -> str:
    """Choose the layer of a name, of a number from 1, or the only one."""
    if not layers:
        raise LoadFailed("geo.no_layers")
    shown = ", ".join(f"“{name}”" for name in clean_labels(layers[:_MAX_SHOWN_LAYERS]))
    wanted = wanted.strip()
    if wanted in layers:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(layers):
        return layers[int(wanted) - 1]
    if wanted:
        raise LoadFailed("geo.unknown_layer", layer=wanted, layers=shown)
    if len(layers) > 1:
        raise LoadFailed("geo.several_layers", layers=shown)
    return layers[0]


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a layer, with its type or subtype in GDAL; the geometry is the last one."""

    name: str
    kind: str

    @property
    def type(self) -> FieldType:
        """Its field type."""
        return declared_types.get(self.kind, TEXT)


def _list_fields(layer: Mapping[str, Any], *, has_key: bool) -> list[_Field]:
    fields = [
        _Field(name, subtype if subtype in declared_types else kind)
        for name, kind, subtype in zip(
            layer["fields"], layer["ogr_types"], layer["ogr_subtypes"], strict=True
        )
    ]
    if has_key:
        fields.insert(0, _Field(layer["fid_column"], "OFTInteger64"))
    if layer["geometry_type"] is not None:
        fields.append(_Field(_GEOMETRY, _GEOMETRY))
    return fields


def _stage_layer(
    source: Path,
    options: ReadOptions,
    staging_area: StagingArea,
    *,
    has_exact_types: bool = True,
    is_sparse: bool = False,
    **open_options: Any,
) -> StagedTable:
    """Stage a layer; of a sparse one the values decide all types, and empty fields are left out."""
    with open_arrow(source, datetime_as_string=True, **open_options) as (layer, stream):
        has_key = "return_fids" in open_options
        fields = _list_fields(layer, has_key=has_key)
        converter = _find_converter(layer)
        with RowWriter(staging_area, len(fields)) as writer:
            rows = _read_rows(fields, converter, stream, staging_area)
            filled = _write_rows(rows, fields, converter, writer)
            left_out = _STYLES if is_sparse else _NO_KEY if has_key else ()
            order = [
                position
                for position, field in enumerate(fields)
                if field.name not in left_out and (position in filled or not is_sparse)
            ]
            fields = [fields[position] for position in order]
            labels = tuple(_LABELS.get(field.name, field.name) for field in fields)
            names = make_unique_names(labels)
            writer.finish(names, order)
    types: list[str | None] = [field.type.name for field in fields]
    if is_sparse:
        types = [field.type.name if field.type.is_nested else None for field in fields]
    elif not has_exact_types:
        numbers = [position for position, field in enumerate(fields) if field.type.is_number]
        for position, kind in find_number_types(staging_area, numbers, options.nulls).items():
            types[position] = kind
    binary = [name for name, field in zip(names, fields, strict=True) if field.kind == _BINARY]
    return StagedTable(
        staging_area=staging_area,
        names=names,
        labels=labels,
        declared_types=tuple(types),
        notices=(
            *([Notice("notice.coordinates_converted", name=converter.name)] if converter else []),
            *(Notice("notice.binary_values", field=name) for name in binary),
        ),
    )


def _find_converter(layer: Mapping[str, Any]) -> CoordinateConverter | None:
    """Find the converter of the coordinates of a layer; None where they are in WGS 84."""
    if layer["geometry_type"] is None or layer["crs"] in _WGS_84:
        return None
    if not layer["crs"] or _UNDEFINED in layer["crs"]:
        raise LoadFailed("geo.unknown_coordinates")
    return CoordinateConverter(layer["crs"])


def _read_rows(
    fields: Sequence[_Field],
    converter: CoordinateConverter | None,
    stream: Any,
    staging_area: StagingArea,
) -> Iterator[list[Any]]:
    """Read the rows of a stream of Arrow by DuckDB: texts, and floats."""
    columns = [quote_identifier(f"c{position}") for position in range(len(fields))]
    query = SQL("SELECT {} FROM layer AS layer({})").format(
        SQL(", ").join(
            _build_value(field, column, converter)
            for field, column in zip(fields, columns, strict=True)
        ),
        SQL(", ").join(columns),
    )
    # The writer uses the connection meanwhile.
    with staging_area.connection.cursor() as cursor:
        cursor.register("layer", stream)
        cursor.execute(query.text)
        while rows := cursor.fetchmany(_ROWS_PER_BATCH):
            yield from map(list, rows)


def _build_value(
    field: _Field, column: Composed, converter: CoordinateConverter | None
) -> Composed:
    """Build the expression of a value; a geometry that is to be converted stays WKB."""
    if field.kind == _GEOMETRY:
        return column if converter else SQL("ST_AsGeoJSON({})").format(column)
    if field.kind == _BINARY:
        return SQL(r"'\x' || lower(hex({}))").format(column)
    return column if field.type.is_double else SQL("CAST({} AS VARCHAR)").format(column)


def _write_rows(
    rows: Iterator[list[Any]],
    fields: Sequence[_Field],
    converter: CoordinateConverter | None,
    writer: RowWriter,
) -> set[int]:
    """Write the rows, and return the positions of the fields that have values."""
    filled: set[int] = set()
    numbers = [position for position, field in enumerate(fields) if field.type.is_double]
    has_geometry = fields[-1:] == [_Field(_GEOMETRY, _GEOMETRY)]
    for line, cells in enumerate(rows, start=1):
        for position in numbers:
            if cells[position] is not None:
                cells[position] = format_number(cells[position])
        if has_geometry and cells[-1] is not None:
            text = converter.convert(cells[-1]) if converter else cells[-1]
            if text is None or _NOT_FINITE.search(text):
                writer.add_error(line, BadRow("row.bad_geometry"))
                continue
            cells[-1] = None if text.endswith(_EMPTY) else text
        if len(filled) < len(cells):
            filled.update(at for at, cell in enumerate(cells) if cell is not None)
        writer.add_row(line, cells)
    return filled
