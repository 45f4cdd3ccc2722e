"""
The statements of one query over one relation.

Which of them is run, and how a page is read, ``search`` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from psycopg import sql

from ..exceptions import (
    InvalidParameter,
    InvalidParameters,
    SortOutsideFields,
    UnknownResultField,
    UnknownSortField,
    UnsortableField,
)
from ..field_types import Cast, Operators, field_types
from ..filters import (
    Clause,
    FullTextQuery,
    In,
    Types,
    compile_conditions,
    compile_field_key,
    compile_value_key,
    join_by_and,
    parse_full_text_query,
)
from . import rendering as records
from .query import ID, Query, RecordsFormat, SortKey
from .relations import Relation

Result = TypeVar("Result")

_LETTERS_SHOWN = 100

#: What is composed of fields is kept, and clients choose their order: 300 bytes for each field, so
#: that a thousand lists of few fields, and thirty of many, take some ten megabytes each.
_FEW_FIELDS = 64
_MAX_NARROW = 1_000
_MAX_WIDE = 30

#: So many whole records are sorted at once; of more, the keys alone.
_RECORDS_SORTED = 1_000
_RANK_TYPE = "float"
#: Types whose keys are the texts that are stored.
_TEXTS = frozenset({"text", "date", "timestamp", "timestamptz", "time"})
_ID_TYPE = "int"


class Way(Enum):
    """
    How the first records in an order are found.

    All matches are ``SORTED``, or the order is ``WALKED``, record by record, until the page is
    full.  To walk is a disaster where matches are few or lie at the end, to sort where they are
    many: ``docs/decisions/0014``.
    """

    SORTED = "sorted"
    WALKED = "walked"


class Statements:
    """
    The statements of one query.

    Raises: ``InvalidParameters``, everything in the query that does not fit the relation.
    """

    def __init__(
        self,
        relation: Relation,
        query: Query,
        read: Cast,
        faults: Iterable[InvalidParameter] = (),
    ) -> None:
        """Fit the query to the relation; ``faults`` are reported with those found here."""
        faults = list(faults)
        self._relation, self._query = relation, query
        questions: tuple[FullTextQuery, ...] = _collecting(
            faults,
            lambda: parse_full_text_query(
                query.q,
                query.q_fields,
                language=query.language or relation.language,
                plain=query.plain,
                names=relation.names,
            ),
            (),
        )
        self._ranks = {
            question.rank_name: question.rank()
            for question in questions
            if question.rank_name not in relation.names  # a field of that name hides the rank
        }
        where = _collecting(
            faults,
            lambda: compile_conditions(query.filters, Types(relation.names, read, relation.sparse)),
            Clause(sql.SQL("")),
        )
        self._where = join_by_and([where, *(question.matches() for question in questions)])
        self.names: tuple[str, ...] = _collecting(faults, self._asked_names, ())
        #: Without ``fields`` nothing is merged, since ``_id`` is among them.
        self._distinct = query.distinct and ID not in self.names
        self._keys: tuple[SortKey, ...] = _collecting(faults, self._sort_keys, ())
        if faults:
            raise InvalidParameters(faults)

    # What is asked --------------------------------------------------------------------------------

    @cached_property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The names and types of the records' members, in order."""
        return tuple((name, self._type(name)) for name in self.names)

    @property
    def is_whole(self) -> bool:
        """Tell whether every record matches."""
        return not (self._query.filters or self._questioned or self._distinct)

    @property
    def known_total(self) -> int | None:
        """The number of matches, where that has been kept."""
        if self.is_whole:
            return self._relation.rows
        query, common = self._query, self._relation.common
        if self._questioned or self._distinct or len(query.filters) != 1:
            return None
        (condition,) = query.filters
        if not isinstance(condition, In) or condition.field not in common:
            return None
        # The fields are of text, which every value can be.
        kind = field_types[self._type(condition.field)]
        counts = common[condition.field]
        texts = {"null" if value is None else kind.equals(value) for value in condition.values}
        found = [counts.get(text) for text in texts if text is not None]
        return None if None in found else sum(count for count in found if count is not None)

    @property
    def is_by_id(self) -> bool:
        """Tell whether the records come in the order of their keys, or in the opposite one."""
        by_id = not self._keys or self._keys[0].field == ID
        return by_id and not self._distinct and not (self._questioned and not self._keys)

    @property
    def is_ranked(self) -> bool:
        """Tell whether the best match comes first."""
        return self._questioned and not self._keys and not self._distinct

    @property
    def is_distinct(self) -> bool:
        """Tell whether each combination of the asked fields is one record."""
        return self._distinct

    @property
    def is_walkable(self) -> bool:
        """Tell whether an index gives the order."""
        if self.is_by_id:
            return True
        return (
            not (self._distinct or self.is_ranked)
            and len(self._keys) == 1
            and self._keys[0].field in self._relation.ordered
            and self._keys[0].nulls_first in {None, self._keys[0].descending}
        )

    @property
    def is_loose(self) -> bool:
        """Tell whether an index can be skipped through from one value to the next."""
        return (
            self._distinct
            and not (self._query.filters or self._questioned)
            and len(self.names) == 1
            and self.names[0] in self._relation.ordered
        )

    @property
    def is_descending(self) -> bool:
        """Tell whether the first key goes down."""
        return bool(self._keys) and self._keys[0].descending

    @property
    def _questioned(self) -> bool:
        return bool(self._query.q or self._query.q_fields)

    def _asked_names(self) -> tuple[str, ...]:
        if not self._query.fields:
            return (ID, *self._relation.names, *self._ranks)
        known = {ID, *self._relation.names, *self._ranks}
        unknown = [name for name in self._query.fields if name not in known]
        if unknown:
            raise InvalidParameters(
                UnknownResultField(field=name[:_LETTERS_SHOWN]) for name in unknown
            )
        return tuple(dict.fromkeys(self._query.fields))

    def _sort_keys(self) -> tuple[SortKey, ...]:
        faults = [fault for key in self._query.sort if (fault := self._sort_fault(key))]
        if faults:
            raise InvalidParameters(faults)
        first: dict[str, SortKey] = {}
        for key in self._query.sort:
            first.setdefault(key.field, key)
        return tuple(first.values())

    def _sort_fault(self, key: SortKey) -> InvalidParameter | None:
        name = key.field[:_LETTERS_SHOWN]
        if key.field != ID and key.field not in self._relation.names:
            return UnknownSortField(field=name)
        kind = self._type(key.field)
        if key.field != ID and Operators.ORDER not in field_types[kind].operators:
            return UnsortableField(field=name, type=kind)
        if self._distinct and self.names and key.field not in self.names:
            return SortOutsideFields(field=name)
        return None

    def _type(self, name: str) -> str:
        if name == ID:
            return _ID_TYPE
        return self._relation.names.get(name, _RANK_TYPE)

    # Counting -------------------------------------------------------------------------------------

    def count(self) -> Clause:
        """Count the matches."""
        if not self._distinct:
            return self._selecting(Clause(sql.SQL("count(*)")))
        return _over("SELECT count(*) FROM ({}) AS found", self._combinations())

    def size(self) -> Clause:
        """Measure the table, in bytes: none when it has no records, and never had."""
        table = sql.Literal(self._relation.source.text.as_string())
        return Clause(sql.SQL("SELECT pg_relation_size({}::regclass)").format(table))

    # Pages ----------------------------------------------------------------------------------------

    def page(self, way: Way, window: int | None = None, *, begin: str = "") -> Clause:
        """
        Read the texts of one page's records, each with ``begin`` before it.

        With a ``window``, only so many records from the beginning of the order are looked at.
        """
        if window is None and self._is_walk and not self._relation.source.parameters:
            write = _written_walk_of_few if self._has_few_fields else _written_walk_of_many
            text = write(self._relation, self._columns, self._is_of_lists, begin, *self._walk_form)
            return Clause(text, self._walk_parameters())
        return self._read_from(self._page(way, window), self._writing(begin))

    def cells(self, way: Way, window: int | None = None) -> Clause:
        """Read the cells of one page's records; see ``page``."""
        return self._read_from(self._page(way, window), self._columns.cells)

    def last_id(self, way: Way) -> Clause:
        """Read the ``_id`` of the page's last record."""
        last = sql.SQL("min" if self.is_descending else "max")
        page = self._page(way)
        return Clause(
            sql.SQL("SELECT {}(_id) FROM ({}) AS page").format(last, page.text), page.parameters
        )

    def _within(self, window: int) -> Clause:
        """Find a page among the first records in the order, so many as the window holds."""
        source = self._relation.source
        if self.is_by_id:
            keys, order = Clause(sql.SQL("")), self._order(Way.WALKED)
        else:
            keys = _over(", {} AS key", self._key(self._keys[0].field))
            order = self._walked_order(Clause(sql.SQL("key")))
        first = Clause(
            sql.SQL("SELECT _id, data, search{} FROM {} ORDER BY {} LIMIT %s").format(
                keys.text, source.text, order.text
            ),
            [*keys.parameters, *source.parameters, *order.parameters, window],
        )
        kept = Clause(
            sql.SQL("SELECT _id, data, search FROM ({}) AS record WHERE {} ORDER BY {}").format(
                first.text, self._where.text, order.text
            ),
            [*first.parameters, *self._where.parameters, *order.parameters],
        )
        return self._with_ranks(self._limited(kept))

    def ranked(self) -> Clause:
        """Count the matches and read the page of the best of them, in one go."""
        found = self._selecting(self._found_columns())
        best = self._limited(_over("SELECT * FROM found ORDER BY {}", self._order(Way.SORTED)))
        page = self._with_data(best)
        return self._counted(found, page, sql.SQL("page._id IS NOT NULL"))

    def combined(self) -> Clause:
        """Count the combinations and read a page of them, in one go."""
        return self._combined(self._combinations())

    def combined_loosely(self, most: int) -> Clause:
        """
        Do as ``combined``, of the single field's first values, so many at most.

        Source: a recursive query that looks up, in the index, the next value after each.
        """
        name = self.names[0]
        key = self._key(name)
        source = self._relation.source
        found = Clause(
            sql.SQL(
                "WITH RECURSIVE value (key, c0) AS ("
                " (SELECT {key}, data -> %s FROM {source} WHERE {key} IS NOT NULL"
                " ORDER BY {key}, _id LIMIT 1)"
                " UNION ALL SELECT next.key, next.c0 FROM value CROSS JOIN LATERAL"
                " (SELECT {key} AS key, data -> %s AS c0 FROM {source} WHERE {key} > value.key"
                " ORDER BY {key}, _id LIMIT 1) AS next)"
                " SELECT c0 FROM (SELECT c0 FROM value LIMIT %s) AS first"
                " UNION ALL SELECT 'null' FROM (SELECT {key} AS key FROM {source}"
                " ORDER BY {key} DESC, _id DESC LIMIT 1) AS last WHERE key IS NULL"
            ).format(key=key.text, source=source.text),
            [
                *key.parameters, name, *source.parameters, *key.parameters, *key.parameters,
                *key.parameters, name, *source.parameters, *key.parameters, *key.parameters,
                most, *key.parameters, *source.parameters, *key.parameters,
            ],
        )  # fmt: skip
        return self._combined(found)

    def _combined(self, found: Clause) -> Clause:
        page = self._limited(
            _over("SELECT true AS is_there, * FROM found ORDER BY {}", self._distinct_order())
        )
        return self._counted(found, page, sql.SQL("page.is_there"))

    def _counted(self, found: Clause, page: Clause, is_there: sql.Composable) -> Clause:
        """Join the number of what is found to each record of a page; at least one row comes."""
        write = self._writing()
        return Clause(
            sql.SQL(
                "WITH found AS MATERIALIZED ({}) SELECT total, CASE WHEN {} THEN {} END"
                " FROM (SELECT count(*) AS total FROM found) AS counted"
                " LEFT JOIN ({}) AS page ON true"
            ).format(found.text, is_there, write, self._columns.unpacked(page.text)),
            [*found.parameters, *page.parameters],
        )

    def _read_from(self, page: Clause, what: sql.Composable) -> Clause:
        return Clause(_read(what, page.text, self._columns), page.parameters)

    def _writing(self, begin: str = "") -> sql.Composable:
        return self._columns.texts(as_lists=self._is_of_lists, begin=begin)

    @property
    def _is_of_lists(self) -> bool:
        return self._query.records_format is RecordsFormat.LISTS

    def _page(self, way: Way, window: int | None = None) -> Clause:
        if window is not None:
            return self._within(window)
        if self._distinct:
            combinations = _over("SELECT * FROM ({}) AS page", self._combinations())
            return self._limited(_over_two("{} ORDER BY {}", combinations, self._distinct_order()))
        if self._is_walk:
            text = _walk(self._relation.source.text, *self._walk_form)
            return Clause(text, self._walk_parameters())
        if self.is_ranked:
            found = self._selecting(self._found_columns())
            best = self._limited(_over_two("{} ORDER BY {}", found, self._order(way)))
            return self._with_data(best)
        if self._is_deep:
            return self._with_ranks(self._keys_first(way))
        found = self._selecting(Clause(sql.SQL("_id, data, search")))
        return self._with_ranks(self._limited(_over_two("{} ORDER BY {}", found, self._order(way))))

    @property
    def _is_deep(self) -> bool:
        """Tell whether many records lie before the end of a page in the order of some fields."""
        query = self._query
        return (
            not self.is_by_id
            and query.limit is not None
            and query.offset + query.limit > _RECORDS_SORTED
        )

    def _keys_first(self, way: Way) -> Clause:
        """Sort keys alone, for whole records would not fit into memory, and fetch the page then."""
        order, source = self._order(way), self._relation.source
        keys = self._limited(
            _over_two("{} ORDER BY {}", self._selecting(Clause(sql.SQL("_id AS key_id"))), order)
        )
        return Clause(
            sql.SQL(
                "SELECT _id, data, search FROM ({}) AS keys JOIN {} ON _id = key_id ORDER BY {}"
            ).format(keys.text, source.text, order.text),
            [*keys.parameters, *source.parameters, *order.parameters],
        )

    def _with_data(self, best: Clause) -> Clause:
        """Fetch the records of the best, of which only ``_found_columns`` are known."""
        source = self._relation.source
        return Clause(
            sql.SQL(
                "SELECT best.*, (SELECT data FROM {} WHERE {} = best.place) AS data"
                " FROM ({}) AS best"
            ).format(source.text, sql.SQL(self._relation.place), best.text),
            [*source.parameters, *best.parameters],
        )

    def _with_ranks(self, page: Clause) -> Clause:
        """Rank the records of a page that has another order, if ranks are asked for."""
        ranks = self._rank_columns()
        if not ranks:
            return page
        columns = _listed([Clause(sql.SQL("_id")), Clause(sql.SQL("data")), *ranks])
        return _over_two("SELECT {} FROM ({}) AS record", columns, page)

    def _selecting(self, what: Clause) -> Clause:
        source, where = self._relation.source, self._where
        return Clause(
            sql.SQL("SELECT {} FROM {} WHERE {}").format(what.text, source.text, where.text),
            [*what.parameters, *source.parameters, *where.parameters],
        )

    def _limited(self, ordered: Clause) -> Clause:
        query = self._query
        limit = [] if query.limit is None else [query.limit]
        offset = [query.offset] if query.offset or not limit else []
        words = (" LIMIT %s" if limit else "") + (" OFFSET %s" if offset else "")
        return Clause(
            sql.SQL("{}{}").format(ordered.text, sql.SQL(words)),
            [*ordered.parameters, *limit, *offset],
        )

    # Walks through the keys of the whole table ----------------------------------------------------

    @property
    def _is_walk(self) -> bool:
        return self.is_by_id and self.is_whole

    @property
    def _walk_form(self) -> tuple[bool, bool, bool]:
        query = self._query
        return self.is_descending, query.offset > 0, query.limit is not None

    def _walk_parameters(self) -> list[Any]:
        source, query = self._relation.source.parameters, self._query
        parameters = [*source]
        if query.offset:
            parameters += [self._relation.rows, query.offset, *source, query.offset, *source]
        return parameters if query.limit is None else [*parameters, query.limit]

    # Order ----------------------------------------------------------------------------------------

    def _order(self, way: Way) -> Clause:
        if self.is_by_id:
            # The fence keeps PostgreSQL from walking the whole key in search of few matches.
            key = "_id" if way is Way.WALKED else "_id + 0"
            return Clause(sql.SQL(key + (" DESC" if self.is_descending else "")))
        if not self._keys:
            return self._rank_order()
        if way is Way.WALKED and self.is_walkable:
            return self._walked_order(self._key(self._keys[0].field))
        # Another fence, for an order that is no number: the greatest of one value is that value.
        fence = "greatest({})" if self.is_walkable else "{}"
        keys = [_ordered(key, _over(fence, self._key(key.field))) for key in self._keys]
        if all(key.field != ID for key in self._keys):
            keys.append(Clause(sql.SQL("_id + 0" + (" DESC" if self._keys[-1].descending else ""))))
        return _listed(keys)

    def _walked_order(self, key: Clause) -> Clause:
        """Say the order as an index over one field has it, from one end or the other."""
        return _over("{0} DESC, _id DESC" if self.is_descending else "{0}, _id", key)

    def _rank_order(self) -> Clause:
        places = range(len(self._ranks))
        return Clause(sql.SQL(", ".join([*(f"rank{n} DESC" for n in places), "_id"])))

    def _key(self, name: str) -> Clause:
        if name == ID:
            return Clause(sql.SQL("_id"))
        return Clause(compile_field_key(field_types[self._type(name)]), [name])

    def _distinct_order(self) -> Clause:
        keys = []
        for key in self._keys:
            column = sql.SQL(f"c{self.names.index(key.field)}")
            kind = field_types[self._type(key.field)]
            keys.append(_ordered(key, Clause(compile_value_key(kind, column))))
        keys += [Clause(sql.SQL(f"c{place}")) for place in range(len(self.names))]
        return _listed(keys)

    # Columns --------------------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> records.Columns:
        compose = _columns_of_few if self._has_few_fields else _columns_of_many
        return compose(self.fields, tuple(self._ranks), self._distinct)

    @property
    def _has_few_fields(self) -> bool:
        return len(self.names) <= _FEW_FIELDS

    def _rank_columns(self) -> list[Clause]:
        """Rank the matches, if that is asked for or decides the order."""
        if not self.is_ranked and not any(name in self._ranks for name in self.names):
            return []
        return [
            _over(f"{{}} AS rank{place}", rank) for place, rank in enumerate(self._ranks.values())
        ]

    def _found_columns(self) -> Clause:
        """Read of a match what orders it, and where it is to be fetched."""
        place = Clause(sql.SQL(f"{self._relation.place} AS place"))
        return _listed([Clause(sql.SQL("_id")), place, *self._rank_columns()])

    def _combinations(self) -> Clause:
        """
        Read each combination of the asked fields once.

        A text is grouped by its key where that has an index: only then does PostgreSQL know how
        many values there are, and so whether to share the work.
        """
        inner: list[Clause] = []
        outer: list[sql.Composable] = []
        for place, name in enumerate(self.names):
            if name in self._ranks:
                value, shown = self._ranks[name], sql.SQL("{}")
            elif name in self._relation.ordered and self._type(name) in _TEXTS:
                value, shown = self._key(name), sql.SQL("coalesce(to_jsonb({}), 'null')")
            else:
                value = Clause(sql.SQL("coalesce(data -> %s, 'null')"), [name])
                shown = sql.SQL("{}")
            column = sql.SQL(f"v{place}")
            inner.append(_over(f"{{}} AS v{place}", value))
            outer.append(sql.SQL("{} AS {}").format(shown.format(column), sql.SQL(f"c{place}")))
        grouped = self._selecting(_listed(inner))
        return Clause(
            sql.SQL("SELECT {} FROM ({}) AS each GROUP BY {}").format(
                sql.SQL(", ").join(outer),
                grouped.text,
                sql.SQL(", ").join(sql.SQL(f"v{place}") for place in range(len(self.names))),
            ),
            grouped.parameters,
        )


