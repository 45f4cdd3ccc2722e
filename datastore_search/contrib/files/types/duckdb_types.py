"""
How DuckDB reads the texts of each type: one entry for each name in ``field_types``.

Each is the type's own format, ISO's for dates; ``field_formats`` has the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Reading(NamedTuple):
    """The texts of a type, as templates over ``{v}``: members of a ``FieldFormat``."""

    condition: str
    json_expression: str
    inference_conditions: tuple[tuple[str, ...], ...] = (("true",),)
    is_inferred: bool = True
    lossless_conditions: tuple[tuple[str, ...], ...] = ()


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
        ((_build_match_condition(_PLAIN_INTEGER, cast),),),
        is_inferred,
    )


def _read_list(element: Reading, cast: str, json_expression: str = "") -> Reading:
    """Read lists in JSON; each element is written as a value of its type."""
    texts = "try_cast(try_cast({v} AS JSON) AS VARCHAR[])"

    def match_all(condition: str) -> str:
        each = f"lambda x: x IS NULL OR coalesce({condition.replace('{v}', 'x')}, false)"
        return f"coalesce(list_bool_and(list_transform({texts}, {each})), true)"

    return Reading(
        "CASE WHEN json_valid({v}) THEN json_type({v}) = 'ARRAY'"
        f" AND {match_all(element.condition)} ELSE false END",
        json_expression or f"CAST(to_json(CAST(CAST({{v}} AS JSON) AS {cast}[])) AS VARCHAR)",
        ((match_all(" OR ".join(element.inference_conditions[0])),),),
        is_inferred=False,
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


#: Not infinite or zero but by its text: a double holds numbers up to 1.8e308, down to 4.9e-324.
_DOUBLE = (
    "try_cast({v} AS DOUBLE) IS NOT NULL AND (regexp_matches({v}, '[nN]') OR"
    " abs(try_cast({v} AS DOUBLE)) < 'inf' AND (try_cast({v} AS DOUBLE) <> 0"
    " OR NOT regexp_matches({v}, '^[^eE]*[1-9]')))"
)
_DATE = _build_match_condition(_ISO_DATE, "DATE") + _AFTER_CHRIST
_TIMESTAMPTZ = (
    _build_match_condition(rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS})?{_ZONE}", "TIMESTAMPTZ")
    + _AFTER_CHRIST
)
_WITHOUT_ZONE = f"regexp_replace({{v}}, '{_ZONE}$', '')"
_TIME = _build_match_condition(rf"{_ISO_TIME}:[0-9]{{2}}(\.[0-9]{{0,5}}[1-9])?", "TIME")

_PLAIN_NUMBER = (
    r"regexp_full_match({v}, '-?(0|[1-9][0-9]*)(\.[0-9]+)?')"
    r" AND NOT regexp_full_match({v}, '-0(\.0+)?')"
)
_CONSTANTS = "{v} IN ('NaN', 'Infinity', '-Infinity')"
_SHORTEST_DOUBLE = (
    "CAST(try_cast({v} AS DOUBLE) AS VARCHAR) IN ({v}, {v} || '.0')"
    " AND {v} NOT IN ('-0', '-0.0', 'nan', 'inf', '-inf')"
)
_UNIFORM_DOUBLES = ("NOT ends_with({v}, '.0')", "contains({v}, '.') OR contains({v}, 'e')")


def _select_digits(text: str) -> str:
    """Select the digits of a number, without its sign, its point, its exponent, zeros around."""
    return f"trim(regexp_replace({text}, '[eE].*|[-+.]', '', 'g'), '0')"


#: A number that a double holds with all of its digits, however it is written.
SAME_DOUBLE = (
    f"{_CONSTANTS} OR {_select_digits('{v}')}"
    f" = {_select_digits('CAST(try_cast({v} AS DOUBLE) AS VARCHAR)')}"
)

#: By the name of the type, in the order in which formats are inferred: the narrowest first.
_SCALARS: Mapping[str, Reading] = {
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
        lossless_conditions=((_PLAIN_NUMBER, _CONSTANTS),),
    ),
    "float8": Reading(
        _DOUBLE,
        _build_double_json("CAST({v} AS DOUBLE)"),
        ((_SHORTEST_DOUBLE,), _UNIFORM_DOUBLES),
        lossless_conditions=((_SHORTEST_DOUBLE, _CONSTANTS), _UNIFORM_DOUBLES),
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
        _TIMESTAMPTZ,
        _build_timestamp_json(_AS_UTC, "+00:00"),
        # Only in UTC: a moment comes back without the zone in which it was written.
        (
            (_TIMESTAMPTZ,),
            ("ends_with({v}, 'Z')", "ends_with({v}, '+00:00')"),
            *(
                tuple(each.replace("{v}", _WITHOUT_ZONE) for each in either)
                for either in _UNIFORM_TIMESTAMPS
            ),
        ),
    ),
    "time": Reading(_TIME, _AS_STRING, ((_TIME,),)),
    "json": Reading("json_valid({v})", "{v}", is_inferred=False),
}
_TEXT = Reading("true", _AS_STRING)
duckdb_types: Mapping[str, Reading] = {
    **_SCALARS,
    "_text": _read_list(_TEXT, "VARCHAR"),
    "_int4": _read_list(_SCALARS["int4"], "INTEGER"),
    "_int8": _read_list(_SCALARS["int8"], "BIGINT"),
    "_float8": _read_list(
        _SCALARS["float8"],
        "DOUBLE",
        "'[' || array_to_string([CASE WHEN x IS NULL THEN 'null'"
        f" ELSE {_build_double_json('x')} END"
        " FOR x IN CAST(CAST({v} AS JSON) AS DOUBLE[])], ',') || ']'",
    ),
    "_bool": _read_list(_SCALARS["bool"], "BOOLEAN"),
    "text": _TEXT,
}
