"""
Read a shapefile in a zip by pyshp: the fields of its DBF, and its shapes as GeoJSON in WGS 84.

The DBF declares its types, the ``.cpg`` its encoding and the ``.prj`` its coordinates.
"""

from __future__ import annotations

import codecs
import math
import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import shapefile

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from .geo_coordinates import CoordinateConverter
from .json_parser import Number
from .json_records import BadElement, RecordTableBuilder
from .options import ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea
from .workbook_cells import format_number

_MAX_PROJECTION_BYTES = 2**16
_CPU_FACTOR = 20
#: pyshp compares each hole of a polygon with each of its outer rings, a million in half a second.
_MAX_COMPARED_RINGS = 10_000_000
_POLYGONS = (shapefile.POLYGON, shapefile.POLYGONM, shapefile.POLYGONZ)

#: What pyshp raises for a file that is damaged, besides its own exception.
_DAMAGES = (
    shapefile.ShapefileException,
    struct.error,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


def read_shapefile(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a shapefile, whose parts are beside ``path``.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    parts = {part: path.with_suffix(part) for part in (".dbf", ".shx", ".prj", ".cpg")}
    if not parts[".prj"].exists():
        raise LoadFailed("geo.no_coordinates")
    size = path.stat().st_size + parts[".dbf"].stat().st_size
    staging_area.limits.extend_cpu_time(size, factor=_CPU_FACTOR)
    with parts[".prj"].open(errors="replace") as file:
        converter = CoordinateConverter(file.read(_MAX_PROJECTION_BYTES))
    try:
        reader = shapefile.Reader(
            shp=str(path),
            shx=str(parts[".shx"]) if parts[".shx"].exists() else None,
            dbf=str(parts[".dbf"]),
            encoding=_find_encoding(parts[".cpg"], options),
        )
    except UnicodeError as error:
        raise LoadFailed("file.unknown_encoding") from error
    except _DAMAGES as error:
        raise LoadFailed("geo.damaged") from error
    with reader, RowWriter(staging_area) as writer:
        builder = RecordTableBuilder(staging_area, writer, options.nulls)
        number, features = 0, _Features(reader, converter)
        for number, element in enumerate(features.read(), start=1):
            if isinstance(element, BadElement):
                builder.add_bad_element(number, element)
            else:
                builder.add_element(number, element)
        if number != reader.numRecords:  # a shape of a record is missing, or a record of a shape
            raise LoadFailed("geo.damaged")
        table = builder.build([*converter.describe(), *features.describe()])
        dates = {field[0] for field in reader.fields if field[1] == "D"}
    return replace(
        table,
        declared_types=tuple(
            "date" if label in dates and declared else declared
            for label, declared in zip(table.labels, table.declared_types, strict=True)
        ),
    )


def _find_encoding(path: Path, options: ReadOptions) -> str:
    """
    Find the encoding of the texts: the chosen one, the declared one, or UTF-8.

    Raises: ``LoadFailed`` with ``file.unknown_encoding``.
    """
    declared = options.encoding
    if not declared and path.exists():
        with path.open(errors="replace") as file:
            declared = file.read(_MAX_PROJECTION_BYTES).strip().replace("ISO 8859", "iso8859-")
    name = f"cp{declared}" if declared.isdecimal() else declared or "utf-8"
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise LoadFailed("file.unknown_encoding") from error


class _Features:
    """Reads the features of a shapefile, and counts what GeoJSON does not have."""

    def __init__(self, reader: shapefile.Reader, converter: CoordinateConverter) -> None:
        self._reader, self._converter = reader, converter
        self._measured = 0

    def describe(self) -> Iterator[Notice]:
        """Describe what was left out."""
        if self._measured:
            yield Notice("notice.measures_left_out", count=self._measured)

    def read(self) -> Iterator[Any]:
        """
        Read the features; one whose shape is damaged is a bad element.

        Raises: ``LoadFailed`` with ``file.unknown_encoding``, ``geo.damaged``.
        """
        names = [field[0] for field in self._reader.fields[1:]]
        features = iter(self._reader.iterShapeRecords())
        while True:
            try:
                feature = next(features)
            except StopIteration:
                return
            except UnicodeError as error:
                raise LoadFailed("file.unknown_encoding") from error
            except _DAMAGES as error:
                raise LoadFailed("geo.damaged") from error
            try:
                if _has_too_many_rings(feature.shape):
                    yield BadElement(BadRow("row.too_many_rings"))
                    continue
                geometry = self._read_geometry(feature.shape)
            except _DAMAGES:
                yield BadElement(BadRow("row.bad_geometry"))
                continue
            values = map(_describe_value, feature.record)
            properties = dict(zip(names, values, strict=False))
            yield {"type": "Feature", "properties": properties, "geometry": geometry}

    def _read_geometry(self, shape: shapefile.Shape) -> dict[str, Any] | None:
        """Read a shape with its heights, which pyshp's GeoJSON has only as parts of its points."""
        if shape.shapeType == shapefile.NULL:
            return None
        if heights := getattr(shape, "z", None):
            pairs = zip(shape.points, heights, strict=True)
            shape.points = [(x, y, height) for (x, y, *_), height in pairs]
        self._measured += any(measure is not None for measure in getattr(shape, "m", None) or ())
        return self._converter.convert(shape.__geo_interface__)


def _has_too_many_rings(shape: shapefile.Shape) -> bool:
    """Return whether the holes of a polygon would take very long to find a place."""
    count = len(shape.parts) if shape.shapeType in _POLYGONS else 0
    if (count / 2) ** 2 <= _MAX_COMPARED_RINGS:
        return False
    rings = pairwise((*shape.parts, len(shape.points)))
    outer: int = sum(shapefile.is_cw(shape.points[start:stop]) for start, stop in rings)
    return outer * (count - outer) > _MAX_COMPARED_RINGS


def _describe_value(value: Any) -> Any:
    """Describe a value of the DBF as what JSON can hold."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return Number(value)
    if isinstance(value, float) and math.isfinite(value):
        return Number(format_number(value))
    if isinstance(value, date):
        return value.isoformat()
    return str(value) or None
