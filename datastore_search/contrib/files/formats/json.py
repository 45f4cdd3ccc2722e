"""Read JSON: lists of objects or of rows, by themselves or within objects, NDJSON and GeoJSON."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..messages import BadRow, Notice
from ..messages.failures import LoadFailed, NestedTooDeep
from .json_layouts import find_chosen, find_list, find_member, find_row_names, read_records
from .json_parser import MAX_DEPTH, MAX_VALUE_LENGTH, Document, Parser
from .json_records import BadElement, RecordTableBuilder
from .options import ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea

if TYPE_CHECKING:
    from .gdal import CoordinateConverter

_START_BYTES = 2**16
#: JSON-stat says that it is one; its lists are not of records.
_JSON_STAT = re.compile(r'(?s)(?=.*"version"\s*:\s*"2\.).*"class"\s*:\s*"(dataset|collection)"')
#: The type of a GeoJSON, where neither a list nor an object precedes it.
_GEOJSON = re.compile(
    r'\s*\{[^\[{]*"type"\s*:\s*"(Feature|\w*(?:Collection|Point|String|Polygon))"'
)
_GEOJSON_CODES = {"FeatureCollection": "no_features"}
_COORDINATES = frozenset(("coordinates", "geometries"))
#: How a GeoJSON names its system: ``EPSG:25832``, ``urn:ogc:def:crs:EPSG::25832``, ``CRS84``.
_SYSTEM = re.compile(
    r"(?:(?:.*[:/])?(EPSG|ESRI|OGC)(?:[:/][0-9.]*)?[:/])?((?<=[:/])[0-9A-Z]+|CRS84H?)",
    re.IGNORECASE,
)
_WGS_84 = ("EPSG:4326", "EPSG:4979", "OGC:CRS84", "OGC:CRS84H")


def read_json(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a JSON file: a list of objects or of rows, or an object that has one.

    ``records_path`` chooses the list.

    A file with an object on each line is read as NDJSON.  Of GeoJSON, the fields are the properties
    of the features, and the geometry as JSON.
    """
    encoding = _detect_encoding(path, options)
    parser = Parser()
    if not options.records_path and _is_ndjson(path, encoding, parser):
        return read_ndjson(path, options, staging_area)
    list_path = _find_list_path(path, encoding, parser, options.records_path)
    with Document(path, encoding, parser) as document:
        names = find_row_names(document, list_path)
    converter = _find_converter(path, encoding, parser, list_path)
    parser.pop_repeated_member()
    with Document(path, encoding, parser) as document, RowWriter(staging_area) as writer:
        builder = RecordTableBuilder(staging_area, writer, options, names, converter)
        elements = enumerate(read_records(document, list_path), start=1)
        is_usual = list_path in {(), ("features",)}
        notices = [] if is_usual else [Notice("notice.nested_list", path=".".join(list_path))]
        if converter:
            notices.append(Notice("notice.coordinates_converted", name=converter.name))
        try:
            return _build_table(builder, parser, elements, notices)
        except LoadFailed as failure:
            if failure.code == "json.no_records" and list_path[-1:] == ("features",):
                raise LoadFailed("geo.no_features") from None
            raise


