"""
The keys by which records are grouped: a value, a period of time, or a range of numbers.

The engine groups records by them and returns texts of the keys, which PostgreSQL reads.  The bounds
of bins depend on the least and the greatest value of the matches, so these are asked for before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from typing import LiteralString

from django.db import connections
from psycopg import sql

from ...database.statements import fetch_column
from ...field_types import NUMERIC, FieldType, field_types
from ...filters import MAX_SHOWN_LENGTH, Clause
from ...messages.parameters import InvalidParameter, UnknownField
from ...search import ConsistentRead
from .engine.columns import Column, write_text
from .engine.questions import Asked, normalize, read_value
from .engine.source import Source
from .errors import UngroupableField, UnknownTimeZone, UnsupportedOption

INTERVALS = ("decade", "year", "quarter", "month", "week", "day", "hour")

#: The bins of one field at most.
MAX_BINS = 100

#: Digits of a width of ranges whose bounds are exact.
_MAX_WIDTH_DIGITS = 23


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
    The key of groups, null where a record has no value; ``kind`` is their type.

    PostgreSQL has a period as a timestamp, and other moments as texts.
    """

    group: GroupBy
    kind: FieldType

    def render(self, key: sql.Composable) -> sql.Composable:
        if not self.group.interval:
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
        if not self.kind.is_nested:
            return key
        return sql.SQL(self.kind.sort_expression).format(v=key, t=key)

    def ask(self, source: Source, bounds: Sequence[str] = ()) -> Asked:
        """Ask for the keys of groups, those of bins by their ``bounds``."""
        group, column = self.group, source.columns[self.group.field]
        if group.interval:
            return self._ask_period(column)
        if group.width is not None:
            return _ask_range(column, Decimal(group.width))
        if group.bins is not None:
            lower = _choose_bin(column, bounds)
            is_number = self.kind.is_number
            return Asked((lower,), "{0}::numeric" if is_number else '{0} COLLATE "C"', by=lower)
        by = normalize(self.kind, column)
        # Equal values may have several texts, as 1.5 and 1.50.
        has_texts = column.has_texts or by != column.value
        text = f"min({column.text})" if has_texts else column.text
        return Asked((text,), read_value(self.kind), by=by)

    def _ask_period(self, column: Column) -> Asked:
        interval, moment, kind = self.group.interval, column.value, "TIMESTAMP"
        if self.kind.has_zone:
            kind, zone = "TIMESTAMPTZ", (self.group.time_zone or "UTC").replace("'", "''")
            local = f"date_trunc('{interval}', timezone('{zone}', {moment}))"
            # The period of the first moments that can be stored may begin before them.
            first = "TIMESTAMPTZ '0001-01-01 00:00:00+00'"
            period = f"greatest(timezone('{zone}', {local}), {first})"
        else:
            moment = f"CAST({moment} AS TIMESTAMP)"
            period = f"greatest(date_trunc('{interval}', {moment}), TIMESTAMP '0001-01-01')"
        by = f"CASE WHEN isfinite({moment}) THEN {period} ELSE {moment} END"
        kind = kind if self.kind.is_timestamp else "DATE"
        written = write_text(kind, f"CAST({by} AS {kind})")
        text = f"CASE WHEN isfinite({by}) THEN {written} ELSE CAST({by} AS VARCHAR) END"
        value = "{0}::timestamptz" if self.kind.has_zone else "{0}::timestamp"
        return Asked((text,), value, by=by)

    def read_bounds(self, read: ConsistentRead, low: str | None, high: str | None) -> list[str]:
        """Read the bounds of bins between two texts: one for a single value, none without any."""
        bound: LiteralString = _DAY_BOUND
        if self.kind.is_number:
            # What a double can hold: a filter compares with doubles.
            bound = _NUMBER_BOUND + ("::float8::text::numeric" if self.kind.is_double else "")
        elif self.kind.is_timestamp:
            bound = f"({_MOMENT_BOUND} || '+00:00')" if self.kind.has_zone else _MOMENT_BOUND
        kind: LiteralString = "numeric" if self.kind.is_number else "text"
        template = _LOGARITHMIC_BOUNDS if self.group.is_logarithmic else _BOUNDS
        bounds = sql.SQL(
            "SELECT array_agg(bound::text ORDER BY bound {order}) FROM (SELECT {ends}, %s AS bins)"
            " AS span, LATERAL ({bounds}) AS bounds WHERE low IS NOT NULL"
        ).format(
            order=sql.SQL("" if self.kind.is_number else 'COLLATE "C"'),
            ends=sql.SQL(f"%s::{kind} AS low, %s::{kind} AS high"),
            bounds=sql.SQL(template).format(bound=sql.SQL(bound)),
        )
        ((found,),) = read.fetch_rows(Clause(bounds, [low, high, self.group.bins or 1]))
        return found or []


