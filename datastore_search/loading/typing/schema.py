"""
Frictionless Table Schema, read and written.

A schema says what a publisher knows of a file: the types and notations of its fields, their titles
and descriptions, the texts that mean nothing, the key.  What it says beyond what a resource holds
is named by notices.

Source: Table Schema 1 (specs.frictionlessdata.io) and 2 (datapackage.org).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...exceptions.loads import InvalidSchema, UnknownType
from ...messages import Notice
from ...models import Resource
from .field_formats import FORMAT_SEPARATOR, parse_field_format

#: The profile that written schemas follow.
PROFILE = "https://datapackage.org/profiles/2.0/tableschema.json"

#: The number that every record has; a dump's first field, and no field of the resource.
_NUMBER = "_id"

#: Says one of our own types where Frictionless has but one for several of them.
_OWN_TYPE = "datastoreType"


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """What a schema says of a field in words."""

    label: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """
    A schema as far as a resource holds it.

    ``types`` maps the names of fields to those of forms, several with ``|`` between them.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    described: Mapping[str, FieldDescription] = field(default_factory=dict)
    nulls: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    notices: tuple[Notice, ...] = ()


# Reading ------------------------------------------------------------------------------------------


def parse_table_schema(given: object) -> TableSchema:
    """
    Read a Table Schema, a resource of a Data Package, or a Data Package of one resource.

    Raises: ``InvalidSchema``.
    """
    if given is None:
        return TableSchema()
    schema = _schema_within(given)
    given_fields = enumerate(_list(schema, "fields"), start=1)
    found = [_field(each, place) for place, each in given_fields]
    fields = [each for each in found if each["name"] != _NUMBER]
    names = [each["name"] for each in fields]
    if len(set(names)) < len(names):
        raise InvalidSchema(reason="two of its fields have one name")
    notices: list[Notice] = [*_not_held(schema, "")]
    types = {each["name"]: _type(each, notices) for each in fields}
    for each in fields:
        notices += _not_held(each, each["name"])
    return TableSchema(
        types={name: kind for name, kind in types.items() if kind},
        described={each["name"]: _described(each) for each in fields},
        nulls=_nulls(schema),
        key=_key(schema, names),
        notices=tuple(notices),
    )


def _schema_within(given: object) -> Mapping[str, Any]:
    """Find the schema itself."""
    if not isinstance(given, Mapping):
        raise InvalidSchema(reason="it is no JSON object")
    if "fields" in given:
        return given
    if "schema" in given:
        inner = given["schema"]
        if isinstance(inner, str):
            raise InvalidSchema(reason=f"it is at another place: “{inner}”")
        return _schema_within(inner)
    resources = given.get("resources")
    if isinstance(resources, list) and len(resources) == 1:
        return _schema_within(resources[0])
    if isinstance(resources, list):
        raise InvalidSchema(reason=f"the Data Package has {len(resources)} resources, not one")
    raise InvalidSchema(reason="it has no “fields”")


