"""
Days, times, and days with a time.

Python parses ISO's notation.  PostgreSQL parses what else it knows, such as ``1 March 2021``, with
the function ``datastore_search_cast``; a day or a month in digits at the beginning is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from string import whitespace
from typing import Any, TypeVar

from django.utils.translation import gettext_lazy as _

from .field_type import (
    JSON_STRING,
    SCALAR_OPERATORS,
    DuckDBTexts,
    FieldType,
    Ordered,
    match_and_cast,
)
from .json_values import Json, NotOfType, dump_json, raise_unknown_notation, try_parse

_Moment = TypeVar("_Moment", date, datetime, time)

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"

#: PostgreSQL would also read 1,234 as the 234th day of 2001, and ``::1/128`` as the 128th.
_MAY_BE_MOMENT = re.compile("[0-9]{4}|[0-9]{1,2}:|[^A-Za-z]*[A-Za-z]")

# Python -------------------------------------------------------------------------------------------


def _build_parser(
    pattern: str, parse: Callable[[str], _Moment], write: Callable[[_Moment], str]
) -> Callable[[Json], str]:
    notation = re.compile(pattern)

    def read(value: Json) -> str:
        if not isinstance(value, str):
            raise NotOfType
        text = value.strip(whitespace)
        if not notation.fullmatch(text):
            if not _MAY_BE_MOMENT.match(text):
                raise NotOfType
            raise_unknown_notation(text)
        try:
            return dump_json(write(parse(text)))
        except OverflowError:
            raise NotOfType from None
        except ValueError:
            raise_unknown_notation(text)  # PostgreSQL parses 24:00, for example

    return read


def _format_timestamp(moment: datetime) -> str:
    """Write three decimals as in CKAN, six where three lose something."""
    exact = moment.microsecond % 1000 != 0
    return moment.isoformat(timespec="microseconds" if exact else "milliseconds")


# DuckDB -------------------------------------------------------------------------------------------

_AS_TIMESTAMP = "CAST({v} AS TIMESTAMP)"
#: In UTC: a cast to a timestamp would drop the zone.
_AS_UTC = "make_timestamp(epoch_us(CAST({v} AS TIMESTAMPTZ)))"
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


def _build_timestamp_json(moment: str, zone: str) -> str:
    """Write a timestamp as ``_format_timestamp`` does; an infinite one has no microseconds."""
    return (
        f"CASE WHEN epoch_us({moment}) % 1000 = 0"
        f" THEN strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%g{zone}\"')"
        f" WHEN epoch_us({moment}) % 1000 > 0"
        f" THEN strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%f{zone}\"')"
        f" ELSE {JSON_STRING} END"
    )


def _build_type(
    name: str,
    read: Callable[[Json], str],
    duckdb: DuckDBTexts,
    *,
    is_guessed: bool = True,
    **others: Any,
) -> FieldType:
    return FieldType(
        name=name,
        parse_value=read,
        parse_operand=read,
        parse_bound=read,
        holds=(lambda value: isinstance(value, str) and try_parse(value, read) is not None)
        if is_guessed
        else None,
        # ISO's notation sorts by time, in every collation of the database.
        sort_expression='{t} COLLATE "C"',
        operators=SCALAR_OPERATORS,
        ordered=Ordered.DATES,
        duckdb=duckdb,
        **others,
    )


# The entries --------------------------------------------------------------------------------------

_DAY_TEXTS = match_and_cast(_DATE, "DATE") + _AFTER_CHRIST
_ZONED_TEXTS = match_and_cast(
    rf"{_DATE}[T ][0-9]{{2}}:[0-9]{{2}}({_SECONDS})?{_ZONE}",
    "TIMESTAMPTZ",
    # In UTC a day may be of another year.
    "BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'",
)
_TIME_TEXTS = match_and_cast(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,5}[1-9])?", "TIME")

DATE = _build_type(
    "date",
    _build_parser(_DATE, date.fromisoformat, date.isoformat),
    DuckDBTexts(_DAY_TEXTS, JSON_STRING, ((_DAY_TEXTS,),)),
    is_guessed=False,  # CKAN guesses a timestamp
    label=_("date"),
    read_python=date.fromisoformat,
    duckdb_type="DATE",
    arrow_type="date32",
    arrow_condition="bool_and({v} LIKE '____-__-__')",
    excel_format="yyyy-mm-dd",
    table_schema_type="date",
    declared_types=("date", "OFTDate"),
    python_types=frozenset({date}),
    input_attributes={"type": "date"},
    common_formats=("", "dmy"),
)
TIMESTAMP = _build_type(
    "timestamp",
    _build_parser(rf"{_DATE}([T ]{_CLOCK})?", datetime.fromisoformat, _format_timestamp),
    DuckDBTexts(
        match_and_cast(rf"{_DATE}([T ][0-9]{{2}}:[0-9]{{2}}({_SECONDS})?)?", "TIMESTAMP")
        + _AFTER_CHRIST,
        _build_timestamp_json(_AS_TIMESTAMP, ""),
        (
            (
                match_and_cast(rf"{_DATE}[T ][0-9]{{2}}:[0-9]{{2}}({_SECONDS})?", "TIMESTAMP")
                + _AFTER_CHRIST,
            ),
            *_UNIFORM_TIMESTAMPS,
        ),
    ),
    label=_("date and time"),
    read_python=datetime.fromisoformat,
    duckdb_type="TIMESTAMP",
    aliases=("datetime", "timestamp without time zone"),
    arrow_type="timestamp[us]",
    arrow_condition="bool_and({v} LIKE '____-__-__T%')",
    excel_format="yyyy-mm-dd hh:mm:ss.000",
    table_schema_type="datetime",
    declared_types=("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    python_types=frozenset({date, datetime}),
    input_attributes={"placeholder": "2026-12-31 23:59", "dir": "ltr"},
    common_formats=("",),
)
TIMESTAMPTZ = _build_type(
    "timestamptz",
    _build_parser(
        rf"{_DATE}[T ]{_CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})",
        datetime.fromisoformat,
        lambda moment: _format_timestamp(moment.astimezone(UTC)),
    ),
    DuckDBTexts(
        _ZONED_TEXTS,
        _build_timestamp_json(_AS_UTC, "+00:00"),
        # Only in UTC: a moment comes back without the zone in which it was written.
        (
            (_ZONED_TEXTS,),
            ("ends_with({v}, 'Z')", "ends_with({v}, '+00:00')"),
            *(
                tuple(
                    each.replace("{v}", f"regexp_replace({{v}}, '{_ZONE}$', '')") for each in either
                )
                for either in _UNIFORM_TIMESTAMPS
            ),
        ),
    ),
    label=_("date and time in UTC"),
    read_python=datetime.fromisoformat,
    duckdb_type="TIMESTAMPTZ",
    aliases=("timestamp with time zone",),
    arrow_type="timestamp[us]",
    arrow_condition="bool_and({v} LIKE '____-__-__T%')",
    table_schema_type="datetime",
    declared_types=("timestamp with time zone", "OFTDateTime"),
    input_attributes={"placeholder": "2026-12-31 23:59", "dir": "ltr"},
)
TIME = _build_type(
    "time",
    _build_parser(
        _CLOCK,
        time.fromisoformat,
        lambda moment: moment.isoformat().rstrip("0" if moment.microsecond else ""),
    ),
    DuckDBTexts(_TIME_TEXTS, JSON_STRING, ((_TIME_TEXTS,),)),
    label=_("time of day"),
    read_python=time.fromisoformat,
    duckdb_type="TIME",
    aliases=("time without time zone",),
    arrow_type="time64[us]",
    arrow_condition="bool_and({v} < '24')",
    excel_format="hh:mm:ss.000",
    table_schema_type="time",
    declared_types=("time", "time_ns"),
    python_types=frozenset({time}),
    input_attributes={"placeholder": "23:59", "dir": "ltr"},
)
