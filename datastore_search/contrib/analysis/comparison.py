"""
What is computed over groups: shares of a total, and two groups or periods side by side.

These are steps in PostgreSQL over the relation of all groups, with keys ``g0``… and figures
``m0``…, however that was computed.  It has at most ``aggregates.MAX_FOUND_GROUPS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import product
from typing import LiteralString

from psycopg import sql

from ...database.server import cast_texts
from ...field_types import NUMERIC, Json, field_types
from ...filters import (
    MAX_SHOWN_LENGTH,
    And,
    Clause,
    Comparison,
    Condition,
    In,
    Or,
    TypedFields,
    compile_conditions,
    compose,
)
from ...messages.parameters import InvalidParameters
from ...search import ConsistentRead
from .errors import InvalidHaving, InvalidPeriod, UnknownGroupColumn, UnsupportedOption
from .groups import GroupBy, GroupKey

#: The metric that is a percentage of the total of all groups.
SHARE = "share"

#: The ends of the names of the columns that compare a figure.
ENDS = ("_from", "_to", "_difference", "_change")

#: Figures that are 0 where there are no records.
_ADDITIVE = ("count", "count_distinct", "sum", SHARE)

#: A percentage, of six decimals at most; null where there is nothing to divide by.
_PERCENTAGE: LiteralString = "trim_scale(round((100 * ({0}) / nullif({1}, 0))::numeric, 6))"


@dataclass(frozen=True, slots=True)
class Compare:
    """Two groups of a column of ``group_by``, by their values: ``start`` is compared to ``end``."""

    name: str
    start: Json
    end: Json


@dataclass(frozen=True, slots=True)
class BoundCompare:
    """
    Two groups of the key at ``position``, as conditions on the ``data`` of a group.

    ``filters`` leave out records of other groups, unless these decide the bounds of the two.
    """

    position: int
    start: Clause
    end: Clause
    filters: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of each group: the name of its column, its metric, and the type of its values."""

    name: str
    metric: str
    kind: str

    @property
    def shown_kind(self) -> str:
        return NUMERIC.name if self.metric == SHARE else self.kind


def list_columns(
    groups: Iterable[str], metrics: Iterable[str], compare: Compare | None
) -> list[str]:
    """List the names of the columns of an answer, by those of its groups and metrics."""
    if compare is None:
        return [*groups, *metrics]
    keys = (name for name in groups if name != compare.name)
    return [*keys, *(f"{name}{end}" for name in metrics for end in ENDS)]


def bind_compare(
    compare: Compare,
    group_by: Mapping[str, GroupBy],
    keys: Sequence[GroupKey],
    figures: Sequence[Figure],
    read: ConsistentRead,
) -> BoundCompare:
    """Find the two groups among those of one of the keys.  Raises: ``InvalidParameters``."""
    name = compare.name
    if name not in group_by:
        known = ", ".join(group_by)[: 10 * MAX_SHOWN_LENGTH] or "–"
        raise InvalidParameters([UnknownGroupColumn(name=name[:MAX_SHOWN_LENGTH], known=known)])
    position = [*group_by].index(name)
    group, key = group_by[name], keys[position]
    misfits = [(each.name, each.kind) for each in figures if not field_types[each.kind].is_number]
    misfits += [(group.field, key.kind.name)] if key.kind.is_nested else []
    if misfits:
        raise InvalidParameters(
            UnsupportedOption(parameter="compare", field=field, type=kind, option="compare")
            for field, kind in misfits
        )
    values: list[Json] = []
    filters: list[Condition] = []
    for value in (compare.start, compare.end):
        if group.interval and value is not None:
            low, high = _find_period(value, key, read)
            values.append(low)
            ends = Comparison(group.field, "gte", low), Comparison(group.field, "lte", high)
            filters.append(And(ends))
        else:
            values.append(value)
            filters.append(In(group.field, (value,)))
    # The bounds of bins of whole numbers may have decimals.
    kind = NUMERIC if group.bins is not None and key.kind.is_integer else key.kind
    fields = TypedFields({name: kind.name}, partial(cast_texts, read.connection))
    try:
        start, end = (compile_conditions([In(name, (value,))], fields) for value in values)
    except InvalidParameters as error:
        refused = [InvalidHaving(parameter="compare", error=each) for each in error.errors]
        raise InvalidParameters(refused) from None
    has_bounds = group.width is not None or group.bins is not None
    return BoundCompare(position, start, end, () if has_bounds else (Or(tuple(filters)),))


