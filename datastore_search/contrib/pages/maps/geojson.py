"""
GeoJSON: a feature for each record.

PostgreSQL's cells are written as JSON without parsing numbers, so all digits are kept.

Source: RFC 7946, section 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from ....api.parameters import FieldNameField
from ....downloads.dump import Dump, join_blocks
from ....field_types import get_field_type
from ....filters.places import PlaceFields, check_place_fields
from ....messages.search import UnwritableFile
from ....search import ID, RecordCopy
from .places import build_point, read_geometry

_dump_text = json.JSONEncoder(ensure_ascii=False).encode
_JSON_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")

#: Of a dump.
PARAMETERS = {
    "lat": FieldNameField(
        help_text=_("For `geojson`: the field with degrees of latitude, beside `lon`.")
    ),
    "lon": FieldNameField(
        help_text=_("For `geojson`: the field with degrees of longitude, beside `lat`.")
    ),
    "geometry": FieldNameField(
        help_text=_(
            "For `geojson`: the field with GeoJSON geometries; `lat` and `lon` then have no effect."
            " If none of the three is given, the fields are found by their names."
        )
    ),
}


class NoPlaces(UnwritableFile):
    message = _(
        "GeoJSON needs a field with GeoJSON, or two fields with degrees of latitude and longitude."
        " Name them with “geometry”, or with “lat” and “lon”."
    )


def write_geojson(dump: Dump) -> Generator[bytes]:
    """
    Write a ``FeatureCollection``.

    Raises: ``NoPlaces``; ``UnknownField``; ``UnsuitablePlaceField``.
    """
    # The fields that are named, or those whose names and profiles are of places.
    sent = PlaceFields(*(dump.parameters.get(name, "") for name in PARAMETERS))
    check_place_fields(sent, dump.read.relation.types)
    place = sent if any(sent) else dump.read.place_fields
    if place is None or not (place.geometry or all(place[:2])):
        raise NoPlaces
    place = PlaceFields(geometry=place.geometry) if place.geometry else place
    fields = dump.query.fields
    hidden = [name for name in place if name and name not in fields]
    if hidden and dump.query.distinct:  # more fields would be other records
        raise NoPlaces
    copy = RecordCopy(dump.read, replace(dump.query, fields=(*fields, *hidden)))
    positions = {name: position for position, (name, _type) in enumerate(copy.fields)}
    # The fields of a place by their positions: GeoJSON, or latitude and longitude.
    at = [positions[name] for name in place if name]
    read_place: Callable[..., str | None] = read_geometry if place.geometry else build_point
    properties: list[tuple[int, str, Callable[[str], str]]] = []
    for name, kind in copy.fields:
        if name not in {*hidden, ID, place.geometry}:
            write: Callable[[str], str] = str if get_field_type(kind).is_nested else _dump_text
            if kind == "bool":
                write = {"t": "true", "f": "false"}.__getitem__
            elif get_field_type(kind).is_number:
                write = _dump_number
            properties.append((positions[name], f"{_dump_text(name)}:", write))

    def write_pieces() -> Generator[bytes]:
        separator = ""
        yield dump.start + b'{"type":"FeatureCollection","features":['
        with copy.open_cells() as rows:
            for cells in rows:
                key = f'"id":{cells[positions[ID]]},' if ID in positions else ""
                members = ",".join(
                    [
                        start + ("null" if (cell := cells[position]) is None else write(cell))
                        for position, start, write in properties
                    ]
                )
                geometry = read_place(*[cells[each] for each in at]) or "null"
                yield (
                    f'{separator}\n{{"type":"Feature",{key}"geometry":{geometry},'
                    f'"properties":{{{members}}}}}'
                ).encode()
                separator = ","
        yield b"\n]}\n"

    return join_blocks(write_pieces())


def _dump_number(cell: str) -> str:
    """Write a number with its digits; NaN and the infinities are texts, as in JSON."""
    return cell if _JSON_NUMBER.fullmatch(cell) else _dump_text(cell)
