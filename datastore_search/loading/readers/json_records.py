"""
Objects and lists on their way into the staged table.

Fields are found on the way: the members of all objects, or the cells of a first row.  Of features,
as GeoJSON has them, the properties are fields.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...exceptions.loads import LoadFailed, NestedTooDeep
from ...messages import BadRow, Notice
from .headers import unique_names
from .json_parser import DEPTH_MOST, Number, written
from .numeric_columns import find_number_types, has_non_numbers
from .row_writer import RowWriter
from .staging import StagedTable, StagingArea

#: What a feature has besides its properties; a property may be called the same.
_ID, _GEOMETRY = ("id",), ("geometry",)
_FEATURE_OWN = frozenset(("type", "bbox", "id", "properties", "geometry"))
_NOTHING = type(None)


@dataclass(frozen=True, slots=True)
class BadElement:
    """What stands in the place of a record that cannot be read."""

    why: BadRow
    text: str = ""


class Filling:
    """The table while records are added."""

    def __init__(self, place: StagingArea, rows: RowWriter, nulls: Sequence[str]) -> None:
        """Begin without a field; ``nulls`` are texts that mean nothing."""
        self._place = place
        self._nulls = frozenset(nulls)
        self._rows = rows
        self._places: dict[Hashable, int] = {}
        self._kinds: list[set[type]] = []
        self._add: Callable[[int, Any], None] = self._add_first
        self._notices: list[Notice] = []

    def refuse(self, line: int, element: BadElement) -> None:
        """Note that an element cannot be loaded."""
        self._rows.add_error(line, element.why, value=element.text)

    def add(self, line: int, element: Any) -> None:
        """Add a record."""
        try:
            self._add(line, element)
        except NestedTooDeep:
            self.refuse(line, BadElement(BadRow("row.too_deep", most=DEPTH_MOST)))

    def table(self, notices: Sequence[Notice]) -> StagedTable:
        """
        Give the table when all records have been added.

        Raises: ``LoadFailed`` with ``json.no_records``.
        """
        if not self._places:
            raise LoadFailed("json.no_records")
        keys = _in_order(self._places)
        names = _names(keys)
        places = [self._places[key] for key in keys]
        self._rows.widen(len(places))  # a field may be that of bad records alone
        self._rows.finish(names, places)
        kinds = [self._kinds[place] - {_NOTHING} for place in places]
        numbers = {place for place, found in enumerate(kinds) if found == {Number}}
        told = find_number_types(self._place, sorted(numbers), self._nulls)
        if has_non_numbers(self._place, sorted(numbers)):
            self._notices.append(Notice("notice.json_constants"))
        return StagedTable(
            staging_area=self._place,
            names=names,
            labels=tuple(_label(key) for key in keys),
            declared_types=tuple(
                told.get(place) or _told(found) for place, found in enumerate(kinds)
            ),
            notices=(*notices, *self._notices),
        )

    # What is added: the first element decides.

    def _add_first(self, line: int, element: Any) -> None:
        if isinstance(element, list):
            self._add = self._add_cells
            self._begin(line, element)
        else:
            self._add = self._add_feature if _is_feature(element) else self._add_object
            self._add(line, element)

    def _begin(self, line: int, header: list[Any]) -> None:
        """Take a first row as header, if it only has texts."""
        named = all(isinstance(cell, str) and not isinstance(cell, Number) for cell in header)
        for place, cell in enumerate(header):
            self._new(_Cell(place, cell if named else ""))
        self._rows.widen(len(header))
        if not named:
            self._notices.append(Notice("notice.no_header"))
            self._add_cells(line, header)

    def _add_cells(self, line: int, element: Any) -> None:
        if not isinstance(element, list):
            self.refuse(line, BadElement(BadRow("row.not_a_list"), written(element)))
        elif len(element) != len(self._kinds):
            self.refuse(
                line,
                BadElement(BadRow("row.cell_count", cells=len(element), header=len(self._kinds))),
            )
        else:
            self._rows.add_row(line, [self._text(*found) for found in enumerate(element)])

    def _add_feature(self, line: int, element: Any) -> None:
        if _is_feature(element):
            self._add_members(line, _members_of_feature(element))
        else:
            self.refuse(line, BadElement(BadRow("row.not_an_object"), written(element)))

    def _add_object(self, line: int, element: Any) -> None:
        if isinstance(element, dict):
            self._add_members(line, element.items())
        else:
            self.refuse(line, BadElement(BadRow("row.not_an_object"), written(element)))

    def _add_members(self, line: int, members: Iterable[tuple[Hashable, Any]]) -> None:
        cells: list[str | None] = [None] * len(self._kinds)
        places = self._places
        for key, value in members:
            place = places.get(key)
            if place is None:
                place = self._new(key)
                cells.append(None)
            cells[place] = self._text(place, value)
        if len(cells) > self._rows.width:
            self._rows.widen(len(cells))
        self._rows.add_row(line, cells)

    def _new(self, key: Hashable) -> int:
        place = len(self._kinds)
        self._places[key] = place
        self._kinds.append(set())
        return place

    def _text(self, place: int, value: Any) -> str | None:
        """Write a value as the text that is staged, and note its kind."""
        kind = type(value)
        if kind is not str and kind is not Number:
            value = None if value is None else written(value)
        if kind is not str or value not in self._nulls:
            self._kinds[place].add(kind)
        return cast("str | None", value)


@dataclass(frozen=True, slots=True)
class _Cell:
    """The key of a field of rows: names may repeat."""

    place: int
    label: str


# Features -----------------------------------------------------------------------------------------


def _is_feature(element: Any) -> bool:
    return (
        isinstance(element, dict)
        and element.get("type") == "Feature"
        and isinstance(element.get("properties", 0), dict | _NOTHING)
    )


def _members_of_feature(feature: Mapping[str, Any]) -> Iterator[tuple[Hashable, Any]]:
    if "id" in feature:
        yield _ID, feature["id"]
    yield from (feature["properties"] or {}).items()
    yield from (((name,), each) for name, each in feature.items() if name not in _FEATURE_OWN)
    yield _GEOMETRY, feature.get("geometry")


# Fields -------------------------------------------------------------------------------------------


def _in_order(places: Mapping[Hashable, int]) -> list[Hashable]:
    """Put a feature's id first and its geometry last."""
    return sorted(places, key=lambda key: (key != _ID, key == _GEOMETRY, places[key]))


def _names(keys: Sequence[Hashable]) -> tuple[str, ...]:
    """Name the fields; the geometry is called so, whatever the properties are called."""
    claims = sorted(keys, key=lambda key: key != _GEOMETRY)
    named = dict(zip(claims, unique_names(tuple(_label(key) for key in claims)), strict=True))
    return tuple(named[key] for key in keys)


def _label(key: Hashable) -> str:
    if isinstance(key, _Cell):
        return key.label
    return str(key[0] if isinstance(key, tuple) else key)


def _told(kinds: set[type]) -> str | None:
    """Say what a file's values are, where they are of one kind."""
    if not kinds:
        return None
    if kinds == {bool}:
        return "bool"
    return "json" if kinds <= {dict, list} else "text"
