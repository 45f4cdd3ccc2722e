"""
Aggregates: figures for groups of records.

The engine groups the matches of a query, and PostgreSQL reads a page of the groups as a page of
records, so that values have the order and the digits that they have in records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property, partial
from typing import LiteralString

from psycopg import sql
from psycopg.errors import NumericValueOutOfRange

from ...database.server import cast_texts
from ...database.statements import translate_errors
from ...field_types import INT8, NUMERIC, FieldType, field_types
from ...filters import (
    MAX_SHOWN_LENGTH,
    Clause,
    Condition,
    TypedFields,
    compile_conditions,
    compose,
    join_with_commas,
)
from ...messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ...search import (
    ID,
    Column,
    Columns,
    ConsistentRead,
    Query,
    RecordSizes,
    SearchAnswer,
    bind_query,
    compile_sort_key,
    copy_records,
    count_and_read,
    translate_database_errors,
)
from .comparison import SHARE, Compare, Figure, GroupSteps, bind_compare, list_columns
from .engine.columns import Column as EngineColumn
from .engine.process import NumbersOutOfRange
from .engine.questions import Asked, normalize, read_value, select_asked
from .engine.source import Source
from .errors import (
    InvalidHaving,
    NumbersTooLarge,
    RepeatedColumnName,
    ReservedColumnName,
    TooManyGroups,
    UnsupportedOption,
)
from .groups import GroupBy, compile_group_keys, read_bounds

# Metrics ------------------------------------------------------------------------------------------


class Fits(Enum):
    """Of which types the values are; the figure is a count, one of them, or a number."""

    ALL = auto()
    SINGLE = auto()
    ORDERED = auto()
    NUMBERS = auto()

    def suits(self, kind: FieldType) -> bool:
        if self is Fits.NUMBERS:
            return kind.is_number
        is_single = self is Fits.SINGLE and not kind.is_nested
        return self is Fits.ALL or kind.ordered is not None or is_single

    def get_kind(self, kind: FieldType) -> str:
        if self is Fits.ALL:
            return INT8.name
        return kind.name if self is not Fits.NUMBERS or kind.is_double else NUMERIC.name


@dataclass(frozen=True, slots=True)
class Metric:
    """
    One of ``METRICS``; ``percentile`` is 0 to 100.

    Without a field, ``count`` counts records, and ``share`` is their share of all.
    """

    name: str
    metric: str
    field: str = ""
    percentile: Decimal | int | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    """The values of a field that a figure is of; ``rank`` is a percentage, ``order`` sorts them."""

    kind: FieldType
    column: EngineColumn
    rank: Decimal | int
    order: str

    @property
    def is_exact(self) -> bool:
        return self.column.is_typed and not self.kind.is_double

    @property
    def value(self) -> str:
        """The value to compute with, which is a double where a column of numbers has texts."""
        is_text = self.kind.is_number and not self.column.is_typed
        return f"CAST({self.column.value} AS DOUBLE)" if is_text else self.column.value

    @property
    def decimals(self) -> str:
        """The most decimals of a value, which their sum has, too."""
        if self.column.has_texts:
            return f"max(length(split_part({self.column.text}, '.', 2)))"
        return f"'{self.column.scale}'"

    def ask_double(self, figure: str) -> Asked:
        return Asked((figure,), "{0}::float8" if self.kind.is_double else "{0}::float8::numeric")


_MEDIAN = 50

#: Digits of numbers whose means are exact in doubles.
_MAX_EXACT_DIGITS = 14

#: A number that PostgreSQL refuses as too large.
_TOO_LARGE = "'1e999'"


def _ask_sum(measured: _Measured, *, is_mean: bool = False) -> Asked:
    """Ask for a sum or a mean; a sum of finite numbers may be too large for a double."""
    value, total = measured.value, f"sum({measured.value})"
    if not measured.is_exact:
        figure = f"avg({value})" if is_mean else total
        is_lost = f"NOT isfinite({figure}) AND NOT bool_or(NOT isfinite({value}))"
        written = f"CASE WHEN {is_lost} THEN {_TOO_LARGE} ELSE CAST({figure} AS VARCHAR) END"
        return measured.ask_double(written)
    divisor: LiteralString = " / nullif({2}::bigint, 0)" if is_mean else ""
    texts = (total, measured.decimals, *([f"count({value})"] if is_mean else []))
    return Asked(texts, "round({0}::numeric, {1}::int)" + divisor)


def _ask_percentile(measured: _Measured) -> Asked:
    """Ask for the value at a place, counted from 0; between two values it is interpolated."""
    value, rank = measured.value, measured.rank
    if not measured.is_exact:
        return measured.ask_double(f"quantile_cont({value}, {float(rank) / 100!r})")
    if rank == _MEDIAN and measured.column.digits <= _MAX_EXACT_DIGITS:
        # The mean of two such numbers has one decimal more, which a double holds.
        median = f"quantile_cont(CAST({value} AS DOUBLE), 0.5)"
        places = (measured.column.scale + 1,)
        return Asked((median,), "trim_scale(round({0}::numeric, %s))", places)
    place = f"((count({value}) - 1) * CAST({rank} AS DECIMAL(38, 10)) / 100)"
    values = f"list_sort(list({value}) FILTER ({value} IS NOT NULL))"
    low, high = (f"{values}[CAST({each}({place}) AS BIGINT) + 1]" for each in ("floor", "ceil"))
    between: LiteralString = "({1}::numeric - {0}::numeric) * {2}::numeric"
    texts = (low, high, f"{place} - floor({place})")
    return Asked(texts, f"trim_scale({{0}}::numeric + {between})")


def _ask_deviation(measured: _Measured) -> Asked:
    """Ask for the deviation from the least value on: of 2^53 and more, a double lacks digits."""
    value = measured.value
    if not measured.is_exact:
        return measured.ask_double(f"stddev_samp(CAST({value} AS DOUBLE))")
    kind = measured.column.type if measured.column.scale else "HUGEINT"
    distance = f"CAST(CAST(v AS {kind}) - min({value}) AS DOUBLE)"
    distances = f"list_transform(list({value}), lambda v: {distance})"
    return measured.ask_double(f"list_aggregate({distances}, 'stddev_samp')")


def _ask_value(measured: _Measured, function: str) -> Asked:
    """Ask for the text of one of the values: at an end of their order, or by a function."""
    text = function.format(text=measured.column.text, order=measured.order)
    if function in {"min", "max"}:
        text = measured.column.write_end(function, measured.order)
    return Asked((text,), read_value(measured.kind))


def _ask_number(measured: _Measured, function: str) -> Asked:
    value = normalize(measured.kind, measured.column)
    return Asked((function.format(value=value),), "{0}::bigint")


#: The metrics: which types each one fits, and how it is asked for.
METRICS: Mapping[str, tuple[Fits, Callable[[_Measured], Asked]]] = {
    "count": (Fits.ALL, partial(_ask_number, function="count({value})")),
    "count_distinct": (Fits.ALL, partial(_ask_number, function="count(DISTINCT {value})")),
    "sum": (Fits.NUMBERS, _ask_sum),
    "avg": (Fits.NUMBERS, partial(_ask_sum, is_mean=True)),
    "min": (Fits.ORDERED, partial(_ask_value, function="min")),
    "max": (Fits.ORDERED, partial(_ask_value, function="max")),
    "first": (Fits.SINGLE, partial(_ask_value, function="arg_min({text}, _id)")),
    "last": (Fits.SINGLE, partial(_ask_value, function="arg_max({text}, _id)")),
    "mode": (Fits.SINGLE, partial(_ask_value, function="mode({text} ORDER BY {order})")),
    SHARE: (Fits.NUMBERS, _ask_sum),  # of which `comparison` makes a percentage
    "median": (Fits.NUMBERS, _ask_percentile),
    "percentile": (Fits.NUMBERS, _ask_percentile),
    "stddev": (Fits.NUMBERS, _ask_deviation),
}


#: Those that depend on the order of the values.
_ORDERED = ("min", "max", "mode")


# Queries ------------------------------------------------------------------------------------------

#: Of one call.
MAX_GROUPS, MAX_METRICS = 4, 20

#: Groups that a call may find; a page has some of them.
MAX_FOUND_GROUPS = 100_000


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """
    What is computed of which records.

    ``query`` has the conditions on records, and the page of the groups: ``sort``, ``limit``,
    ``offset``, the format.  ``group_by`` and ``metrics`` have unique names.  ``having`` are
    conditions on the groups, by the names of the columns.  ``compare`` puts two groups of a column
    side by side.
    """

    query: Query
    group_by: Mapping[str, GroupBy]
    metrics: tuple[Metric, ...]
    having: tuple[Condition, ...] = ()
    compare: Compare | None = None


def read_aggregate(read: ConsistentRead, query: AggregateQuery) -> SearchAnswer:
    """
    Compute the figures of the groups; a page of them is read like records.

    Raises: as ``search.read_answer``; ``InvalidParameters`` for what does not fit the fields, and
    for numbers that are too large.
    """
    with (
        read.session.hold_slot(),
        translate_database_errors(plain=query.query.plain),
        translate_errors((NumericValueOutOfRange, InvalidParameters([NumbersTooLarge()]))),
    ):
        bound = _BoundAggregate(read, query)
        page = bound.query
        if page.is_copied:
            total = None
            if page.include_total:
                count = compose("SELECT count(*) FROM ({}) AS found", bound.select_groups())
                ((total,),) = read.fetch_rows(count)
            found = copy_records(read, bound.select_texts(), page.records_format)
        else:
            batch_rows = RecordSizes().choose_batch_rows(page.limit)
            found = read.fetch_texts(bound.select_texts(), batch_rows=batch_rows)
            total = found.total if page.include_total else None
    return SearchAnswer(
        records=found.records, total=total, fields=bound.fields, record_count=found.count
    )


class _BoundAggregate:
    """An aggregate that fits a relation; ``fields`` are the columns: groups, then metrics."""

    def __init__(self, read: ConsistentRead, query: AggregateQuery) -> None:
        errors: list[InvalidParameter] = []
        self._read, self.query, types = read, query.query, read.relation.types
        self._keys = compile_group_keys(query.group_by.values(), read, "group_by", errors)
        self._metrics, figures = query.metrics, list[Figure]()
        for metric in query.metrics:
            field, (fits, _ask) = metric.field, METRICS[metric.metric]
            if field and field not in types:
                errors.append(UnknownField(parameter="metrics", field=field[:MAX_SHOWN_LENGTH]))
            elif field and not fits.suits(field_types[types[field]]):
                misfit = {"field": field, "type": types[field], "option": metric.metric}
                errors.append(UnsupportedOption(parameter="metrics", **misfit))
            else:
                kind = fits.get_kind(field_types[types[field]]) if field else INT8.name
                figures.append(Figure(metric.name, metric.metric, kind))
        names = list_columns(query.group_by, [each.name for each in query.metrics], query.compare)
        errors += [
            RepeatedColumnName(parameter="metrics", name=name[:MAX_SHOWN_LENGTH])
            for position, name in enumerate(names)
            if name in names[:position]
        ]
        errors += [ReservedColumnName(name=ID)] if ID in names else []
        errors += [
            UnknownField(parameter="sort", field=key.field[:MAX_SHOWN_LENGTH])
            for key in self.query.sort
            if key.field not in names
        ]
        compare = None
        if query.compare and not errors:
            compare = bind_compare(query.compare, query.group_by, self._keys, figures, read)
        self._steps = GroupSteps([*query.group_by], self._keys, figures, compare)
        filters = (*self.query.filters, *(compare.filters if compare else ()))
        self._conditions = replace(self.query, filters=filters, sort=(), limit=None, offset=0)
        bind_query(read, self._conditions, errors)
        self.fields = self._steps.fields
        having = TypedFields(dict(self.fields), partial(cast_texts, read.connection))
        try:
            self._having = compile_conditions(query.having, having) if query.having else None
        except InvalidParameters as error:
            raise InvalidParameters([InvalidHaving(error=each) for each in error.errors]) from None

    @cached_property
    def _groups(self) -> Clause:
        """Select keys and figures of all groups.  Raises: ``InvalidParameters`` for too many."""
        named = [each.group.field for each in self._keys]
        measured = [each.field for each in self._metrics]
        ordered = [each.field for each in self._metrics if each.metric in _ORDERED]
        source = Source(self._read, self._conditions, [*named, *measured], ordered=ordered)
        bounds = read_bounds(source, self._keys)
        asked = [(f"g{n}", key.ask(source, bounds[n])) for n, key in enumerate(self._keys)]
        by = [each.by for _name, each in asked]
        for n, metric in enumerate(self._metrics):
            figure = Asked(("count(*)",), "{0}::bigint")
            if metric.field:
                rank = _MEDIAN if metric.percentile is None else metric.percentile
                kind, column = source.get_type(metric.field), source.columns[metric.field]
                order = source.orders.get(metric.field, column.value)
                figure = METRICS[metric.metric][1](_Measured(kind, column, rank, order))
            asked.append((f"m{n}", figure))
        texts = ", ".join(
            f"CAST({text} AS VARCHAR)" for _name, each in asked for text in each.texts
        )
        grouped = f"GROUP BY {', '.join(by)}" if by else ""
        statement = f"SELECT {texts} FROM matches {grouped} LIMIT {MAX_FOUND_GROUPS + 1}"
        try:
            rows = source.fetch(statement)
        except NumbersOutOfRange:
            raise InvalidParameters([NumbersTooLarge()]) from None
        if len(rows) > MAX_FOUND_GROUPS:
            raise InvalidParameters([TooManyGroups(most=MAX_FOUND_GROUPS)])
        return self._steps.select(select_asked(asked, rows))

    def select_texts(self) -> Clause:
        """
        Read the text of each group of the page, after the number of groups if it is wanted.

        For a COPY, these are the cells of groups, or their texts.
        """
        listed = enumerate(self.fields)
        columns = Columns(
            [Column(name, kind, f"page.c{position}") for position, (name, kind) in listed],
            as_lists=self.query.records_format == "lists",
        )
        groups, page, is_copied = self.select_groups(), self._select_page(), self.query.is_copied
        texts = columns.cells if self.query.is_text else columns.render_texts("," * is_copied)
        if self.query.include_total and not is_copied:
            return count_and_read(groups, page, texts, "page.is_there")
        return compose("WITH found AS ({}) {}", groups, columns.select(texts, page))

    def _select_page(self) -> Clause:
        """Select the columns of the groups of the page, as JSON, from ``found``."""
        columns = join_with_commas(
            compose(f"{{}} AS c{position}", Clause(rendered))
            for position, rendered in enumerate(self._render_columns())
        )
        shown = enumerate(self._steps.keys)
        keys = [Clause(key.order(sql.SQL(f"g{position}"))) for position, key in shown]
        figures = [
            Clause(sql.SQL(f"m{position}")) for position in range(len(self.fields) - len(keys))
        ]
        by_name = dict(zip([name for name, _kind in self.fields], [*keys, *figures], strict=True))
        # The order is total: by the keys in the end.
        terms = [compile_sort_key(key, by_name[key.field]) for key in self.query.sort] + keys
        order = compose("ORDER BY {}", join_with_commas(terms)) if terms else Clause(sql.SQL(""))
        # PostgreSQL takes a limit that is null for none.
        bounds = Clause(sql.SQL("LIMIT %s OFFSET %s"), [self.query.limit, self.query.offset])
        return compose("SELECT true AS is_there, {} FROM found {} {}", columns, order, bounds)

    def _render_columns(self) -> list[sql.Composable]:
        keys = self._steps.keys
        return [
            *(key.render(sql.SQL(f"g{position}")) for position, key in enumerate(keys)),
            *(sql.SQL(f"to_jsonb(m{each})") for each in range(len(self.fields) - len(keys))),
        ]

    def select_groups(self) -> Clause:
        """Select each group that meets the conditions."""
        if self._having is None:
            return self._groups
        members = [sql.SQL("%s::text, {}").format(rendered) for rendered in self._render_columns()]
        data = Clause(
            sql.SQL("jsonb_build_object({})").format(sql.SQL(", ").join(members)),
            [name for name, _kind in self.fields],
        )
        named = "SELECT * FROM (SELECT *, {} AS data FROM ({}) AS groups) AS named WHERE {}"
        return compose(named, data, self._groups, self._having)
