"""Convert the coordinates of geometries to WGS 84, which GeoJSON has, by pyproj."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyproj import CRS, Transformer
from pyproj.exceptions import ProjError

from ...exceptions.loads import LoadFailed
from ...messages import Notice

_TARGET = "OGC:CRS84"
_WGS_84 = "World Geodetic System 1984"
#: A tenth of a millimetre.
_DECIMALS = 9


class CoordinateConverter:
    """Converts geometries from the system of a file; those of WGS 84 stay as they are."""

    def __init__(self, definition: str) -> None:
        """
        Read the definition of the system, as WKT or a code such as ``EPSG:3405``.

        Raises: ``LoadFailed`` with ``geo.unknown_coordinates``.
        """
        try:
            system = CRS.from_user_input(definition)
            self._name = system.name
            datum = system.datum.name if system.datum else ""
            is_wgs84 = system.is_geographic and datum.startswith(_WGS_84)
            self._transformer = (
                None if is_wgs84 else Transformer.from_crs(system, _TARGET, always_xy=True)
            )
        except ProjError as error:
            raise LoadFailed("geo.unknown_coordinates") from error

    def describe(self) -> Iterator[Notice]:
        """Describe the conversion, if there is one."""
        if self._transformer:
            yield Notice("notice.coordinates_converted", name=self._name)

    def convert(self, geometry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """
        Convert a geometry of GeoJSON; one without coordinates is none.

        Raises: ``ValueError`` if a coordinate is not finite, or cannot be converted.
        """
        if geometry is None:
            return None
        if geometry["type"] == "GeometryCollection":
            parts = [self.convert(part) for part in geometry["geometries"]]
            return {"type": "GeometryCollection", "geometries": [part for part in parts if part]}
        coordinates = geometry["coordinates"]
        if not coordinates:
            return None
        return {"type": geometry["type"], "coordinates": self._convert_all(coordinates)}

    def _convert_all(self, coordinates: Sequence[Any]) -> list[Any]:
        if not coordinates or isinstance(coordinates[0], Sequence):
            return [self._convert_all(each) for each in coordinates]
        if not all(math.isfinite(number) for number in coordinates):
            raise ValueError
        if not self._transformer:
            return list(coordinates)
        x, y, *rest = coordinates
        longitude, latitude = self._transformer.transform(x, y)
        if not (math.isfinite(longitude) and math.isfinite(latitude)):
            raise ValueError
        return [round(longitude, _DECIMALS), round(latitude, _DECIMALS), *rest]
