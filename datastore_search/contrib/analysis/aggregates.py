"""
Aggregates: figures for groups of records.

One statement groups the matches of a query, and a page of the groups is read as a page of records
is.  PostgreSQL computes and writes each figure, so that numbers keep all their digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, auto
from functools import partial
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
from .errors import (
    InvalidHaving,
    NumbersTooLarge,
    RepeatedColumnName,
    ReservedColumnName,
    UnsupportedOption,
)
from .groups import BIN, GroupBy, compile_group_keys, compile_value

# Metrics ------------------------------------------------------------------------------------------


class Fits(Enum):
    """Of which types the values are; the figure is a count, one of them, or a number."""

    ALL = auto()
    ORDERED = auto()
    NUMBERS = auto()

    def suits(self, kind: FieldType) -> bool:
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


@dataclass(frozen=True, slots=True)
class Metric:
    """One of ``METRICS``; ``count`` without a field counts records, ``percentile`` is 0 to 100."""

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
    figure_kind = fits.get_kind(kind)
    if template:
        figure = Clause(sql.SQL(template).format(k=sql.SQL(column)))
        return CompiledMetric(value, column, figure, figure_kind)
    rank = 50 if metric.percentile is None else metric.percentile
    if field_types[figure_kind].is_double:
        text = sql.SQL("percentile_cont(%s::float8) WITHIN GROUP (ORDER BY {})").format(
            sql.SQL(column)
        )
        return CompiledMetric(value, column, Clause(text, [rank / 100]), figure_kind)
    text = sql.SQL(_PERCENTILE).format(
        k=sql.SQL(column), n=sql.SQL(f"n{position}"), h=sql.SQL(f"h{position}")
    )
    return CompiledMetric(value, column, Clause(text), figure_kind, rank)


# Queries ------------------------------------------------------------------------------------------

#: Of one call.
MAX_GROUPS, MAX_METRICS = 4, 20


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """
    What is computed of which records.

    ``query`` has the conditions on records, and the page of the groups: ``sort``, ``limit``,
    ``offset``, the format.  ``group_by`` and ``metrics`` have unique names.  ``having`` are
    conditions on the groups, by these names.
    """

    query: Query
    group_by: Mapping[str, GroupBy]
    metrics: tuple[Metric, ...]
    having: tuple[Condition, ...] = ()


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
            found = copy_records(read, bound.select_copied(), page.records_format)
        else:
            batch_rows = RecordSizes().choose_batch_rows(page.limit)
            found = read.fetch_texts(bound.select_texts(), batch_rows=batch_rows)
            total = found.total if page.include_total else None
    return SearchAnswer(
        records=found.records,
        total=total,
        fields=bound.fields,
        record_count=found.count,
    )


class _BoundAggregate:
    """An aggregate that fits a relation; ``fields`` are the columns: groups, then metrics."""

    def __init__(self, read: ConsistentRead, query: AggregateQuery) -> None:
        errors: list[InvalidParameter] = []
        self.query = query.query
        self._keys = compile_group_keys(query.group_by.values(), read, "group_by", errors)
        self._metrics: list[CompiledMetric] = []
        first_by_field: dict[str, int] = {}
        for position, metric in enumerate(query.metrics):
            field = metric.field
            if field and field not in read.relation.types:
                errors.append(UnknownField(parameter="metrics", field=field[:MAX_SHOWN_LENGTH]))
                continue
            kind = read.relation.types.get(field, "")
            first = first_by_field.setdefault(field, position)
            if compiled := compile_metric(metric, kind, position, first):
                self._metrics.append(compiled)
            else:
                misfit = {"field": field, "type": kind, "option": metric.metric}
                errors.append(UnsupportedOption(parameter="metrics", **misfit))
        names = [*query.group_by, *(metric.name for metric in query.metrics)]
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
        conditions = replace(self.query, sort=(), limit=None, offset=0)
        self._source = bind_query(read, conditions, errors)
        kinds = [key.kind.name for key in self._keys] + [each.kind for each in self._metrics]
        self.fields = tuple(zip(names, kinds, strict=True))
        having = TypedFields(dict(self.fields), partial(cast_texts, read.connection))
        try:
            self._having = compile_conditions(query.having, having) if query.having else None
        except InvalidParameters as error:
            raise InvalidParameters([InvalidHaving(error=each) for each in error.errors]) from None

    def select_texts(self) -> Clause:
        """Read the text of each group of the page, after the number of groups if it is wanted."""
        texts = self._columns.render_texts()
        groups = self.select_groups()
        if self.query.include_total:
            return count_and_read(groups, self._select_page(), texts, sql.SQL("page.is_there"))
        return self._compose_select(texts)

    def select_copied(self) -> Clause:
        """Read the groups of the page for a COPY: their cells, or their texts."""
        if self.query.is_text:
            return self._compose_select(self._columns.cells)
        return self._compose_select(self._columns.render_texts(","))

    @property
    def _columns(self) -> Columns:
        return Columns(
            [
                Column(name, kind, f"page.c{position}")
                for position, (name, kind) in enumerate(self.fields)
            ],
            as_lists=self.query.records_format == "lists",
        )

    def _compose_select(self, texts: sql.SQL) -> Clause:
        selected = self._columns.select(texts, self._select_page())
        return compose("WITH found AS ({}) {}", self.select_groups(), selected)

    def _select_page(self) -> Clause:
        """Select the columns of the groups of the page, as JSON, from ``found``."""
        columns = join_with_commas(
            compose(f"{{}} AS c{position}", Clause(rendered))
            for position, rendered in enumerate(self._render_columns())
        )
        keys = [
            Clause(key.order(sql.SQL(f"g{position}"))) for position, key in enumerate(self._keys)
        ]
        figures = [Clause(sql.SQL(f"m{position}")) for position in range(len(self._metrics))]
        by_name = dict(zip([name for name, _kind in self.fields], [*keys, *figures], strict=True))
        # The order is total: by the keys in the end.
        terms = [compile_sort_key(key, by_name[key.field]) for key in self.query.sort] + keys
        order = compose("ORDER BY {}", join_with_commas(terms)) if terms else Clause(sql.SQL(""))
        # PostgreSQL takes a limit that is null for none.
        bounds = Clause(sql.SQL("LIMIT %s OFFSET %s"), [self.query.limit, self.query.offset])
        return compose("SELECT true AS is_there, {} FROM found {} {}", columns, order, bounds)

    def _render_columns(self) -> list[sql.Composable]:
        return [
            *(key.render(sql.SQL(f"g{position}")) for position, key in enumerate(self._keys)),
            *(sql.SQL(f"to_jsonb(m{position})") for position in range(len(self._metrics))),
        ]

    def select_groups(self) -> Clause:
        """Select each group that meets the conditions, in steps: matches, bins, ranks, groups."""
        inner = [
            compose(f"{{}} AS {'b' if key.group.bins else 'g'}{position}", key.value)
            for position, key in enumerate(self._keys)
        ]
        inner += [
            compose(f"{{}} AS k{position}", metric.value)
            for position, metric in enumerate(self._metrics)
            if metric.value is not None
        ]
        steps = [self._source.select(join_with_commas(inner or [Clause(sql.SQL("1"))]))]
        steps += self._select_bins()
        steps += self._select_ranks(f"s{len(steps) - 1}")
        named = [compose(f"s{n} AS ({{}})", step) for n, step in enumerate(steps)]
        keys = [f"g{position}" for position in range(len(self._keys))]
        figures = [
            compose(f"{{}} AS m{position}", metric.figure)
            for position, metric in enumerate(self._metrics)
        ]
        selected = [*(Clause(sql.SQL(key)) for key in keys), *figures]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        groups = compose(
            "WITH {} SELECT {} FROM {}",
            join_with_commas(named),
            join_with_commas(selected),
            Clause(sql.SQL(f"s{len(steps) - 1}{by}")),
        )
        if self._having is None:
            return groups
        members = [sql.SQL("%s::text, {}").format(rendered) for rendered in self._render_columns()]
        data = Clause(
            sql.SQL("jsonb_build_object({})").format(sql.SQL(", ").join(members)),
            [name for name, _kind in self.fields],
        )
        return compose(
            "SELECT * FROM (SELECT *, {} AS data FROM ({}) AS groups) AS named WHERE {}",
            data,
            groups,
            self._having,
        )

    def _select_bins(self) -> list[Clause]:
        """Select the bin of each match, by its lower bound, where a group has bins."""
        columns = [Clause(sql.SQL("s0.*"))]
        ranges = [Clause(sql.SQL("s0"))]
        for position, key in enumerate(self._keys):
            if key.group.bins is None:
                continue
            value: LiteralString = f"b{position}"
            bounds: LiteralString = f"r{position}.bounds"
            number = sql.SQL(BIN).format(key=sql.SQL(value), bounds=sql.SQL(bounds))
            bound = sql.SQL(f"CASE WHEN {{}} THEN {bounds}[{{}}] ELSE {value} END AS g{position}")
            columns.append(Clause(bound.format(key.is_finite(value), number)))
            ranges.append(compose(f"({{}}) AS r{position}", key.select_bounds(value, "s0")))
        if len(columns) == 1:
            return []
        return [compose("SELECT {} FROM {}", join_with_commas(columns), join_with_commas(ranges))]

    def _select_ranks(self, source: LiteralString) -> list[Clause]:
        """Select the place of each number in its group, where a percentile is exact."""
        keys = ", ".join(f"g{position}" for position in range(len(self._keys)))
        partition = f"PARTITION BY {keys}" if keys else ""
        ranks = [
            Clause(
                sql.SQL(
                    f"row_number() OVER ({partition} ORDER BY {metric.column}) AS n{position},"
                    f" (count({metric.column}) OVER ({partition}) - 1) * %s::numeric * 0.01"
                    f" AS h{position}"
                ),
                [metric.rank],
            )
            for position, metric in enumerate(self._metrics)
            if metric.rank is not None
        ]
        if not ranks:
            return []
        columns = join_with_commas(ranks)
        return [compose("SELECT *, {} FROM {}", columns, Clause(sql.SQL(source)))]
