"""
The address of a record: the values of the primary key, or its ``_id``.

Values are percent-encoded with ``~`` in place of ``%``, since servers decode ``%2F`` before the
address is read.  Between several values is a comma.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from ....field_types import field_types
from ....filters import Condition, In
from ....models import Resource
from ....search import ID
from ..table.query_string import QueryString

#: Precedes ``_id`` in the address of a record whose key has an empty value.
_ID_PREFIX = "_id:"

#: The parameter with the place of a record among those found, from 1.
POSITION = "at"

_EMPTY = "~"
_NUMBER = re.compile(r"[0-9]{1,19}")


def list_key_fields(resource: Resource) -> tuple[str, ...]:
    """List the fields of the primary key whose values can stand in an address."""
    types = resource.types
    names = tuple(resource.primary_key)
    usable = all(name in types and not field_types[types[name]].is_nested for name in names)
    return names if usable else ()


def encode_key(resource: Resource, record: Mapping[str, object]) -> str:
    """Encode the key of a record for its address."""
    names = list_key_fields(resource)
    values = [record.get(name) for name in names]
    if not names:
        return str(record[ID])
    if any(value is None for value in values):
        return f"{_ID_PREFIX}{record[ID]}"
    return ",".join(map(_encode, values))


def _encode(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    encoded = quote(text, safe="").replace("~", "%7E").replace(".", "%2E").replace("%", "~")
    return encoded or _EMPTY


def decode_key(resource: Resource, key: str) -> tuple[Condition, ...] | None:
    """Decode the key in an address to conditions on the record; None if it cannot be one."""
    names = list_key_fields(resource)
    number = key.removeprefix(_ID_PREFIX) if names else key
    if not names or number != key:
        return (In(ID, (number,)),) if _NUMBER.fullmatch(number) else None
    parts = key.split(",")
    if len(parts) != len(names):
        return None
    return tuple(In(name, (_decode(part),)) for name, part in zip(names, parts, strict=True))


def _decode(text: str) -> str:
    return "" if text == _EMPTY else unquote(text.replace("~", "%"))


def link_record(
    resource: Resource, address: QueryString, record: Mapping[str, object], place: int, path: str
) -> str:
    """
    Link to the page of a record, below a path.

    The link holds the question and the ``place`` of the record among those found, from 1, so that
    its page knows the records beside it.
    """
    return f"{path}{encode_key(resource, record)}/{address.replace(POSITION, str(place)).query}"
