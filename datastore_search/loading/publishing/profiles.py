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
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf, isfinite, nextafter
from typing import Any, NamedTuple

from django.utils import timezone

from ...field_types import FieldType, Ordered
from ..readers.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..readers.staging import STAGED_ROWS, StagedTable
from ..typing.field_formats import Decision
from .histogram import compute_date_bounds, compute_number_bounds

_COLUMNS_PER_STATEMENT = 100
_MAX_VALUE_LENGTH = 100
_MAX_TOP_VALUES = 10

#: Where a larger share of the values is different, the most common ones say nothing.
_MAX_DISTINCT_SHARE = 0.9
#: Up to this number of values, the different ones are always counted.
_MAX_VALUES_COUNTED = 1_000

_INTEGERS = frozenset({"int2", "int4", "int8"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Counts(NamedTuple):
    """What is counted of every column, in the texts of the file; lengths are in characters."""

    cells: int
    empty: int
    distinct: int
    shortest: int
    longest: int


def build_profiles(table: StagedTable, decisions: Sequence[Decision]) -> dict[str, Any]:
    """
    Profile the rows of a table: ``records``, ``made`` and the profiles in ``fields``, by name.

    Only DuckDB holds more than one field in memory.
    """
    rows = table.count_rows()
    counts = _count_cells(table)
    return {
        "records": rows,
        "created_at": timezone.now().isoformat(),
        "fields": {
            name: _build_profile(table, column, decision, rows, counts[column])
            for column, name, decision in zip(table.columns, table.names, decisions, strict=True)
        },
    }


def _count_cells(table: StagedTable) -> dict[str, _Counts]:
    """Count what is counted of every column, of many columns in one pass."""
    counts: dict[str, _Counts] = {}
    for start in range(0, len(table.columns), _COLUMNS_PER_STATEMENT):
        columns = table.columns[start : start + _COLUMNS_PER_STATEMENT]
        expressions = (
            SQL(
                "[count({0}), count(*) FILTER ({0} = ''), approx_count_distinct({0}),"
                " coalesce(min(length({0})), 0), coalesce(max(length({0})), 0)]"
            ).format(quote_identifier(column))
            for column in columns
        )
        query = SQL("SELECT {} FROM {}").format(SQL(", ").join(expressions), STAGED_ROWS)
        row = table.execute(query).fetchone() or ()
        counts |= {column: _Counts(*found) for column, found in zip(columns, row, strict=True)}
    return counts


def _build_profile(
    table: StagedTable, column: str, decision: Decision, rows: int, counts: _Counts
) -> dict[str, Any]:
    is_text = decision.field_type.is_text
    count = counts.cells if is_text else counts.cells - counts.empty
    profile: dict[str, Any] = {"count": count, "nulls": rows - count}
    if is_text:
        profile |= {
            "empty": counts.empty,
            "shortest": counts.shortest,
            "longest": counts.longest,
        }
    if not count:
        return profile | {"distinct": 0}
    profile |= _find_top_values(table, column, decision, count, counts.distinct)
    if decision.field_type.ordered in {Ordered.NUMBERS, Ordered.DATES}:
        profile |= _build_range(table, column, decision)
    return profile


def _is_number(field_type: FieldType) -> bool:
    return field_type.ordered is Ordered.NUMBERS


# Values and their counts --------------------------------------------------------------------------


def _find_top_values(
    table: StagedTable, column: str, decision: Decision, count: int, distinct: int
) -> dict[str, Any]:
    """Count the values one by one, unless nearly all of them are different."""
    if count > _MAX_VALUES_COUNTED and distinct > count * _MAX_DISTINCT_SHARE:
        return {"distinct": min(distinct, count), "distinct_is_estimated": True}
    cell = quote_identifier(column)
    # An inferred type has one text for each value, and so has text; in a chosen one +5 may be 5.
    value, shown = (
        (decision.field_format.build_json_value(cell), quote_identifier("value"))
        if decision.is_chosen and not decision.field_type.is_text
        else (cell, decision.field_format.build_json_value(quote_identifier("value")))
    )
    has_value = SQL("{} IS NOT NULL" if decision.field_type.is_text else "{} <> ''").format(cell)
    found = table.execute(
        SQL(
            "SELECT {shown}, number, total FROM (SELECT {value} AS value, count(*) AS number,"
            " count(*) OVER () AS total FROM {rows} WHERE {has_value}"
            " GROUP BY value ORDER BY number DESC, value LIMIT {limit})"
        ).format(
            shown=shown,
            value=value,
            rows=STAGED_ROWS,
            has_value=has_value,
            limit=quote_literal(_MAX_TOP_VALUES + 1),
        )
    ).fetchall()
    top = [
        {"value": _parse_value(text), "count": number}
        for text, number, _total in found
        if number > 1 and text != '""'
    ]
    return {"distinct": found[0][2]} | ({"top": top[:_MAX_TOP_VALUES]} if top else {})


def _parse_value(text: str) -> Any:
    """Parse a JSON text into what the database's JSON can hold: texts cut, numbers exact."""
    if len(text) > _MAX_VALUE_LENGTH and not text.startswith('"'):
        return text[:_MAX_VALUE_LENGTH]
    value = json.loads(text, parse_float=_parse_number)
    return value[:_MAX_VALUE_LENGTH] if isinstance(value, str) else value


def _parse_number(text: str) -> float | str:
    """Parse a number; one that a double cannot hold stays a text."""
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


# Ranges and histograms ----------------------------------------------------------------------------


def _build_range(table: StagedTable, column: str, decision: Decision) -> dict[str, Any]:
    """Find the least and the greatest value, the mean of numbers, and a histogram."""
    is_number = _is_number(decision.field_type)
    positions = _select_positions(column, decision)
    # Moments are compared as texts, to the last decimal; numbers by their size.
    ends = SQL(
        "arg_min(text, position), arg_max(text, position)" if is_number else "min(text), max(text)"
    )
    ((least, greatest, low, high, mean),) = table.execute(
        SQL(
            "SELECT {}, min(position), max(position), avg(position) FROM {}"
            " WHERE position IS NOT NULL"
        ).format(ends, positions)
    ).fetchall()
    if least is None:
        return {}
    found = {
        "min": _render_value(table, least, decision),
        "max": _render_value(table, greatest, decision),
    }
    if is_number and isfinite(mean):  # the sum of large doubles is infinite, which JSON cannot hold
        found["mean"] = float(f"{mean:.10g}")
    shown, bounds = _compute_bounds(decision.field_type, low, high)
    if shown:
        found["histogram"] = {"bounds": shown, "counts": _count_bins(table, positions, bounds)}
    return found


def _select_positions(column: str, decision: Decision) -> Composed:
    """
    Build a relation of the values of a column: each ``text`` with its ``position``.

    That is a number that has the order of the values; null for what is not a number.
    """
    name = decision.field_type.name
    cell = quote_identifier(column)
    text = (
        cell if _is_canonical(decision) else _unquote(decision.field_format.build_json_value(cell))
    )
    if name in _INTEGERS:
        position = "try_cast(text AS BIGINT)"
    elif _is_number(decision.field_type):
        position = "CASE WHEN isfinite(try_cast(text AS DOUBLE)) THEN try_cast(text AS DOUBLE) END"
    elif name == "time":
        position = "0"
    else:
        position = "epoch(try_cast(left(text, 19) AS TIMESTAMP))"
    return SQL(
        "(SELECT text, {position} AS position FROM (SELECT {text} AS text FROM {rows}"
        " WHERE {cell} <> ''))"
    ).format(position=SQL(position), text=text, rows=STAGED_ROWS, cell=cell)


def _is_canonical(decision: Decision) -> bool:
    """Return whether the texts of the file sort and read as those that are stored."""
    return not decision.is_chosen and not decision.field_format.format


def _unquote(text: Composed) -> Composed:
    return SQL("trim({}, '\"')").format(text)


def _render_value(table: StagedTable, text: str, decision: Decision) -> Any:
    """Turn a text of ``_select_positions`` into what is stored."""
    if _is_canonical(decision):
        value = _unquote(decision.field_format.build_json_value(quote_identifier("value")))
        query = SQL("SELECT {} FROM (SELECT ? AS value)").format(value)
        ((text,),) = table.execute(query, [text]).fetchall()
    return _parse_value(text) if _is_number(decision.field_type) else text


def _compute_bounds(
    field_type: FieldType, low: float, high: float
) -> tuple[list[Any], list[float]]:
    """Compute the bounds of bins, as values and as positions; none where all values are equal."""
    name = field_type.name
    if low == high or name == "time":
        return [], []
    if _is_number(field_type):
        numbers = compute_number_bounds(low, high, whole=name in _INTEGERS)
        return [_parse_value(str(each)) for each in numbers], [float(each) for each in numbers]
    first, last = _EPOCH + timedelta(seconds=low), _EPOCH + timedelta(seconds=high)
    moments = compute_date_bounds(first, last, whole_days=name == "date")
    positions = [(moment - _EPOCH).total_seconds() for moment in moments]
    return [_render_moment(moment, name) for moment in moments], positions


def _count_bins(table: StagedTable, positions: Composed, bounds: Sequence[float]) -> list[int]:
    """Count the values from each bound up to the next one, which is excluded."""
    # DuckDB's bins include their upper bound.
    ends = SQL(", ").join(quote_literal(nextafter(bound, -inf)) for bound in bounds[1:])
    ((bins,),) = table.execute(
        SQL(
            "SELECT histogram(CAST(position AS DOUBLE), CAST([{}] AS DOUBLE[])) FROM {}"
            " WHERE position IS NOT NULL"
        ).format(ends, positions)
    ).fetchall()
    return [bins[end] for end in sorted(bins)]


def _render_moment(moment: datetime, name: str) -> str:
    """Write a moment as the API writes those of the type ``name``."""
    text = moment.strftime("%Y-%m-%d" if name == "date" else "%Y-%m-%dT%H:%M:%S.000")
    year, after = text.split("-", 1)
    return f"{year:0>4}-{after}" + ("+00:00" if name == "timestamptz" else "")
