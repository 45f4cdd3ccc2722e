"""What a map shows: the parameters ``lat``, ``lon``, ``geometry`` and ``title``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..table.columns import Column, find_column
from ..table.query_string import Pair
from .geometry import GEOMETRIES, find_coordinate_fields, find_geometry_field, read_ranges

PARAMETERS = ("lat", "lon", "geometry", "title")

#: Names of fields with the titles of records, the best first.
_TITLES = ("title", "name", "label", "tên", "nom", "nombre")


@dataclass(frozen=True, slots=True)
class MapQuery:
    """One map: of a pair of fields with degrees, or of a field with GeoJSON."""

    latitude: Column | None
    longitude: Column | None
    geometry: Column | None
    title: Column | None

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The parameters of its address."""
        columns = (self.latitude, self.longitude, self.geometry, self.title)
        return tuple(
            (name, column.name)
            for name, column in zip(PARAMETERS, columns, strict=True)
            if column is not None
        )


class MapParser:
    """Reads what a map shows from an address, or proposes it."""

    def __init__(
        self, columns: Sequence[Column], profiles: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Take the columns of all fields."""
        self.numbers = [column for column in columns if column.field_type.is_number]
        self.geometries = [column for column in columns if column.type in GEOMETRIES]
        self.titles = [column for column in columns if column.type == "text"]
        self._columns = {column.name: column for column in columns}
        self._ranges = read_ranges(profiles)

    def parse(self, sent: Mapping[str, str]) -> MapQuery | None:
        """
        Read a map; without fields for the places, propose them.  None if no field suits.

        Raises: ``UnknownField``.
        """
        latitude = find_column(sent.get("lat", ""), self.numbers)
        longitude = find_column(sent.get("lon", ""), self.numbers)
        geometry = find_column(sent.get("geometry", ""), self.geometries)
        title = find_column(sent.get("title", ""), self.titles)
        if not geometry and not (latitude and longitude):
            types = {name: column.type for name, column in self._columns.items()}
            if found := find_coordinate_fields(types, self._ranges):
                latitude, longitude = map(self._columns.__getitem__, found)
            elif name := find_geometry_field(types):
                geometry = self._columns[name]
            else:
                return None
        if geometry:
            latitude = longitude = None
        return MapQuery(latitude, longitude, geometry, title or self._choose_title(geometry))

    def _choose_title(self, geometry: Column | None) -> Column | None:
        columns = [column for column in self.titles if column != geometry]
        names = {column.name.casefold(): column for column in reversed(columns)}
        return next((names[name] for name in _TITLES if name in names), next(iter(columns), None))


def has_map(columns: Sequence[Column], profiles: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the fields have places."""
    return MapParser(columns, profiles).parse({}) is not None