def _columns_of(
    fields: tuple[tuple[str, str], ...], rank_names: tuple[str, ...], distinct: bool
) -> records.Columns:
    """Say where a page has each field; the same fields are asked for over and over."""
    ranks = {name: place for place, name in enumerate(rank_names)}
    columns = []
    for place, (name, kind) in enumerate(fields):
        value, packed = None, True
        if distinct:
            value, packed = f"page.c{place}", name not in ranks
        elif name == ID:
            value, packed = "page._id", False
        elif name in ranks:
            value, packed = f"page.rank{ranks[name]}", False
        columns.append(records.Column(name, kind, value, packed))
    return records.Columns(columns)


_columns_of_few = lru_cache(maxsize=_MAX_NARROW)(_columns_of)
_columns_of_many = lru_cache(maxsize=_MAX_WIDE)(_columns_of)


def _read(what: sql.Composable, page: sql.Composable, columns: records.Columns) -> sql.Composable:
    return sql.SQL("SELECT {} FROM ({}) AS page").format(what, columns.unpacked(page))


def _walk(
    source: sql.Composable, is_descending: bool, is_later: bool, is_limited: bool
) -> sql.Composable:
    """
    Walk the keys of a whole table, perhaps from an offset on.

    Where no number is missing the offset is a number; else the keys alone are skipped over, in the
    index, and only then records fetched.
    """
    start: sql.Composable = sql.SQL("true")
    order = sql.SQL("_id DESC" if is_descending else "_id")
    if is_later:
        end, step, beyond = ("last", "-", "<=") if is_descending else ("first", "+", ">=")
        start = sql.SQL(
            "_id {beyond} (SELECT CASE WHEN last - first + 1 = %s THEN {end} {step} %s ELSE"
            " (SELECT _id FROM {source} ORDER BY {order} LIMIT 1 OFFSET %s) END"
            " FROM (SELECT min(_id) AS first, max(_id) AS last FROM {source}) AS ends)"
        ).format(
            beyond=sql.SQL(beyond),
            end=sql.SQL(end),
            step=sql.SQL(step),
            source=source,
            order=order,
        )
    return sql.SQL("SELECT _id, data FROM {} WHERE {} ORDER BY {}{}").format(
        source, start, order, sql.SQL(" LIMIT %s" if is_limited else "")
    )


