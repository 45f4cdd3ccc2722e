"""
Read the geometries of a GeoPackage, which are WKB with a header, as those of GeoJSON.

Source: OGC GeoPackage 1.3, 2.1.3 (the header); ISO 19125-1 and SQL/MM (the kinds of WKB).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from ...messages import Notice

_HEADER = struct.Struct("2sBB4s")
_MAGIC, _VERSION = b"GP", 0
_EXTENDED = 0b100000
#: The bytes of the envelope after the header, by what the header says of it.
_ENVELOPE_BYTES = (0, 32, 48, 48, 64)
#: The ids of systems that are not known.
UNDEFINED_SYSTEMS = (-1, 0)

_KINDS = (
    "Point",
    "LineString",
    "Polygon",
    "MultiPoint",
    "MultiLineString",
    "MultiPolygon",
    "GeometryCollection",
)
#: Curves, surfaces and triangles, which GeoJSON does not have.
_OTHER_KINDS = range(8, 18)
#: What the thousands of a kind stand for: the numbers of a position, those of GeoJSON, and M.
_DIMENSIONS = ((2, 2, False), (3, 3, False), (3, 2, True), (4, 3, True))
_BYTE_ORDERS = (">", "<")

_NUMBER_BYTES, _COUNT_BYTES = 8, 4
#: A geometry within another one has at least its byte order, its kind and a count.
_MIN_PART_BYTES = 9
#: Collections within each other.
_MAX_DEPTH = 32


class GeometryReader:
    """Reads the geometries of a table, and counts what GeoJSON does not have."""

    def __init__(self, system: int) -> None:
        """
        Begin with the id of the system of the table.

        Programs write that it is unknown into a geometry, but not that it is another one.
        """
        self._systems = {system, *UNDEFINED_SYSTEMS}
        self._others = 0
        self._measured = 0

    def describe(self) -> Iterator[Notice]:
        """Describe what was left out."""
        if self._others:
            yield Notice("notice.geometry_kinds", count=self._others)
        if self._measured:
            yield Notice("notice.measures_left_out", count=self._measured)

    def read(self, content: bytes) -> dict[str, Any] | None:
        """
        Read a geometry; one without coordinates, or that GeoJSON does not have, is none.

        Raises: ``ValueError`` if it is damaged, or has another system.
        """
        try:
            wkb = _Wkb(content, self._find_wkb(content))
            geometry = wkb.read()
        except struct.error as error:
            raise ValueError from error
        except _OtherKindError:
            self._others += 1
            return None
        self._measured += wkb.has_measures
        return geometry

    def _find_wkb(self, content: bytes) -> int:
        """
        Return where the WKB begins, behind the header.

        Raises: ``ValueError``, ``struct.error``.
        """
        magic, version, flags, system = _HEADER.unpack_from(content)
        envelope = flags >> 1 & 7
        if (magic, version) != (_MAGIC, _VERSION) or envelope >= len(_ENVELOPE_BYTES):
            raise ValueError
        if struct.unpack(f"{_BYTE_ORDERS[flags & 1]}i", system)[0] not in self._systems:
            raise ValueError
        if flags & _EXTENDED:
            raise _OtherKindError
        return _HEADER.size + _ENVELOPE_BYTES[envelope]


class _OtherKindError(Exception):
    """A geometry is of a kind that GeoJSON does not have."""


class _Wkb:
    """
    A geometry in WKB.

    What a count promises is compared with the bytes that are left before it is believed.
    """

    def __init__(self, content: bytes, start: int) -> None:
        self._content = memoryview(content)
        self._position = start
        self.has_measures = False

    def read(self) -> dict[str, Any] | None:
        """
        Read the geometry, which is all that is left.

        Raises: ``ValueError``, ``struct.error``, ``_OtherKindError``.
        """
        geometry = self._read_geometry(0)
        if self._position != len(self._content):
            raise ValueError
        return geometry

    def _read_geometry(self, depth: int) -> dict[str, Any] | None:
        if depth > _MAX_DEPTH:
            raise ValueError
        (number,) = self._unpack("B")
        if number >= len(_BYTE_ORDERS):
            raise ValueError
        order = _BYTE_ORDERS[number]
        (code,) = self._unpack(f"{order}I")
        thousands, kind = divmod(code, 1000)
        if thousands >= len(_DIMENSIONS):
            raise ValueError
        if kind in _OTHER_KINDS:
            raise _OtherKindError
        if not 1 <= kind <= len(_KINDS):
            raise ValueError
        name = _KINDS[kind - 1]
        if name == "GeometryCollection":
            geometries = list(self._read_parts(order, depth))
            return {"type": name, "geometries": geometries} if geometries else None
        coordinates = self._read_coordinates(name, order, thousands, depth)
        return {"type": name, "coordinates": coordinates} if coordinates else None

    def _read_coordinates(self, name: str, order: str, thousands: int, depth: int) -> Sequence[Any]:
        """Read coordinates as GeoJSON has them; they are empty where there are none."""
        if name == "Point":
            (position,) = self._read_positions(order, thousands, 1)
            return () if all(map(math.isnan, position)) else position
        if name == "LineString":
            return self._read_line(order, thousands)
        if name == "Polygon":
            count = self._read_count(order, _COUNT_BYTES)
            return [line for _ in range(count) if (line := self._read_line(order, thousands))]
        parts = self._read_parts(order, depth, kind=name.removeprefix("Multi"))
        return [part["coordinates"] for part in parts]

    def _read_parts(self, order: str, depth: int, kind: str = "") -> Iterator[dict[str, Any]]:
        """Read the geometries within one that are not empty; all must be of the kind, if any."""
        for _ in range(self._read_count(order, _MIN_PART_BYTES)):
            part = self._read_geometry(depth + 1)
            if part and kind not in {"", part["type"]}:
                raise ValueError
            if part:
                yield part

    def _read_line(self, order: str, thousands: int) -> list[tuple[float, ...]]:
        size, _kept, _has_measures = _DIMENSIONS[thousands]
        return self._read_positions(order, thousands, self._read_count(order, size * _NUMBER_BYTES))

    def _read_positions(self, order: str, thousands: int, count: int) -> list[tuple[float, ...]]:
        size, kept, has_measures = _DIMENSIONS[thousands]
        self.has_measures |= has_measures
        end = self._position + count * size * _NUMBER_BYTES
        if end > len(self._content):
            raise ValueError
        positions = struct.iter_unpack(f"{order}{size}d", self._content[self._position : end])
        self._position = end
        return [each[:kept] for each in positions]

    def _read_count(self, order: str, item_bytes: int) -> int:
        (count,) = self._unpack(f"{order}I")
        if count * item_bytes > len(self._content) - self._position:
            raise ValueError
        return int(count)

    def _unpack(self, pattern: str) -> tuple[Any, ...]:
        values = struct.unpack_from(pattern, self._content, self._position)
        self._position += struct.calcsize(pattern)
        return values
