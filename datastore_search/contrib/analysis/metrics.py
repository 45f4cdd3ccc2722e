"""The metrics of a group: which types each one fits, what it gives, and its SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from typing import LiteralString

from psycopg import sql

from ...field_types import INT8, NUMERIC, FieldType, field_types
from ...filters import Clause
from .groups import compile_value


class Fits(Enum):
    """Of which types the values are; the figure is a count, one of them, or a number."""

    ALL = auto()
    ORDERED = auto()
    NUMBERS = auto()

    def suits(self, kind: FieldType) -> bool:
        """Return whether the values of a type are among them."""
        if self is Fits.NUMBERS:
            return kind.is_number
        return self is Fits.ALL or kind.ordered is not None

    def get_kind(self, kind: FieldType) -> str:
        if self is Fits.ALL:
            return INT8.name
        return kind.name if self is Fits.ORDERED or kind.is_double else NUMERIC.name


#: The metrics: which types each one fits, and its SQL over ``{k}``; without SQL, a percentile.
METRICS: Mapping[str, tuple[Fits, LiteralString]] = {
    "count": (Fits.ALL, "count({k})"),
    "count_distinct": (Fits.ALL, "count(DISTINCT {k})"),
    "sum": (Fits.NUMBERS, "sum({k})"),
    "avg": (Fits.NUMBERS, "avg({k})"),
    "min": (Fits.ORDERED, "min({k})"),
    "max": (Fits.ORDERED, "max({k})"),
    "median": (Fits.NUMBERS, ""),
    "percentile": (Fits.NUMBERS, ""),
    "stddev": (Fits.NUMBERS, "stddev_samp({k})"),
}

_MEDIAN = 50


@dataclass(frozen=True, slots=True)
class Metric:
    """
    A figure of a group: one of ``METRICS``, of the values of a field.

    Only ``count`` may have no field: it counts records.  ``percentile`` is from 0 to 100.
    """

    name: str
    metric: str
    field: str = ""
    percentile: Decimal | int | None = None


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
    rank: Decimal | int | None = None


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
        return CompiledMetric(None, column, Clause(sql.SQL("count(*)")), INT8.name)
    kind, (fits, template) = field_types[type_name], METRICS[metric.metric]
    if not fits.suits(kind):
        return None
    value = compile_value(kind, metric.field) if first == position else None
    if not template:
        rank = _MEDIAN if metric.percentile is None else metric.percentile
        return _compile_percentile(value, column, fits.get_kind(kind), rank, position)
    figure = Clause(sql.SQL(template).format(k=sql.SQL(column)))
    return CompiledMetric(value, column, figure, fits.get_kind(kind))


def _compile_percentile(
    value: Clause | None, column: LiteralString, kind: str, rank: Decimal | int, position: int
) -> CompiledMetric:
    if field_types[kind].is_double:
        text = sql.SQL("percentile_cont(%s::float8) WITHIN GROUP (ORDER BY {})").format(
            sql.SQL(column)
        )
        return CompiledMetric(value, column, Clause(text, [rank / 100]), kind)
    text = sql.SQL(_PERCENTILE).format(
        k=sql.SQL(column), n=sql.SQL(f"n{position}"), h=sql.SQL(f"h{position}")
    )
    return CompiledMetric(value, column, Clause(text), kind, rank)
