"""
Read KML and GPX: places with their geometry.

What is nested in a place is JSON.  Names are without their namespaces.  Texts have no types, so the
values decide, as in CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from .json_records import BadElement, RecordTableBuilder
from .options import ReadOptions
from .row_writer import MAX_ROW_BYTES, RowWriter
from .staging import StagedTable, StagingArea
from .xml_features import PLACEMARK, FeatureReader, GpxReader, is_gpx_point
from .xml_parser import Element, ElementPath, parse_elements, parse_records

#: Reads an element, with those around it, as an element of JSON.
_Reader = Callable[[Element, tuple[Element, ...]], Any]

_MAX_PATHS = 10_000
#: The document is parsed twice, and each element is a few objects of Python.
_CPU_FACTOR = 4


def read_xml(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a KML or GPX; ``records_path`` are the names that lead from the root to the places.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    staging_area.limits.extend_cpu_time(path.stat().st_size, factor=_CPU_FACTOR)
    outline = _Outline()
    parse_elements(path, options.encoding, outline.add_element)
    chosen = outline.choose_records(options.records_path)
    with RowWriter(staging_area) as writer:
        builder = RecordTableBuilder(staging_area, writer, options.nulls, has_types=False)
        features = FeatureReader()
        is_placemark = chosen == (PLACEMARK,)
        read: _Reader = features.read_placemark if is_placemark else GpxReader().read_point
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


class _Outline:
    """The kinds of elements of a document, by their paths."""

    def __init__(self) -> None:
        self._paths: dict[ElementPath, None] = {}

    def add_element(self, path: ElementPath, _has_attributes: bool) -> None:
        """Add an element."""
        self._paths[path] = None
        if len(self._paths) > _MAX_PATHS:
            raise LoadFailed("xml.too_many_names", most=_MAX_PATHS)

    def choose_records(self, wanted: str) -> ElementPath:
        """
        Choose the path of the places: placemarks, or the only kind of points, or the wanted one.

        Raises: ``LoadFailed`` with ``xml.unknown_path``, ``xml.no_records``, ``xml.several_lists``.
        """
        if any(path[-1] == PLACEMARK for path in self._paths):
            return (PLACEMARK,)
        kinds = [path for path in self._paths if is_gpx_point(path)]
        if wanted:
            kinds = [path for path in kinds if ".".join(path) == wanted]
            if not kinds:
                raise LoadFailed("xml.unknown_path", path=wanted)
        if not kinds:
            raise LoadFailed("xml.no_records")
        if len(kinds) > 1:
            listed = ", ".join(f"“{'.'.join(path)}”" for path in kinds)
            raise LoadFailed("xml.several_lists", paths=listed)
        return kinds[0]
