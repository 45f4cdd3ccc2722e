"""
The types of fields: one table, a module for each family of types.

An entry has all that anyone needs to know of a type (``FieldType``), so that no other module lists
names of types.  Values are stored in one canonical form, PostgreSQL's ``to_jsonb`` with CKAN's
timestamps, so that equality is JSONB containment.

Source: CKAN ``datastore_search``, sections 5 and 6 of its semantics; PostgreSQL's input syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import moments, nested, numbers, texts
from .field_type import FieldType, Operators, Ordered
from .json_values import (
    MAX_NUMBER_DIGITS,
    MAX_REFUSED_VALUES,
    Cast,
    Json,
    NotOfType,
    RefusedValue,
    TooManyDigits,
    ValuesNotOfType,
    convert_to_json,
    copy_json,
    dump_json,
    dump_json_as_sent,
    is_storable,
    parse_json_value,
    parse_texts,
    parse_values,
    refuse_constant,
)

#: In the order in which they are guessed: the narrowest first.
field_types: Mapping[str, FieldType] = {
    kind.name: kind
    for kind in (
        *(numbers.INT2, numbers.INT4, numbers.INT8, numbers.FLOAT8, numbers.NUMERIC),
        texts.BOOL,
        *(moments.DATE, moments.TIMESTAMP, moments.TIMESTAMPTZ, moments.TIME),
        texts.TEXT,
        texts.INET,
        nested.JSON,
        *(nested.TEXT_LIST, nested.INT4_LIST, nested.INT8_LIST),
        *(nested.FLOAT8_LIST, nested.BOOL_LIST),
    )
}

#: The types of what is counted, of exact numbers, of all texts, and of all JSON.
INT8, NUMERIC, TEXT, JSON = numbers.INT8, numbers.NUMERIC, texts.TEXT, nested.JSON

#: Other names of types.
type_aliases: Mapping[str, str] = {
    alias: name for name, kind in field_types.items() for alias in kind.aliases
}

#: The types of fields for the types that files declare, DuckDB's and GDAL's; others are text.
declared_types: Mapping[str, FieldType] = {
    name: kind for kind in field_types.values() for name in kind.declared_types
}


def get_field_type(name: str) -> FieldType:
    """
    Find a type by its name or another name for it (``int`` for ``int4``).

    Raises: ``KeyError`` when there is none.
    """
    if (kind := find_field_type(name)) is None:
        raise KeyError(name)
    return kind


def find_field_type(name: str) -> FieldType | None:
    lowered = " ".join(name.lower().split())
    return field_types.get(type_aliases.get(lowered, lowered))


def label_type(name: str) -> str:
    """Return a type in words; unknown types are returned unchanged."""
    return str(field_types[name].label) if name in field_types else name


def guess_type(given: Iterable[Json]) -> FieldType:
    """
    Return the narrowest type that changes no value; text for none at all.

    As in files, ``007`` is text.  As in CKAN, the text of a date is a ``timestamp``.
    """
    filled = [value for value in given if value not in (None, "")]
    guessed = (kind for kind in field_types.values() if kind.holds and all(map(kind.holds, filled)))
    return next(guessed) if filled else TEXT


#: PostgreSQL returns 1,664 columns at most, and CKAN has them in its tables.
MAX_FIELDS = 1_600