# Ranges -------------------------------------------------------------------------------------------

_BOUNDS: LiteralString = (
    "SELECT DISTINCT CASE step WHEN 0 THEN low WHEN bins THEN high ELSE {bound} END AS bound"
    " FROM generate_series(0, bins) AS step"
)

#: The bounds of ranges around all numbers: 1, 2 and 5 times powers of ten, the first perhaps 0.
_LOGARITHMIC_BOUNDS: LiteralString = (
    "SELECT bound FROM"
    " (SELECT bound, lag(bound) OVER ascending AS previous, lead(bound) OVER ascending AS next"
    " FROM (SELECT least(low, 0) UNION SELECT trim_scale(digit * 10::numeric ^ power)"
    " FROM (SELECT floor(log(CASE WHEN high > 0 THEN high END))::int AS last) AS powers,"
    " generate_series(last - 5, last + 1) AS power, unnest(ARRAY[1, 2, 5]) AS digit)"
    " AS steps (bound) WINDOW ascending AS (ORDER BY bound)) AS each"
    " WHERE (previous IS NULL OR previous < high) AND (next IS NULL OR next > low)"
)

_NUMBER_BOUND: LiteralString = "trim_scale(low + (high - low) * step / bins)"
#: Microseconds since 1970, in whole numbers: a double has not enough digits.
_LOW: LiteralString = "(extract(epoch FROM low::timestamp) * 1000000)"
_HIGH: LiteralString = "(extract(epoch FROM high::timestamp) * 1000000)"
_MOMENT_BOUND: LiteralString = (
    "(SELECT datastore_search_iso(timestamp 'epoch'"
    " + div(number, 86400000000)::int * interval '1 day'"
    " + mod(number, 86400000000)::bigint * interval '1 microsecond')"
    f" FROM (SELECT floor({_LOW} + ({_HIGH} - {_LOW}) * step / bins) AS number) AS microseconds)"
)
_DAY_BOUND: LiteralString = (
    "to_char(low::date + floor((high::date - low::date)::numeric * step / bins)::int, 'YYYY-MM-DD')"
)


def ask_span(column: Column) -> tuple[str, str]:
    """Ask for the least and the greatest value that has a bin, as texts."""
    value, is_finite = _measure(column)
    low, high = (
        f"CAST({column.write_end(end, value, f'FILTER ({is_finite})')} AS VARCHAR)"
        for end in ("min", "max")
    )
    return low, high


def read_bounds(source: Source, keys: Sequence[GroupKey]) -> list[list[str]]:
    """Read the bounds of the bins of keys; other keys have none."""
    binned = [source.columns[key.group.field] for key in keys if key.group.bins is not None]
    ends = ", ".join(end for column in binned for end in ask_span(column))
    found = iter(source.fetch(f"SELECT {ends} FROM matches")[0] if binned else ())
    return [
        key.read_bounds(source.read, next(found), next(found)) if key.group.bins is not None else []
        for key in keys
    ]


