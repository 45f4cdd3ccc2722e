"""Guess a field's type: the narrowest that changes no value, as with files; ``007`` is text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from ..field_types import FieldType, Json, NotOfType, field_types
from ..field_types.values import UnknownNotation

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_FRACTION = re.compile(r"-?(0|[1-9][0-9]{0,30})\.[0-9]{1,30}")
_MOMENTS = ("date", "timestamp", "timestamptz", "time")


def guess_type(values: Sequence[Json]) -> FieldType:
    """Return the narrowest type that holds all values; text for none at all."""
    filled = [value for value in values if value not in (None, "")]
    if not filled:
        return field_types["text"]
    for name, holds in _CANDIDATES:
        if all(map(holds, filled)):
            return field_types[name]
    return field_types["text"]


def _is_nested(value: Json) -> bool:
    return not isinstance(value, str | int | Decimal | bool)


def _build_integer_test(name: str) -> Callable[[Json], bool]:
    def is_of_type(value: Json) -> bool:
        if isinstance(value, bool) or _is_nested(value):
            return False
        if isinstance(value, str) and not _INTEGER.fullmatch(value):
            return False
        try:
            return Decimal(field_types[name].parse_value(value)) == Decimal(str(value))
        except NotOfType:
            return False

    return is_of_type


def _is_number(value: Json) -> bool:
    if isinstance(value, str):
        return bool(_INTEGER.fullmatch(value) or _FRACTION.fullmatch(value))
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_double(value: Json) -> bool:
    """Return whether a double holds a JSON number with all its digits."""
    if isinstance(value, str | bool) or not isinstance(value, int | Decimal):
        return False
    try:
        return Decimal(field_types["float8"].parse_value(value)) == Decimal(value)
    except NotOfType:
        return False


def _build_moment_test(name: str) -> Callable[[Json], bool]:
    def is_of_type(value: Json) -> bool:
        if not isinstance(value, str):
            return False
        try:
            field_types[name].parse_value(value)
        except (NotOfType, UnknownNotation):
            return False
        return True

    return is_of_type


_CANDIDATES: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("bool", lambda value: isinstance(value, bool)),
    ("int4", _build_integer_test("int4")),
    ("int8", _build_integer_test("int8")),
    ("float8", _is_double),
    ("numeric", _is_number),
    *((name, _build_moment_test(name)) for name in _MOMENTS),
    ("text", lambda value: not _is_nested(value)),
    ("json", lambda _value: True),
)