def read_ndjson(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage a file with a JSON object on each line."""
    parser = Parser()
    encoding = _detect_encoding(path, options)
    with RowWriter(staging_area) as writer:
        builder = RecordTableBuilder(staging_area, writer, options)
        return _build_table(builder, parser, _read_lines(path, encoding, parser))


def _detect_encoding(path: Path, options: ReadOptions) -> str:
    """Detect the encoding: a mark, where NULs are (JSON begins with ASCII), or the option."""
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    if not start.strip():
        raise LoadFailed("file.empty")
    found = json.detect_encoding(start)
    return options.encoding if found == "utf-8" and options.encoding else found


# Which list ---------------------------------------------------------------------------------------


def _is_ndjson(path: Path, encoding: str, parser: Parser) -> bool:
    """Return whether the first line is an object of its own, and another line begins like one."""
    try:
        with path.open(encoding=encoding, newline="\n") as file:
            if file.read(_START_BYTES).lstrip()[:1] != "{":
                return False
            file.seek(0)
            is_object = isinstance(parser.parse_value(_read_line(file)), dict)
            return is_object and _read_line(file).startswith("{")
    except (json.JSONDecodeError, NestedTooDeep):
        return False
    except UnicodeError as error:
        raise LoadFailed("file.unknown_encoding") from error
    finally:
        parser.pop_repeated_member()


def _read_line(file: TextIO) -> str:
    """Read the next line that is not blank; one that is too long is cut."""
    while line := file.readline(MAX_VALUE_LENGTH):
        if line.strip():
            return line.strip()
    return ""


def _find_list_path(path: Path, encoding: str, parser: Parser, wanted: str) -> tuple[str, ...]:
    """Find the path of the records in a file: the chosen path, or the path of a list in it."""
    with Document(path, encoding, parser) as document:
        if wanted:
            return find_chosen(document, wanted)
        if document.peek_character() == "[":
            return ()
        if document.peek_character() != "{":
            document.read_value()
            document.check_end()
            raise LoadFailed("json.no_list")
        with path.open(encoding=encoding, errors="replace") as file:
            start = file.read(_START_BYTES)
        if _JSON_STAT.match(start):
            raise LoadFailed("file.save_as_csv", format="JSON-stat")
        geojson = _GEOJSON.match(start)
        code = f"geo.{_GEOJSON_CODES.get(geojson[1], 'no_collection')}" if geojson else ""
        try:
            found = find_list(document)
        except LoadFailed as failure:
            raise LoadFailed(code) if code and failure.code == "json.no_list" else failure from None
        finally:
            parser.pop_repeated_member()
        if found == ("geometries",) or (code and found[-1] in _COORDINATES):
            raise LoadFailed("geo.no_collection")
        return found


def _find_converter(
    path: Path, encoding: str, parser: Parser, list_path: Sequence[str]
) -> CoordinateConverter | None:
    """Find the converter of the coordinates of a GeoJSON that names a system; None in WGS 84."""
    if list_path[-1:] != ("features",):
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find('"crs"'.encode(encoding.removesuffix("-sig"))) < 0:
            return None
    with Document(path, encoding, parser) as document:
        crs = find_member(document, list_path, "crs")
    if crs is None:
        return None
    properties = crs.get("properties") if isinstance(crs, dict) else None
    named = properties if isinstance(properties, dict) else {}
    name = str(named.get("name", named.get("urn", f"EPSG:{named.get('code')}")))
    system = _SYSTEM.fullmatch(name)
    if not system:
        raise LoadFailed("geo.unknown_coordinates")
    code = f"{system[1] or 'OGC'}:{system[2]}".upper()
    if code in _WGS_84:
        return None
    try:
        gdal = import_module(".gdal", __package__)
    except ModuleNotFoundError as error:
        raise LoadFailed("file.extra_missing", format="GeoJSON", extra="geo") from error
    converter: CoordinateConverter = gdal.CoordinateConverter(code)
    return converter


# Elements -----------------------------------------------------------------------------------------


def _read_lines(path: Path, encoding: str, parser: Parser) -> Iterator[tuple[int, Any]]:
    with path.open(encoding=encoding, newline="\n") as file:
        number = 0
        while line := file.readline(MAX_VALUE_LENGTH):
            number += 1
            if not line.endswith("\n") and _skip_rest_of_line(file):
                too_long = BadRow("row.too_long", most=MAX_VALUE_LENGTH // 2**20)
                yield number, BadElement(too_long)
            elif line := line.strip():
                yield number, _parse_line(line, parser)


def _skip_rest_of_line(file: TextIO) -> bool:
    """Read the rest of a line that is too long, and return whether there was any."""
    has_rest = False
    while piece := file.readline(MAX_VALUE_LENGTH):
        has_rest = True
        if piece.endswith("\n"):
            break
    return has_rest


def _parse_line(line: str, parser: Parser) -> Any:
    try:
        return parser.parse_value(line)
    except json.JSONDecodeError:
        return BadElement(BadRow("row.not_json"), line)
    except NestedTooDeep:
        return BadElement(BadRow("row.too_deep", most=MAX_DEPTH), line)


def _build_table(
    builder: RecordTableBuilder,
    parser: Parser,
    elements: Iterable[tuple[int, Any]],
    notices: Sequence[Notice] = (),
) -> StagedTable:
    try:
        for line, element in elements:
            repeated = parser.pop_repeated_member()
            if isinstance(element, BadElement):
                builder.add_error(line, element.error, element.text)
            elif repeated is not None:
                builder.add_error(line, BadRow("row.repeated_member", member=repeated))
            else:
                builder.add_element(line, element)
    except UnicodeError as error:
        raise LoadFailed("file.unknown_encoding") from error
    return builder.build(notices)
