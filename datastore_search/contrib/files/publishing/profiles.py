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
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from math import inf, isfinite, nextafter
from typing import Any

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


def build_profiles(table: StagedTable, decisions: Sequence[Decision]) -> dict[str, Any]:
    """
    Profile the rows of a table: ``records``, ``made`` and the profiles in ``fields``, by name.

    Only DuckDB holds the values of a field in memory.
    """
    rows = table.count_rows()
    # Texts of the file, empty ones, different ones, and the lengths of the shortest and longest.
    counts = dict.fromkeys(table.columns, (0, 0, 0, 0, 0))
    for columns in _split_columns(table, table.columns, rows):
        query = SQL(
            "SELECT {name}, count(*), count(*) FILTER (value = ''), approx_count_distinct(value),"
            " min(length(value)), max(length(value)) FROM {cells} {group}"
        ).format(cells=table.rows.select_cells(columns), **_group_by_name(columns))
        counts |= {name: tuple(found) for name, *found in table.execute(query).fetchall()}
    decided = dict(zip(table.columns, decisions, strict=True))
    profiles: dict[str, dict[str, Any]] = {}
    for column, decision in decided.items():
        cells, empty, distinct, shortest, longest = counts[column]
        is_text = decision.field_type.is_text
        count = cells if is_text else cells - empty
        profile = profiles[column] = {"count": count, "nulls": rows - count}
        if is_text:
            profile |= {"empty": empty, "shortest": shortest, "longest": longest}
        are_different = count > _MAX_VALUES_COUNTED and distinct > count * _MAX_DISTINCT_SHARE
        if not count:
            profile["distinct"] = 0
        elif are_different or longest > _MAX_COMPARED_LENGTH:
            profile |= {"distinct": min(distinct, count), "distinct_is_estimated": True}
    kinds = {
        column: (decision.field_format.name, decision.is_chosen)
        for column, decision in decided.items()
        if profiles[column]["count"]
    }
    for _kind, columns in group_columns(table, kinds):
        decision = decided[columns[0]]
        for some in _split_columns(table, columns, rows):
            repeated = [column for column in some if "distinct" not in profiles[column]]
            top = _find_top_values(table, repeated, decision) if repeated else {}
            has_range = decision.field_type.has_range
            ranges = _find_ranges(table, some, decision) if has_range else {}
            for column in some:
                profiles[column] |= top.get(column, {}) | ranges.get(column, {})
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


# Values and their counts --------------------------------------------------------------------------


def _find_top_values(
    table: StagedTable, columns: Sequence[str], decision: Decision
) -> dict[str, dict[str, Any]]:
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
    parts: dict[str, dict[str, Any]] = {}
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


#: ``json.loads`` would make one for each value.  A number that a double cannot hold stays a text.
_DECODER = json.JSONDecoder(
    parse_float=lambda text: float(text) if Decimal(repr(float(text))) == Decimal(text) else text
)


# Ranges and histograms ----------------------------------------------------------------------------


