"""Read JSON: lists of objects or of rows, by themselves or within objects, NDJSON and GeoJSON."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ....field_types import MAX_FIELDS
from ..messages import BadRow, LoadFailed, NestedTooDeep, Notice, quote_names
from .headers_and_footers import make_unique_names
from .json_parser import MAX_DEPTH, MAX_VALUE_LENGTH, Document, Number, Parser, format_json
from .options import ReadOptions
from .row_writer import TOO_LONG, RowWriter
from .staging import StagedTable, StagingArea, declare_types

if TYPE_CHECKING:
    from .geo import CoordinateConverter

_START_BYTES = 2**16
#: JSON-stat says that it is one; its lists are not of records.
_JSON_STAT = re.compile(r'(?s)(?=.*"version"\s*:\s*"2\.).*"class"\s*:\s*"(dataset|collection)"')
#: The type of a GeoJSON, where neither a list nor an object precedes it.
_GEOJSON = re.compile(
    r'\s*\{[^\[{]*"type"\s*:\s*"(Feature|\w*(?:Collection|Point|String|Polygon))"'
)
#: How a GeoJSON names its system: ``EPSG:25832``, ``urn:ogc:def:crs:EPSG::25832``, ``CRS84``.
_SYSTEM = re.compile(
    r"(?:(?:.*[:/])?(EPSG|ESRI|OGC)(?:[:/][0-9.]*)?[:/])?((?<=[:/])[0-9A-Z]+|CRS84H?)",
    re.IGNORECASE,
)
_WGS_84 = ("EPSG:4326", "EPSG:4979", "OGC:CRS84", "OGC:CRS84H")

#: Names that programs give to the list of records in an object.
_LIST_NAMES = frozenset(
    ("records", "features", "data", "results", "items", "rows", "value", "entries", "elements")
)
_FEATURES = "features"
#: The list is looked for in objects within each other, up to this number.
_MAX_PATH_LENGTH = 4
#: The lists beside rows that have the names of their cells: CKAN's, which is not a list of records
#: even where there is no other, and that of pandas.
_FIELDS, _COLUMNS = "fields", "columns"

# A field's key is its name, or a tuple that begins with it where another may have the same name:
# with its position among the cells of rows, or alone for what a feature has besides properties.
_ID, _GEOMETRY = ("id",), ("geometry",)
_FEATURE_MEMBERS = frozenset(("type", "bbox", "id", "properties", "geometry"))


def read_json(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a JSON file: a list of objects or of rows, or an object that has one (``records_path``).

    A file with an object on each line is read as NDJSON.  Of GeoJSON, the fields are the properties
    of the features, and the geometry as JSON.
    """
    parser = Parser()
    encoding, wanted = _detect_encoding(path, options), options.records_path
    if not wanted and _is_ndjson(path, encoding, parser):
        return read_ndjson(path, options, staging_area)
    file = (path, encoding, parser)
    with Document(*file) as document:
        list_path = _find_chosen(document, wanted) if wanted else _find_list(document, *file[:2])
        if list_path is None:
            raise LoadFailed("json.unknown_path", path=wanted)
    with Document(*file) as document:
        names = _find_row_names(document, list_path) if list_path else ()
    has_features = list_path[-1:] == (_FEATURES,)
    converter = _find_converter(*file, list_path) if has_features else None
    parser.pop_repeated_member()
    with Document(*file) as document, RowWriter(staging_area) as writer:
        builder = _TableBuilder(parser, writer, options, names, converter)
        was_read, list_name = False, list_path[-1] if list_path else ""
        for name in _read_siblings(document, list_path):
            if name != list_name or document.peek_character() != "[":
                document.skip_value()
                continue
            if was_read:
                raise LoadFailed("json.repeated_member", member=name)
            was_read = True
            for line, element in enumerate(document.read_elements(), start=1):
                builder.add_element(line, element)
        document.check_end()
        is_usual = list_path in {(), (_FEATURES,)}
        notices = [] if is_usual else [Notice("notice.nested_list", path=".".join(list_path))]
        if converter:
            notices.append(Notice("notice.coordinates_converted", name=converter.name))
        empty = "geo.no_features" if has_features else "json.no_records"
        return builder.build(notices, empty)


