"""
Profile the values of each field: what they are like, counted in DuckDB while a file is loaded.

A profile is what JSON can hold; values in it are as the API shows them, texts cut short:

- ``count``, ``nulls`` and ``empty``: records with a value, without one, with the empty text (of
  ``count``);
- ``distinct``: the number of different values; ``distinct_is_estimated`` where it is an estimate;
- ``min`` and ``max`` of what has an order that needs no language, ``mean`` of numbers unless it
  is too large for a double;
- ``top``: the most common values with their counts, at most ten, where values are repeated;
- ``histogram`` of numbers and dates: the ``bounds`` of its bins, one more than its ``counts``;
- ``shortest`` and ``longest``: characters of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from math import inf, isfinite, nextafter
from typing import Any, NamedTuple

from django.utils import timezone

from ....field_types import FieldType
from ..formats.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..formats.staging import StagedTable
from ..types.field_formats import Decision
from ..types.matching import group_columns

#: A statement about one field takes DuckDB some milliseconds, however few rows there are: fields of
#: one format share a statement, as far as its groups stay small.
_MAX_CELLS_PER_STATEMENT = 200_000

#: Longer values are not compared with each other, because that would hold all of them.
_MAX_COMPARED_LENGTH = 100_000

_MAX_VALUE_LENGTH = 100
_MAX_TOP_VALUES = 10

#: Where a larger share of the values is different, the most common ones say nothing.
_MAX_DISTINCT_SHARE = 0.9
#: Up to this number of values, the different ones are always counted.
_MAX_VALUES_COUNTED = 1_000

#: Parts of profiles, by column.
_Parts = dict[str, dict[str, Any]]


class _Counts(NamedTuple):
    """What is counted of every column, in the texts of the file; lengths are in characters."""

    cells: int = 0
    empty: int = 0
    distinct: int = 0
    shortest: int = 0
    longest: int = 0


def build_profiles(table: StagedTable, decisions: Sequence[Decision]) -> dict[str, Any]:
    """
    Profile the rows of a table: ``records``, ``made`` and the profiles in ``fields``, by name.

    Only DuckDB holds the values of a field in memory.
    """
    rows = table.count_rows()
    counts = _count_cells(table, rows)
    decided = dict(zip(table.columns, decisions, strict=True))
    profiles = {
        column: _build_counts(decision, rows, counts[column])
        for column, decision in decided.items()
    }
    kinds = {
        column: (decision.field_format.name, decision.is_chosen)
        for column, decision in decided.items()
        if profiles[column]["count"]
    }
    for _kind, columns in group_columns(table, kinds):
        for some in _split_columns(table, columns, rows):
            for column, part in _build_parts(table, some, decided, profiles, counts).items():
                profiles[column] |= part
    return {
        "records": rows,
        "created_at": timezone.now().isoformat(),
        "fields": dict(zip(table.names, profiles.values(), strict=True)),
    }


def _split_columns(
    table: StagedTable, columns: Sequence[str], rows: int
) -> Iterator[Sequence[str]]:
    most = max(1, _MAX_CELLS_PER_STATEMENT // max(1, rows))
    for some in table.rows.split_columns(columns):
        for start in range(0, len(some), most):
            yield some[start : start + most]


def _group_by_name(columns: Sequence[str]) -> dict[str, Composed]:
    """Build what groups ``select_cells``: a single column is one group, which is faster."""
    if len(columns) == 1:
        return {"name": quote_literal(columns[0]), "group": SQL("HAVING count(*) > 0")}
    return {"name": quote_identifier("name"), "group": SQL("GROUP BY name")}


def _count_cells(table: StagedTable, rows: int) -> dict[str, _Counts]:
    """Count what is counted of every column; one that is null everywhere has nothing."""
    counts = dict.fromkeys(table.columns, _Counts())
    for columns in _split_columns(table, table.columns, rows):
        query = SQL(
            "SELECT {name}, count(*), count(*) FILTER (value = ''), approx_count_distinct(value),"
            " min(length(value)), max(length(value)) FROM {cells} {group}"
        ).format(cells=table.rows.select_cells(columns), **_group_by_name(columns))
        counts |= {name: _Counts(*found) for name, *found in table.execute(query).fetchall()}
    return counts


def _build_counts(decision: Decision, rows: int, counts: _Counts) -> dict[str, Any]:
    """Build the part of a profile that needs no values."""
    is_text = decision.field_type.is_text
    count = counts.cells if is_text else counts.cells - counts.empty
    profile: dict[str, Any] = {"count": count, "nulls": rows - count}
    if is_text:
        profile |= {
            "empty": counts.empty,
            "shortest": counts.shortest,
            "longest": counts.longest,
        }
    return profile if count else profile | {"distinct": 0}


def _build_parts(
    table: StagedTable,
    columns: Sequence[str],
    decided: Mapping[str, Decision],
    profiles: Mapping[str, Mapping[str, Any]],
    counts: Mapping[str, _Counts],
) -> _Parts:
    """Build the parts of the profiles of columns with values, which are read in the same way."""
    decision = decided[columns[0]]
    parts: _Parts = {}
    repeated = []
    for column in columns:
        count, distinct = profiles[column]["count"], counts[column].distinct
        are_different = count > _MAX_VALUES_COUNTED and distinct > count * _MAX_DISTINCT_SHARE
        if are_different or counts[column].longest > _MAX_COMPARED_LENGTH:
            parts[column] = {"distinct": min(distinct, count), "distinct_is_estimated": True}
        else:
            repeated.append(column)
    if repeated:
        parts |= _find_top_values(table, repeated, decision)
    if decision.field_type.has_range:
        for column, part in _build_ranges(table, columns, decision).items():
            parts[column] |= part
    return parts


# Values and their counts --------------------------------------------------------------------------


def _find_top_values(table: StagedTable, columns: Sequence[str], decision: Decision) -> _Parts:
    """Count the different values of columns, and find the most common ones."""
    cell, text = quote_identifier("value"), quote_identifier("top", "value")
    # An inferred type has one text for each value, and so has text; in a chosen one +5 may be 5.
    value, shown = (
        (decision.field_format.build_json_value(cell), text)
        if decision.is_chosen and not decision.field_type.is_text
        else (cell, decision.field_format.build_json_value(text))
    )
    found = table.execute(
        SQL(
            "SELECT name, total, {shown}, -top.number FROM (SELECT {name} AS name,"
            " count(*) AS total, unnest(min({{number: -number, value: value}}, {limit})) AS top"
            " FROM (SELECT {names} {value} AS value, count(*) AS number FROM {cells}"
            " WHERE {has_value} GROUP BY ALL) {group})"
        ).format(
            shown=shown,
            value=value,
            cells=table.rows.select_cells(columns),
            has_value=SQL("true" if decision.field_type.is_text else "value <> ''"),
            limit=quote_literal(_MAX_TOP_VALUES + 1),
            names=SQL("name," if len(columns) > 1 else ""),
            **_group_by_name(columns),
        )
    ).fetchall()
    parts: _Parts = {}
    for name, total, shown_value, number in found:
        part = parts.setdefault(name, {"distinct": total})
        if number > 1 and shown_value not in {'""', None}:  # infinite moments have no text
            top = part.setdefault("top", [])
            if len(top) < _MAX_TOP_VALUES:
                top.append({"value": _parse_value(shown_value), "count": number})
    return parts


def _parse_value(text: str) -> Any:
    """Parse a JSON text into what the database's JSON can hold: texts cut, numbers exact."""
    if len(text) > _MAX_VALUE_LENGTH and not text.startswith('"'):
        return text[:_MAX_VALUE_LENGTH]
    value = _DECODER.decode(text)
    return value[:_MAX_VALUE_LENGTH] if isinstance(value, str) else value