def _measure(column: Column) -> tuple[str, str]:
    """Return the value that has a place on an axis, and whether it is finite."""
    if not column.is_typed:
        value = f"try_cast({column.value} AS DOUBLE)"
        return value, f"coalesce(isfinite({value}), false)"
    if column.type in _WITH_INFINITY:
        return column.value, f"isfinite({column.value})"
    return column.value, f"{column.value} IS NOT NULL"


_WITH_INFINITY = {"DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ"}
_WHOLE_TYPES = {"SMALLINT", "INTEGER", "BIGINT"}


def _choose_bin(column: Column, bounds: Sequence[str]) -> str:
    """Choose the lower bound of the bin of a value; the last bin includes its end."""
    value, is_finite = _measure(column)
    last = max(0, len(bounds) - 2)

    def choose(low: int, high: int) -> str:
        if low == high:
            return f"'{bounds[low]}'"
        middle = (low + high + 1) // 2
        bound = _write_bound(column, bounds[middle])
        upper, lower = choose(middle, high), choose(low, middle - 1)
        return f"CASE WHEN {value} >= {bound} THEN {upper} ELSE {lower} END"

    chosen = choose(0, last) if bounds else "NULL"
    return f"CASE WHEN {is_finite} THEN {chosen} ELSE CAST({column.text} AS VARCHAR) END"


def _write_bound(column: Column, bound: str) -> str:
    """Write a bound in the type of a column: the first value there that is not below it."""
    if column.type in {"DATE", "TIMESTAMP", "TIMESTAMPTZ"}:
        return f"{column.type} '{bound}'"
    if column.type == "DOUBLE" or not column.is_typed:
        return f"CAST('{bound}' AS DOUBLE)"
    scale = Decimal(1).scaleb(-column.scale)
    number = Decimal(bound).quantize(scale, ROUND_CEILING, Context(prec=60))
    return f"CAST('{number:f}' AS {column.type})"


def _ask_range(column: Column, width: Decimal) -> Asked:
    """Ask for the lower bounds of ranges, which are multiples of a width."""
    width = Decimal(f"{width.normalize():f}")
    digits, exponent = len(width.as_tuple().digits), int(width.as_tuple().exponent)
    value, is_finite = _measure(column)
    if column.type in _WHOLE_TYPES:
        factor = 10 ** max(0, -exponent)
        whole, size = f"CAST({value} AS HUGEINT) * {factor}", int(width * factor)
        number = f"({whole} - (({whole} % {size}) + {size}) % {size}) // {size}"
        return Asked((number,), "({0}::numeric * %s::numeric)", (width,), by=number)
    # The quotient of doubles may be one too low or too high; a larger one is refused.
    guess = f"CAST(floor(CAST({value} AS DOUBLE) / {float(width)!r}) AS DECIMAL(15, 0))"
    multiple = f"({{}} * {float(width)!r})"
    if max(digits, digits + exponent, -exponent) <= _MAX_WIDTH_DIGITS:
        exact = f"DECIMAL({_MAX_WIDTH_DIGITS}, {max(0, -exponent)})"
        multiple = f"({{}} * CAST('{width:f}' AS {exact}))"
    if column.type == "DOUBLE" or not column.is_typed:
        multiple = f"CAST({multiple} AS DOUBLE)"
    lower, upper = multiple.format(guess), multiple.format(f"({guess} + 1)")
    step = f"CASE WHEN {value} < {lower} THEN -1 WHEN {value} >= {upper} THEN 1 ELSE 0 END"
    number = f"CAST({guess} + {step} AS VARCHAR)"
    text = f"CASE WHEN {is_finite} THEN {number} ELSE CAST({value} AS VARCHAR) END"
    return Asked((text,), "({0}::numeric * %s::numeric)", (width,), by=text)


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
    return GroupKey(group, kind if group.width is None else NUMERIC)


@lru_cache(maxsize=8)
def _list_time_zones(alias: str) -> frozenset[str]:
    """List the names of PostgreSQL's time zones once: it reads a file for each."""
    return frozenset(fetch_column(connections[alias], "SELECT lower(name) FROM pg_timezone_names"))
