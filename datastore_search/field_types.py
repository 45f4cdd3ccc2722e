"""
The types of fields: one table.

A type says which texts of a file are of it (two DuckDB conditions: a careful one, for inference,
and a wide one, for a type that somebody chose), how such a text is written as JSON (a DuckDB
expression), and what a filter's value means to it.  Values are stored in one canonical form, that
of PostgreSQL's ``to_jsonb`` with CKAN's timestamps, so that equality is JSONB containment.

Source: CKAN ``datastore_search``, sections 5 and 6 of its semantics; PostgreSQL's input syntax.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial

type_aliases: Mapping[str, str] = {
    "string": "text",
    "int": "int4",
    "integer": "int4",
    "bigint": "int8",
    "float": "float8",
    "double": "float8",
    "boolean": "bool",
    "jsonb": "json",
    "text[]": "_text",
    "int[]": "_int4",
    "bigint[]": "_int8",
    "float[]": "_float8",
    "bool[]": "_bool",
}

JsonScalar = str | int | Decimal | bool


class NotOfType(ValueError):
    """A value cannot be of a type."""


@dataclass(frozen=True, slots=True)
class FieldType:
    """
    One type.

    ``infers`` and ``accepts`` are DuckDB conditions and ``writes`` a DuckDB expression, each over
    ``{v}``, a text that is not empty; ``writes`` gives JSON text.  ``equal_to`` takes a value of a
    filter and gives the canonical JSON text that equals it, or None when no stored value can.

    Raises: ``NotOfType`` (``equal_to``) when the value cannot be of the type at all.
    """

    name: str
    infers: tuple[str, ...]
    accepts: str
    writes: str
    equal_to: Callable[[JsonScalar], str | None]

    @staticmethod
    def over(template: str, text: str) -> str:
        """Write one of the three templates over ``text``, a DuckDB expression."""
        return template.replace("{v}", text)


def as_json(value: object) -> str:
    """Write a value as JSON text, letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# What a filter's value means to a type ------------------------------------------------------------


def _equal_text(value: JsonScalar) -> str:
    # CKAN compares with the text that Python prints.
    return as_json(str(float(value) if isinstance(value, Decimal) else value))


_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?", re.IGNORECASE)
_NOT_A_NUMBER = {
    "nan": "NaN",
    "infinity": "Infinity",
    "inf": "Infinity",
    "+infinity": "Infinity",
    "+inf": "Infinity",
    "-infinity": "-Infinity",
    "-inf": "-Infinity",
}
# PostgreSQL's numeric holds this many digits before and after the point.
_NUMERIC_DIGITS_BEFORE, _NUMERIC_DIGITS_AFTER = 131_072, 16_383


def _equal_integer(value: JsonScalar, *, bits: int) -> str | None:
    if isinstance(value, bool):
        raise NotOfType
    within = range(-(2 ** (bits - 1)), 2 ** (bits - 1))
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value.strip()) or int(value) not in within:
            raise NotOfType
        return str(int(value))
    if isinstance(value, Decimal):
        if value.adjusted() > bits or value != value.to_integral_value():
            return None
        value = int(value)
    return str(value) if value in within else None


def _read_number(text: str) -> Decimal | str:
    """Read a text as PostgreSQL does: a number, or the name of what is none."""
    text = text.strip()
    if text.lower() in _NOT_A_NUMBER:
        return _NOT_A_NUMBER[text.lower()]
    if not _NUMBER.fullmatch(text):
        raise NotOfType
    return Decimal(text)


def _equal_numeric(value: JsonScalar) -> str | None:
    if isinstance(value, bool):
        raise NotOfType
    number = _read_number(value) if isinstance(value, str) else Decimal(value)
    if isinstance(number, str):
        return as_json(number)
    exponent = number.as_tuple().exponent
    fits = isinstance(exponent, int) and exponent >= -_NUMERIC_DIGITS_AFTER
    if not fits or number.adjusted() >= _NUMERIC_DIGITS_BEFORE:
        return None
    return format(number, "f")


