"""
Read the places of KML and GPX as features of GeoJSON, whose coordinates are WGS 84 in all three.

Of KML, a placemark is a record: its texts, its data, its folder and its geometry.  Of GPX, a record
is a point, with the texts of the route or track around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...messages import Notice
from .json_parser import Number
from .xml_parser import Element, ElementPath, describe_element, group_children

PLACEMARK = "Placemark"

_GPX_POINTS = frozenset(
    (("gpx", "wpt"), ("gpx", "rte", "rtept"), ("gpx", "trk", "trkseg", "trkpt"))
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_GEOMETRIES = {"Point": "Point", "LineString": "LineString", "LinearRing": "LineString"}
_OTHER_GEOMETRIES = frozenset(("Model", "Track", "MultiTrack", "PhotoOverlay"))
#: How a placemark is drawn, which is no data.
_STYLES = frozenset(
    ("styleUrl", "Style", "StyleMap", "visibility", "open", "LookAt", "Camera", "Region")
)
_MIN_POSITION, _MAX_POSITION = 2, 3


def is_gpx_point(path: ElementPath) -> bool:
    """Return whether elements at a path of a GPX are points."""
    return path in _GPX_POINTS


class GpxReader:
    """Reads points, and numbers the segments of tracks."""

    def __init__(self) -> None:
        """Begin without a segment."""
        self._track: Element | None = None
        self._segment: Element | None = None
        self._number = 0

    def read_point(self, point: Element, ancestors: tuple[Element, ...]) -> dict[str, Any]:
        """
        Read a point as a feature.

        Raises: ``ValueError`` if its coordinates cannot be read.
        """
        position = [point.attributes.get("lon", ""), point.attributes.get("lat", "")]
        if elevation := point.find("ele"):
            position.append(elevation.text)
        properties: dict[str, Any] = {}
        for ancestor in ancestors[1:]:
            texts = ((child.name, child.text) for child in ancestor.children if child.is_leaf)
            properties |= {f"{ancestor.name}_{name}": text for name, text in texts}
        if ancestors[-1].name == "trkseg":
            properties["trkseg"] = Number(self._number_segment(ancestors))
        geometry = {"type": "Point", "coordinates": _parse_position(position)}
        return _build_feature({**properties, **group_children(point)}, geometry)

    def _number_segment(self, ancestors: tuple[Element, ...]) -> int:
        """Return the number of a segment within its track."""
        *_, track, segment = ancestors
        if segment is not self._segment:
            self._number = self._number + 1 if track is self._track else 1
            self._track, self._segment = track, segment
        return self._number


class FeatureReader:
    """Reads placemarks, and counts the shapes that GeoJSON does not have."""

    def __init__(self) -> None:
        """Begin without a shape."""
        self._others = 0

    def describe(self) -> Iterator[Notice]:
        """Describe the shapes that were left out."""
        if self._others:
            yield Notice("notice.geometry_kinds", count=self._others)

    def read_placemark(self, placemark: Element, ancestors: tuple[Element, ...]) -> dict[str, Any]:
        """
        Read a placemark as a feature.

        Raises: ``ValueError`` if its coordinates cannot be read.
        """
        properties: dict[str, Any] = {}
        folders = [each.find("name") for each in ancestors if each.name == "Folder"]
        if names := [folder.text for folder in folders if folder]:
            properties["folder"] = "/".join(names)
        geometries = []
        for child in placemark.children:
            if child.name == "ExtendedData":
                properties |= _read_data(child)
            elif child.name in {"TimeStamp", "TimeSpan"}:
                properties |= group_children(child)
            elif child.name in _OTHER_GEOMETRIES:
                self._others += 1
            elif geometry := self._read_geometry(child):
                geometries.append(geometry)
            elif child.name not in _STYLES:
                properties[child.name] = describe_element(child)
        if "id" in placemark.attributes:
            properties = {"id": placemark.attributes["id"], **properties}
        geometry = geometries[0] if len(geometries) == 1 else _join_geometries(geometries)
        return _build_feature(properties, geometry if geometries else None)

    def _read_geometry(self, element: Element) -> dict[str, Any] | None:
        """Read a geometry; None for an element that is none."""
        if element.name in _GEOMETRIES:
            positions = _read_coordinates(element)
            coordinates = positions[0] if element.name == "Point" else positions
            return {"type": _GEOMETRIES[element.name], "coordinates": coordinates}
        if element.name == "Polygon":
            rings = [
                _read_coordinates(ring)
                for boundary in ("outerBoundaryIs", "innerBoundaryIs")
                for child in element.children
                if child.name == boundary
                for ring in child.children
                if ring.name == "LinearRing"
            ]
            return {"type": "Polygon", "coordinates": rings}
        if element.name == "MultiGeometry":
            self._others += sum(child.name in _OTHER_GEOMETRIES for child in element.children)
            parts = [part for child in element.children if (part := self._read_geometry(child))]
            return _join_geometries(parts)
        return None


def _join_geometries(parts: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = {part["type"] for part in parts}
    if len(kinds) == 1 and (kind := kinds.pop()) in {"Point", "LineString", "Polygon"}:
        return {"type": f"Multi{kind}", "coordinates": [part["coordinates"] for part in parts]}
    return {"type": "GeometryCollection", "geometries": parts}


def _read_data(extended: Element) -> dict[str, Any]:
    """Read the data of a placemark, with and without a schema."""
    properties: dict[str, Any] = {}
    for element in extended.iterate():
        name = element.attributes.get("name", "")
        if element.name == "Data":
            value = element.find("value")
            properties[name] = describe_element(value) if value else None
        elif element.name == "SimpleData":
            properties[name] = element.text or None
    return properties


def _read_coordinates(element: Element) -> list[list[Number]]:
    coordinates = element.find("coordinates")
    positions = (coordinates.text if coordinates else "").split()
    if not positions:
        raise ValueError
    return [_parse_position(position.split(",")) for position in positions]


def _parse_position(parts: list[str]) -> list[Number]:
    if not _MIN_POSITION <= len(parts) <= _MAX_POSITION:
        raise ValueError
    return [_parse_number(part.strip()) for part in parts]


def _parse_number(text: str) -> Number:
    """Parse a coordinate, with its digits as JSON writes them."""
    if _PLAIN_NUMBER.fullmatch(text):
        return Number(text)
    if not _NUMBER.fullmatch(text):
        raise ValueError
    return Number(repr(float(text)))


def _build_feature(properties: dict[str, Any], geometry: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}