def _written_walk(
    relation: Relation, columns: records.Columns, as_lists: bool, begin: str, *form: bool
) -> sql.SQL:
    """Compose once what is asked of a table most often: all its records, page by page."""
    what = columns.texts(as_lists=as_lists, begin=begin)
    return sql.SQL(_read(what, _walk(relation.source.text, *form), columns).as_string())


_written_walk_of_few = lru_cache(maxsize=_MAX_NARROW)(_written_walk)
_written_walk_of_many = lru_cache(maxsize=_MAX_WIDE)(_written_walk)


def _over(template: str, clause: Clause) -> Clause:
    return Clause(sql.SQL(template).format(clause.text), clause.parameters)


def _over_two(template: str, first: Clause, second: Clause) -> Clause:
    return Clause(
        sql.SQL(template).format(first.text, second.text),
        [*first.parameters, *second.parameters],
    )


def _listed(clauses: Iterable[Clause]) -> Clause:
    clauses = list(clauses)
    return Clause(
        sql.SQL(", ").join(clause.text for clause in clauses),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


def _ordered(key: SortKey, value: Clause) -> Clause:
    direction = " DESC" if key.descending else ""
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
    return _over(f"{{}}{direction}{nulls}", value)


def _collecting(
    faults: list[InvalidParameter], make: Callable[[], Result], otherwise: Result
) -> Result:
    """Make something, or keep its faults for later."""
    try:
        return make()
    except InvalidParameters as error:
        faults.extend(error.faults)
        return otherwise
