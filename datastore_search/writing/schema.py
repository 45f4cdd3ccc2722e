"""Change the fields of a table: add new ones, describe known ones, delete others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from ..database.indexes import name_order_index
from ..database.statements import fetch_value
from ..database.tables import drop_indexes, quote_record_table, remove_fields
from ..field_types import (
    MAX_FIELDS,
    convert_to_json,
    field_types,
    find_field_type,
    get_field_type,
    guess_type,
    is_storable,
)
from ..messages.parameters import InvalidParameter, InvalidParameters
from ..messages.writing import FieldsTooMany, InvalidFieldName, RepeatedField, UnknownFieldType
from ..models import Field, Resource
from .records import get_table_id

_FIELDS_PER_STATEMENT = 500

_MAX_NAME_LENGTH = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

#: Columns of record tables, which no field may be named like.
_RESERVED_NAMES = frozenset({"_id", "_full_text"})


@dataclass(frozen=True, slots=True)
class GivenField:
    """A field of a call; without ``type`` it is guessed, without ``info`` the stored one stays."""

    name: str
    type: str | None = None
    info: Mapping[str, Any] | None = None


def change_fields(
    connection: BaseDatabaseWrapper,
    resource: Resource,
    given: Sequence[GivenField],
    records: Sequence[Mapping[str, Any]],
    *,
    delete_others: bool,
) -> None:
    """
    Add the fields that a table does not have, and describe those that it has.

    ``resource`` has ``table_version`` and ``schema``.  Fields that only the first record names are
    added too.  The type of a known field does not change.

    Raises: ``InvalidParameters``.
    """
    known = {field.name: field for field in resource.schema}
    listed = {*known, *(each.name for each in given)}
    first: Iterable[str] = records[0] if records else ()  # as CKAN, which looks at no other record
    wanted = [*given, *(GivenField(name) for name in first if name not in listed)]
    _check_fields(wanted, known)
    new = [each for each in wanted if each.name not in known]
    named = {each.name for each in wanted}
    gone = [name for name in known if name not in named]
    if delete_others and given and gone:
        Field.objects.using(connection.alias).filter(resource=resource, name__in=gone).delete()
        table_id = get_table_id(resource)
        ordered = [name for name in gone if known[name].has_order_index]
        drop_indexes(connection, *(name_order_index(table_id, name) for name in ordered))
        remove_fields(connection, table_id, gone)
    for each in wanted:
        if each.name in known and each.info is not None:
            known[each.name].info = json.loads(json.dumps(each.info, default=convert_to_json))
            known[each.name].save(using=connection.alias)
    added = []
    for each in new:
        values = (record.get(each.name) for record in records)
        kind = guess_type(values) if each.type is None else get_field_type(each.type)
        added.append(Field(resource=resource, name=each.name, type=kind.name))
        added[-1].info = json.loads(json.dumps(each.info or {}, default=convert_to_json))
    add_fields(connection, resource, added)


def add_fields(
    connection: BaseDatabaseWrapper, resource: Resource, fields: Sequence[Field]
) -> None:
    """Add fields after those of the ``schema`` of a resource; existing records lack them."""
    if not fields:
        return
    has_records = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(
        quote_record_table(get_table_id(resource))
    )
    is_sparse = fetch_value(connection, has_records)
    first = max((field.position + 1 for field in resource.schema), default=0)
    for position, field in enumerate(fields, first):
        field.position, field.is_sparse = position, is_sparse
    Field.objects.using(connection.alias).bulk_create(fields, batch_size=_FIELDS_PER_STATEMENT)


def _check_fields(wanted: Sequence[GivenField], known: Mapping[str, Field]) -> None:
    errors: list[InvalidParameter] = []
    seen: set[str] = set()
    for each in wanted:
        is_new = each.name not in known
        if each.name in seen:
            errors.append(RepeatedField(field=each.name))
        elif is_new and (
            not 0 < len(each.name) <= _MAX_NAME_LENGTH
            or each.name != each.name.strip()
            or each.name in _RESERVED_NAMES
            or _CONTROL.search(each.name)
            or not is_storable(each.name)
        ):
            errors.append(InvalidFieldName(field=each.name[:100]))
        elif is_new and each.type is not None and not find_field_type(each.type):
            sent, types = each.type[:100], ", ".join(field_types)
            errors.append(UnknownFieldType(field=each.name, type=sent, types=types))
        seen.add(each.name)
    count = len(seen | known.keys())
    if count > MAX_FIELDS:
        errors.append(FieldsTooMany(count=count, most=MAX_FIELDS))
    if errors:
        raise InvalidParameters(errors)