def _list(holder: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = holder.get(name, [])
    if not isinstance(found, list):
        raise InvalidSchema(reason=f"“{name}” is no list")
    return found


def _field(given: object, place: int) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidSchema(reason=f"field {place} is no JSON object")
    if not isinstance(given.get("name"), str) or not given["name"]:
        raise InvalidSchema(reason=f"field {place} has no name")
    for name in ("type", "format", "title", "description", "decimalChar", "groupChar"):
        if not isinstance(given.get(name, ""), str) and not (
            name == "format" and isinstance(given[name], Mapping)
        ):
            raise InvalidSchema(reason=f"“{name}” of the field “{given['name']}” is no text")
    return given


def _described(given: Mapping[str, Any]) -> FieldDescription:
    return FieldDescription(
        given.get("title", "").strip()[:500], given.get("description", "").strip()
    )


def _nulls(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the texts that mean nothing; an empty cell does so anyway."""
    found = []
    for given in _list(schema, "missingValues"):
        value = given.get("value") if isinstance(given, Mapping) else given
        if not isinstance(value, str):
            raise InvalidSchema(reason="“missingValues” has a value that is no text")
        found.append(value)
    return tuple(value for value in dict.fromkeys(found) if value)


def _key(schema: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...] | None:
    given = schema.get("primaryKey")
    if not given or given in (_NUMBER, [_NUMBER]):
        return None
    key = [given] if isinstance(given, str) else given
    if not isinstance(key, list) or not all(name in names for name in key):
        raise InvalidSchema(reason="“primaryKey” does not name fields of the schema")
    return tuple(key)


#: What a schema and its fields may say beyond what a resource holds.
_BEYOND = {
    "constraints",
    "foreignKeys",
    "uniqueKeys",
    "categories",
    "categoriesOrdered",
    "fieldsMatch",
    "rdfType",
    "example",
}


def _not_held(given: Mapping[str, Any], field_name: str) -> Iterable[Notice]:
    """Say what is not kept and not checked; of a field, if it has a name."""
    beyond = sorted(name for name in _BEYOND if given.get(name))
    if field_name and "missingValues" in given:
        beyond.append("missingValues")
    names = ", ".join(beyond)
    if beyond and field_name:
        yield Notice("notice.field_schema_ignored", field=field_name, names=names)
    elif beyond:
        yield Notice("notice.schema_ignored", names=names)


# Types --------------------------------------------------------------------------------------------


def _type(given: Mapping[str, Any], notices: list[Notice]) -> str:
    """
    Choose the form of a field; nothing where the values shall decide.

    What a type or its format says and no form holds is noted.
    """
    own, kind = given.get(_OWN_TYPE), given.get("type", "any")
    if isinstance(own, str) and own in _WRITTEN and _WRITTEN[own]["type"] == kind:
        return str(own)
    if kind not in _READ:
        raise InvalidSchema(reason=f"“{kind}” is no type of a Table Schema")
    found = _READ[kind](given)
    if found is None:
        notices.append(
            Notice(
                "notice.format_ignored",
                field=given["name"],
                type=kind,
                format=given.get("format") or "default",
            )
        )
    return found or ""


def _known(name: str) -> str:
    try:
        parse_field_format(name)
    except UnknownType as error:
        raise InvalidSchema(reason=str(error)) from error
    return name


def _always(name: str) -> Callable[[Mapping[str, Any]], str | None]:
    return lambda _given: name


def _unheld(given: Mapping[str, Any]) -> str | None:
    return None


def _integer(given: Mapping[str, Any]) -> str | None:
    point = "," if given.get("groupChar") == "." else "."
    return _number_as({**given, "decimalChar": point}, "int4", "int8")


def _number(given: Mapping[str, Any]) -> str | None:
    return _number_as(given, "numeric", "float8")


_GROUPS = {"", ",", ".", " ", "\u00a0", "\u202f", "'", "\u2019"}


def _number_as(given: Mapping[str, Any], *kinds: str) -> str | None:
    """Choose by the signs that a number is written with; a number among text is not held."""
    if given.get("bareNumber", True) is not True:
        return None
    point, group = given.get("decimalChar", "."), given.get("groupChar", "")
    if point not in {".", ","} or group not in _GROUPS or point == group:
        return None
    if point == "." and not group:
        return FORMAT_SEPARATOR.join(kinds)
    notation = "comma" if point == "," or group == "." else "point"
    return FORMAT_SEPARATOR.join(f"{kind}:{notation}" for kind in kinds if kind != "float8")


_TRUE, _FALSE = ["true", "True", "TRUE", "1"], ["false", "False", "FALSE", "0"]


def _boolean(given: Mapping[str, Any]) -> str | None:
    true, false = _words(given, "trueValues", _TRUE), _words(given, "falseValues", _FALSE)
    if not true or not false or any({*word} & {*",/"} for word in true + false):
        return None
    if {*true} <= {*_TRUE, "t"} and {*false} <= {*_FALSE, "f"}:
        return "bool"
    try:
        return _known(f"bool:{','.join(true)}/{','.join(false)}")
    except InvalidSchema:
        return None


def _words(given: Mapping[str, Any], name: str, default: list[str]) -> list[str]:
    words = given.get(name, default)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InvalidSchema(reason=f"“{name}” of the field “{given['name']}” is no list of texts")
    return words


_DAY = re.compile(r"%-?([dmY])([-/.])%-?([dmY])\2%-?([dmY])")
_CLOCK = re.compile(r"[ T]%-?(H:%M(:%S)?|I:%M(:%S)? ?%p)")


def _date(given: Mapping[str, Any]) -> str | None:
    form = _format(given)
    if form in {"default", "any"}:
        return "date" if form == "default" else ""
    return _moment(form, "date")


def _datetime(given: Mapping[str, Any]) -> str | None:
    form = _format(given)
    if form == "any":
        return ""
    if form == "default":
        return f"timestamp{FORMAT_SEPARATOR}timestamptz"
    if form.endswith(("%z", "Z")) and form.startswith("%Y-%m-%d"):
        return "timestamptz"
    return _moment(form, "timestamp")


def _moment(form: str, kind: str) -> str | None:
    """Choose by a pattern of strptime: the order of its parts is the notation."""
    day = _DAY.match(form)
    rest = form[day.end() :] if day else ""
    if not day or bool(rest) != (kind == "timestamp"):
        return None
    if rest and not _CLOCK.fullmatch(rest) and not rest.startswith(("T%H:%M:%S.", " %H:%M:%S.")):
        return None
    order = "".join(day.group(1, 3, 4)).lower()
    if order == "ymd" and day[2] == "-" and "%-" not in form and "%I" not in form:
        return kind
    return f"{kind}:{order}" if order in {"dmy", "mdy", "ymd"} else None


def _time(given: Mapping[str, Any]) -> str | None:
    return {"default": "time", "%H:%M:%S": "time", "any": ""}.get(_format(given))


def _format(given: Mapping[str, Any]) -> str:
    """Give the format; that of Table Schema's first drafts began with ``fmt:``."""
    return str(given.get("format") or "default").removeprefix("fmt:")


_READ: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {
    "any": _always(""),
    "array": _always("json"),
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "duration": _unheld,
    "geojson": _always("json"),
    "geopoint": _unheld,
    "integer": _integer,
    "list": _unheld,
    "number": _number,
    "object": _always("json"),
    "string": _always("text"),
    "time": _time,
    "year": _always("int4"),
    "yearmonth": _unheld,
}

# Writing ------------------------------------------------------------------------------------------

_WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "int2": {"type": "integer"},
    "int4": {"type": "integer"},
    "int8": {"type": "integer"},
    "numeric": {"type": "number"},
    "float8": {"type": "number"},
    # As a dump writes them.
    "bool": {"type": "boolean", "trueValues": ["t"], "falseValues": ["f"]},
    "date": {"type": "date"},
    "timestamp": {"type": "datetime"},
    "timestamptz": {"type": "datetime"},
    "time": {"type": "time"},
    "json": {"type": "any"},
    "_text": {"type": "array"},
    "_int4": {"type": "array"},
    "_int8": {"type": "array"},
    "_float8": {"type": "array"},
    "_bool": {"type": "array"},
}


def build_table_schema(resource: Resource) -> dict[str, Any]:
    """Describe the fields of a resource, as a dump in CSV writes them, with ``_id`` first."""
    described: list[dict[str, Any]] = [{"name": _NUMBER, "type": "integer"}]
    # A resource that has been described knows its fields as of that moment.
    for each in getattr(resource, "schema", None) or resource.fields.all():
        words = {"title": each.label, "description": each.notes}
        described.append(
            {
                "name": each.name,
                **_WRITTEN[each.type],
                **{name: text for name, text in words.items() if text},
                _OWN_TYPE: each.type,
            }
        )
    return {
        "$schema": PROFILE,
        "fields": described,
        "missingValues": [""],
        "primaryKey": list(resource.primary_key) or [_NUMBER],
    }