def read_ndjson(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    parser = Parser()
    encoding = _detect_encoding(path, options)
    with path.open(encoding=encoding, newline="\n") as file, RowWriter(staging_area) as writer:
        builder = _TableBuilder(parser, writer, options)
        read_line = partial(file.readline, MAX_VALUE_LENGTH)
        try:
            for number, line in enumerate(iter(read_line, ""), start=1):
                rest = "" if line.endswith("\n") else read_line()
                if rest:
                    while rest and not rest.endswith("\n"):
                        rest = read_line()
                    builder.add_error(number, TOO_LONG)
                elif text := line.strip():
                    try:
                        builder.add_element(number, parser.parse_value(text))
                    except json.JSONDecodeError:
                        builder.add_error(number, BadRow("row.not_json"), text)
                    except NestedTooDeep:
                        builder.add_error(number, BadRow("row.too_deep", most=MAX_DEPTH), text)
        except UnicodeError as error:
            raise LoadFailed("file.unknown_encoding") from error
        return builder.build()


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
    with path.open(encoding=encoding, newline="\n") as file, suppress(ValueError, NestedTooDeep):
        if file.read(_START_BYTES).lstrip()[:1] == "{":
            file.seek(0)
            lines = filter(str.strip, iter(partial(file.readline, MAX_VALUE_LENGTH), ""))
            is_object = isinstance(parser.parse_value(next(lines).strip()), dict)
            return is_object and next(lines, "").lstrip()[:1] == "{"
    return False


def _find_list(document: Document, path: Path, encoding: str) -> tuple[str, ...]:
    """Find the path of the records: the file itself, the list of a usual name, or the only one."""
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
    paths: list[tuple[str, ...]] = []
    empty: list[tuple[str, ...]] = []
    for found, is_empty in _list_lists(document, ()):
        if found[-1] in _LIST_NAMES and not is_empty:
            return found
        if found[-1] != _FIELDS:
            (empty if is_empty else paths).append(found)
    document.check_end()
    if len(paths) > 1:
        raise LoadFailed("json.several_lists", paths=quote_names(map(".".join, paths)))
    geojson = _GEOJSON.match(start)
    found = next(iter((*paths, *empty)), ())
    if not found:
        is_empty = geojson is not None and geojson[1] == "FeatureCollection"
        code = "geo.no_features" if is_empty else "geo.no_collection"
        raise LoadFailed(code if geojson else "json.no_list")
    if found == ("geometries",) or (geojson and found[-1] in {"coordinates", "geometries"}):
        raise LoadFailed("geo.no_collection")
    return found


def _list_lists(
    document: Document, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Find the paths of lists, unread, and whether they are empty (only those of usual names)."""
    for name in document.read_members():
        path, start = (*above, name), document.peek_character()
        if start == "{" and len(path) < _MAX_PATH_LENGTH:
            yield from _list_lists(document, path)
        elif start == "[":
            position = -1
            for position, element in enumerate(document.read_elements()):
                if position == 0 and isinstance(element, dict | list):
                    yield path, False
            if position < 0 and name in _LIST_NAMES:
                yield path, True
        else:
            document.skip_value()


def _find_chosen(document: Document, wanted: str) -> tuple[str, ...] | None:
    """Find the list at a path, whose names are separated by points and may have points."""
    if document.peek_character() == "{":
        for name in document.read_members():
            start = document.peek_character()
            if name == wanted and start == "[":
                return (name,)
            if wanted.startswith(f"{name}.") and start == "{":
                if found := _find_chosen(document, wanted[len(name) + 1 :]):
                    return (name, *found)
            else:
                document.skip_value()
    return None


def _read_siblings(document: Document, path: Sequence[str]) -> Iterator[str]:
    """
    Give the names of the members beside the list at a path; the caller reads or skips each.

    A list that is the whole file has an empty name.
    """
    if not path:
        yield ""
        return
    if document.peek_character() != "{":
        return
    for name in document.read_members():
        if len(path) == 1:
            yield name
        elif name == path[0]:
            yield from _read_siblings(document, path[1:])
        else:
            document.skip_value()


def _find_row_names(document: Document, path: Sequence[str]) -> Sequence[str]:
    """
    Find the names of the cells of the rows at a path; none where they are not beside the rows.

    Source: CKAN ``datastore_search`` and ``datastore_dump``, member ``fields``; pandas
    ``DataFrame.to_json(orient="split")``, member ``columns``.
    """
    names: Sequence[str] = ()
    for name in _read_siblings(document, path):
        is_list = document.peek_character() == "["
        if is_list and name == path[-1]:
            if names or not all(isinstance(each, list) for each in document.read_elements()):
                return names
        elif is_list and name in {_FIELDS, _COLUMNS}:
            given = [
                each.get("id", each.get("name")) if isinstance(each, dict) else each
                for each in document.read_elements()
            ]
            names = [each for each in given if type(each) is str]
            names = names if len(names) == len(given) <= MAX_FIELDS else ()
        else:
            document.skip_value()
    return names


def _find_converter(
    path: Path, encoding: str, parser: Parser, list_path: Sequence[str]
) -> CoordinateConverter | None:
    """Find the converter of the coordinates of a GeoJSON that names a system; None in WGS 84."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find('"crs"'.encode(encoding.removesuffix("-sig"))) < 0:
            return None
    crs = None
    with Document(path, encoding, parser) as document:
        for name in _read_siblings(document, list_path):
            if name == "crs":
                crs = document.read_value()
                break
            document.skip_value()
    if crs is None:
        return None
    properties = crs.get("properties") if isinstance(crs, dict) else None
    named = properties if isinstance(properties, dict) else {}
    code = named.get("name", named.get("urn", f"EPSG:{named.get('code')}"))
    system = _SYSTEM.fullmatch(str(code))
    if not system:
        raise LoadFailed("geo.unknown_coordinates")
    code = f"{system[1] or 'OGC'}:{system[2]}".upper()
    if code in _WGS_84:
        return None
    try:
        geo = import_module(".geo", __package__)
    except ModuleNotFoundError as error:
        raise LoadFailed("file.extra_missing", format=f"GeoJSON, {code}", extra="geo") from error
    return cast("CoordinateConverter", geo.CoordinateConverter(code))


# Elements -----------------------------------------------------------------------------------------


class _TableBuilder:
    """
    Writes elements as rows, and collects what the table is to know of them.

    ``names`` are the names of the cells of rows, where they are not in the first row; ``converter``
    converts the geometries of features.
    """

    def __init__(
        self,
        parser: Parser,
        writer: RowWriter,
        options: ReadOptions,
        names: Sequence[str] = (),
        converter: CoordinateConverter | None = None,
    ) -> None:
        self._parser, self._writer = parser, writer
        self._names, self._converter = names, converter
        self._nulls = frozenset(options.nulls)
        self._may_have_header = not (names or options.no_header)
        self._has_header = False
        self._positions: dict[Hashable, int] = {}
        self._kinds: list[set[type]] = []
        self._add_element: Callable[[int, Any], None] = self._add_first
        self._has_features = False
        self._notices: list[Notice] = []
        self._first_error: tuple[int, BadRow] | None = None

    def add_element(self, line: int, element: Any) -> None:
        """Add a record with its line; the first one decides what all of them must be."""
        repeated = self._parser.pop_repeated_member()
        if repeated is not None:
            self.add_error(line, BadRow("row.repeated_member", member=repeated))
            return
        try:
            self._add_element(line, element)
        except NestedTooDeep:
            self.add_error(line, BadRow("row.too_deep", most=MAX_DEPTH))

    def add_error(self, line: int, error: BadRow, text: str = "") -> None:
        self._parser.pop_repeated_member()  # a bad line may have one
        self._first_error = self._first_error or (line, error)
        self._writer.add_error(line, error, value=text)

    def build(self, notices: Sequence[Notice] = (), empty: str = "json.no_records") -> StagedTable:
        """Build the table; where no record is right, tell what is wrong with the first one."""
        if not self._positions:
            if error := self._first_error:
                raise LoadFailed("json.bad_record", line=error[0], reason=error[1])
            raise LoadFailed(empty)
        # A feature's id comes first, and its geometry last.
        keys = sorted(
            self._positions, key=lambda key: (key != _ID, key == _GEOMETRY, self._positions[key])
        )
        labels = {key: str(key[0] if isinstance(key, tuple) else key) for key in keys}
        # The geometry keeps its name, whatever the names of the properties.
        claims = sorted(keys, key=lambda key: key != _GEOMETRY)
        named = dict(zip(claims, make_unique_names([labels[key] for key in claims]), strict=True))
        names = tuple(named[key] for key in keys)
        positions = [self._positions[key] for key in keys]
        self._writer.widen(len(positions))  # a field may be only in bad records
        self._writer.finish(names, positions)
        staging_area = self._writer.staging_area
        return StagedTable(
            staging_area=staging_area,
            names=names,
            labels=tuple(labels.values()),
            declared_types=declare_types(
                staging_area, [self._kinds[at] for at in positions], {Number}, self._nulls
            ),
            notices=(*notices, *self._notices),
            has_header=self._has_header,
        )

    def _add_first(self, line: int, element: Any) -> None:
        if not isinstance(element, list):
            self._has_features = _is_feature(element)
            self._add_element = self._add_object
            self._add_object(line, element)
            return
        # The first row is the header if it has only texts, and no other names are known.
        self._has_header = self._may_have_header and all(type(cell) is str for cell in element)
        self._add_element = self._add_cells
        names = self._names or (element if self._has_header else [""] * len(element))
        for position, name in enumerate(names):
            self._add_field((name, position))
        self._writer.widen(len(names))
        if not self._has_header:
            if self._may_have_header:
                self._notices.append(Notice("notice.no_header"))
            self._add_cells(line, element)

    def _add_cells(self, line: int, element: Any) -> None:
        if not isinstance(element, list):
            self.add_error(line, BadRow("row.not_a_list"), format_json(element))
        elif len(element) != len(self._kinds):
            error = BadRow("row.cell_count", cells=len(element), header=len(self._kinds))
            self.add_error(line, error)
        else:
            cells = [self._format_value(position, cell) for position, cell in enumerate(element)]
            self._writer.add_row(line, cells)

    def _add_object(self, line: int, element: Any) -> None:
        if not isinstance(element, dict) or (self._has_features and not _is_feature(element)):
            self.add_error(line, BadRow("row.not_an_object"), format_json(element))
            return
        members: dict[Hashable, Any] = element
        if self._has_features:
            geometry = element.get("geometry")
            if self._converter and geometry is not None:
                converted = self._converter.convert(format_json(geometry))
                if converted is None:
                    self.add_error(line, BadRow("row.bad_geometry"))
                    return
                geometry = json.loads(converted)
            members = {_ID: element["id"]} if "id" in element else {}
            members |= element["properties"] or {}
            members |= {(name,): element[name] for name in element if name not in _FEATURE_MEMBERS}
            members[_GEOMETRY] = geometry
        cells: list[str | None] = [None] * len(self._kinds)
        positions = self._positions
        for key, value in members.items():
            position = positions.get(key)
            if position is None:
                position = self._add_field(key)
                cells.append(None)
            cells[position] = self._format_value(position, value)
        if len(cells) > self._writer.width:
            self._writer.widen(len(cells))
        self._writer.add_row(line, cells)

    def _add_field(self, key: Hashable) -> int:
        position = self._positions[key] = len(self._kinds)
        self._kinds.append(set())
        return position

    def _format_value(self, position: int, value: Any) -> str | None:
        kind = type(value)
        if kind is not str and kind is not Number:
            value = None if value is None else format_json(value)
        if kind is not str or value not in self._nulls:
            self._kinds[position].add(kind)
        return cast("str | None", value)


def _is_feature(element: Any) -> bool:
    return (
        isinstance(element, dict)
        and element.get("type") == "Feature"
        and isinstance(element.get("properties", 0), dict | None)
    )
