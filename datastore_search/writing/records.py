"""Records as a client sends them, read by the types of their fields."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from string import whitespace
from typing import Any

from ..field_types import (
    MAX_NUMBER_DIGITS,
    Cast,
    FieldType,
    NotOfType,
    ValueNotOfType,
    dump_json,
    field_types,
    parse_values,
)
from ..messages import shorten
from ..messages.writing import (
    InvalidKey,
    InvalidRecord,
    MissingKey,
    NoKey,
    NumberTooLong,
    UnknownRecordField,
)
from ..models import Resource

#: Letters of a value that a message shows.
_MAX_SHOWN_LENGTH = 100

#: The largest whole number that JavaScript holds exactly, with all below it.
MAX_ID = 2**53 - 1

_ID = "_id"


class Method(StrEnum):
    """What to do with records whose key exists, and with records whose key does not."""

    INSERT = "insert"
    UPDATE = "update"
    UPSERT = "upsert"


@dataclass(frozen=True, slots=True)
class Record:
    """A parsed record: JSON texts by field, ``number`` from 1, and the ``_id`` that was sent."""

    number: int
    members: dict[str, str]
    id: int | None


def measure_longest_value(records: Sequence[Record], name: str) -> int:
    """Count the bytes of the longest value of a field as text, not as JSON."""
    texts = [record.members[name] for record in records if name in record.members]
    values = [
        json.loads(text) if text[0] == '"' and "\\" in text else text.strip('"') for text in texts
    ]
    return max([len(value.encode()) for value in values], default=0)


def read_records(
    resource: Resource, records: Sequence[Mapping[str, Any]], method: Method, cast: Cast
) -> list[Record]:
    """
    Read records for a resource, field by field, with at most one statement for each field.

    Raises: ``InvalidRecord`` for the first that cannot be stored; ``NoKey`` when records are to be
    updated without a key.
    """
    types = {field.name: field_types[field.type] for field in resource.schema}
    key = resource.primary_key
    if method is not Method.INSERT and not key and any(_ID not in record for record in records):
        raise NoKey
    errors: dict[int, InvalidRecord] = {}
    read: list[Record] = []
    for number, record in enumerate(records, start=1):
        record_id = None
        try:
            record_id = _identify(number, record, types, method, key)
        except InvalidRecord as error:
            errors[number] = error
        read.append(Record(number, {}, record_id))
    for name, kind in types.items():
        having = [each for each in read if name in records[each.number - 1]]
        values = [records[each.number - 1][name] for each in having]
        if not kind.is_text and kind.name != "json":  # an empty text is null, as in CKAN
            values = [None if value == "" else value for value in values]
        try:
            texts = parse_values(kind.name, kind.parse_value, values, cast)
        except ValueNotOfType as error:
            number = having[error.position].number
            errors.setdefault(number, _describe_error(number, name, kind, error))
            continue
        for each, text in zip(having, texts, strict=True):
            each.members[name] = text or "null"
    if errors:
        raise errors[min(errors)]
    return read


def _identify(
    number: int,
    record: Mapping[str, Any],
    types: Collection[str],
    method: Method,
    key: Sequence[str],
) -> int | None:
    """Check the names of a record, and that it has an ``_id`` or the key; return the ``_id``."""
    is_insert = method is Method.INSERT
    for name in record:
        if name not in types and (is_insert or name != _ID):
            parameter = "records" if is_insert else "fields"
            raise UnknownRecordField(parameter=parameter, record=number, field=name)
    if _ID not in record or is_insert:
        if not is_insert and (missing := [name for name in key if name not in record]):
            raise MissingKey(record=number, fields=", ".join(missing))
        return None
    value = record[_ID]
    if isinstance(value, str) and len(value) < _MAX_SHOWN_LENGTH and value.isascii():
        text = value.strip(whitespace)
        value = int(text) if text.isdecimal() else value
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value) if value.adjusted() < _MAX_SHOWN_LENGTH else None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_ID:
        raise InvalidKey(record=number, most=MAX_ID)
    return value


def _describe_error(
    number: int, name: str, kind: FieldType, error: ValueNotOfType
) -> InvalidRecord:
    if error.has_many_digits:
        return NumberTooLong(record=number, field=name, most=MAX_NUMBER_DIGITS)
    try:
        value = shorten(dump_json(error.value), _MAX_SHOWN_LENGTH)
    except NotOfType:
        value = "…"
    return InvalidRecord(record=number, field=name, type=kind.name, value=value)
