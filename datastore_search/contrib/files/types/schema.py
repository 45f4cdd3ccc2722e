"""
Parse Frictionless Table Schemas; ``downloads.table_schema`` builds them.

A schema describes a file: the types and formats of its fields, their titles and descriptions, the
missing values, the primary key.  Notices name the properties that a resource does not support.

Source: Table Schema 1 (specs.frictionlessdata.io) and 2 (datapackage.org).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ....downloads.table_schema import LANGUAGE_SEPARATOR, OWN_TYPE, TEXTS
from ....field_types import JSON, FieldType, NotOfType, copy_json, field_types
from ....models import MAX_LABEL_LENGTH, Translations, split_translations
from ....search import ID
from ..messages import InvalidSchema, Notice
from .field_formats import FORMAT_SEPARATOR


@dataclass(frozen=True, slots=True)
class FieldDescription:
    label: str = ""
    notes: str = ""
    translations: Translations = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """
    The properties of a schema that a resource supports.

    ``types`` maps field names to format names, several of them separated by ``|``.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, FieldDescription] = field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    primary_key: tuple[str, ...] | None = None
    notices: tuple[Notice, ...] = ()


def read_table_schema(text: bytes) -> Any:
    """Read the JSON of a schema, or raise ``ValueError``, also for what cannot be stored."""
    try:
        return copy_json(json.loads(text), sys.maxsize)
    except RecursionError as error:
        raise NotOfType from error


def parse_table_schema(given: object) -> TableSchema:
    """
    Parse a Table Schema, a resource of a Data Package, or a Data Package of one resource.

    Raises: ``InvalidSchema``.
    """
    if given is None:
        return TableSchema()
    levels = _find_levels(given)
    schema = levels[-1]
    given_fields = enumerate(_get_list(schema, "fields"), start=1)
    checked = [_check_field(each, position) for position, each in given_fields]
    fields = [each for each in checked if each["name"] != ID]
    names = [each["name"] for each in fields]
    if len(set(names)) < len(names):
        raise InvalidSchema("schema.duplicate_name")
    described = {name: value for level in levels for name, value in level.items() if value}
    notices: list[Notice] = []
    types: dict[str, str] = {}
    for each in fields:
        chosen = _choose_format(each)
        types[each["name"]] = chosen or ""
        if chosen is None:
            name, kind, wanted = each["name"], each.get("type"), each.get("format") or "default"
            notices.append(Notice("notice.format_ignored", field=name, type=kind, format=wanted))
    ignored = {*_UNSUPPORTED_OF_PACKAGE & described.keys()}
    for each in (described, *fields):
        ignored |= {name for name in _UNSUPPORTED if each.get(name)}
    # What ``build_table_schema`` has written is null in such a field without being told.
    if any("missingValues" in each and OWN_TYPE not in each for each in fields):
        ignored.add("missingValues")
    if ignored:
        notices.append(Notice("notice.schema_ignored", names=", ".join(sorted(ignored))))
    missing_values = [
        each.get("value") if isinstance(each, Mapping) else each
        for each in _get_list(schema, "missingValues")
    ]
    if not all(isinstance(value, str) for value in missing_values):
        raise InvalidSchema("schema.missing_value_not_a_text")
    key = schema.get("primaryKey")
    key = [key] if key and isinstance(key, str) else key
    if key and key != [ID] and not (isinstance(key, list) and all(name in names for name in key)):
        raise InvalidSchema("schema.unknown_key")
    return TableSchema(
        types={name: format_name for name, format_name in types.items() if format_name},
        descriptions={
            each["name"]: FieldDescription(
                each.get("title", "").strip()[:MAX_LABEL_LENGTH],
                each.get("description", "").strip(),
                split_translations(each, TEXTS, LANGUAGE_SEPARATOR)[0],
            )
            for each in fields
        },
        # An empty cell is null in any case.
        missing_values=tuple(value for value in dict.fromkeys(missing_values) if value),
        primary_key=tuple(key) if key and key != [ID] else None,
        notices=tuple(notices),
    )


def _find_levels(given: object) -> list[Mapping[str, Any]]:
    """Find the schema in a Data Package or a resource of one; it is the last of the levels."""
    if not isinstance(given, Mapping):
        raise InvalidSchema("schema.not_an_object")
    if "fields" in given:
        return [given]
    if "schema" in given:
        inner = given["schema"]
        if isinstance(inner, str):
            raise InvalidSchema("schema.stored_elsewhere", address=inner)
        return [given, *_find_levels(inner)]
    resources = given.get("resources")
    if isinstance(resources, list) and len(resources) == 1:
        return [given, *_find_levels(resources[0])]
    if isinstance(resources, list):
        raise InvalidSchema("schema.not_one_resource", count=len(resources))
    raise InvalidSchema("schema.no_fields")