def _equal_float(value: JsonScalar) -> str | None:
    if isinstance(value, bool):
        raise NotOfType
    number = _read_number(value) if isinstance(value, str) else value
    if isinstance(number, str):
        return as_json(number)
    try:
        double = float(number)
    except OverflowError:
        double = math.inf
    if not math.isinf(double):
        return repr(double)
    if isinstance(value, str):
        raise NotOfType  # as PostgreSQL: out of range; a JSON number merely equals nothing
    return None


_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def _equal_bool(value: JsonScalar) -> str:
    if isinstance(value, bool):
        return as_json(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _TRUE | _FALSE:
        raise NotOfType
    return as_json(word in _TRUE)


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")


def _moment_text(value: JsonScalar, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value.strip()):
        raise NotOfType
    return value.strip()


def _equal_date(value: JsonScalar) -> str:
    text = _moment_text(value, _DATE)
    try:
        return as_json(date.fromisoformat(text).isoformat())
    except ValueError:
        raise NotOfType from None


def _equal_timestamp(value: JsonScalar) -> str:
    text = _moment_text(value, _TIMESTAMP)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise NotOfType from None
    exact = moment.microsecond % 1000 != 0
    return as_json(moment.isoformat(timespec="microseconds" if exact else "milliseconds"))


def _equal_time(value: JsonScalar) -> str:
    text = _moment_text(value, _TIME)
    try:
        moment = time.fromisoformat(text).isoformat()
    except ValueError:
        raise NotOfType from None
    return as_json(moment.rstrip("0") if "." in moment else moment)


def _equal_json(value: JsonScalar) -> str | None:
    return _equal_numeric(value) if isinstance(value, Decimal) else as_json(value)


def _equal_array(value: JsonScalar) -> str | None:
    raise NotOfType


# The table ----------------------------------------------------------------------------------------


def _matches(pattern: str, cast: str) -> str:
    return f"regexp_full_match({{v}}, '{pattern}') AND try_cast({{v}} AS {cast}) IS NOT NULL"


_AS_STRING = "CAST(to_json({v}) AS VARCHAR)"
_AS_TIMESTAMP = "CAST({v} AS TIMESTAMP)"
_PLAIN_INTEGER = "0|-?[1-9][0-9]{0,18}"
_ISO_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = "[0-9]{2}:[0-9]{2}"
_SECONDS = ":[0-9]{2}"
_AFTER_CHRIST = " AND {v} >= '0001'"


def _integer(name: str, cast: str, bits: int) -> FieldType:
    return FieldType(
        name=name,
        infers=(_matches(_PLAIN_INTEGER, cast),),
        accepts=_matches("[+-]?[0-9]+", cast),
        writes=f"CAST(CAST({{v}} AS {cast}) AS VARCHAR)",
        equal_to=partial(_equal_integer, bits=bits),
    )


def _array(name: str, cast: str) -> FieldType:
    return FieldType(
        name=name,
        infers=(),
        accepts=(
            # An element that cannot be cast becomes null, and list_count does not count it.
            "CASE WHEN json_valid({v}) THEN json_type({v}) = 'ARRAY'"
            f" AND list_count(try_cast(CAST({{v}} AS JSON) AS {cast}[]))"
            " = list_count(try_cast(CAST({v} AS JSON) AS VARCHAR[])) ELSE false END"
        ),
        writes=f"CAST(to_json(CAST(CAST({{v}} AS JSON) AS {cast}[])) AS VARCHAR)",
        equal_to=_equal_array,
    )


_TYPES = (
    _integer("int4", "INTEGER", 32),
    _integer("int8", "BIGINT", 64),
    FieldType(
        name="numeric",
        # A whole number too long for int8 is an identifier; minus zero would lose its sign.
        infers=(
            (
                r"regexp_full_match({v}, '-?(0|[1-9][0-9]*)\.[0-9]+|-?[1-9][0-9]{0,17}|0')"
                r" AND NOT regexp_full_match({v}, '-0\.0+') AND length({v}) < 1000"
            ),
        ),
        accepts=(
            r"regexp_full_match({v}, '[+-]?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?')"
            " AND length({v}) < 16000"
            " OR lower({v}) = 'nan'"
        ),
        writes=(
            "CASE WHEN lower({v}) = 'nan' THEN '\"NaN\"' ELSE"
            r" regexp_replace(regexp_replace(regexp_replace({v},"
            r" '^\+', ''), '^(-?)0+([0-9])', '\1\2'), '^(-?)\.', '\10.') END"
        ),
        equal_to=_equal_numeric,
    ),
    FieldType(
        name="float8",
        infers=(
            (
                "CAST(try_cast({v} AS DOUBLE) AS VARCHAR) IN ({v}, {v} || '.0')"
                " AND {v} NOT IN ('-0', '-0.0', 'nan', 'inf', '-inf')"
            ),
        ),
        accepts="try_cast({v} AS DOUBLE) IS NOT NULL",
        writes=(
            "CASE WHEN isnan(CAST({v} AS DOUBLE)) THEN '\"NaN\"'"
            " WHEN isinf(CAST({v} AS DOUBLE)) THEN"
            " CASE WHEN CAST({v} AS DOUBLE) > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END"
            " ELSE regexp_replace(CAST(CAST({v} AS DOUBLE) AS VARCHAR), '\\.0$', '') END"
        ),
        equal_to=_equal_float,
    ),
    FieldType(
        name="bool",
        # One spelling over the whole field, or it is a word and not a truth value.
        infers=("{v} IN ('true', 'false')", "{v} IN ('True', 'False')", "{v} IN ('TRUE', 'FALSE')"),
        accepts="lower({v}) IN ('true', 'false', 't', 'f', 'yes', 'no', 'y', 'n', '1', '0')",
        writes=(
            "CASE WHEN lower({v}) IN ('true', 't', 'yes', 'y', '1') THEN 'true' ELSE 'false' END"
        ),
        equal_to=_equal_bool,
    ),
    FieldType(
        name="date",
        infers=(_matches(_ISO_DATE, "DATE") + _AFTER_CHRIST,),
        accepts=_matches(_ISO_DATE, "DATE") + _AFTER_CHRIST,
        writes=_AS_STRING,
        equal_to=_equal_date,
    ),
    FieldType(
        name="timestamp",
        infers=(
            _matches(rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?", "TIMESTAMP")
            + _AFTER_CHRIST,
        ),
        accepts=_matches(
            rf"{_ISO_DATE}([T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?)?", "TIMESTAMP"
        )
        + _AFTER_CHRIST,
        # Three decimals as CKAN writes them, six where three would lose something.
        writes=(
            f"CASE WHEN epoch_us({_AS_TIMESTAMP}) % 1000 = 0"
            f" THEN strftime({_AS_TIMESTAMP}, '\"%Y-%m-%dT%H:%M:%S.%g\"')"
            f" ELSE strftime({_AS_TIMESTAMP}, '\"%Y-%m-%dT%H:%M:%S.%f\"') END"
        ),
        equal_to=_equal_timestamp,
    ),
    FieldType(
        name="time",
        infers=(_matches(rf"{_ISO_TIME}{_SECONDS}(\.[0-9]{{0,5}}[1-9])?", "TIME"),),
        accepts=_matches(rf"{_ISO_TIME}{_SECONDS}(\.[0-9]{{0,5}}[1-9])?", "TIME"),
        writes=_AS_STRING,
        equal_to=_equal_time,
    ),
    FieldType(
        name="json",
        infers=(),
        accepts="json_valid({v})",
        writes="{v}",
        equal_to=_equal_json,
    ),
    _array("_text", "VARCHAR"),
    _array("_int4", "INTEGER"),
    _array("_int8", "BIGINT"),
    _array("_float8", "DOUBLE"),
    _array("_bool", "BOOLEAN"),
    FieldType(
        name="text", infers=("true",), accepts="true", writes=_AS_STRING, equal_to=_equal_text
    ),
)

field_types: Mapping[str, FieldType] = {kind.name: kind for kind in _TYPES}

#: The types that a field of a file may turn out to have, the narrowest first.
inferred_types: tuple[FieldType, ...] = tuple(kind for kind in _TYPES if kind.infers)


def field_type(name: str) -> FieldType:
    """
    Find a type by its name or another name for it (``int`` for ``int4``).

    Raises: ``KeyError`` when there is none.
    """
    lowered = name.lower()
    return field_types[type_aliases.get(lowered, lowered)]
