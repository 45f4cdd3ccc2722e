"""Records as a client sends them, read by the types of their fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from string import whitespace
from typing import Any

from ..field_types import (
    MAX_NUMBER_DIGITS,
    Cast,
    FieldType,
    Json,
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


def measure_longest_values(records: Sequence[Record]) -> dict[str, int]:
    """Map the names of fields to the bytes of the longest of their values, as texts in UTF-8."""
    longest: dict[str, int] = {}
    for record in records:
        for name, text in record.members.items():
            longest[name] = max(longest.get(name, 0), _count_text_bytes(text))
    return longest


def _count_text_bytes(text: str) -> int:
    """Count the bytes of a JSON value as text; a JSON string has no quotes or escapes then."""
    if len(text) < 2 or text[0] != '"':  # noqa: PLR2004 - two quotes
        return len(text.encode())
    return len((json.loads(text) if "\\" in text else text[1:-1]).encode())


def read_records(
    resource: Resource, records: Sequence[Mapping[str, Any]], method: Method, cast: Cast
) -> list[Record]:
    """
    Read records for a resource.

    Raises: ``InvalidRecord`` for the first that cannot be stored; ``NoKey`` when records are to be
    updated without a key.
    """
    types = {field.name: field_types[field.type] for field in resource.schema}
    key = resource.primary_key
    if method is not Method.INSERT and not key and any(_ID not in record for record in records):
        raise NoKey
    errors: dict[int, InvalidRecord] = {}
    ids: list[int | None] = []
    for number, record in enumerate(records, start=1):
        ids.append(None)
        try:
            _check_names(number, record, types, method)
            ids[-1] = _read_id(number, record, method)
            is_keyed = method is not Method.INSERT and ids[-1] is None
            if is_keyed and (missing := [name for name in key if name not in record]):
                raise MissingKey(record=number, fields=", ".join(missing))
        except InvalidRecord as error:
            errors[number] = error
    members = _read_members(records, types, cast, errors)
    if errors:
        raise errors[min(errors)]
    numbers = range(1, len(records) + 1)
    return [Record(*each) for each in zip(numbers, members, ids, strict=True)]


def _read_id(number: int, record: Mapping[str, Any], method: Method) -> int | None:
    if _ID not in record or method is Method.INSERT:
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


def _check_names(
    number: int, record: Mapping[str, Any], types: Mapping[str, FieldType], method: Method
) -> None:
    for name in record:
        if name not in types and not (name == _ID and method is not Method.INSERT):
            parameter = "records" if method is Method.INSERT else "fields"
            raise UnknownRecordField(parameter=parameter, record=number, field=name)


def _read_members(
    records: Sequence[Mapping[str, Any]],
    types: Mapping[str, FieldType],
    cast: Cast,
    errors: dict[int, InvalidRecord],
) -> list[dict[str, str]]:
    """Read the records field by field, with at most one statement for each field."""
    members: list[dict[str, str]] = [{} for _record in records]
    for name, kind in types.items():
        positions = [position for position, record in enumerate(records) if name in record]
        values = [records[position][name] for position in positions]
        if not kind.is_text and kind.name != "json":  # an empty text is null, as in CKAN
            values = [None if value == "" else value for value in values]
        try:
            texts = parse_values(kind.name, kind.parse_value, values, cast)
        except ValueNotOfType as error:
            number = positions[error.position] + 1
            errors.setdefault(number, _describe_error(number, name, kind, error))
            continue
        for position, text in zip(positions, texts, strict=True):
            members[position][name] = text or "null"
    return members


def _describe_error(
    number: int, name: str, kind: FieldType, error: ValueNotOfType
) -> InvalidRecord:
    if error.has_many_digits:
        return NumberTooLong(record=number, field=name, most=MAX_NUMBER_DIGITS)
    value = _shorten_value(error.value)
    return InvalidRecord(record=number, field=name, type=kind.name, value=value)


def _shorten_value(value: Json) -> str:
    try:
        text = dump_json(value)
    except NotOfType:
        return "…"
    return shorten(text, _MAX_SHOWN_LENGTH)
