"""
The keys by which records are grouped: a value, a period of time, or a range of numbers.

A key is an SQL expression over a record's ``data``.  Bins are made in a second step, since their
bounds depend on the least and the greatest value of the matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import LiteralString

from django.db import connections
from psycopg import sql

from ...database.statements import fetch_column
from ...field_types import NUMERIC, FieldType, field_types
from ...filters import MAX_SHOWN_LENGTH, Clause, compile_field_key
from ...messages.parameters import InvalidParameter, UnknownField
from ...search import ConsistentRead
from .errors import UngroupableField, UnknownTimeZone, UnsupportedOption

INTERVALS = ("year", "quarter", "month", "week", "day", "hour")

#: The bins of one field at most.
MAX_BINS = 100


@dataclass(frozen=True, slots=True)
class GroupBy:
    """
    A field by whose values records are grouped.

    At most one of these applies: ``interval``, one of ``INTERVALS``, groups moments by the period
    in which they are, of the ``time_zone``; ``width`` groups numbers by ranges from its multiples
    on; ``bins`` makes that number of ranges of equal width, or, if it ``is_logarithmic``, ranges of
    numbers from 0 on that end at 1, 2 or 5 times a power of ten.
    """

    field: str
    interval: str = ""
    time_zone: str = ""
    width: Decimal | int | None = None
    bins: int | None = None
    is_logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class GroupKey:
    """
    An expression over ``data``, null where a record has no value; ``kind`` is the type of groups.

    ``is_moment`` marks a key that is a timestamp of PostgreSQL's, not the text of one.
    """

    group: GroupBy
    kind: FieldType
    value: Clause
    is_moment: bool = False

    @property
    def is_list(self) -> bool:
        return self.kind.is_nested

    def render(self, key: sql.Composable) -> sql.Composable:
        if not self.is_moment:
            return sql.SQL("to_jsonb({})").format(key)
        template: LiteralString = "datastore_search_iso({0})"
        if self.kind.has_zone:
            template = "datastore_search_iso({0} AT TIME ZONE 'UTC') || '+00:00'"
        elif not self.kind.is_timestamp:
            template = "to_char({0}, 'YYYY-MM-DD')"
        return sql.SQL("to_jsonb(CASE WHEN isfinite({0}) THEN {1} ELSE {0}::text END)").format(
            key, sql.SQL(template).format(key)
        )

    def order(self, key: sql.Composable) -> sql.Composable:
        if not self.is_list:
            return key
        return sql.SQL(self.kind.sort_expression).format(v=key, t=key)

    def order_strictly(self, key: sql.Composable) -> sql.Composable:
        """Compile what equally common keys are sorted by: texts by their code points."""
        if self.kind.is_text:
            return sql.SQL('{} COLLATE "C"').format(key)
        return self.order(key)

    def select_bounds(self, key: LiteralString, matches: LiteralString) -> Clause:
        """Select the ``bounds`` of bins, a sorted array of keys: one for one value, or null."""
        names = {
            "key": sql.SQL(key),
            "matches": sql.SQL(matches),
            "is_finite": self.is_finite(key),
        }
        if self.group.is_logarithmic:
            return Clause(sql.SQL(_LOGARITHMIC_BOUNDS).format(**names))
        if self.kind.is_number:
            # What a double can hold: a filter compares with doubles.
            is_double = self.kind.is_double
            inner = f"{_NUMBER_BOUND}::float8::text::numeric" if is_double else _NUMBER_BOUND
        else:
            inner = _MOMENT_BOUND if self.kind.is_timestamp else _DAY_BOUND
            inner = f"({inner} || '+00:00')" if self.kind.has_zone else inner
            inner = f'{inner} COLLATE "C"'
        return Clause(
            sql.SQL(
                "SELECT array_agg(DISTINCT bound ORDER BY bound) AS bounds"
                " FROM (SELECT min({key}) AS low, max({key}) AS high FROM {matches}"
                " WHERE {is_finite}) AS span, generate_series(0, %s) AS step,"
                " LATERAL (SELECT CASE step WHEN 0 THEN low WHEN %s THEN high ELSE {inner} END"
                " AS bound) AS each WHERE low IS NOT NULL"
            ).format(inner=sql.SQL(inner), **names),
            [self.group.bins or 1] * 3,
        )

    def is_finite(self, key: LiteralString) -> sql.Composable:
        names = "'infinity', '-infinity'" + (", 'NaN'" if self.kind.is_number else "")
        return sql.SQL(f"{key} NOT IN ({names})")


#: The bin of a key, from 1, among ``bounds``; the last one includes its end.
BIN: LiteralString = "greatest(1, least(width_bucket({key}, {bounds}), cardinality({bounds}) - 1))"

#: The bounds of ranges around all numbers: 1, 2 and 5 times powers of ten, the first perhaps 0.
_LOGARITHMIC_BOUNDS: LiteralString = (
    "SELECT array_agg(bound ORDER BY bound) AS bounds FROM (SELECT min({key})::numeric AS low,"
    " max({key})::numeric AS high FROM {matches} WHERE {is_finite}) AS span, LATERAL"
    " (SELECT bound, lag(bound) OVER ascending AS previous, lead(bound) OVER ascending AS next"
    " FROM (SELECT least(low, 0) UNION SELECT trim_scale(digit * 10::numeric ^ power)"
    " FROM (SELECT floor(log(CASE WHEN high > 0 THEN high END))::int AS last) AS powers,"
    " generate_series(last - 5, last + 1) AS power, unnest(ARRAY[1, 2, 5]) AS digit)"
    " AS steps (bound) WINDOW ascending AS (ORDER BY bound)) AS each WHERE low IS NOT NULL"
    " AND (previous IS NULL OR previous < high) AND (next IS NULL OR next > low)"
)

_NUMBER_BOUND: LiteralString = "trim_scale(low + (high - low) * step / %s)"
#: Microseconds since 1970, in whole numbers: a double has not enough digits.
_MICROSECONDS: LiteralString = "(extract(epoch FROM {0}::timestamp) * 1000000)"
_MOMENT_BOUND: LiteralString = (
    "(SELECT datastore_search_iso(timestamp 'epoch'"
    " + div(number, 86400000000)::int * interval '1 day'"
    " + mod(number, 86400000000)::bigint * interval '1 microsecond')"
    " FROM (SELECT floor({low} + ({high} - {low}) * step / %s) AS number) AS microseconds)"
).replace("{low}", _MICROSECONDS.replace("{0}", "low")).replace(
    "{high}", _MICROSECONDS.replace("{0}", "high")
)  # fmt: skip

_DAY_BOUND: LiteralString = (
    "to_char(low::date + floor((high::date - low::date)::numeric * step / %s)::int, 'YYYY-MM-DD')"
)


# Compiling ----------------------------------------------------------------------------------------


def compile_value(kind: FieldType, name: str) -> Clause:
    """Compile the value of a field as PostgreSQL computes with it; null where there is none."""
    if kind.is_nested:
        return Clause(sql.SQL("nullif(data -> %s, 'null')"), [name])
    return Clause(compile_field_key(kind), [name])


def compile_group_keys(
    groups: Iterable[GroupBy], read: ConsistentRead, parameter: str, errors: list[InvalidParameter]
) -> list[GroupKey]:
    """Compile the keys of the groups that a parameter has sent; add what is wrong to ``errors``."""
    keys = []
    for group in groups:
        try:
            keys.append(_compile_group(group, read, parameter))
        except InvalidParameter as error:
            errors.append(error)
    return keys


def _compile_group(group: GroupBy, read: ConsistentRead, parameter: str) -> GroupKey:
    name, types = group.field, read.relation.types
    if name not in types:
        raise UnknownField(parameter=parameter, field=name[:MAX_SHOWN_LENGTH])
    kind = field_types[types[name]]
    if not kind.is_sortable:
        raise UngroupableField(parameter=parameter, field=name, type=kind.name)
    is_number, has_day = kind.is_number, kind.has_day
    misfits = {
        "interval": group.interval and not has_day,
        "time_zone": group.time_zone and not kind.has_zone,
        "width": group.width is not None and not is_number,
        "bins": group.bins is not None and not (is_number or has_day),
    }
    for option, is_misfit in misfits.items():
        if is_misfit:
            raise UnsupportedOption(parameter=parameter, field=name, type=kind.name, option=option)
    time_zone = group.time_zone[:MAX_SHOWN_LENGTH]
    if time_zone and group.time_zone.lower() not in _list_time_zones(read.connection.alias):
        raise UnknownTimeZone(parameter=parameter, time_zone=time_zone)
    if interval := group.interval:
        zone = group.time_zone or "UTC"  # as records show moments
        if not kind.has_zone:
            moment = sql.SQL("date_trunc(%s, (data ->> %s)::timestamp)")
            return GroupKey(group, kind, Clause(moment, [interval, name]), is_moment=True)
        period: LiteralString = "date_trunc(%s, (data ->> %s)::timestamptz, %s)"
        # The period of the first moments that can be stored may begin before them.
        moment = sql.SQL(
            f"CASE WHEN starts_with(data ->> %s, '0001-') THEN greatest({period},"
            f" timestamptz '0001-01-01 00:00:00+00') ELSE {period} END"
        )
        value = Clause(moment, [name, *[interval, name, zone] * 2])
        return GroupKey(group, kind, value, is_moment=True)
    if (width := group.width) is not None:
        number = sql.SQL("(data ->> %s)::numeric")
        below = sql.SQL("((div({0}, %s) - (mod({0}, %s) < 0)::int) * %s::numeric)").format(number)
        return GroupKey(group, NUMERIC, Clause(below, [name, width, name, width, width]))
    if group.bins is not None and kind.is_number:
        return GroupKey(group, kind, Clause(sql.SQL("(data ->> %s)::numeric"), [name]))
    return GroupKey(group, kind, compile_value(kind, name))


@lru_cache(maxsize=8)
def _list_time_zones(alias: str) -> frozenset[str]:
    """List the names of PostgreSQL's time zones once: it reads a file for each."""
    return frozenset(fetch_column(connections[alias], "SELECT lower(name) FROM pg_timezone_names"))