def _get_list(holder: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = holder.get(name, [])
    if not isinstance(found, list):
        raise InvalidSchema("schema.not_a_list", name=name)
    return found


def _check_field(given: object, position: int) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidSchema("schema.field_not_an_object", position=position)
    if not isinstance(given.get("name"), str) or not given["name"]:
        raise InvalidSchema("schema.unnamed_field", position=position)
    for name in ("type", "format", "title", "description", "decimalChar", "groupChar"):
        if not isinstance(given.get(name, ""), str) and not (
            name == "format" and isinstance(given[name], Mapping)
        ):
            raise InvalidSchema("schema.not_a_text", name=name, field=given["name"])
    return given


#: Properties of a schema and its fields that a resource does not support.
_UNSUPPORTED = {
    "constraints",
    "foreignKeys",
    "uniqueKeys",
    "categories",
    "categoriesOrdered",
    "fieldsMatch",
    "rdfType",
    "example",
}
#: Properties of a Data Package that describe its resource: people describe ours themselves.
_UNSUPPORTED_OF_PACKAGE = {
    *("title", "description", "licenses", "sources", "contributors", "keywords"),
    *("temporal", "spatial", "frequency", "version", "created"),
}


#: Types of a Table Schema that fields of JSON hold, and those that no field holds.
_NESTED = frozenset({"array", "object", "geojson"})
_UNSUPPORTED_TYPES = frozenset({"duration", "geopoint", "list", "yearmonth"})


def _choose_format(given: Mapping[str, Any]) -> str | None:
    """Choose the format of a field by its properties; empty where its values decide."""
    own_type, type_name = given.get(OWN_TYPE), given.get("type", "any")
    own = field_types.get(own_type) if isinstance(own_type, str) else None
    if own and own.table_schema_type == type_name:
        return own.name
    if type_name == "any" or type_name in _NESTED:
        return "" if type_name == "any" else JSON.name
    sought = "integer" if type_name == "year" else type_name
    kinds = [
        kind
        for kind in field_types.values()
        if kind.table_schema_type == sought and kind.duckdb.is_inferred
    ]
    if not kinds and type_name not in _UNSUPPORTED_TYPES:
        raise InvalidSchema("schema.unknown_type", type=type_name)
    if kinds and kinds[0].is_moment:
        return _choose_moment(kinds, given)
    if kinds and kinds[0].is_number and type_name != "year":
        return _choose_number_format(sorted(kinds, key=attrgetter("is_double")), given)
    is_read = bool(kinds)
    for name, known in _BOOLEANS if kinds and kinds[0].is_boolean else ():
        words = given.get(name, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InvalidSchema("schema.not_a_list_of_texts", name=name, field=given["name"])
        is_read = is_read and {*words} <= known
    return kinds[0].name if is_read else None


_GROUPS = {"", ",", ".", " ", "\u00a0", "\u202f", "'", "\u2019"}


def _choose_number_format(kinds: Sequence[FieldType], given: Mapping[str, Any]) -> str | None:
    """Choose by the separators of decimals and thousands; None for numbers within text."""
    if given.get("bareNumber", True) is not True:
        return None
    point, group = given.get("decimalChar", "."), given.get("groupChar", "")
    if kinds[0].is_integer:  # without decimals
        point = "," if group == "." else "."
    if point not in {".", ","} or group not in _GROUPS or point == group:
        return None
    if point == "." and not group:
        return FORMAT_SEPARATOR.join(kind.name for kind in kinds)
    format_name = "comma" if point == "," or group == "." else "point"
    return FORMAT_SEPARATOR.join(
        f"{kind.name}:{format_name}" for kind in kinds if not kind.is_double
    )


_BOOLEANS = (
    ("trueValues", {"true", "True", "TRUE", "t", "1"}),
    ("falseValues", {"false", "False", "FALSE", "f", "0"}),
)


_MOMENT = re.compile(
    r"%-?([dmY])([-/.])%-?([dmY])\2%-?([dmY])"
    r"([ T](%-?(H:%M(:%S)?|I:%M(:%S)? ?%p)|%H:%M:%S\..*))?"
)


def _choose_moment(kinds: Sequence[FieldType], given: Mapping[str, Any]) -> str | None:
    """
    Choose by the format; in the first drafts of Table Schema it began with ``fmt:``.

    Of a pattern of strptime, the order of its parts is the format.
    """
    pattern = str(given.get("format") or "default").removeprefix("fmt:")
    if pattern == "any":
        return ""
    if pattern == "default" or (pattern == "%H:%M:%S" and not kinds[0].has_day):
        return FORMAT_SEPARATOR.join(kind.name for kind in kinds)
    if kinds[-1].has_zone and pattern.startswith("%Y-%m-%d") and pattern.endswith(("%z", "Z")):
        return kinds[-1].name
    kind, found = kinds[0], _MOMENT.fullmatch(pattern)
    if not found or not kind.has_day or bool(found[5]) != kind.is_timestamp:
        return None
    order = "".join(found.group(1, 3, 4)).lower()
    if order == "ymd" and found[2] == "-" and "%-" not in pattern and "%I" not in pattern:
        return kind.name
    return f"{kind.name}:{order}" if order in {"dmy", "mdy", "ymd"} else None
