"""
Whole numbers, decimals and doubles.

A number of JSON keeps all of its digits.  Also a text may be a number: ``"007"`` is 7, as in
PostgreSQL and CKAN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_UP, Decimal
from functools import partial
from string import whitespace
from typing import Any

from django.utils.translation import gettext_lazy as _

from .field_type import (
    SCALAR_OPERATORS,
    DuckDBTexts,
    FieldType,
    Ordered,
    build_guarded,
    match_and_cast,
)
from .json_values import (
    EXACT,
    MAX_DIGITS_AFTER_POINT,
    MAX_DIGITS_BEFORE_POINT,
    Json,
    NotOfType,
    dump_json,
    parse_json_value,
    parse_storable,
    try_parse,
)

#: The smallest positive number of ``numeric``.
_SMALLEST_NUMBER = Decimal((0, (1,), -MAX_DIGITS_AFTER_POINT))

#: A longer text is not a number.
_MAX_NUMBER_LENGTH = 200_000

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?", re.IGNORECASE)
_NOT_FINITE = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)

#: The notations that have no other meaning: ``007`` is text.
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_PLAIN_FRACTION = re.compile(r"-?(0|[1-9][0-9]{0,30})\.[0-9]{1,30}")


def _is_number(value: Json, *notations: re.Pattern[str]) -> bool:
    """Return whether a value is a number, or a text in one of the notations."""
    if isinstance(value, str):
        return any(each.fullmatch(value) for each in notations)
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _check_number(value: Json) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise NotOfType
    return Decimal(value)


def _require(text: str | None) -> str:
    """Refuse a number that equals nothing: a fraction for an integer, one out of range."""
    if text is None:
        raise NotOfType
    return text


def _is_kept(value: Json, parse: Callable[[Json], str]) -> bool:
    text = try_parse(value, parse)
    return text is not None and Decimal(text) == Decimal(str(value))


# Whole numbers ------------------------------------------------------------------------------------


def _build_integer_type(
    bits: int, duckdb_type: str, *, is_guessed: bool = True, **others: Any
) -> FieldType:
    within = range(-(2 ** (bits - 1)), 2 ** (bits - 1))

    def parse_operand(value: Json) -> str | None:
        """Parse a number, also as text; one that is not whole or not in range equals nothing."""
        if isinstance(value, str):
            text = value.strip(whitespace)
            if not _INTEGER.fullmatch(text) or int(text) not in within:
                raise NotOfType
            return str(int(text))
        number = _check_number(value)
        if number.adjusted() > bits or number != number.to_integral_value():
            return None
        return str(int(number)) if int(number) in within else None

    def parse_bound(value: Json) -> str:
        """Parse any number, also one that is not whole or not in range."""
        if isinstance(value, str):
            return read(value)
        number = _check_number(value)
        if number.adjusted() > bits:
            return str(2**bits if number > 0 else -(2**bits))
        return dump_json(_round_decimals(number))

    def read(value: Json) -> str:
        return _require(parse_operand(value))

    return FieldType(
        name=f"int{bits // 8}",
        label=_("whole number"),
        parse_value=read,
        parse_operand=parse_operand,
        parse_bound=parse_bound,
        holds=(lambda value: _is_number(value, _PLAIN_INTEGER) and _is_kept(value, read))
        if is_guessed
        else None,
        # Half the size of a jsonb number in an index, and compared faster.
        sort_expression="nullif({v}, 'null')::numeric",
        operators=SCALAR_OPERATORS,
        ordered=Ordered.NUMBERS,
        duckdb=DuckDBTexts(
            match_and_cast("[+-]?[0-9]+", duckdb_type),
            f"CAST(CAST({{v}} AS {duckdb_type}) AS VARCHAR)",
            ((match_and_cast("0|-?[1-9][0-9]{0,18}", duckdb_type),),),
            is_inferred=is_guessed,
        ),
        duckdb_type=duckdb_type,
        arrow_type=f"int{bits}",
        table_schema_type="integer",
        input_attributes=_INPUT,
        **others,
    )


# Decimals -----------------------------------------------------------------------------------------


def _parse_number(value: Json) -> Decimal | str:
    """Parse a number as PostgreSQL does: its value, or the name of NaN or an infinity."""
    if not isinstance(value, str):
        return _check_number(value)
    text = value.strip(whitespace)
    if _NOT_FINITE.fullmatch(text):
        return str(Decimal(text))
    if len(text) > _MAX_NUMBER_LENGTH or not NUMBER.fullmatch(text):
        raise NotOfType
    return Decimal(text)


def _parse_numeric_bound(value: Json) -> str:
    """Parse a number; one beyond PostgreSQL's range becomes infinite."""
    number = _parse_number(value)
    if isinstance(number, Decimal) and number.adjusted() >= MAX_DIGITS_BEFORE_POINT:
        return _dump_infinity(number)
    return dump_json(_round_decimals(number) if isinstance(number, Decimal) else number)