#: The name of a period by its interval, with an example.
_PERIODS: Mapping[str, tuple[str, str]] = {
    "decade": (r"\d{4}", "2020"),
    "year": (r"\d{4}", "2020"),
    "quarter": (r"\d{4}-?Q[1-4]", "2020-Q1"),
    "month": (r"\d{4}-\d\d", "2020-03"),
    "week": (r"\d{4}-?W\d\d", "2020-W05"),
    "day": (r"\d{4}-\d\d-\d\d", "2020-03-31"),
    "hour": (r"\d{4}-\d\d-\d\d[T ]\d\d(:00)?", "2020-03-31T13"),
}

#: The first and the last moment of a period, within the calendar of records.
_PERIOD: LiteralString = (
    "SELECT to_char(greatest(low, timestamptz '0001-01-01 00:00+00') AT TIME ZONE 'UTC', {0}),"
    " to_char(high AT TIME ZONE 'UTC', {0}) FROM (SELECT date_trunc(%s, {1}, %s) AS low) AS one,"
    " LATERAL (SELECT least((low AT TIME ZONE %s + %s::interval) AT TIME ZONE %s"
    " - interval '1 microsecond', timestamptz '9999-12-31 23:59:59.999999+00') AS high) AS two"
)


def _find_period(value: Json, key: GroupKey, read: ConsistentRead) -> tuple[str, str]:
    """Find the first and the last moment of a period, given by its name or a moment in it."""
    interval, zone = key.group.interval, key.group.time_zone or "UTC"
    pattern, example = _PERIODS[interval]
    text = str(value).strip()
    if re.fullmatch(pattern, text, re.ASCII):
        first = dict.fromkeys(("decade", "year"), f"{text}-01-01") | {"month": f"{text}-01"}
        if interval == "quarter":
            first[interval] = f"{text[:4]}-{3 * int(text[-1]) - 2:02}-01"
        begin = first.get(interval, text)
    else:  # as answers have it
        is_moment = re.match(r"\d{4}-\d\d-\d\d([T ]\d|$)", text, re.ASCII)
        is_short = interval == "hour" and len(text) == len("2020-03-31")
        begin = text if is_moment and not is_short else ""
    try:
        moment = datetime.fromisoformat(begin)
    except ValueError:
        shown = {"value": text[:MAX_SHOWN_LENGTH], "interval": interval, "example": example}
        raise InvalidParameters([InvalidPeriod(**shown)]) from None
    source: LiteralString = "%s::timestamptz"
    if not (moment.tzinfo and key.kind.has_zone):
        moment, source = moment.replace(tzinfo=None), "(%s::timestamp AT TIME ZONE %s)"
    form: LiteralString = "'YYYY-MM-DD\"T\"HH24:MI:SS.US+00:00'"
    if not key.kind.has_zone:
        form = "'YYYY-MM-DD\"T\"HH24:MI:SS.US'" if key.kind.is_timestamp else "'YYYY-MM-DD'"
    length = "3 months" if interval == "quarter" else f"1 {interval}"
    own = [moment.isoformat(), *([zone] if moment.tzinfo is None else [])]
    period = sql.SQL(_PERIOD).format(sql.SQL(form), sql.SQL(source))
    ((low, high),) = read.fetch_rows(Clause(period, [interval, *own, zone, zone, length, zone]))
    return low, high


