"""
Read places by GDAL: a layer of a GeoPackage or a GPX, a shapefile, or the placemarks of KML.

The geometry becomes a field of GeoJSON, in WGS 84.  GDAL keeps only the drivers of these formats:
the content of a file can neither choose another one nor name other files.  pyogrio has no function
for either, so GDAL's C API is called (decision 0015).
"""

from __future__ import annotations

import ctypes
import re
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_void_p
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyogrio
from pyogrio import _ogr
from pyogrio.errors import DataLayerError, DataSourceError
from pyogrio.raw import open_arrow

from ....field_types import TEXT, FieldType, declared_types
from ..messages import BadRow, LoadFailed, Notice, quote_names
from ..sources.limits import find_shortage, is_file_too_large
from .cell_values import format_number
from .duckdb_sql import SQL, Composed, quote_identifier
from .headers_and_footers import clean_labels, make_unique_names
from .options import ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea, find_number_types

_DRIVERS = (b"ESRI Shapefile", b"GPKG", b"GPX", b"LIBKML")
_CONFIGURATION = {
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": ".none",
    "GPX_ELE_AS_25D": True,
    "OGR_ARROW_MEM_LIMIT": 32 * 2**20,
    "OGR_GPKG_NUM_THREADS": 1,
}
_TARGET = b"OGC:CRS84"
#: GeoJSON has longitudes first, as maps have, whatever a system says.
_LONGITUDE_FIRST = 0
#: PROJ takes minutes for numbers that no system has.
_MAX_COORDINATE = 1e12
#: A tenth of a millimetre.
_OPTIONS = (c_char_p * 2)(b"XY_COORD_PRECISION=9", None)

_CPU_FACTOR = 20
#: GDAL reads a KML whole.
_MEMORY_RATIO = 16
_ROWS_PER_BATCH = 1_000
_MAX_SHOWN_LAYERS = 20
_GEOMETRY, _BINARY = "geometry", "OFTBinary"

_WGS_84 = ("EPSG:4326", "EPSG:4979", "OGC:CRS84")
#: The failures for what DuckDB says of a curve or a surface, and of a text in another encoding.
_CODES = {"Unsupported geometry type": "geo.curves", "Invalid unicode": "file.unknown_encoding"}
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


#: A module that is linked with GDAL.
_GDAL = ctypes.CDLL(_ogr.__file__)

for _name, _result, _arguments in (
    ("GDALGetDriver", c_void_p, [c_int]),
    ("GDALGetDriverShortName", c_char_p, [c_void_p]),
    ("GDALDeregisterDriver", None, [c_void_p]),
    ("OSRNewSpatialReference", c_void_p, [c_char_p]),
    ("OSRSetFromUserInput", c_int, [c_void_p, c_char_p]),
    ("OSRGetName", c_char_p, [c_void_p]),
    ("OSRSetAxisMappingStrategy", None, [c_void_p, c_int]),
    ("OCTNewCoordinateTransformation", c_void_p, [c_void_p, c_void_p]),
    ("OGR_G_CreateGeometryFromJson", c_void_p, [c_char_p]),
    ("OGR_G_CreateFromWkb", c_int, [c_char_p, c_void_p, POINTER(c_void_p), c_int]),
    ("OGR_G_GetEnvelope", None, [c_void_p, POINTER(c_double)]),
    ("OGR_G_Transform", c_int, [c_void_p, c_void_p]),
    ("OGR_G_ExportToJsonEx", c_void_p, [c_void_p, POINTER(c_char_p)]),
    ("OGR_G_DestroyGeometry", None, [c_void_p]),
    ("VSIFree", None, [c_void_p]),
):
    _function = getattr(_GDAL, _name)
    _function.restype, _function.argtypes = _result, _arguments


# Take the drivers of other formats away from GDAL, and the network.
for _driver in [_GDAL.GDALGetDriver(at) for at in range(_GDAL.GDALGetDriverCount())]:
    if _GDAL.GDALGetDriverShortName(_driver) not in _DRIVERS:
        _GDAL.GDALDeregisterDriver(_driver)
pyogrio.set_gdal_config_options(_CONFIGURATION)


