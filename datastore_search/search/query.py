"""
A query, and its SQL: bound to the relation that it reads, its names and values are checked, once.

The bound query is a value that has all that plans are made of: its conditions, and the columns that
write its records.  A page of records is a subquery ``page``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, LiteralString

from psycopg import sql

from ..database.server import list_search_languages
from ..field_types import Ordered, dump_json, field_types
from ..filters import (
    MAX_SHOWN_LENGTH,
    TRUE,
    Clause,
    Comparison,
    Condition,
    FullTextOptions,
    FullTextQuery,
    In,
    Near,
    compile_conditions,
    compile_field_key,
    compose,
    find_id_range,
    join_clauses,
    join_with_commas,
    parse_full_text_query,
)
from ..filters.names import ID, SortKey
from ..messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ..messages.search import (
    SortOutsideFields,
    SubstringsNotIndexed,
    UnknownLanguage,
    UnsortableField,
)
from .reads import ConsistentRead, Relation

#: Larger pages are copied out, within a snapshot, into a spool.
MAX_LIMIT_IN_MEMORY = 1_000

#: Larger pages may be slow whatever the query is.
_MAX_LIGHT_LIMIT = 100


class RecordsFormat(StrEnum):
    OBJECTS = "objects"
    LISTS = "lists"
    CSV = "csv"
    TSV = "tsv"


_TEXT_FORMATS = frozenset({RecordsFormat.CSV, RecordsFormat.TSV})


@dataclass(frozen=True, slots=True)
class AnswerMember:
    """
    What a contrib app adds to a page, under a name in the answer.

    ``check`` finds what does not fit a query.  ``read`` takes the ``ConsistentRead``, the
    ``BoundQuery`` and the ``FoundRecords``.  ``schema`` is the JSON Schema of what it returns.
    """

    name: str
    check: Callable[[Query], Iterable[InvalidParameter]]
    read: Callable[..., Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """
    The parameters of a search, in Python's types.

    ``q`` is a full-text query over all fields, or empty; ``q_fields`` are full-text queries over
    single fields; with ``websearch``, plain ones may have phrases, OR and excluded words.  With
    ``substrings``, their words are found within words, too.  ``language`` is
    the text search configuration of both; empty for the resource's.  All ``filters`` must
    hold.  Empty ``fields`` are all fields.  ``limit`` and ``offset`` count records; without a
    ``limit`` all matches are read.  ``members`` are added to the page.
    """

    limit: int | None
    offset: int = 0
    q: str = ""
    q_fields: Mapping[str, str] = field(default_factory=dict)
    plain: bool = True
    websearch: bool = True
    substrings: bool = False
    language: str = ""
    filters: tuple[Condition, ...] = ()
    fields: tuple[str, ...] = ()
    sort: tuple[SortKey, ...] = ()
    distinct: bool = False
    include_total: bool = True
    include_next_page: bool = False
    records_format: RecordsFormat = RecordsFormat.OBJECTS
    members: tuple[AnswerMember, ...] = ()

    @property
    def near(self) -> Near | None:
        """The condition of the parameter ``geo``."""
        return next((each for each in self.filters if isinstance(each, Near)), None)

    @property
    def is_text(self) -> bool:
        return self.records_format in _TEXT_FORMATS

    @property
    def is_copied(self) -> bool:
        """Return whether PostgreSQL copies the page out: as rows of text, or since it is large."""
        is_large = self.limit is not None and self.limit > MAX_LIMIT_IN_MEMORY
        return is_large or self.records_format in _TEXT_FORMATS

    @property
    def is_light(self) -> bool:
        """Return whether the key's index finds the few records in milliseconds, in any table."""
        return (
            self.limit is not None
            and self.limit <= _MAX_LIGHT_LIMIT
            and not (self.q or self.q_fields or self.distinct)
            and (not self.sort or self.sort[0].field == ID)
            and not [each for each in self.filters if not isinstance(each, In) or each.field != ID]
        )