def _parse_number(text: str) -> float | str:
    """Parse a number; one that a double cannot hold stays a text."""
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


#: ``json.loads`` would make a decoder for each value.
_DECODER = json.JSONDecoder(parse_float=_parse_number)


# Ranges and histograms ----------------------------------------------------------------------------


def _build_ranges(table: StagedTable, columns: Sequence[str], decision: Decision) -> _Parts:
    """Find the least and the greatest values, the means of numbers, and histograms."""
    is_number = decision.field_type.is_number
    positions = _select_positions(table, columns, decision)
    # Moments are compared as texts, to the last decimal; numbers by their size.
    ends = SQL(
        "arg_min(text, position) AS least, arg_max(text, position) AS greatest"
        if is_number
        else "min(text) AS least, max(text) AS greatest"
    )
    found = table.execute(
        SQL(
            "SELECT name, {least}, {greatest}, low, high, mean FROM (SELECT {name} AS name, {ends},"
            " min(position) AS low, max(position) AS high, avg(position) AS mean FROM {positions}"
            " WHERE position IS NOT NULL {group})"
        ).format(
            least=_render_end(decision, "least"),
            greatest=_render_end(decision, "greatest"),
            ends=ends,
            positions=positions,
            **_group_by_name(columns),
        )
    ).fetchall()
    parts: _Parts = {}
    bounds: dict[str, list[float]] = {}
    for name, least, greatest, low, high, mean in found:
        read = _parse_value if is_number else str
        part = parts[name] = {"min": read(least), "max": read(greatest)}
        # The sum of large doubles is infinite, which JSON cannot hold.
        if is_number and isfinite(mean):
            part["mean"] = float(f"{mean:.10g}")
        shown, some_bounds = _compute_bounds(decision.field_type, low, high)
        if shown:
            part["histogram"] = {"bounds": shown}
            bounds[name] = some_bounds
    for name, bins in _count_bins(table, columns, decision, bounds).items():
        parts[name]["histogram"]["counts"] = bins
    return parts