@dataclass(frozen=True, slots=True)
class GroupSteps:
    """The steps from all groups, whose keys have ``names``, to the columns of an answer."""

    names: Sequence[str]
    all_keys: Sequence[GroupKey]
    figures: Sequence[Figure]
    compare: BoundCompare | None

    @property
    def _positions(self) -> list[int]:
        """The positions of the keys that the answer has."""
        own = self.compare.position if self.compare else None
        return [position for position in range(len(self.all_keys)) if position != own]

    @property
    def keys(self) -> list[GroupKey]:
        return [self.all_keys[position] for position in self._positions]

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the columns: keys, then figures."""
        fields = [(self.names[each], self.all_keys[each].kind.name) for each in self._positions]
        for figure in self.figures:
            kind, ends = figure.shown_kind, ENDS if self.compare else ("",)
            kinds = (kind, kind, _calculate_in(kind), NUMERIC.name)
            names = (f"{figure.name}{end}" for end in ends)
            fields += zip(names, kinds, strict=False)
        return tuple(fields)

    def select(self, groups: Clause) -> Clause:
        """Select the columns of the answer, as ``g0``… and ``m0``…."""
        sides: tuple[LiteralString, ...] = ("m",)
        if self.compare:
            groups, sides = self._select_sides(groups, self.compare), ("a", "b")
        keys: list[LiteralString] = [f"g{number}" for number, _each in enumerate(self._positions)]
        columns = list(keys)
        for number, figure in enumerate(self.figures):
            kind = _calculate_in(figure.kind)
            for side in sides:
                value: LiteralString = f"{side}{number}"
                exact = f"{value}::{kind}"
                is_share = figure.metric == SHARE
                share = _PERCENTAGE.format(exact, f"sum({exact}) OVER ()") if is_share else value
                columns.append(f"{share} AS {value}")
        groups = _select(columns, groups)
        if self.compare:
            compared: list[LiteralString] = []
            for number, figure in enumerate(self.figures):
                kind = _calculate_in(figure.shown_kind)
                start, end = f"a{number}::{kind}", f"b{number}::{kind}"
                change = _PERCENTAGE.format(f"{end} - {start}", f"abs({start})")
                compared += [f"a{number}", f"b{number}", f"{end} - {start}", change]
            numbered = [f"{each} AS m{number}" for number, each in enumerate(compared)]
            groups = _select([*keys, *numbered], groups)
        return groups

    def _select_sides(self, groups: Clause, compare: BoundCompare) -> Clause:
        """Select the figures of both groups, ``a0``, ``b0``…; the sum of no records is 0."""
        columns = [f"g{old} AS g{new}" for new, old in enumerate(self._positions)]
        for (number, figure), side in product(enumerate(self.figures), ("a", "b")):
            value = f"max(m{number}) FILTER (WHERE is_{side})"
            if figure.metric in _ADDITIVE:
                value = f"CASE WHEN bool_or(is_{side}) THEN {value} ELSE 0 END"
            columns.append(f"{value} AS {side}{number}")
        key = self.all_keys[compare.position].render(sql.SQL(f"g{compare.position}"))
        data = sql.SQL("jsonb_build_object(%s::text, {})").format(key)
        by = ", ".join(f"g{position}" for position in self._positions)
        # Each expression is computed once for a group: ``OFFSET 0`` keeps it from being repeated.
        return compose(
            "SELECT {} FROM (SELECT *, {} AS is_a, {} AS is_b FROM (SELECT *, {} AS data FROM ({})"
            " AS each OFFSET 0) AS named OFFSET 0) AS sides WHERE is_a OR is_b {}",
            Clause(sql.SQL(", ".join(columns))),
            compare.start,
            compare.end,
            Clause(data, [self.names[compare.position]]),
            groups,
            Clause(sql.SQL(f"GROUP BY {by}" if by else "")),
        )


def _calculate_in(kind: str) -> LiteralString:
    """Choose the type of a difference: of doubles a double, of others an exact number."""
    return "float8" if field_types[kind].is_double else "numeric"


def _select(columns: Sequence[LiteralString], groups: Clause) -> Clause:
    listed = Clause(sql.SQL(", ".join(columns) or "1"))
    return compose("SELECT {} FROM ({}) AS each", listed, groups)