def _round_decimals(number: Decimal) -> Decimal:
    """Round a number with more decimals than PostgreSQL stores away from zero."""
    if int(number.as_tuple().exponent) >= -MAX_DIGITS_AFTER_POINT:
        return number
    return number.quantize(_SMALLEST_NUMBER, rounding=ROUND_UP, context=EXACT)


def _dump_infinity(number: Decimal) -> str:
    return dump_json("-Infinity" if number < 0 else "Infinity")


# Doubles ------------------------------------------------------------------------------------------


def _parse_float8_operand(value: Json, *, is_bound: bool = False) -> str | None:
    """
    Parse a number; out of range, a text is refused as in PostgreSQL, a number equals nothing.

    As a bound, such a number becomes infinite, or 0.
    """
    number = _parse_number(value)
    if isinstance(number, str):
        return dump_json(number)
    try:
        double = float(number)
    except OverflowError:
        double = math.copysign(math.inf, number)
    if math.isinf(double) or (double == 0 and number != 0):
        if isinstance(value, str):
            raise NotOfType
        if not is_bound:
            return None
        if math.isinf(double):
            return _dump_infinity(number)
    return repr(double).removesuffix(".0")


def _parse_float8(value: Json, *, is_bound: bool = False) -> str:
    return _require(_parse_float8_operand(value, is_bound=is_bound))


def build_double_json(number: str) -> str:
    """Build DuckDB's JSON of a double; NaN and the infinities are texts."""
    return (
        f"CASE WHEN isnan({number}) THEN '\"NaN\"' WHEN isinf({number}) THEN"
        f" CASE WHEN {number} > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END"
        f" ELSE regexp_replace(CAST({number} AS VARCHAR), '\\.0$', '') END"
    )


def _select_digits(text: str) -> str:
    return f"trim(regexp_replace({text}, '[eE].*|[-+.]', '', 'g'), '0')"


# The entries --------------------------------------------------------------------------------------

_CONSTANTS = "{v} IN ('NaN', 'Infinity', '-Infinity')"
_SHORTEST_DOUBLE = build_guarded(
    "regexp_matches({v}, '^-?[0-9]')",
    "CAST(try_cast({v} AS DOUBLE) AS VARCHAR) IN ({v}, {v} || '.0') AND {v} NOT IN ('-0', '-0.0')",
)
_UNIFORM_DOUBLES = ("NOT ends_with({v}, '.0')", "contains({v}, '.') OR contains({v}, 'e')")

#: A number that a double holds with all of its digits, however it is written.
SAME_DOUBLE = (
    f"{_CONSTANTS} OR {_select_digits('{v}')}"
    f" = {_select_digits('CAST(try_cast({v} AS DOUBLE) AS VARCHAR)')}"
)

_INPUT = {"inputmode": "decimal", "dir": "ltr"}

