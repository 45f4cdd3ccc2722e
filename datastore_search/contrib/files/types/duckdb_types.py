"""
How DuckDB reads the texts of each type: one entry for each name in ``field_types``.

Each is the type's own format, ISO's for dates; ``field_formats`` has the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: The inference conditions of a format that no field is inferred to have.
NEVER: tuple[tuple[str, ...], ...] = ((),)


class Reading(NamedTuple):
    """The texts of a type, as templates over ``{v}``: members of a ``FieldFormat``."""

    condition: str
    json_expression: str
    inference_conditions: tuple[tuple[str, ...], ...] = NEVER


def _build_match_condition(pattern: str, cast: str) -> str:
    return f"regexp_full_match({{v}}, '{pattern}') AND try_cast({{v}} AS {cast}) IS NOT NULL"


_AS_STRING = "CAST(to_json({v}) AS VARCHAR)"
_AS_TIMESTAMP = "CAST({v} AS TIMESTAMP)"
#: In UTC: a cast to a timestamp would drop the zone.
_AS_UTC = "make_timestamp(epoch_us(CAST({v} AS TIMESTAMPTZ)))"
_PLAIN_INTEGER = "0|-?[1-9][0-9]{0,18}"
_ISO_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = "[0-9]{2}:[0-9]{2}"
_SECONDS = r":[0-9]{2}(\.[0-9]{1,6})?"
_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_AFTER_CHRIST = " AND {v} >= '0001'"

#: All values of a field are written in the same way: with the same separator and the same digits.
_UNIFORM_TIMESTAMPS = (
    # DuckDB reads the hour 24 as the first hour of the next day.
    ("{v}[12:13] < '24'",),
    ("{v}[11] = 'T'", "{v}[11] = ' '"),
    (
        "length({v}) = 16",
        "length({v}) = 19",
        *(f"length({{v}}) = {20 + decimals}" for decimals in range(1, 7)),
        # without zeros at the end, as PostgreSQL does
        "length({v}) = 19 OR length({v}) > 20 AND NOT ends_with({v}, '0')",
        # six or none, as Python does
        "length({v}) = 19 OR length({v}) = 26 AND NOT ends_with({v}, '.000000')",
    ),
)


def _read_integer(cast: str, *, is_inferred: bool = True) -> Reading:
    return Reading(
        _build_match_condition("[+-]?[0-9]+", cast),
        f"CAST(CAST({{v}} AS {cast}) AS VARCHAR)",
        ((_build_match_condition(_PLAIN_INTEGER, cast),),) if is_inferred else NEVER,
    )


def _read_list(cast: str, json_expression: str = "") -> Reading:
    return Reading(
        # An element that cannot be cast becomes null, and list_count does not count it.
        "CASE WHEN json_valid({v}) THEN json_type({v}) = 'ARRAY'"
        f" AND list_count(try_cast(CAST({{v}} AS JSON) AS {cast}[]))"
        " = list_count(try_cast(CAST({v} AS JSON) AS VARCHAR[])) ELSE false END",
        json_expression or f"CAST(to_json(CAST(CAST({{v}} AS JSON) AS {cast}[])) AS VARCHAR)",
    )


def _build_timestamp_json(moment: str, zone: str) -> str:
    """Write three decimals as in CKAN, six where three lose something."""
    return (
        f"CASE WHEN epoch_us({moment}) % 1000 = 0"
        f" THEN strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%g{zone}\"')"
        f" ELSE strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%f{zone}\"') END"
    )


def _build_double_json(number: str) -> str:
    """Write a double as JSON; NaN and the infinities as text."""
    return (
        f"CASE WHEN isnan({number}) THEN '\"NaN\"' WHEN isinf({number}) THEN"
        f" CASE WHEN {number} > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END"
        f" ELSE regexp_replace(CAST({number} AS VARCHAR), '\\.0$', '') END"
    )


_DATE = _build_match_condition(_ISO_DATE, "DATE") + _AFTER_CHRIST
_TIME = _build_match_condition(rf"{_ISO_TIME}:[0-9]{{2}}(\.[0-9]{{0,5}}[1-9])?", "TIME")

#: By the name of the type, in the order in which formats are inferred: the narrowest first.
duckdb_types: Mapping[str, Reading] = {
    # Never inferred: a later file may have larger numbers.
    "int2": _read_integer("SMALLINT", is_inferred=False),
    "int4": _read_integer("INTEGER"),
    "int8": _read_integer("BIGINT"),
    "numeric": Reading(
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
    ),
    "float8": Reading(
        "try_cast({v} AS DOUBLE) IS NOT NULL",
        _build_double_json("CAST({v} AS DOUBLE)"),
        (
            (
                (
                    "CAST(try_cast({v} AS DOUBLE) AS VARCHAR) IN ({v}, {v} || '.0')"
                    " AND {v} NOT IN ('-0', '-0.0', 'nan', 'inf', '-inf')"
                ),
            ),
            ("NOT ends_with({v}, '.0')", "contains({v}, '.') OR contains({v}, 'e')"),
        ),
    ),
    "bool": Reading(
        "lower({v}) IN ('true', 'false', 't', 'f', 'yes', 'no', 'y', 'n', '1', '0')",
        "CASE WHEN lower({v}) IN ('true', 't', 'yes', 'y', '1') THEN 'true' ELSE 'false' END",
        # One spelling in the whole field; otherwise the values are words.
        (
            (
                "{v} IN ('true', 'false')",
                "{v} IN ('True', 'False')",
                "{v} IN ('TRUE', 'FALSE')",
            ),
        ),
    ),
    "date": Reading(_DATE, _AS_STRING, ((_DATE,),)),
    "timestamp": Reading(
        _build_match_condition(rf"{_ISO_DATE}([T ]{_ISO_TIME}({_SECONDS})?)?", "TIMESTAMP")
        + _AFTER_CHRIST,
        _build_timestamp_json(_AS_TIMESTAMP, ""),
        (
            (
                _build_match_condition(rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS})?", "TIMESTAMP")
                + _AFTER_CHRIST,
            ),
            *_UNIFORM_TIMESTAMPS,
        ),
    ),
    "timestamptz": Reading(
        _build_match_condition(rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS})?{_ZONE}", "TIMESTAMPTZ")
        + _AFTER_CHRIST,
        _build_timestamp_json(_AS_UTC, "+00:00"),
    ),
    "time": Reading(_TIME, _AS_STRING, ((_TIME,),)),
    "json": Reading("json_valid({v})", "{v}"),
    "_text": _read_list("VARCHAR"),
    "_int4": _read_list("INTEGER"),
    "_int8": _read_list("BIGINT"),
    "_float8": _read_list(
        "DOUBLE",
        "'[' || array_to_string([CASE WHEN x IS NULL THEN 'null'"
        f" ELSE {_build_double_json('x')} END"
        " FOR x IN CAST(CAST({v} AS JSON) AS DOUBLE[])], ',') || ']'",
    ),
    "_bool": _read_list("BOOLEAN"),
    "text": Reading("true", _AS_STRING, (("true",),)),
}
