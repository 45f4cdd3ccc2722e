"""The metrics of a group: which types each one fits, what it gives, and its SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import LiteralString

from psycopg import sql

from ...field_types import FieldType, field_types
from ...filters import Clause
from .groups import compile_value

METRICS = (
    "count",
    "count_distinct",
    "sum",
    "avg",
    "min",
    "max",
    "median",
    "percentile",
    "stddev",
)

_MEDIAN = Decimal(50)


@dataclass(frozen=True, slots=True)
class Metric:
    """
    A figure of a group: one of ``METRICS``, of the values of a field.

    Only ``count`` may have no field: it counts records.  ``percentile`` is from 0 to 100.
    """

    name: str
    metric: str
    field: str = ""
    percentile: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CompiledMetric:
    """
    A metric in SQL.

    ``figure`` is computed of the values in ``column``, which the first metric of a field reads of
    each match as its ``value``.  ``kind`` is the type of the figure.  With a ``rank``, a
    percentage, the figure also needs the places of the values.
    """

    value: Clause | None
    column: LiteralString
    figure: Clause
    kind: str
    rank: Decimal | None = None


_SIMPLE: Mapping[str, LiteralString] = {
    "count": "count({k})",
    "count_distinct": "count(DISTINCT {k})",
    "sum": "sum({k})",
    "avg": "avg({k})",
    "min": "min({k})",
    "max": "max({k})",
    "stddev": "stddev_samp({k})",
}

#: The value at the place ``h``, counted from 0; between two values it is interpolated.
_PERCENTILE: LiteralString = (
    "trim_scale(CASE WHEN max({h}) = floor(max({h})) THEN max({k}) FILTER (WHERE {n} = {h} + 1)"
    " ELSE max({k}) FILTER (WHERE {n} = floor({h}) + 1)"
    " + (max({k}) FILTER (WHERE {n} = ceil({h}) + 1)"
    " - max({k}) FILTER (WHERE {n} = floor({h}) + 1)) * (max({h}) - floor(max({h}))) END)"
)


def compile_metric(
    metric: Metric, type_name: str, position: int, first: int
) -> CompiledMetric | None:
    """
    Compile a metric of a field of a type; None where it does not fit the type.

    Its SQL is over the column ``k`` of the position of the ``first`` metric of the field, and for a
    percentile over ``n`` and ``h`` of its own.
    """
    column: LiteralString = f"k{first}"
    if not metric.field:
        return CompiledMetric(None, column, Clause(sql.SQL("count(*)")), "int8")
    kind = field_types[type_name]
    if not _fits(metric.metric, kind):
        return None
    value = compile_value(kind, metric.field) if first == position else None
    if metric.metric in {"median", "percentile"}:
        rank = _MEDIAN if metric.percentile is None else metric.percentile
        return _compile_percentile(value, column, kind, rank, position)
    figure = Clause(sql.SQL(_SIMPLE[metric.metric]).format(k=sql.SQL(column)))
    return CompiledMetric(value, column, figure, _find_kind(metric.metric, kind))


def _fits(metric: str, kind: FieldType) -> bool:
    if metric in {"count", "count_distinct"}:
        return True
    if metric in {"min", "max"}:
        return kind.ordered is not None
    return kind.is_number


def _find_kind(metric: str, kind: FieldType) -> str:
    if metric in {"count", "count_distinct"}:
        return "int8"
    if metric in {"min", "max"} or kind.name == "float8":
        return kind.name
    return "numeric"


def _compile_percentile(
    value: Clause | None, column: LiteralString, kind: FieldType, rank: Decimal, position: int
) -> CompiledMetric:
    number_kind = _find_kind("percentile", kind)
    if number_kind == "float8":
        text = sql.SQL("percentile_cont(%s::float8) WITHIN GROUP (ORDER BY {})").format(
            sql.SQL(column)
        )
        return CompiledMetric(value, column, Clause(text, [rank / 100]), number_kind)
    text = sql.SQL(_PERCENTILE).format(
        k=sql.SQL(column), n=sql.SQL(f"n{position}"), h=sql.SQL(f"h{position}")
    )
    return CompiledMetric(value, column, Clause(text), number_kind, rank)