#: Never guessed: a later file may have larger numbers.
INT2 = _build_integer_type(16, "SMALLINT", is_guessed=False, aliases=("smallint",))
INT4 = _build_integer_type(
    32,
    "INTEGER",
    aliases=("int", "integer"),
    declared_types=("tinyint", "smallint", "integer", "utinyint", "usmallint", "OFTInteger"),
)
INT8 = _build_integer_type(
    64,
    "BIGINT",
    aliases=("bigint",),
    declared_types=("bigint", "uinteger", "OFTInteger64"),
    common_formats=("",),
)
FLOAT8 = FieldType(
    name="float8",
    label=_("number"),
    aliases=("float", "double", "double precision", "real", "float4"),
    parse_value=_parse_float8,
    parse_operand=_parse_float8_operand,
    parse_bound=partial(_parse_float8, is_bound=True),
    holds=lambda value: _is_number(value) and _is_kept(value, _parse_float8),
    read_python=float,
    sort_expression="{t}::float8",
    operators=SCALAR_OPERATORS,
    ordered=Ordered.NUMBERS,
    duckdb=DuckDBTexts(
        # Not infinite or zero but by its text: a double has numbers up to 1.8e308, from 4.9e-324.
        # DuckDB alone reads 1_000 and -nan.
        "try_cast({v} AS DOUBLE) IS NOT NULL AND NOT regexp_matches({v}, '_|^[+-][nN]') AND"
        " (regexp_matches({v}, '[nN]') OR"
        " abs(try_cast({v} AS DOUBLE)) < 'inf' AND (try_cast({v} AS DOUBLE) <> 0"
        " OR NOT regexp_matches({v}, '^[^eE]*[1-9]')))",
        build_double_json("CAST({v} AS DOUBLE)"),
        ((_SHORTEST_DOUBLE,), _UNIFORM_DOUBLES),
        lossless_conditions=((_SHORTEST_DOUBLE, _CONSTANTS), _UNIFORM_DOUBLES),
    ),
    duckdb_type="DOUBLE",
    arrow_type="float64",
    table_schema_type="number",
    declared_types=("float", "double", "OFTReal"),
    input_attributes=_INPUT,
)
NUMERIC = FieldType(
    name="numeric",
    label=_("number"),
    aliases=("decimal",),
    parse_value=lambda value: parse_json_value(_parse_number(value)),
    parse_operand=lambda value: parse_storable(_parse_number(value)),
    parse_bound=_parse_numeric_bound,
    holds=lambda value: _is_number(value, _PLAIN_INTEGER, _PLAIN_FRACTION),
    read_python=Decimal,
    sort_expression="{t}::numeric",
    operators=SCALAR_OPERATORS,
    ordered=Ordered.NUMBERS,
    duckdb=DuckDBTexts(
        r"regexp_full_match({v}, '[+-]?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?')"
        " AND length({v}) < 16000"
        " OR lower({v}) IN ('nan', 'infinity', '-infinity')",
        "CASE lower({v}) WHEN 'nan' THEN '\"NaN\"' WHEN 'infinity' THEN '\"Infinity\"'"
        " WHEN '-infinity' THEN '\"-Infinity\"' ELSE"
        r" regexp_replace(regexp_replace(regexp_replace({v},"
        r" '^\+', ''), '^(-?)0+([0-9])', '\1\2'), '^(-?)\.', '\10.') END",
        # A whole number too long for int8 is an identifier; minus zero would lose its sign.
        (
            (
                (
                    r"regexp_full_match({v}, '-?(0|[1-9][0-9]*)\.[0-9]+|-?[1-9][0-9]{0,17}|0')"
                    r" AND NOT regexp_full_match({v}, '-0\.0+') AND length({v}) < 1000"
                ),
            ),
        ),
        lossless_conditions=(
            (
                (
                    r"regexp_full_match({v}, '-?(0|[1-9][0-9]*)(\.[0-9]+)?')"
                    r" AND NOT regexp_full_match({v}, '-0(\.0+)?')"
                ),
                _CONSTANTS,
            ),
        ),
    ),
    duckdb_type="DECIMAL",
    arrow_type="decimal128",
    arrow_condition="ARRAY[max(abs({v}::numeric)), max(scale({v}::numeric))]",
    table_schema_type="number",
    declared_types=("ubigint", "hugeint", "uhugeint", "decimal"),
    input_attributes=_INPUT,
    common_formats=("", "comma"),
)