def describe_fields(
    fields: Iterable[tuple[str, str]], infos: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Describe fields as CKAN does: ``info`` only for those with a data dictionary entry."""
    return [
        {"id": name, "type": kind, **({"info": infos[name]} if infos.get(name) else {})}
        for name, kind in fields
    ]


# Bound to a relation ------------------------------------------------------------------------------

#: Composed columns are cached, and clients choose their order.  A field takes 300 bytes, so that a
#: thousand narrow lists of fields, or thirty wide ones, take some ten megabytes.
MAX_NARROW_FIELDS = 64
MAX_NARROW_ENTRIES = 1_000
MAX_WIDE_ENTRIES = 30

#: Types whose keys are the texts that are stored.
_TEXTS = frozenset(
    name for name, kind in field_types.items() if kind.ordered in {Ordered.DATES, Ordered.TEXTS}
)


@dataclass(frozen=True, slots=True, eq=False)
class BoundQuery:
    """
    A query whose names and values fit a relation.

    ``ranks`` maps the names of ranks to their expressions.  ``fields`` are the names and types of
    the records' members, in order, and ``columns`` render them.  ``sort`` has each field once.
    ``end`` is the number of matches up to the end of the page; None without a ``limit``.
    ``known_total`` is the number of matches, where it is stored.  ``ids`` are the first and the
    last ``_id`` that the filters leave, where they have a bound of it.

    ``is_distinct`` says that records are merged, ``is_unfiltered`` that all of them match,
    ``is_id_range`` that all within ``ids`` do, and ``is_ranked`` that the best match comes first.
    ``is_by_id`` says that records come in the order of their keys, or in the opposite one if it
    ``is_descending``.  A query ``counts_matches`` if all of them are read for the page, so that
    their number comes with it.
    """

    query: Query
    relation: Relation
    where: Clause
    ranks: Mapping[str, Clause]
    fields: tuple[tuple[str, str], ...]
    columns: Columns
    sort: tuple[SortKey, ...]
    end: int | None
    known_total: int | None
    ids: tuple[int, int] | None
    is_distinct: bool
    is_unfiltered: bool
    is_id_range: bool
    is_ranked: bool
    is_by_id: bool
    is_descending: bool
    counts_matches: bool

    def count_page(self, total: int) -> int:
        end = total if self.end is None else min(total, self.end)
        return max(0, end - self.query.offset)

    def compile_key(self, name: str) -> Clause:
        if name == ID:
            return Clause(sql.SQL("_id"))
        return Clause(compile_field_key(field_types[self.relation.types[name]]), [name])

    def select(self, columns: Clause) -> Clause:
        return compose("SELECT {} FROM {} WHERE {}", columns, self.relation.source, self.where)

    def select_count(self) -> Clause:
        """Count the matches; those of a range of keys without gaps are not read."""
        if self.ids and self.is_id_range:
            first, last = (Clause(sql.SQL("%s::bigint"), [each]) for each in self.ids)
            return compose(
                "SELECT CASE WHEN last - first + 1 = {count}"
                " THEN greatest(0, least(last, {last}) - greatest(first, {first}) + 1)"
                " ELSE (SELECT count(*) FROM {source} WHERE {where}) END"
                " FROM (SELECT min(_id) AS first, max(_id) AS last FROM {source}) AS ends",
                count=Clause(sql.Literal(self.relation.record_count)),
                first=first,
                last=last,
                source=self.relation.source,
                where=self.where,
            )
        if not self.is_distinct:
            return self.select(Clause(sql.SQL("count(*)")))
        return compose("SELECT count(*) FROM ({}) AS found", self.select_groups())

    def select_groups(self) -> Clause:
        """
        Select each combination of the asked fields once, for ``distinct``.

        A text is grouped by its key where that has an index: only then does PostgreSQL know the
        number of values, by which it decides to work in parallel.
        """
        inner: list[Clause] = []
        outer: list[Clause] = []
        for position, (name, kind) in enumerate(self.fields):
            shown = "{}"
            if name in self.ranks:
                value = self.ranks[name]
            elif name in self.relation.ordered and kind in _TEXTS:
                value, shown = self.compile_key(name), "coalesce(to_jsonb({}), 'null')"
            else:
                value = Clause(sql.SQL("coalesce(data -> %s, 'null')"), [name])
            inner.append(compose(f"{{}} AS v{position}", value))
            outer.append(compose(f"{shown} AS c{position}", Clause(sql.SQL(f"v{position}"))))
        values = self.select(join_with_commas(inner))
        by = Clause(sql.SQL(", ".join(f"v{position}" for position in range(len(self.fields)))))
        grouped = "SELECT {} FROM ({}) AS each GROUP BY {}"
        return compose(grouped, join_with_commas(outer), values, by)


def bind_query(
    read: ConsistentRead, query: Query, others: Iterable[InvalidParameter] = ()
) -> BoundQuery:
    """
    Check everything, and compile the conditions; ``others`` are errors of the same request.

    Raises: ``InvalidParameters``, those and everything in the query that does not fit.
    """
    relation, errors = read.relation, list(others)
    has_full_text = bool(query.q or query.q_fields)
    full_text = _compile_full_text(read, query, errors) if has_full_text else ()
    where = TRUE
    if query.filters:
        try:
            where = compile_conditions(query.filters, read.fields)
        except InvalidParameters as error:
            errors += error.errors
    ranks = {
        each.rank_name: each.rank
        for each in full_text
        if each.rank_name not in relation.types  # a field of that name hides the rank
    }
    types = {**dict.fromkeys(ranks, "float"), **relation.types, ID: "int"}
    names = tuple(dict.fromkeys(query.fields)) or (ID, *relation.types, *ranks)
    unknown = [name for name in query.fields if name not in types]
    errors += [UnknownField(parameter="fields", field=each[:MAX_SHOWN_LENGTH]) for each in unknown]
    is_distinct = query.distinct and ID not in names  # records with ``_id`` are distinct anyway
    sortable = names if is_distinct and not unknown else ()
    sort = _check_sort(query, relation, sortable, errors) if query.sort else ()
    errors += [error for member in query.members for error in member.check(query)]
    if errors:
        raise InvalidParameters(errors)
    fields = tuple([(name, types[name]) for name in names])
    is_narrow = len(fields) <= MAX_NARROW_FIELDS
    build_columns = _build_narrow_columns if is_narrow else _build_wide_columns
    is_ranked = has_full_text and not sort and not is_distinct
    is_counted = is_distinct or (is_ranked and query.include_total)
    is_unfiltered = not (query.filters or has_full_text or is_distinct)
    can_know_total = not (has_full_text or is_distinct)
    bounds = [each for each in query.filters if isinstance(each, Comparison) and each.field == ID]
    asked = [(each.operator, each.value) for each in bounds]
    ids = find_id_range(asked, read.fields) if bounds else None
    return BoundQuery(
        query=query,
        relation=relation,
        where=join_clauses([where, *[each.match for each in full_text]], "AND"),
        ranks=ranks,
        fields=fields,
        columns=build_columns(fields, tuple(ranks), is_distinct, query.records_format),
        sort=sort,
        end=None if query.limit is None else query.offset + query.limit,
        known_total=_find_known_total(query, relation) if can_know_total else None,
        ids=ids,
        is_distinct=is_distinct,
        is_unfiltered=is_unfiltered,
        is_id_range=ids is not None and len(bounds) == len(query.filters) and can_know_total,
        is_ranked=is_ranked,
        is_by_id=(not sort or sort[0].field == ID) and not is_ranked and not is_distinct,
        is_descending=bool(sort) and sort[0].descending,
        counts_matches=is_counted and bool(query.limit) and not query.is_copied,
    )


def _compile_full_text(
    read: ConsistentRead, query: Query, errors: list[InvalidParameter]
) -> tuple[FullTextQuery, ...]:
    relation = read.relation
    if query.language and query.language not in list_search_languages(read.connection):
        errors.append(UnknownLanguage(language=query.language[:MAX_SHOWN_LENGTH]))
    if query.substrings and not relation.substring_index:
        errors.append(SubstringsNotIndexed())
    # Without the index, each ranking would read the values of all records.
    types = relation.types.items() if relation.has_value_index else ()
    options = FullTextOptions(
        query.language or relation.language,
        relation.source,
        [name for name, kind in types if kind in _TEXTS],
        query.plain,
        query.websearch,
        query.substrings,
    )
    try:
        return parse_full_text_query(query.q, query.q_fields, options, names=relation.types)
    except InvalidParameters as error:
        errors += error.errors
        return ()


def _check_sort(
    query: Query, relation: Relation, names: Iterable[str], errors: list[InvalidParameter]
) -> tuple[SortKey, ...]:
    """Check the keys of the order, perhaps only of ``names``; the first key of a field counts."""
    keys: dict[str, SortKey] = {}
    for key in query.sort:
        name = key.field[:MAX_SHOWN_LENGTH]
        kind = "int" if key.field == ID else relation.types.get(key.field)
        if kind is None:
            errors.append(UnknownField(parameter="sort", field=name))
        elif key.field != ID and not field_types[kind].is_sortable:
            errors.append(UnsortableField(field=name, type=kind))
        elif names and key.field not in names:
            errors.append(SortOutsideFields(field=name))
        keys.setdefault(key.field, key)
    return tuple(keys.values())


def _find_known_total(query: Query, relation: Relation) -> int | None:
    """Find the number of matches of all records, or of those with some common values."""
    if not query.filters:
        return relation.record_count
    condition, *others = query.filters
    if others or not isinstance(condition, In) or condition.field not in relation.value_counts:
        return None
    # These fields are of text, which every value can be.
    kind = field_types[relation.types[condition.field]]
    value_counts = relation.value_counts[condition.field]
    texts = {"null" if value is None else kind.parse_operand(value) for value in condition.values}
    counts = [value_counts.get(text) for text in texts if text is not None]
    return None if None in counts else sum(count for count in counts if count is not None)


# Columns ------------------------------------------------------------------------------------------

#: ``format`` takes a hundred arguments, the template among them.
_MAX_FORMAT_VALUES = 99


@dataclass(frozen=True, slots=True)
class Column:
    """
    One member of the records.

    ``value`` is the expression for it over ``page``; None for a field of ``page.record``.  A value
    that ``is_json`` is one; the others are numbers.
    """

    name: str
    type: str
    value: LiteralString | None = None
    is_json: bool = True

    def render_json(self) -> sql.Composable:
        value = self._render("->")
        return sql.SQL("coalesce({}, 'null')").format(value) if self.is_json else value

    def render_cell(self) -> sql.Composable:
        is_nested = self.type in field_types and field_types[self.type].is_nested
        if not self.is_json or is_nested:
            return self.render_json()
        return sql.SQL("{}::bool" if self.type == "bool" else "{}").format(self._render("->>"))

    def _render(self, arrow: LiteralString) -> sql.Composable:
        if self.value is None:
            name = sql.Literal(self.name.replace("%", "%%"))  # psycopg would read a placeholder
            return sql.SQL("(page.record {} {})").format(sql.SQL(arrow), name)
        as_text = self.is_json and arrow == "->>"
        return sql.SQL(f"({self.value} #>> '{{}}')" if as_text else self.value)


class Columns:
    """The members of a page's records, in order; their expressions are composed once."""

    def __init__(self, columns: Sequence[Column], *, as_lists: bool = False) -> None:
        self._columns = columns
        self._as_lists = as_lists
        self._has_fields = any(column.value is None for column in columns)
        self._texts: dict[str, sql.SQL] = {}

    def render_texts(self, begin: str = "") -> sql.SQL:
        if begin not in self._texts:
            opening, closing = "[]" if self._as_lists else "{}"
            labels = [
                "" if self._as_lists else f"{dump_json(each.name)}:" for each in self._columns
            ]
            slots = [label.replace("%", "%%") + "%s" for label in labels]
            slots = [begin + opening + slots[0], *(f",{slot}" for slot in slots[1:])]
            slots[-1] += closing
            parts = []
            for start in range(0, len(slots), _MAX_FORMAT_VALUES):
                end = start + _MAX_FORMAT_VALUES
                template = sql.Literal("".join(slots[start:end]).replace("%", "%%"))
                values = [each.render_json() for each in self._columns[start:end]]
                parts.append(sql.SQL("format({})").format(sql.SQL(", ").join([template, *values])))
            joined = sql.SQL(", ").join(parts)
            text = joined if len(parts) == 1 else sql.SQL("concat({})").format(joined)
            self._texts[begin] = sql.SQL(text.as_string())
        return self._texts[begin]

    @cached_property
    def cells(self) -> sql.SQL:
        """Render a record as CSV cells, as CKAN's ``COPY``: ``t``, ``f``, JSON for lists."""
        return sql.SQL(
            sql.SQL(", ").join([each.render_cell() for each in self._columns]).as_string()
        )

    def select(self, texts: sql.SQL, page: Clause) -> Clause:
        return compose("SELECT {} FROM ({}) AS page", Clause(texts), self.unpack(page))

    def unpack(self, page: Clause) -> Clause:
        """
        Unpack the records of a page, where fields are read from them.

        A record that is stored compressed would be decompressed once for each of its fields (15
        times slower at 300 fields).  An object joined to an empty one is the same object, unpacked.
        ``OFFSET 0`` keeps PostgreSQL from joining them again for each field.
        """
        if not self._has_fields:
            return page
        return compose("SELECT *, data || '{{}}' AS record FROM ({}) AS packed OFFSET 0", page)


def _build_columns(
    fields: tuple[tuple[str, str], ...],
    rank_names: tuple[str, ...],
    is_distinct: bool,
    records_format: RecordsFormat,
) -> Columns:
    ranks = {name: position for position, name in enumerate(rank_names)}
    columns = []
    for position, (name, kind) in enumerate(fields):
        if is_distinct:
            columns.append(Column(name, kind, f"page.c{position}", is_json=name not in ranks))
        elif name == ID:
            columns.append(Column(name, kind, "page._id", is_json=False))
        elif name in ranks:
            columns.append(Column(name, kind, f"page.rank{ranks[name]}", is_json=False))
        else:
            columns.append(Column(name, kind))
    return Columns(columns, as_lists=records_format is RecordsFormat.LISTS)


_build_narrow_columns = lru_cache(maxsize=MAX_NARROW_ENTRIES)(_build_columns)
_build_wide_columns = lru_cache(maxsize=MAX_WIDE_ENTRIES)(_build_columns)