def _find_ranges(
    table: StagedTable, columns: Sequence[str], decision: Decision
) -> dict[str, dict[str, Any]]:
    """Find the least and the greatest values, the means of numbers, and histograms."""
    kind = decision.field_type
    cell, least, greatest = map(quote_identifier, ("value", "least", "greatest"))
    # The texts of the file sort and read as those that are stored, or are rendered first.
    is_canonical = not decision.is_chosen and not decision.field_format.format
    position = "0"
    if kind.is_integer:
        position = "try_cast(text AS BIGINT)"
    elif kind.is_number:
        position = "CASE WHEN isfinite(try_cast(text AS DOUBLE)) THEN try_cast(text AS DOUBLE) END"
    elif kind.has_day:
        position = "epoch(try_cast(left(text, 19) AS TIMESTAMP))"
    positions = SQL(
        "(SELECT name, text, {position} AS position FROM (SELECT name, {text} AS text FROM {cells}"
        " WHERE value <> ''))"
    ).format(
        position=SQL(position),
        text=cell if is_canonical else _build_text(decision, cell),
        cells=table.rows.select_cells(columns),
    )
    # Moments are compared as texts, to the last decimal; numbers by their size.
    ends = SQL(
        "arg_min(text, position) AS least, arg_max(text, position) AS greatest"
        if kind.is_number
        else "min(text) AS least, max(text) AS greatest"
    )
    found = table.execute(
        SQL(
            "SELECT name, {least}, {greatest}, low, high, mean FROM (SELECT {name} AS name, {ends},"
            " min(position) AS low, max(position) AS high, avg(position) AS mean FROM {positions}"
            " WHERE position IS NOT NULL {group})"
        ).format(
            least=_build_text(decision, least) if is_canonical else least,
            greatest=_build_text(decision, greatest) if is_canonical else greatest,
            ends=ends,
            positions=positions,
            **_group_by_name(columns),
        )
    ).fetchall()
    parts: dict[str, dict[str, Any]] = {}
    bins: dict[str, list[float]] = {}
    for name, least_text, greatest_text, low, high, mean in found:
        read = _parse_value if kind.is_number else str
        part = parts[name] = {"min": read(least_text), "max": read(greatest_text)}
        # The sum of large doubles is infinite, which JSON cannot hold.
        if kind.is_number and isfinite(mean):
            part["mean"] = float(f"{mean:.10g}")
        shown, bounds = _compute_bounds(kind, low, high)
        if shown:
            part["histogram"] = {"bounds": shown}
            # DuckDB's bins include their upper bound; those of a histogram exclude it.
            bins[name] = [nextafter(bound, -inf) for bound in bounds[1:]]
    if bins:
        query = SQL(
            "SELECT {name}, histogram(CAST(position AS DOUBLE), ends) FROM {positions} JOIN"
            " (SELECT unnest(?) AS name, unnest(CAST(? AS DOUBLE[][])) AS ends) USING (name)"
            " WHERE position IS NOT NULL {group}"
        ).format(positions=positions, **_group_by_name(columns))
        for name, counts in table.execute(query, [list(bins), list(bins.values())]).fetchall():
            parts[name]["histogram"]["counts"] = [counts[end] for end in sorted(counts)]
    return parts


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
    # As the API writes values of the type.
    form = "%m-%dT%H:%M:%S.000" if field_type.is_timestamp else "%m-%d"
    zone = "+00:00" if field_type.has_zone else ""
    shown = [f"{moment.year:0>4}-{moment.strftime(form)}{zone}" for moment in moments]
    return shown, [(moment - _EPOCH).total_seconds() for moment in moments]


MAX_BINS = 20

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
#: Widths of bins in seconds, up to a week, which begins on Monday.
_WIDTHS_SECONDS = (
    *(1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 7 * _DAY),
)
_WIDTHS_MONTHS = (1, 3, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))

_LAST = datetime.max.replace(tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def compute_number_bounds(low: float, high: float, *, whole: bool) -> list[Decimal]:
    """Compute bounds from ``low`` to ``high``: multiples of 1, 2, 5, 10, 20 and so on."""
    first, last = Decimal(repr(low)), Decimal(repr(high))
    lowest = (last - first).adjusted() - 2
    for exponent in count(max(0, lowest) if whole else lowest):
        for digit in (1, 2, 5):
            width = Decimal(digit).scaleb(exponent)
            start = first // width * width
            if start > first:  # the division of negative decimals goes towards zero
                start -= width
            bins = int((last - start) / width) + 1
            if bins <= MAX_BINS:
                return [start + width * number for number in range(bins + 1)]
    return []


def compute_date_bounds(low: datetime, high: datetime, *, whole_days: bool) -> list[datetime]:
    """
    Compute bounds from ``low`` to ``high`` that are round in the calendar and on the clock.

    The last bound is at most the last moment that a ``datetime`` can hold.
    """
    for seconds in _WIDTHS_SECONDS:
        width = timedelta(seconds=seconds)
        since = _FIRST_MONDAY if width == timedelta(weeks=1) else _EPOCH
        start = since + (low - since) // width * width
        bins = (high - start) // width + 1
        if bins <= MAX_BINS and (seconds >= _DAY or not whole_days):
            offsets = (width * number for number in range(bins + 1))
            return [start + offset if offset <= _LAST - start else _LAST for offset in offsets]
    # Months are counted from year 0, which a ``datetime`` cannot hold.
    first, last = (moment.year * 12 + moment.month - 1 for moment in (low, high))
    months = next(each for each in _WIDTHS_MONTHS if last // each - first // each < MAX_BINS)
    bounds = []
    for number in range(first // months, last // months + 2):
        year, month = divmod(number * months, 12)
        is_known = 0 < year <= _LAST.year
        beyond = _LAST if year else datetime.min.replace(tzinfo=UTC)
        bounds.append(datetime(year, month + 1, 1, tzinfo=UTC) if is_known else beyond)
    return bounds