class CoordinateConverter:
    def __init__(self, definition: str) -> None:
        """Convert from a system given by a code such as ``EPSG:3405``, or by WKT."""
        systems = [c_void_p(_GDAL.OSRNewSpatialReference(None)) for _each in range(2)]
        for system, each in zip(systems, (definition.encode(), _TARGET), strict=True):
            if _GDAL.OSRSetFromUserInput(system, each):
                raise LoadFailed("geo.unknown_coordinates")
            _GDAL.OSRSetAxisMappingStrategy(system, _LONGITUDE_FIRST)
        self.name = _GDAL.OSRGetName(systems[0]).decode()
        self._transformation = _GDAL.OCTNewCoordinateTransformation(*systems)
        if not self._transformation:
            raise LoadFailed("geo.unknown_coordinates")

    def convert(self, geometry: bytes | str) -> str | None:
        """
        Convert a geometry, and return it as GeoJSON; None if it cannot be converted.

        It is WKB, or GeoJSON as a text, which takes a third longer.
        """
        shape = c_void_p()
        if isinstance(geometry, bytes):
            _GDAL.OGR_G_CreateFromWkb(geometry, None, byref(shape), len(geometry))
        else:
            with warnings.catch_warnings(action="ignore"):
                shape.value = _GDAL.OGR_G_CreateGeometryFromJson(geometry.encode(errors="replace"))
        if not shape:
            return None
        text = None
        envelope = (c_double * 4)()
        _GDAL.OGR_G_GetEnvelope(shape, envelope)
        try:
            if all(abs(number) < _MAX_COORDINATE for number in envelope) and not (
                _GDAL.OGR_G_Transform(shape, self._transformation)
            ):
                text = _GDAL.OGR_G_ExportToJsonEx(shape, _OPTIONS)
            return ctypes.string_at(text).decode().replace(" ", "") if text else None
        finally:
            _GDAL.VSIFree(text)
            _GDAL.OGR_G_DestroyGeometry(shape)


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
        select = SQL("SELECT {} AS folder, * FROM {}")
        query = SQL(" UNION ALL ").join(
            select.format(each, quote_identifier(each)) for each in layers
        )
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
        if find_shortage(error) or is_file_too_large(error):
            raise
        code = next((_CODES[words] for words in _CODES if words in str(error)), "geo.damaged")
        raise LoadFailed(code, format=title) from error
    except (DataLayerError, DataSourceError, RuntimeError, ValueError, sqlite3.Error) as error:
        raise LoadFailed("geo.damaged", format=title) from error


def _choose_layer(layers: Sequence[str], wanted: str) -> str:
    if not layers:
        raise LoadFailed("geo.no_layers")
    shown = quote_names(clean_labels(layers[:_MAX_SHOWN_LAYERS]))
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


class _Field(NamedTuple):
    """A field of a layer, with its type or subtype in GDAL; the geometry is the last one."""

    name: str
    kind: str

    @property
    def type(self) -> FieldType:
        return declared_types.get(self.kind, TEXT)

    def build_value(self, column: Composed, *, converts: bool) -> Composed:
        """Build the expression of its values: texts, floats, and WKB that is to be converted."""
        if self.kind == _GEOMETRY:
            return column if converts else SQL("ST_AsGeoJSON({})").format(column)
        if self.kind == _BINARY:
            return SQL(r"'\x' || lower(hex({}))").format(column)
        return column if self.type.is_double else SQL("CAST({} AS VARCHAR)").format(column)


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
        fields = [
            _Field(name, subtype if subtype in declared_types else kind)
            for name, kind, subtype in zip(
                layer["fields"], layer["ogr_types"], layer["ogr_subtypes"], strict=True
            )
        ]
        has_key = "return_fids" in open_options
        if has_key:
            fields.insert(0, _Field(layer["fid_column"], "OFTInteger64"))
        converter = None
        if layer["geometry_type"] is not None:
            fields.append(_Field(_GEOMETRY, _GEOMETRY))
            # GDAL calls a system “Undefined …” that a GeoPackage does not name.
            if not layer["crs"] or "Undefined" in layer["crs"]:
                raise LoadFailed("geo.unknown_coordinates")
            if layer["crs"] not in _WGS_84:
                converter = CoordinateConverter(layer["crs"])
        with RowWriter(staging_area, len(fields)) as writer:
            filled = _write_rows(fields, converter, stream, staging_area, writer)
            left_out = _STYLES if is_sparse else _NO_KEY if has_key else ()
            order = [
                at
                for at, field in enumerate(fields)
                if field.name not in left_out and (at in filled or not is_sparse)
            ]
            fields = [fields[at] for at in order]
            labels = tuple(_LABELS.get(field.name, field.name) for field in fields)
            names = make_unique_names(labels)
            writer.finish(names, order)
    types: list[str | None] = [
        None if is_sparse and not field.type.is_nested else field.type.name for field in fields
    ]
    if not (is_sparse or has_exact_types):
        numbers = [at for at, field in enumerate(fields) if field.type.is_number]
        for at, kind in find_number_types(staging_area, numbers, options.nulls).items():
            types[at] = kind
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


def _write_rows(
    fields: Sequence[_Field],
    converter: CoordinateConverter | None,
    stream: Any,
    staging_area: StagingArea,
    writer: RowWriter,
) -> set[int]:
    """Write the rows of a stream of Arrow, and return the positions of fields with values."""
    columns = [quote_identifier(f"c{position}") for position in range(len(fields))]
    values = [
        field.build_value(column, converts=converter is not None)
        for field, column in zip(fields, columns, strict=True)
    ]
    query = SQL("SELECT {} FROM layer AS layer({})").format(values, columns)
    filled: set[int] = set()
    numbers = [position for position, field in enumerate(fields) if field.type.is_double]
    has_geometry = bool(fields) and fields[-1].kind == _GEOMETRY
    # The writer uses the connection meanwhile.
    with staging_area.connection.cursor() as cursor:
        cursor.register("layer", stream)
        cursor.execute(query.text)
        batches = iter(lambda: cursor.fetchmany(_ROWS_PER_BATCH), [])
        for line, row in enumerate(chain.from_iterable(batches), start=1):
            cells = list(row)
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
