"""A query in SQL: its conditions, its order and its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache, partial
from typing import LiteralString

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from .. import storage
from ..exceptions.parameters import InvalidParameter, InvalidParameters
from ..exceptions.search import (
    HighlightInText,
    HighlightTooLarge,
    SortOutsideFields,
    SubstringsNotIndexed,
    UnknownLanguage,
    UnknownResultField,
    UnknownSortField,
    UnsortableField,
)
from ..field_names import SortKey
from ..field_types import Ordered, field_types
from ..filters import (
    MAX_SHOWN_LENGTH,
    Clause,
    FullTextOptions,
    FullTextQuery,
    In,
    TypedFields,
    compile_conditions,
    compile_field_key,
    compile_value_key,
    join_clauses,
    parse_full_text_query,
)
from .query import ID, MAX_LIMIT_IN_MEMORY, Query, RecordsFormat, Relation
from .rendering import Column, Columns

#: Composed columns are cached, and clients choose their order.  A field takes 300 bytes, so that a
#: thousand narrow lists of fields, or thirty wide ones, take some ten megabytes.
_MAX_NARROW_FIELDS = 64
MAX_NARROW_ENTRIES = 1_000
MAX_WIDE_ENTRIES = 30

#: Up to this many whole records are sorted; above, their keys alone.
_MAX_SORTED_RECORDS = 1_000

#: Types whose keys are the texts that are stored.
_TEXTS = frozenset(
    name for name, kind in field_types.items() if kind.ordered in {Ordered.DATES, Ordered.TEXTS}
)


def compose(template: LiteralString, *clauses: Clause) -> Clause:
    """Fill the placeholders of a template with clauses, in order."""
    return Clause(
        sql.SQL(template).format(*(clause.text for clause in clauses)),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def join_with_commas(clauses: Iterable[Clause]) -> Clause:
    """Join clauses with commas between them."""
    clauses = list(clauses)
    return Clause(
        sql.SQL(", ").join(clause.text for clause in clauses),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


class BoundQuery:
    """
    A query whose names and values fit a relation.

    ``fields`` are the names and types of the records' members, in order.  ``known_total`` is the
    number of matches, where it is stored.
    """

    def __init__(
        self,
        relation: Relation,
        query: Query,
        connection: BaseDatabaseWrapper,
        others: Iterable[InvalidParameter] = (),
    ) -> None:
        """
        Check everything, and compile the conditions; ``others`` are errors of the same request.

        Raises: ``InvalidParameters``, those and everything in the query that does not fit.
        """
        errors = list(others)
        self.relation, self._query = relation, query
        has_full_text = bool(query.q or query.q_fields)
        full_text = self._compile_full_text(connection, errors) if has_full_text else ()
        self._ranks = {
            each.rank_name: each.rank
            for each in full_text
            if each.rank_name not in relation.types  # a field of that name hides the rank
        }
        where = self._compile_filters(connection, errors)
        self.where = join_clauses([where, *(each.match for each in full_text)], "AND")
        self._types = {**dict.fromkeys(self._ranks, "float"), **relation.types, ID: "int"}
        self._names = self._check_fields(errors)
        #: Records with ``_id`` are distinct anyway.
        self.is_distinct = query.distinct and ID not in self._names
        self.sort = self._check_sort(errors)
        if query.highlight and query.is_text:
            errors.append(HighlightInText())
        elif query.highlight and query.is_copied:
            errors.append(HighlightTooLarge(most=MAX_LIMIT_IN_MEMORY))
        if errors:
            raise InvalidParameters(errors)
        self.fields = tuple((name, self._types[name]) for name in self._names)
        self._set_plan_inputs(has_full_text=has_full_text)

    def _set_plan_inputs(self, *, has_full_text: bool) -> None:
        """Find out what decides the plan."""
        query = self._query
        self.limit, self.offset = query.limit, query.offset
        #: The number of matches up to the end of the page; None without a ``limit``.
        self.end = None if query.limit is None else query.offset + query.limit
        self.records_format = query.records_format
        self.is_of_lists = query.records_format is RecordsFormat.LISTS
        self.is_copied = query.is_copied
        self.is_narrow = len(self.fields) <= _MAX_NARROW_FIELDS
        self.is_unfiltered = not (query.filters or has_full_text or self.is_distinct)
        #: The best match comes first.
        self.is_ranked = has_full_text and not self.sort and not self.is_distinct
        is_by_key = not self.sort or self.sort[0].field == ID
        #: Records come in the order of their keys, or in the opposite one.
        self.is_by_id = is_by_key and not self.is_ranked and not self.is_distinct
        self.is_descending = bool(self.sort) and self.sort[0].descending
        is_counted = self.is_distinct or (self.is_ranked and query.include_total)
        #: All matches are read for the page, so their number comes with it.
        self.counts_matches = is_counted and bool(query.limit) and not self.is_copied
        self.known_total = self._find_known_total(has_full_text=has_full_text)
        #: The ids of the first matches by rank, including the page, if they are known.
        self.top_ids: Sequence[int] = ()
        #: A ranking lists the ids of the first matches too, to be kept.
        self.lists_top_ids = False

    # Checks ---------------------------------------------------------------------------------------

    def _compile_full_text(
        self, connection: BaseDatabaseWrapper, errors: list[InvalidParameter]
    ) -> tuple[FullTextQuery, ...]:
        query, relation = self._query, self.relation
        if query.language and query.language not in storage.list_search_languages(connection):
            errors.append(UnknownLanguage(language=query.language[:MAX_SHOWN_LENGTH]))
        if query.substrings and not relation.substring_index:
            errors.append(SubstringsNotIndexed())
        try:
            return parse_full_text_query(
                query.q,
                query.q_fields,
                FullTextOptions(query.language or relation.language, query.plain, query.substrings),
                names=relation.types,
            )
        except InvalidParameters as error:
            errors += error.errors
            return ()

    def _compile_filters(
        self, connection: BaseDatabaseWrapper, errors: list[InvalidParameter]
    ) -> Clause:
        cast = partial(storage.cast_texts, connection)
        index = self.relation.substring_index
        fields = TypedFields(
            self.relation.types,
            cast,
            self.relation.sparse,
            estimate_share=partial(storage.estimate_substring_share, connection, index)
            if index
            else None,
        )
        try:
            return compile_conditions(self._query.filters, fields)
        except InvalidParameters as error:
            errors += error.errors
            return Clause(sql.SQL(""))

    def _check_fields(self, errors: list[InvalidParameter]) -> tuple[str, ...]:
        if not self._query.fields:
            return (ID, *self.relation.types, *self._ranks)
        unknown = [name for name in self._query.fields if name not in self._types]
        errors += [UnknownResultField(field=name[:MAX_SHOWN_LENGTH]) for name in unknown]
        return () if unknown else tuple(dict.fromkeys(self._query.fields))

    def _check_sort(self, errors: list[InvalidParameter]) -> tuple[SortKey, ...]:
        """Check the keys of the order; of two keys of one field the first counts."""
        keys: dict[str, SortKey] = {}
        for key in self._query.sort:
            name = key.field[:MAX_SHOWN_LENGTH]
            kind = "int" if key.field == ID else self.relation.types.get(key.field)
            if kind is None:
                errors.append(UnknownSortField(field=name))
            elif key.field != ID and not field_types[kind].is_sortable:
                errors.append(UnsortableField(field=name, type=kind))
            elif self.is_distinct and self._names and key.field not in self._names:
                errors.append(SortOutsideFields(field=name))
            keys.setdefault(key.field, key)
        return tuple(keys.values())

    def _find_known_total(self, *, has_full_text: bool) -> int | None:
        """Find the number of matches of all records, or of those with some common values."""
        if self.is_unfiltered:
            return self.relation.record_count
        query, counted_fields = self._query, self.relation.value_counts
        if has_full_text or self.is_distinct or len(query.filters) != 1:
            return None
        (condition,) = query.filters
        if not isinstance(condition, In) or condition.field not in counted_fields:
            return None
        # These fields are of text, which every value can be.
        kind = field_types[self._types[condition.field]]
        value_counts = counted_fields[condition.field]
        texts = {
            "null" if value is None else kind.parse_operand(value) for value in condition.values
        }
        counts = [value_counts.get(text) for text in texts if text is not None]
        return None if None in counts else sum(count for count in counts if count is not None)

    def count_page(self, total: int) -> int:
        """Count the records of the page, of ``total`` matches."""
        end = total if self.end is None else min(total, self.end)
        return max(0, end - self.offset)

    # What decides the plan ------------------------------------------------------------------------

    @property
    def has_index_order(self) -> bool:
        """Return whether an index has the order."""
        if self.is_by_id or self.is_ranked or self.is_distinct:
            return self.is_by_id
        key = self.sort[0]
        return (
            len(self.sort) == 1
            and key.field in self.relation.ordered
            and key.nulls_first in {None, key.descending}
        )

    @property
    def can_skip_scan(self) -> bool:
        """Return whether an index leads from one value to the next."""
        return (
            self.is_distinct
            and not (self._query.filters or self._query.q or self._query.q_fields)
            and len(self._names) == 1
            and self._names[0] in self.relation.ordered
        )

    # Statements -----------------------------------------------------------------------------------

    def select(self, columns: Clause) -> Clause:
        """Select columns of the matches."""
        return compose("SELECT {} FROM {} WHERE {}", columns, self.relation.source, self.where)

    def take_page(self, ordered: Clause) -> Clause:
        """Limit an ordered statement to the rows of the page."""
        limit = [] if self.limit is None else [self.limit]
        offset = [self.offset] if self.offset or not limit else []
        words = (" LIMIT %s" if limit else "") + (" OFFSET %s" if offset else "")
        return Clause(
            sql.SQL("{}{}").format(ordered.text, sql.SQL(words)),
            [*ordered.parameters, *limit, *offset],
        )

    def select_page(self, order: Clause) -> Clause:
        """Select the page's records; far from the beginning, sort keys alone to save memory."""
        if self.is_by_id or self.end is None or self.end <= _MAX_SORTED_RECORDS:
            records = self.select(Clause(sql.SQL("_id, data, search")))
            return self.add_ranks(self.take_page(compose("{} ORDER BY {}", records, order)))
        keys = self.select(Clause(sql.SQL("_id AS key_id")))
        page = compose(
            "SELECT _id, data, search FROM ({}) AS keys JOIN {} ON _id = key_id ORDER BY {}",
            self.take_page(compose("{} ORDER BY {}", keys, order)),
            self.relation.source,
            order,
        )
        return self.add_ranks(page)

    def select_count(self) -> Clause:
        """Count the matches."""
        if not self.is_distinct:
            return self.select(Clause(sql.SQL("count(*)")))
        return compose("SELECT count(*) FROM ({}) AS found", self.select_groups())

    def select_table_size(self) -> Clause:
        """Measure the table, in bytes: zero if it has never had a record."""
        table = sql.Literal(self.relation.source.text.as_string())
        return Clause(sql.SQL("SELECT pg_relation_size({}::regclass)").format(table))

    def select_groups(self) -> Clause:
        """
        Select each combination of the asked fields once, for ``distinct``.

        A text is grouped by its key where that has an index: only then does PostgreSQL know the
        number of values, by which it decides to work in parallel.
        """
        inner: list[Clause] = []
        outer: list[sql.Composable] = []
        for position, (name, kind) in enumerate(self.fields):
            shown = "{}"
            if name in self._ranks:
                value = self._ranks[name]
            elif name in self.relation.ordered and kind in _TEXTS:
                value, shown = self.compile_key(name), "coalesce(to_jsonb({}), 'null')"
            else:
                value = Clause(sql.SQL("coalesce(data -> %s, 'null')"), [name])
            inner.append(compose(f"{{}} AS v{position}", value))
            outer.append(sql.SQL(f"{shown} AS c{position}").format(sql.SQL(f"v{position}")))
        values = self.select(join_with_commas(inner))
        return Clause(
            sql.SQL("SELECT {} FROM ({}) AS each GROUP BY {}").format(
                sql.SQL(", ").join(outer),
                values.text,
                sql.SQL(", ".join(f"v{position}" for position in range(len(self.fields)))),
            ),
            values.parameters,
        )

    # Order ----------------------------------------------------------------------------------------

    def compile_key(self, name: str) -> Clause:
        """Compile the key by which a field is sorted."""
        if name == ID:
            return Clause(sql.SQL("_id"))
        return Clause(compile_field_key(field_types[self._types[name]]), [name])

    def compile_index_order(self, key: Clause | None = None) -> Clause:
        """Compile the order as an index has it; ``key`` is the first field's key, if known."""
        if self.is_by_id:
            return Clause(sql.SQL("_id DESC" if self.is_descending else "_id"))
        key = key or self.compile_key(self.sort[0].field)
        return compose("{} DESC, _id DESC" if self.is_descending else "{}, _id", key)

    def compile_sort_order(self) -> Clause:
        """
        Compile the order so that PostgreSQL sorts all matches.

        It would otherwise scan a whole index in search of few matches.  ``_id + 0``, and the
        greatest of one value, are expressions that no index has.
        """
        if self.is_by_id:
            return Clause(sql.SQL("_id + 0 DESC" if self.is_descending else "_id + 0"))
        fence: LiteralString = "greatest({})" if self.has_index_order else "{}"
        keys = [
            compile_sort_key(key, compose(fence, self.compile_key(key.field))) for key in self.sort
        ]
        if all(key.field != ID for key in self.sort):
            is_descending = self.sort[-1].descending
            keys.append(Clause(sql.SQL("_id + 0 DESC" if is_descending else "_id + 0")))
        return join_with_commas(keys)

    def compile_rank_order(self) -> Clause:
        """Compile the order of ranks, the best first."""
        ranks = [f"rank{position} DESC" for position in range(len(self._ranks))]
        return Clause(sql.SQL(", ".join([*ranks, "_id"])))

    def compile_group_order(self) -> Clause:
        """Compile the order of the combinations of ``distinct``."""
        keys = []
        for key in self.sort:
            column = sql.SQL(f"c{self._names.index(key.field)}")
            kind = field_types[self._types[key.field]]
            keys.append(compile_sort_key(key, Clause(compile_value_key(kind, column))))
        keys += [Clause(sql.SQL(f"c{position}")) for position in range(len(self._names))]
        return join_with_commas(keys)

    # Columns --------------------------------------------------------------------------------------

    def compile_match_columns(self) -> Clause:
        """Compile what is read of each match to rank it, and to fetch it then."""
        locator = Clause(sql.SQL(f"{self.relation.row_locator} AS row_locator"))
        return join_with_commas([Clause(sql.SQL("_id")), locator, *self._compile_rank_columns()])

    def add_ranks(self, page: Clause) -> Clause:
        """Compute the ranks of a page's records, if they are among the fields."""
        if not any(name in self._ranks for name in self._names):
            return page
        columns = [Clause(sql.SQL("_id")), Clause(sql.SQL("data")), *self._compile_rank_columns()]
        return compose("SELECT {} FROM ({}) AS record", join_with_commas(columns), page)

    def _compile_rank_columns(self) -> list[Clause]:
        return [
            compose(f"{{}} AS rank{position}", rank)
            for position, rank in enumerate(self._ranks.values())
        ]

    @cached_property
    def columns(self) -> Columns:
        """The members of the page's records."""
        build = _build_narrow_columns if self.is_narrow else _build_wide_columns
        return build(self.fields, tuple(self._ranks), self.is_distinct)

    def render_texts(self, begin: str = "") -> sql.SQL:
        """Render the text of a record over ``page``, with ``begin`` before it."""
        return self.columns.render_texts(as_lists=self.is_of_lists, begin=begin)


def compile_sort_key(key: SortKey, value: Clause) -> Clause:
    """Compile one key of an order, by a value."""
    direction = " DESC" if key.descending else ""
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
    return compose(f"{{}}{direction}{nulls}", value)


def _build_columns(
    fields: tuple[tuple[str, str], ...], rank_names: tuple[str, ...], is_distinct: bool
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
    return Columns(columns)


_build_narrow_columns = lru_cache(maxsize=MAX_NARROW_ENTRIES)(_build_columns)
_build_wide_columns = lru_cache(maxsize=MAX_WIDE_ENTRIES)(_build_columns)
