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


def _parse(name: str, value: Json) -> str | None:
    """Parse a value as a type; None if it is of another type, or PostgreSQL had to parse it."""
    try:
        return field_types[name].parse_value(value)
    except (NotOfType, UnknownNotation):
        return None


def _is_number(value: Json, *notations: re.Pattern[str]) -> bool:
    """Return whether a value is a number, or a text in one of some notations."""
    if isinstance(value, str):
        return any(each.fullmatch(value) for each in notations)
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _build_number_test(name: str, *notations: re.Pattern[str]) -> Callable[[Json], bool]:
    """Build a test of numbers: a type must hold all their digits."""

    def is_of_type(value: Json) -> bool:
        text = _parse(name, value) if _is_number(value, *notations) else None
        return text is not None and Decimal(text) == Decimal(str(value))

    return is_of_type


def _build_moment_test(name: str) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, str) and _parse(name, value) is not None


_CANDIDATES: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("bool", lambda value: isinstance(value, bool)),
    ("int4", _build_number_test("int4", _INTEGER)),
    ("int8", _build_number_test("int8", _INTEGER)),
    ("float8", _build_number_test("float8")),
    ("numeric", lambda value: _is_number(value, _INTEGER, _FRACTION)),
    *((name, _build_moment_test(name)) for name in _MOMENTS),
    ("text", lambda value: isinstance(value, str | int | Decimal | bool)),
    ("json", lambda _value: True),
)