def _select_positions(table: StagedTable, columns: Sequence[str], decision: Decision) -> Composed:
    """Build a relation of ``name``, ``text`` and ``position``: a number, null for other values."""
    kind = decision.field_type
    cell = quote_identifier("value")
    text = cell if _is_canonical(decision) else _build_text(decision, cell)
    if kind.is_integer:
        position = "try_cast(text AS BIGINT)"
    elif kind.is_number:
        position = "CASE WHEN isfinite(try_cast(text AS DOUBLE)) THEN try_cast(text AS DOUBLE) END"
    elif not kind.has_day:
        position = "0"
    else:
        position = "epoch(try_cast(left(text, 19) AS TIMESTAMP))"
    return SQL(
        "(SELECT name, text, {position} AS position FROM (SELECT name, {text} AS text FROM {cells}"
        " WHERE value <> ''))"
    ).format(position=SQL(position), text=text, cells=table.rows.select_cells(columns))


def _is_canonical(decision: Decision) -> bool:
    """Return whether the texts of the file sort and read as those that are stored."""
    return not decision.is_chosen and not decision.field_format.format


def _render_end(decision: Decision, name: str) -> Composed:
    """Build what is stored of a text of ``_select_positions``."""
    text = quote_identifier(name)
    if not _is_canonical(decision):
        return text
    return _build_text(decision, text)


def _build_text(decision: Decision, cell: Composed) -> Composed:
    return SQL("trim({}, '\"')").format(decision.field_format.build_json_value(cell))


def _compute_bounds(
    field_type: FieldType, low: float, high: float
) -> tuple[list[Any], list[float]]:
    """Compute the bounds of bins, as values and as positions; none where all values are equal."""
    if low == high or not (field_type.is_number or field_type.has_day):
        return [], []
    if field_type.is_number:
        numbers = compute_number_bounds(low, high, whole=field_type.is_integer)
        return [_parse_value(str(each)) for each in numbers], [float(each) for each in numbers]
    first, last = _EPOCH + timedelta(seconds=low), _EPOCH + timedelta(seconds=high)
    moments = compute_date_bounds(first, last, whole_days=not field_type.is_timestamp)
    positions = [(moment - _EPOCH).total_seconds() for moment in moments]
    return [_render_moment(moment, field_type) for moment in moments], positions


