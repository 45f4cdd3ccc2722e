"""
What the values of each field are like, found out in DuckDB while a file is being loaded.

A profile is what JSON can hold; values in it are as the API shows them, texts cut short:

- ``count``, ``nulls`` and ``empty``: records with a value, without one, with the empty text (of
  ``count``);
- ``distinct``: how many values there are; ``distinct_is_estimated`` where they were not counted;
- ``min`` and ``max`` of what has an order that needs no language, ``mean`` of numbers;
- ``top``: the most common values with their counts, ten at most, where values are repeated;
- ``histogram`` of numbers and dates: the ``bounds`` of its bins, one more than its ``counts``;
- ``shortest`` and ``longest``: letters of texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf, nextafter
from typing import Any

from django.utils import timezone

from ..readers.staging import STAGED_ROWS, StagedTable
from ..typing.inference import Decision
from .histogram import compute_date_bounds, compute_number_bounds
from .rows import build_value_expression

_COLUMNS_AT_ONCE = 100
_LETTERS_MOST = 100
_TOP = 10

#: Where more of the values are different, the most common ones say nothing.
_REPEATED = 0.9
#: Fewer values than this are counted, whatever they are.
_FEW = 1_000

_WHOLE = frozenset({"int2", "int4", "int8"})
_NUMBERS = _WHOLE | {"numeric", "float8"}
_DAYS = frozenset({"date", "timestamp", "timestamptz"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ORDERED = _NUMBERS | _DAYS | {"time"}


def build_profiles(table: StagedTable, decisions: Sequence[Decision]) -> dict[str, Any]:
    """
    Profile the rows of a table: ``records``, ``made`` and the profiles in ``fields``, by name.

    Memory is DuckDB's alone: what it holds of each field is read one after the other.
    """
    rows = table.count_rows()
    found = _counts(table)
    return {
        "records": rows,
        "made": timezone.now().isoformat(),
        "fields": {
            name: _profile(table, column, decision, rows, found[column])
            for column, name, decision in zip(table.columns, table.names, decisions, strict=True)
        },
    }


def _counts(table: StagedTable) -> dict[str, tuple[int, int, int, int, int]]:
    """Count what is counted of every field, of many fields in one pass."""
    found: dict[str, Any] = {}
    for start in range(0, len(table.columns), _COLUMNS_AT_ONCE):
        columns = table.columns[start : start + _COLUMNS_AT_ONCE]
        counts = ", ".join(
            f"[count({column}), count(*) FILTER ({column} = ''),"
            f" approx_count_distinct({column}),"
            f" coalesce(min(length({column})), 0), coalesce(max(length({column})), 0)]"
            for column in columns
        )
        row = table.connection.execute(f"SELECT {counts} FROM {STAGED_ROWS}").fetchone() or ()
        found |= dict(zip(columns, map(tuple, row), strict=True))
    return found


def _profile(
    table: StagedTable,
    column: str,
    decision: Decision,
    rows: int,
    counts: tuple[int, int, int, int, int],
) -> dict[str, Any]:
    kind = decision.kind
    count, empty, distinct, shortest, longest = counts
    if not kind.is_text:
        count, empty = count - empty, 0
    profile: dict[str, Any] = {"count": count, "nulls": rows - count}
    if kind.is_text:
        profile |= {"empty": empty, "shortest": shortest, "longest": longest}
    if not count:
        return profile | {"distinct": 0}
    profile |= _values(table, column, decision, count, distinct)
    if kind.name in _ORDERED:
        profile |= _range(table, column, decision)
    return profile


# Values and their numbers -------------------------------------------------------------------------


def _values(
    table: StagedTable, column: str, decision: Decision, count: int, distinct: int
) -> dict[str, Any]:
    """Count the values one by one, unless nearly all of them are different."""
    if count > _FEW and distinct > count * _REPEATED:
        return {"distinct": min(distinct, count), "distinct_is_estimated": True}
    # A field whose type was found has one text for each value; in another one +5 may be 5.
    value = build_value_expression(column, decision.form) if decision.chosen else column
    shown = "value" if decision.chosen else build_value_expression("value", decision.form)
    there = f"{column} IS NOT NULL" if decision.kind.is_text else f"{column} <> ''"
    found = table.connection.execute(
        f"SELECT {shown}, number, every FROM (SELECT {value} AS value, count(*) AS number,"
        f" count(*) OVER () AS every FROM {STAGED_ROWS} WHERE {there}"
        f" GROUP BY value ORDER BY number DESC, value LIMIT {_TOP + 1})"
    ).fetchall()
    top = [
        {"value": _value(text), "count": number}
        for text, number, _every in found
        if number > 1 and text != '""'
    ]
    return {"distinct": found[0][2]} | ({"top": top[:_TOP]} if top else {})


def _value(text: str) -> Any:
    """Give a JSON text as what JSON in the database can hold: long texts cut, numbers exact."""
    if len(text) > _LETTERS_MOST and not text.startswith('"'):
        return text[:_LETTERS_MOST]
    value = json.loads(text, parse_float=_number)
    return value[:_LETTERS_MOST] if isinstance(value, str) else value


def _number(text: str) -> float | str:
    """Read a number; one that is no double stays a text."""
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


# Where the values lie -----------------------------------------------------------------------------


def _range(table: StagedTable, column: str, decision: Decision) -> dict[str, Any]:
    """Find the least and the greatest value, the mean of numbers, and how many are where."""
    is_number = decision.kind.name in _NUMBERS
    placed = _placed(table, column, decision)
    # Moments are compared as texts, to the last decimal; numbers by their size.
    ends = "arg_min(text, place), arg_max(text, place)" if is_number else "min(text), max(text)"
    ((least, most, low, high, mean),) = table.connection.execute(
        f"SELECT {ends}, min(place), max(place), avg(place) FROM {placed} WHERE place IS NOT NULL"
    ).fetchall()
    if least is None:
        return {}
    found = {"min": _shown(table, least, decision), "max": _shown(table, most, decision)}
    if is_number:
        found["mean"] = float(f"{mean:.10g}")
    shown, places = _bounds(decision.kind.name, low, high)
    if shown:
        found["histogram"] = {"bounds": shown, "counts": _binned(table, placed, places)}
    return found


def _placed(table: StagedTable, column: str, decision: Decision) -> str:
    """
    Give the values of a column as a relation of their ``text`` and their ``place``.

    That is a number by which they lie before or after each other; none for what is no number.
    """
    name = decision.kind.name
    text = (
        column if _is_canonical(decision) else _bare(build_value_expression(column, decision.form))
    )
    if name in _WHOLE:
        place = "try_cast(text AS BIGINT)"
    elif name in _NUMBERS:
        place = "CASE WHEN isfinite(try_cast(text AS DOUBLE)) THEN try_cast(text AS DOUBLE) END"
    elif name in _DAYS:
        place = "epoch(try_cast(left(text, 19) AS TIMESTAMP))"
    else:
        place = "0"
    return (
        f"(SELECT text, {place} AS place FROM (SELECT {text} AS text FROM {STAGED_ROWS}"
        f" WHERE {column} <> ''))"
    )


def _is_canonical(decision: Decision) -> bool:
    """Tell whether the texts of the file sort and read as those that are stored."""
    return not decision.chosen and not decision.form.notation


def _bare(text: str) -> str:
    return f"trim({text}, '\"')"


def _shown(table: StagedTable, text: str, decision: Decision) -> Any:
    """Give a text of ``_placed`` as what is stored."""
    if _is_canonical(decision):
        ((text,),) = table.connection.execute(
            f"SELECT {_bare(build_value_expression('value', decision.form))}"
            " FROM (SELECT ? AS value)",
            [text],
        ).fetchall()
    return _value(text) if decision.kind.name in _NUMBERS else text


def _bounds(name: str, low: float, high: float) -> tuple[list[Any], list[float]]:
    """Give the bounds of bins, as they are shown and as places; none where all is in one place."""
    if low == high or name == "time":
        return [], []
    if name in _NUMBERS:
        numbers = compute_number_bounds(low, high, whole=name in _WHOLE)
        return [_value(str(number)) for number in numbers], [float(number) for number in numbers]
    moments = compute_date_bounds(_moment(low), _moment(high), whole_days=name == "date")
    return [_written(moment, name) for moment in moments], [
        (moment - _EPOCH).total_seconds() for moment in moments
    ]


def _binned(table: StagedTable, placed: str, bounds: Sequence[float]) -> list[int]:
    """Count the values from each bound on, up to the next one but not at it."""
    # DuckDB's bins have their upper bound among them.
    ends = ", ".join(repr(nextafter(bound, -inf)) for bound in bounds[1:])
    ((bins,),) = table.connection.execute(
        f"SELECT histogram(CAST(place AS DOUBLE), CAST([{ends}] AS DOUBLE[])) FROM {placed}"
        " WHERE place IS NOT NULL"
    ).fetchall()
    return [bins[end] for end in sorted(bins)]


def _moment(place: float) -> datetime:
    return _EPOCH + timedelta(seconds=place)


def _written(moment: datetime, name: str) -> str:
    """Write a moment as the API writes those of the type."""
    text = moment.strftime("%Y-%m-%d" if name == "date" else "%Y-%m-%dT%H:%M:%S.000")
    year, after = text.split("-", 1)
    return f"{year:0>4}-{after}" + ("+00:00" if name == "timestamptz" else "")
