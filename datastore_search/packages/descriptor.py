"""
The descriptor of a package: a Data Package with a member ``datastore``.

Other programs read the properties of the standard.  An import reads ``datastore`` alone, which has
everything exactly: the standard has one type for several of ours, and no place for the rest.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, NoReturn

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from ..catalogue.data_package import build_data_package
from ..catalogue.published import PublishedResource
from ..exceptions.loads import LoadFailed
from ..field_types import field_types, is_storable
from ..loading.typing.schema import build_table_schema
from ..models import METADATA, Field, IndexKind, Origin, Resource, clean_metadata, validate_alias
from ..table_limits import MAX_FIELDS

#: The members of the archive.
DESCRIPTOR_NAME: Final = "datapackage.json"
RECORDS_NAME: Final = "records.parquet"

MAX_DESCRIPTOR_BYTES: Final = 16 * 2**20

#: Of nested JSON, which PostgreSQL must be able to read, too.
_MAX_DEPTH: Final = 100

_OWN: Final = "datastore"
_VERSION: Final = 1

_TEXTS: Final = ("name", "title", "description", "content_language", "language")
_FIELD_TEXTS: Final = ("name", "type", "label", "notes")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """
    What a package says of its resource.

    ``values`` are those of the resource's model, and ``fields`` belong to no resource yet.
    """

    id: uuid.UUID
    values: Mapping[str, Any]
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...]
    aliases: tuple[str, ...]
    origin: str


# Writing ------------------------------------------------------------------------------------------


def build_descriptor(resource: Resource) -> dict[str, Any]:
    """Build the descriptor of a described resource."""
    schema = build_table_schema(resource)
    # The numbers of records are those of the portal, and not in the file.
    schema["fields"] = schema["fields"][1:]
    if not resource.primary_key:
        del schema["primaryKey"]
    package = build_data_package(PublishedResource(resource, str(resource.pk), "", ()), schema)
    (table,) = package["resources"]
    table |= {
        "path": RECORDS_NAME,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
    }
    del table["encoding"]
    return {**package, _OWN: _build_own_part(resource)}


def _build_own_part(resource: Resource) -> dict[str, Any]:
    version = resource.table_version
    return {
        "version": _VERSION,
        "id": str(resource.pk),
        **{name: getattr(resource, name) for name in _TEXTS},
        "translations": resource.translations,
        "private": resource.private,
        "metadata": {name: _write_value(getattr(resource, name)) for name in METADATA},
        "indexes": resource.indexes,
        "primary_key": resource.primary_key,
        "aliases": list(resource.aliases.values_list("name", flat=True)),
        "origin": version.origin if version else Origin.FILE,
        "fields": [
            {
                **{name: getattr(field, name) for name in _FIELD_TEXTS},
                "translations": field.translations,
                "extra_info": field.extra_info,
            }
            for field in resource.schema
        ],
    }


def _write_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


# Reading ------------------------------------------------------------------------------------------


def read_descriptor(path: Path) -> Descriptor:
    """
    Read a descriptor, whose every value may be wrong.

    Raises: ``LoadFailed`` with ``package.invalid_descriptor``.
    """
    if path.stat().st_size > MAX_DESCRIPTOR_BYTES:
        _refuse(_("it is larger than %(most)s bytes.") % {"most": MAX_DESCRIPTOR_BYTES})
    try:
        package = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        _check_value(package, 0)
    except (ValueError, RecursionError):
        _refuse(_("it is not valid JSON."))
    own = package.get(_OWN) if isinstance(package, Mapping) else None
    if not isinstance(own, Mapping) or own.get("version") != _VERSION:
        _refuse(_("it was not written by export_resource of this version."))
    try:
        return _parse_own_part(own)
    except KeyError as error:
        _refuse(_("“%(name)s” is missing.") % {"name": error.args[0]})
    except ValidationError as error:
        _refuse(" ".join(error.messages))


def _refuse(reason: str) -> NoReturn:
    raise LoadFailed("package.invalid_descriptor", reason=reason)


def _refuse_constant(_name: str) -> NoReturn:
    """Refuse NaN and the infinities, which JSON does not have."""
    raise ValueError


def _check_value(value: Any, depth: int) -> None:
    """Check that PostgreSQL can store a value, whatever it is used for."""
    if depth > _MAX_DEPTH:
        _refuse(_("its values are nested too deep."))
    if isinstance(value, str) and not is_storable(value):
        _refuse(_("it holds a character that cannot be stored."))
    if isinstance(value, dict):
        for name, member in value.items():
            _check_value(name, depth)
            _check_value(member, depth + 1)
    elif isinstance(value, list):
        for element in value:
            _check_value(element, depth + 1)


def _parse_own_part(own: Mapping[str, Any]) -> Descriptor:
    fields = tuple(map(_parse_field, _read(own, "fields", list)))
    names = {field.name for field in fields}
    if not 0 < len(fields) <= MAX_FIELDS or len(names) < len(fields):
        _refuse(_("its fields have no names, or the same, or there are too many."))
    key = _read_texts(own, "primary_key")
    if not names.issuperset(key):
        _refuse(_("its key names a field that it does not have."))
    aliases = _read_texts(own, "aliases")
    for alias in aliases:
        validate_alias(alias)
    metadata = _read(own, "metadata", dict)
    indexes = None if own["indexes"] is None else _read_texts(own, "indexes")
    if not set(indexes or ()) <= set(IndexKind.values):
        _refuse_kind("indexes")
    values = {
        **{name: _read(own, name, str) for name in _TEXTS},
        **{name: clean_metadata(name, metadata.get(name)) for name in METADATA},
        "translations": _read(own, "translations", dict),
        "private": _read(own, "private", bool),
        "indexes": None if indexes is None else list(indexes),
    }
    origin = _read(own, "origin", str)
    if origin not in Origin.values:
        _refuse_kind("origin")
    return Descriptor(_parse_id(own), values, fields, key, aliases, origin)


def _parse_id(own: Mapping[str, Any]) -> uuid.UUID:
    try:
        return uuid.UUID(_read(own, "id", str))
    except ValueError:
        _refuse_kind("id")


def _parse_field(given: Any) -> Field:
    if not isinstance(given, Mapping):
        _refuse_kind("fields")
    field = Field(
        **{name: _read(given, name, str) for name in _FIELD_TEXTS},
        translations=_read(given, "translations", dict),
        extra_info=_read(given, "extra_info", dict),
        position=0,
    )
    if field.type not in field_types:
        _refuse(_("there is no field type “%(type)s”.") % {"type": field.type[:100]})
    field.clean_fields(exclude={"resource", "position"})
    field.clean()
    return field


def _read(holder: Mapping[str, Any], name: str, kind: Callable[..., Any]) -> Any:
    value = holder[name]
    if type(value) is not kind:
        _refuse_kind(name)
    return value


def _read_texts(holder: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _read(holder, name, list)
    if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        _refuse_kind(name)
    return tuple(values)


def _refuse_kind(name: str) -> NoReturn:
    _refuse(_("“%(name)s” has a value that cannot be used.") % {"name": name})
