"""
Read XML: the elements that repeat are records; of KML and GPX, places with their geometry.

Attributes and children of a record are fields, and what is nested in them is JSON.  Names are
without their namespaces.  Texts have no types, so the values decide, as in CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from .json_records import BadElement, MemberList, RecordTableBuilder
from .options import ReadOptions
from .row_writer import MAX_ROW_BYTES, RowWriter
from .staging import StagedTable, StagingArea
from .xml_features import PLACEMARK, FeatureReader, GpxReader, is_gpx_point
from .xml_parser import (
    Element,
    ElementPath,
    group_children,
    parse_elements,
    parse_records,
)

#: Reads an element, with those around it, as an element of JSON.
_Reader = Callable[[Element, tuple[Element, ...]], Any]

_MAX_PATHS = 10_000
#: The document is parsed twice, and each element is a few objects of Python.
_CPU_FACTOR = 4

#: Documents that are of another format, by the name of their root.
_OTHER_ROOTS = {
    "html": "HTML",
    "svg": "SVG",
    "Workbook": "XML Spreadsheet 2003",
    "document": "Flat OpenDocument",
    "document-content": "Flat OpenDocument",
}


def read_xml(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage an XML file; ``records_path`` are the names that lead from the root to the records.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    staging_area.limits.extend_cpu_time(path.stat().st_size, factor=_CPU_FACTOR)
    outline = _Outline()
    parse_elements(path, options.encoding, outline.add_element)
    root = outline.root
    if root in _OTHER_ROOTS:
        raise LoadFailed("file.unsupported_format", format=_OTHER_ROOTS[root])
    chosen = outline.choose_records(options.records_path)
    with RowWriter(staging_area) as writer:
        builder = RecordTableBuilder(staging_area, writer, options.nulls, has_types=False)
        features = FeatureReader()
        read: _Reader = _read_record
        if root == "gpx" and is_gpx_point(chosen):
            read = GpxReader().read_point
        elif chosen[-1] == PLACEMARK:
            read = features.read_placemark
        for line, element in _read_elements(path, options, chosen, read):
            if isinstance(element, BadElement):
                builder.add_bad_element(line, element)
            else:
                builder.add_element(line, element)
        notices = [Notice("notice.xml_records", path=".".join(chosen))]
        return builder.build([*notices, *features.describe()])


def _read_elements(
    path: Path, options: ReadOptions, chosen: ElementPath, read: _Reader
) -> Iterator[tuple[int, Any]]:
    def is_record(found: ElementPath) -> bool:
        # Placemarks are in folders within folders.
        return found == chosen or (chosen == (PLACEMARK,) and found[-1] == PLACEMARK)

    records = parse_records(path, options.encoding, is_record)
    for number, record in enumerate(records, start=1):
        if record.element is None:
            error = BadRow("row.too_long", most=MAX_ROW_BYTES // 2**20)
            yield number, BadElement(error)
            continue
        try:
            yield number, read(record.element, record.ancestors)
        except ValueError:
            yield number, BadElement(BadRow("row.bad_geometry"))


def _read_record(element: Element, _ancestors: tuple[Element, ...]) -> MemberList:
    """Read the attributes, the children and the text of an element as the members of a record."""
    members: list[tuple[Hashable, Any]] = [
        ((name, "attribute"), value) for name, value in element.attributes.items()
    ]
    members += group_children(element).items()
    if element.text or not members:
        text = None if element.is_nil else element.text
        members.append(((element.name, "text"), text or None))
    return MemberList(members)


class _Outline:
    """The kinds of elements of a document, by their paths."""

    def __init__(self) -> None:
        self._paths: dict[ElementPath, None] = {}
        self._repeated: set[ElementPath] = set()
        self._structured: set[ElementPath] = set()
        #: How often each name is among the children of each element that is open.
        self._counts: list[dict[str, int]] = []

    @property
    def root(self) -> str:
        """The name of the root."""
        return next(iter(self._paths))[0]

    def add_element(self, path: ElementPath, has_attributes: bool) -> None:
        """Add an element."""
        depth = len(path)
        del self._counts[depth:]
        if len(self._counts) < depth:
            self._counts.append({})
        counts = self._counts[depth - 1]
        counts[path[-1]] = counts.get(path[-1], 0) + 1
        if path not in self._paths:
            self._paths[path] = None
            self._structured.add(path[:-1])
            if len(self._paths) > _MAX_PATHS:
                raise LoadFailed("xml.too_many_names", most=_MAX_PATHS)
        if counts[path[-1]] > 1:
            self._repeated.add(path)
        if has_attributes:
            self._structured.add(path)

    def choose_records(self, wanted: str) -> ElementPath:
        """
        Choose the path of the records: the wanted one, or the outermost that repeats.

        Raises: ``LoadFailed`` with ``xml.unknown_path``, ``xml.no_records``, ``xml.several_lists``.
        """
        if wanted:
            found = next((path for path in self._paths if ".".join(path) == wanted), None)
            if not found:
                raise LoadFailed("xml.unknown_path", path=wanted)
            return found
        if self.root == "kml" and any(path[-1] == PLACEMARK for path in self._paths):
            return (PLACEMARK,)
        candidates = self._list_candidates()
        if not candidates:
            raise LoadFailed("xml.no_records")
        if len(candidates) > 1:
            listed = ", ".join(f"“{'.'.join(path)}”" for path in candidates)
            raise LoadFailed("xml.several_lists", paths=listed)
        return candidates[0]

    def _list_candidates(self) -> list[ElementPath]:
        if self.root == "gpx":
            return [path for path in self._paths if is_gpx_point(path)]
        structured = self._repeated & self._structured
        repeated = structured or self._repeated
        return [
            path
            for path in self._paths
            if path in repeated
            and not any(path[:depth] in repeated for depth in range(1, len(path)))
        ]
