"""Stage JSON's objects and lists, and find their fields on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..messages import BadRow, Notice
from ..messages.failures import LoadFailed, NestedTooDeep
from .header_rows import make_unique_names
from .json_parser import MAX_DEPTH, Number, format_json
from .options import ReadOptions
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea, declare_types

if TYPE_CHECKING:
    from .gdal import CoordinateConverter

# A field's key is its name, or a tuple that begins with it where another may have the same name:
# with its position among the cells of rows, or alone for what a feature has besides properties.
_ID, _GEOMETRY = ("id",), ("geometry",)
_FEATURE_MEMBERS = frozenset(("type", "bbox", "id", "properties", "geometry"))
_NULL = type(None)


@dataclass(frozen=True, slots=True)
class BadElement:
    """An element that cannot be loaded, with its text."""

    error: BadRow
    text: str = ""


class RecordTableBuilder:
    """Writes elements as rows, and collects what the table is to know of them."""

    def __init__(
        self,
        staging_area: StagingArea,
        writer: RowWriter,
        options: ReadOptions,
        names: Sequence[str] = (),
        converter: CoordinateConverter | None = None,
    ) -> None:
        """
        Begin without a field.

        ``names`` are the names of the cells of rows, where they are not in the first row.
        ``converter`` converts the geometries of features.
        """
        self._names, self._converter = names, converter
        self._staging_area = staging_area
        self._nulls = frozenset(options.nulls)
        self._may_have_header = not (names or options.no_header)
        self._has_header = False
        self._writer = writer
        self._positions: dict[Hashable, int] = {}
        self._kinds: list[set[type]] = []
        self._add_element: Callable[[int, Any], None] = self._add_first
        self._has_features = False
        self._notices: list[Notice] = []
        self._first_error: tuple[int, BadRow] | None = None

    def add_error(self, line: int, error: BadRow, text: str = "") -> None:
        """Add the error of an element that cannot be loaded, with its text."""
        self._first_error = self._first_error or (line, error)
        self._writer.add_error(line, error, value=text)

    def add_element(self, line: int, element: Any) -> None:
        """Add a record; the first one decides what all of them must be."""
        try:
            self._add_element(line, element)
        except NestedTooDeep:
            self.add_error(line, BadRow("row.too_deep", most=MAX_DEPTH))

    def build(self, notices: Sequence[Notice]) -> StagedTable:
        """
        Build the table of all records.

        Raises: ``LoadFailed`` with ``json.no_records``, or ``json.bad_record`` with what is wrong
        with the first record where no record is right.
        """
        if not self._positions:
            if error := self._first_error:
                raise LoadFailed("json.bad_record", line=error[0], reason=error[1])
            raise LoadFailed("json.no_records")
        # A feature's id comes first, and its geometry last.
        keys = sorted(
            self._positions, key=lambda key: (key != _ID, key == _GEOMETRY, self._positions[key])
        )
        names = _make_names(keys)
        positions = [self._positions[key] for key in keys]
        self._writer.widen(len(positions))  # a field may be only in bad records
        self._writer.finish(names, positions)
        return StagedTable(
            staging_area=self._staging_area,
            names=names,
            labels=tuple(_get_label(key) for key in keys),
            declared_types=declare_types(
                self._staging_area, [self._kinds[at] for at in positions], {Number}, self._nulls
            ),
            notices=(*notices, *self._notices),
            has_header=self._has_header,
        )

    def _add_first(self, line: int, element: Any) -> None:
        if isinstance(element, list):
            self._add_element = self._add_cells
            self._add_header(line, element)
        else:
            self._has_features = _is_feature(element)
            self._add_element = self._add_object
            self._add_object(line, element)

    def _add_header(self, line: int, header: list[Any]) -> None:
        """Use a first row as the header, if it has only texts and no other names are known."""
        is_header = self._may_have_header and all(type(cell) is str for cell in header)
        self._has_header = is_header
        names = self._names or (header if is_header else [""] * len(header))
        for position, name in enumerate(names):
            self._add_field((name, position))
        self._writer.widen(len(names))
        if self._may_have_header and not is_header:
            self._notices.append(Notice("notice.no_header"))
        if not is_header:
            self._add_cells(line, header)

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
        if self._has_features and _is_feature(element):
            geometry = element.get("geometry")
            if self._converter and geometry is not None:
                content = format_json(geometry).encode()
                converted = self._converter.convert(content, is_json=True)
                if converted is None:
                    self.add_error(line, BadRow("row.bad_geometry"))
                    return
                element = {**element, "geometry": json.loads(converted)}
            self._add_members(line, _read_feature(element))
        elif isinstance(element, dict) and not self._has_features:
            self._add_members(line, element.items())
        else:
            self.add_error(line, BadRow("row.not_an_object"), format_json(element))

    def _add_members(self, line: int, members: Iterable[tuple[Hashable, Any]]) -> None:
        cells: list[str | None] = [None] * len(self._kinds)
        positions = self._positions
        for key, value in members:
            position = positions.get(key)
            if position is None:
                position = self._add_field(key)
                cells.append(None)
            cells[position] = self._format_value(position, value)
        if len(cells) > self._writer.width:
            self._writer.widen(len(cells))
        self._writer.add_row(line, cells)

    def _add_field(self, key: Hashable) -> int:
        position = len(self._kinds)
        self._positions[key] = position
        self._kinds.append(set())
        return position

    def _format_value(self, position: int, value: Any) -> str | None:
        """Write a value as text, and note its kind."""
        kind = type(value)
        if kind is not str and kind is not Number:
            value = None if value is None else format_json(value)
        if kind is not str or value not in self._nulls:
            self._kinds[position].add(kind)
        return cast("str | None", value)


# Features -----------------------------------------------------------------------------------------


def _is_feature(element: Any) -> bool:
    return (
        isinstance(element, dict)
        and element.get("type") == "Feature"
        and isinstance(element.get("properties", 0), dict | _NULL)
    )


def _read_feature(feature: Mapping[str, Any]) -> Iterator[tuple[Hashable, Any]]:
    if "id" in feature:
        yield _ID, feature["id"]
    yield from (feature["properties"] or {}).items()
    yield from (((name,), each) for name, each in feature.items() if name not in _FEATURE_MEMBERS)
    yield _GEOMETRY, feature.get("geometry")


# Fields -------------------------------------------------------------------------------------------


def _make_names(keys: Sequence[Hashable]) -> tuple[str, ...]:
    """Name the fields; the geometry keeps its name, whatever the names of the properties."""
    claims = sorted(keys, key=lambda key: key != _GEOMETRY)
    names = make_unique_names(tuple(_get_label(key) for key in claims))
    named = dict(zip(claims, names, strict=True))
    return tuple(named[key] for key in keys)


def _get_label(key: Hashable) -> str:
    return str(key[0] if isinstance(key, tuple) else key)