def _count_bins(
    table: StagedTable,
    columns: Sequence[str],
    decision: Decision,
    bounds: Mapping[str, Sequence[float]],
) -> dict[str, list[int]]:
    """Count the values from each bound up to the next one, which is excluded."""
    if not bounds:
        return {}
    # DuckDB's bins include their upper bound.
    ends = [[nextafter(bound, -inf) for bound in some[1:]] for some in bounds.values()]
    found = table.execute(
        SQL(
            "SELECT {name}, histogram(CAST(position AS DOUBLE), ends) FROM {positions} JOIN"
            " (SELECT unnest(?) AS name, unnest(CAST(? AS DOUBLE[][])) AS ends) USING (name)"
            " WHERE position IS NOT NULL {group}"
        ).format(positions=_select_positions(table, columns, decision), **_group_by_name(columns)),
        [list(bounds), ends],
    ).fetchall()
    return {name: [bins[end] for end in sorted(bins)] for name, bins in found}


def _render_moment(moment: datetime, kind: FieldType) -> str:
    """Write a time as the API writes values of a type."""
    text = moment.strftime("%Y-%m-%dT%H:%M:%S.000" if kind.is_timestamp else "%Y-%m-%d")
    year, after = text.split("-", 1)
    return f"{year:0>4}-{after}" + ("+00:00" if kind.has_zone else "")


MAX_BINS = 20

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
#: Widths of bins in seconds, up to a week, which begins on Monday.
_WIDTHS_SECONDS = (
    *(1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 7 * _DAY),
)
_WIDTHS_MONTHS = (1, 3, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def compute_number_bounds(low: float, high: float, *, whole: bool) -> list[Decimal]:
    """Compute bounds from ``low`` to ``high``: multiples of 1, 2, 5, 10, 20 and so on."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    for width in _iterate_widths(last - first, whole=whole):
        start = first // width * width
        if start > first:  # the division of negative decimals goes towards zero
            start -= width
        bins = int((last - start) / width) + 1
        if bins <= MAX_BINS:
            return [start + width * number for number in range(bins + 1)]
    return []


def _iterate_widths(span: Decimal, *, whole: bool) -> Iterator[Decimal]:
    """Iterate over widths of bins, each wider than the one before."""
    lowest = span.adjusted() - 2
    for exponent in count(max(0, lowest) if whole else lowest):
        for digit in (1, 2, 5):
            yield Decimal(digit).scaleb(exponent)


def compute_date_bounds(low: datetime, high: datetime, *, whole_days: bool) -> list[datetime]:
    """
    Compute bounds from ``low`` to ``high`` that are round in the calendar and on the clock.

    The last bound is at most the last moment that a ``datetime`` can hold.
    """
    for seconds in _WIDTHS_SECONDS:
        may_be_narrow = seconds >= _DAY or not whole_days
        width = timedelta(seconds=seconds)
        if may_be_narrow and (bounds := _compute_even_bounds(low, high, width)):
            return bounds
    for months in _WIDTHS_MONTHS:
        if bounds := _compute_month_bounds(low, high, months):
            return bounds
    return []


def _compute_even_bounds(low: datetime, high: datetime, width: timedelta) -> list[datetime]:
    """Compute bounds at the same distance; none if there would be too many."""
    since = _FIRST_MONDAY if width == timedelta(weeks=1) else _EPOCH
    start = since + (low - since) // width * width
    bins = (high - start) // width + 1
    if bins > MAX_BINS:
        return []
    offsets = (width * number for number in range(bins + 1))
    return [start + offset if offset <= _LAST - start else _LAST for offset in offsets]


def _compute_month_bounds(low: datetime, high: datetime, width: int) -> list[datetime]:
    """Compute bounds at beginnings of months, ``width`` months apart; none if too many."""
    first, last = (moment.year * 12 + moment.month - 1 for moment in (low, high))
    start = first // width * width
    bins = (last - start) // width + 1
    if bins > MAX_BINS:
        return []
    return [_find_month_start(start + width * number) for number in range(bins + 1)]


def _find_month_start(number: int) -> datetime:
    """Find the first moment of a month, counted from year 0, which a ``datetime`` cannot hold."""
    year, month = divmod(number, 12)
    if not year:
        return _FIRST
    if year > _LAST.year:
        return _LAST
    return datetime(year, month + 1, 1, tzinfo=UTC)
