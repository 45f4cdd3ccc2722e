"""
Plans: the statements that read a page.

The number of matches decides (``docs/decisions/0004``).  Few matches are taken from an index and
sorted.  Of many, the order is scanned within a window that should hold a full page, so that no
search scans a million records without a match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, LiteralString

from psycopg import sql

from ..contributions import Hook
from ..field_types import field_types
from ..filters import (
    MAX_FULL_TEXT_FIELDS,
    TRUE,
    And,
    Clause,
    Comparison,
    Condition,
    In,
    Near,
    Or,
    compile_value_key,
    compose,
    join_with_commas,
)
from ..filters.names import ID, SortKey
from ..filters.operators import INDEXED_OPERATORS, MAX_INDEXED_VALUES, operators
from ..guards.cache import BoundedCache
from ..models import Resource
from ..signals import orders_wanted
from .query import MAX_NARROW_ENTRIES, MAX_NARROW_FIELDS, MAX_WIDE_ENTRIES, BoundQuery, Columns
from .reads import ConsistentRead, Relation, VersionKey
from .records import FoundRecords

#: Up to this many matches are sorted; of more, the order is scanned if an index has it.
_MAX_SORTED_MATCHES = 20_000

#: Up to this many whole records are sorted; above, their keys alone.
_MAX_SORTED_RECORDS = 1_000

#: Fewer records are sorted without an index as fast as with one.
_MIN_ORDERED_RECORDS = 2_000

#: A window has this many records more than are expected to fill the page.
_WINDOW_MARGIN = 1_000

#: Values that an index is skipped through for: each costs as much as reading twenty rows.
_MAX_SKIPPED_VALUES = 1_000

#: The columns of ranks: one of all fields, and those of single ones.
_RANK_NAMES: Sequence[LiteralString] = [f"rank{each}" for each in range(MAX_FULL_TEXT_FIELDS + 1)]


@dataclass(frozen=True, slots=True)
class Plan(ABC):
    """
    How a page is read.

    A plan renders its own statements: ``select`` gives the records of the page, and the others
    render them.  A plan that ``counts_matches`` gives their number before the text of each record,
    in at least one row.
    """

    bound: BoundQuery
    counts_matches: bool = False

    @abstractmethod
    def select(self) -> Clause:
        """Select the records of the page, with the columns that plans read."""

    def select_texts(self, begin: str = "") -> Clause:
        return self.bound.columns.select(self.bound.columns.render_texts(begin), self.select())

    def select_cells(self) -> Clause:
        return self.bound.columns.select(self.bound.columns.cells, self.select())

    def select_last_id(self) -> Clause:
        last = Clause(sql.SQL("min(_id)" if self.bound.is_descending else "max(_id)"))
        return compose("SELECT {} FROM ({}) AS page", last, self.select())

    def is_complete(self, found: FoundRecords) -> bool:
        """Return whether the plan has found all records of the page."""
        return True


# By key or index ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyScan(Plan):
    """Scan the keys of the whole table, perhaps from an offset on."""

    def select(self) -> Clause:
        text = _compile_key_scan(self.bound.relation.source.text, *self._shape)
        return Clause(text, self._parameters)

    def select_texts(self, begin: str = "") -> Clause:
        """Render the most frequent statement of all once for each table and its fields."""
        bound = self.bound
        if bound.relation.source.parameters:
            return Plan.select_texts(self, begin)
        is_narrow = len(bound.fields) <= MAX_NARROW_FIELDS
        render = _render_narrow_key_scan if is_narrow else _render_wide_key_scan
        text = render(bound.relation, bound.columns, begin, *self._shape)
        return Clause(text, self._parameters)

    @property
    def _shape(self) -> tuple[bool, bool, bool]:
        query = self.bound.query
        return self.bound.is_descending, query.offset > 0, query.limit is not None

    @property
    def _parameters(self) -> list[object]:
        query, relation = self.bound.query, self.bound.relation
        source = relation.source.parameters
        parameters = [*source]
        if query.offset:
            parameters += [relation.record_count, query.offset, *source, query.offset, *source]
        return parameters if query.limit is None else [*parameters, query.limit]


def _compile_key_scan(
    source: sql.Composable, is_descending: bool, has_offset: bool, has_limit: bool
) -> sql.Composable:
    """Scan keys in order; where ``_id`` has gaps, keys are skipped, then records are fetched."""
    start: sql.Composable = sql.SQL("true")
    order = sql.SQL("_id DESC" if is_descending else "_id")
    if has_offset:
        end, step, beyond = ("last", "-", "<=") if is_descending else ("first", "+", ">=")
        start = sql.SQL(
            "_id {beyond} (SELECT CASE WHEN last - first + 1 = %s THEN {end} {step} %s ELSE"
            " (SELECT _id FROM {source} ORDER BY {order} LIMIT 1 OFFSET %s) END"
            " FROM (SELECT min(_id) AS first, max(_id) AS last FROM {source}) AS ends)"
        ).format(
            beyond=sql.SQL(beyond), end=sql.SQL(end), step=sql.SQL(step), source=source, order=order
        )
    return sql.SQL("SELECT _id, data FROM {} WHERE {} ORDER BY {}{}").format(
        source, start, order, sql.SQL(" LIMIT %s" if has_limit else "")
    )


def _render_key_scan(relation: Relation, columns: Columns, begin: str, *shape: bool) -> sql.SQL:
    scan = Clause(_compile_key_scan(relation.source.text, *shape))
    return sql.SQL(columns.select(columns.render_texts(begin), scan).text.as_string())


_render_narrow_key_scan = lru_cache(maxsize=MAX_NARROW_ENTRIES)(_render_key_scan)
_render_wide_key_scan = lru_cache(maxsize=MAX_WIDE_ENTRIES)(_render_key_scan)


@dataclass(frozen=True, slots=True)
class IndexScan(Plan):
    """Scan an index in order until the page is full, perhaps only the first ``window`` records."""

    window: int | None = None

    def select(self) -> Clause:
        bound = self.bound
        key = bound.compile_key(bound.sort[0].field if bound.sort else ID)
        if self.window is None:
            return _select_page(bound, self._compile_order(key))
        columns, within = Clause(sql.SQL("_id, data, search")), TRUE
        if not bound.is_by_id:
            columns = compose("_id, data, search, {} AS key", key)
        elif bound.ids:
            within = Clause(sql.SQL("_id BETWEEN %s::bigint AND %s::bigint"), [*bound.ids])
        order = self._compile_order(Clause(sql.SQL("key")))
        matches = compose(
            "SELECT _id, data, search FROM"
            " (SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT {}) AS record WHERE {} ORDER BY {}",
            columns,
            bound.relation.source,
            within,
            order,
            Clause(sql.SQL("%s"), [self.window]),
            bound.where,
            order,
        )
        return _add_ranks(bound, _take_page(bound, matches))

    def select_last_id(self) -> Clause:
        """Read the last ``_id`` of the page; without a window, for the page is full."""
        return Plan.select_last_id(replace(self, window=None))

    def is_complete(self, found: FoundRecords) -> bool:
        return self.window is None or found.count == self.bound.query.limit

    def _compile_order(self, key: Clause) -> Clause:
        """Compile the order as an index has it; ``key`` is that of the first field."""
        if self.bound.is_by_id:
            return Clause(sql.SQL("_id DESC" if self.bound.is_descending else "_id"))
        return compose("{} DESC, _id DESC" if self.bound.is_descending else "{}, _id", key)


@dataclass(frozen=True, slots=True)
class Sort(Plan):
    """
    Sort all matches; this is slow for many.

    PostgreSQL would otherwise scan a whole index in search of few matches.  ``_id + 0``, and the
    greatest of one value, are expressions that no index has.
    """

    def select(self) -> Clause:
        bound = self.bound
        by_id = Clause(sql.SQL("_id + 0 DESC" if bound.is_descending else "_id + 0"))
        if bound.is_by_id:
            return _select_page(bound, by_id)
        fence: LiteralString = "greatest({})" if _has_index_order(bound) else "{}"
        keys = [
            compile_sort_key(key, compose(fence, bound.compile_key(key.field)))
            for key in bound.sort
        ]
        if all(key.field != ID for key in bound.sort):
            is_descending = bound.sort[-1].descending
            keys.append(Clause(sql.SQL("_id + 0 DESC" if is_descending else "_id + 0")))
        return _select_page(bound, join_with_commas(keys))


def compile_sort_key(key: SortKey, value: Clause) -> Clause:
    direction = " DESC" if key.descending else ""
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
    return compose(f"{{}}{direction}{nulls}", value)


def _select_page(bound: BoundQuery, order: Clause) -> Clause:
    """Select the page's records; far from the beginning, sort keys alone to save memory."""
    if bound.is_by_id or bound.end is None or bound.end <= _MAX_SORTED_RECORDS:
        records = bound.select(Clause(sql.SQL("_id, data, search")))
        return _add_ranks(bound, _take_page(bound, compose("{} ORDER BY {}", records, order)))
    keys = bound.select(Clause(sql.SQL("_id AS key_id")))
    page = compose(
        "SELECT _id, data, search FROM ({}) AS keys JOIN {} ON _id = key_id ORDER BY {}",
        _take_page(bound, compose("{} ORDER BY {}", keys, order)),
        bound.relation.source,
        order,
    )
    return _add_ranks(bound, page)


def _take_page(bound: BoundQuery, ordered: Clause) -> Clause:
    query = bound.query
    limit = [] if query.limit is None else [query.limit]
    offset = [query.offset] if query.offset or not limit else []
    words = (" LIMIT %s" if limit else "") + (" OFFSET %s" if offset else "")
    return compose("{}{}", ordered, Clause(sql.SQL(words), [*limit, *offset]))


# By rank ------------------------------------------------------------------------------------------


def _add_ranks(bound: BoundQuery, page: Clause) -> Clause:
    if bound.ranks.keys().isdisjoint([name for name, _kind in bound.fields]):
        return page
    columns = join_with_commas([Clause(sql.SQL("_id, data")), *_compile_ranks(bound)])
    return compose("SELECT {} FROM ({}) AS record", columns, page)


def _compile_ranks(bound: BoundQuery) -> list[Clause]:
    ranks = zip(bound.ranks.values(), _RANK_NAMES, strict=False)
    return [compose(f"{{}} AS {name}", rank) for rank, name in ranks]


@dataclass(frozen=True, slots=True)
class RankSort(Plan):
    """
    Rank all matches, and fetch the records of the best; perhaps count them in one go.

    A plan that ``lists_top`` gives the ids and the ranks of the first ``MAX_TOP_IDS`` matches too,
    after their number: null without a match.  They are in a first row without a record.
    """

    lists_top: bool = False

    def select(self) -> Clause:
        return self._fetch(compose("{} ORDER BY {}", self._select_matches(), self._order))

    def select_texts(self, begin: str = "") -> Clause:
        """Read the number of matches and the ids, if requested, then the text of each record."""
        bound, order = self.bound, self._order
        texts = bound.columns.render_texts(begin)
        if not self.lists_top and not self.counts_matches:
            return bound.columns.select(texts, self.select())
        matches = self._select_matches()
        if not self.lists_top:
            page = self._fetch(compose("SELECT * FROM found ORDER BY {}", order))
            return count_and_read(
                matches, bound.columns.unpack(page), texts, "page._id IS NOT NULL"
            )
        page = self._fetch(compose("SELECT * FROM top ORDER BY {}", order))
        end, most = max(bound.end or 0, MAX_TOP_IDS), Clause(sql.Literal(MAX_TOP_IDS))
        names = ["_id", *_RANK_NAMES[: len(bound.ranks)]]
        lists = [
            compose(f"(array_agg({name} ORDER BY {{}}))[:{{}}]", order, most) for name in names
        ]
        # Matches that are not counted are not stored either: several processes may rank them.
        hint, total = sql.SQL("MATERIALIZED "), sql.SQL("(SELECT count(*) FROM found)")
        return compose(
            "WITH found AS {hint}({matches}), top AS MATERIALIZED"
            " (SELECT * FROM found ORDER BY {order} LIMIT {end})"
            " SELECT {total}, {lists}, NULL FROM top"
            " UNION ALL SELECT NULL, {nulls}, {texts} FROM ({page}) AS page",
            hint=Clause(hint if self.counts_matches else sql.SQL("")),
            matches=matches,
            order=order,
            end=Clause(sql.Literal(end)),
            total=Clause(total if self.counts_matches else sql.NULL),
            lists=join_with_commas(lists),
            nulls=Clause(sql.SQL(", ").join([sql.NULL] * len(names))),
            texts=Clause(texts),
            page=bound.columns.unpack(page),
        )

    @property
    def _order(self) -> Clause:
        ranks = [f"{name} DESC" for name in _RANK_NAMES[: len(self.bound.ranks)]]
        return Clause(sql.SQL(", ".join([*ranks, "_id"])))

    def _select_matches(self) -> Clause:
        """Select what is read of each match to rank it, and to fetch it then."""
        key = Clause(sql.SQL(f"_id, {self.bound.relation.row_locator} AS row_locator"))
        return self.bound.select(join_with_commas([key, *_compile_ranks(self.bound)]))

    def _fetch(self, ordered: Clause) -> Clause:
        """Fetch the records of the page, of ordered matches that have only what ranks need."""
        relation = self.bound.relation
        return compose(
            "SELECT best.*, (SELECT data FROM {} WHERE {} = best.row_locator) AS data"
            " FROM ({}) AS best",
            relation.source,
            Clause(sql.SQL(relation.row_locator)),
            _take_page(self.bound, ordered),
        )


@dataclass(frozen=True, slots=True)
class PageLookup(Plan):
    """Look up the records of the page by their ids, in the order of these, with their ranks."""

    ids: Sequence[int] = field(kw_only=True)
    ranks: Sequence[Sequence[float]] = field(kw_only=True, default=())

    def select(self) -> Clause:
        arrays = ["%s::bigint[]", *["%s::float8[]"] * len(self.ranks)]
        # psycopg takes ten times as long to write lists.
        written = [f"{{{','.join(map(str, each))}}}" for each in (self.ids, *self.ranks)]
        return compose(
            "SELECT {columns}, data FROM unnest({lists}) WITH ORDINALITY"
            " AS page ({columns}, position) JOIN {source} USING (_id) ORDER BY position",
            columns=Clause(sql.SQL(", ".join(["_id", *_RANK_NAMES[: len(self.ranks)]]))),
            lists=Clause(sql.SQL(", ".join(arrays)), written),
            source=self.bound.relation.source,
        )


def count_and_read(
    matches: Clause, page: Clause, texts: sql.SQL, is_there: LiteralString
) -> Clause:
    """
    Read the number of matches and the text of each record of a page, in at least one row.

    ``page`` selects from the matches, which it names ``found``.
    """
    return compose(
        "WITH found AS MATERIALIZED ({}) SELECT total, CASE WHEN {} THEN {} END"
        " FROM (SELECT count(*) AS total FROM found) AS counted LEFT JOIN ({}) AS page ON true",
        matches,
        Clause(sql.SQL(is_there)),
        Clause(texts),
        page,
    )


# Of distinct values -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grouping(Plan):
    """Group all matches by the asked fields, for ``distinct``; perhaps count them in one go."""

    def select_groups(self) -> Clause:
        return self.bound.select_groups()

    def select(self) -> Clause:
        groups = compose("SELECT * FROM ({}) AS page", self.select_groups())
        order = _compile_group_order(self.bound)
        return _take_page(self.bound, compose("{} ORDER BY {}", groups, order))

    def select_texts(self, begin: str = "") -> Clause:
        """Read the text of each group, after the number of groups if the plan counts them."""
        if not self.counts_matches:
            return Plan.select_texts(self, begin)
        bound, order = self.bound, _compile_group_order(self.bound)
        found = compose("SELECT true AS is_there, * FROM found ORDER BY {}", order)
        groups, texts = self.select_groups(), bound.columns.render_texts()
        return count_and_read(groups, _take_page(bound, found), texts, "page.is_there")


@dataclass(frozen=True, slots=True)
class SkipScan(Grouping):
    """
    Skip through an index over the single field of a ``distinct`` query, from value to value.

    This is fast where the field has few values; at most ``_MAX_SKIPPED_VALUES`` are found.

    Source: PostgreSQL's wiki, "Loose indexscan": a recursive query that finds the next value.
    """

    def select_groups(self) -> Clause:
        ((name, _kind),) = self.bound.fields
        return compose(
            "WITH RECURSIVE value (key, c0) AS ("
            " (SELECT {key}, {value} FROM {source} WHERE {key} IS NOT NULL"
            " ORDER BY {key}, _id LIMIT 1)"
            " UNION ALL SELECT next.key, next.c0 FROM value CROSS JOIN LATERAL"
            " (SELECT {key} AS key, {value} AS c0 FROM {source} WHERE {key} > value.key"
            " ORDER BY {key}, _id LIMIT 1) AS next)"
            " SELECT c0 FROM (SELECT c0 FROM value LIMIT {most}) AS first"
            " UNION ALL SELECT 'null' FROM (SELECT {key} AS key FROM {source}"
            " ORDER BY {key} DESC, _id DESC LIMIT 1) AS last WHERE key IS NULL",
            key=self.bound.compile_key(name),
            value=Clause(sql.SQL("data -> %s"), [name]),
            source=self.bound.relation.source,
            most=Clause(sql.Literal(_MAX_SKIPPED_VALUES + 1)),
        )

    def is_complete(self, found: FoundRecords) -> bool:
        return found.total <= _MAX_SKIPPED_VALUES


def _compile_group_order(bound: BoundQuery) -> Clause:
    names = [name for name, _kind in bound.fields]
    keys = []
    for key in bound.sort:
        column = sql.SQL(f"c{names.index(key.field)}")
        kind = field_types[bound.relation.types[key.field]]
        keys.append(compile_sort_key(key, Clause(compile_value_key(kind, column))))
    keys += [Clause(sql.SQL(f"c{position}")) for position in range(len(names))]
    return join_with_commas(keys)


# Top matches --------------------------------------------------------------------------------------

# Ranking a common word reads all its matches.  Their order is the same until the resource has
# another version, so the ids and ranks of the first matches and the number of all are kept: other
# pages, and the same question of others, then read only their own records
# (``docs/decisions/0027``).

#: The ids that are kept of a question: ten pages.
MAX_TOP_IDS: Final = 1_000

#: The conditions of a kept question, in letters: a filter may have thousands of values.
_MAX_KEY_LENGTH = 2_000

#: A version of a resource, and the conditions of a question in SQL: its text and its parameters.
TopMatchesKey = tuple[VersionKey, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class FoundIds:
    """Ids of matches in order, the number of all unless not counted, and a list for each rank."""

    ids: Sequence[int]
    total: int | None
    ranks: Sequence[Sequence[float]] = ()


#: The first ``MAX_TOP_IDS`` matches by rank.
top_matches_cache: BoundedCache[TopMatchesKey, FoundIds] = BoundedCache(
    "top_matches",
    5_000,  # with at most 8 kB of ids and 8 kB of each rank
    max_size=20_000_000,
    max_value_size=20_000_000,
    measure=lambda top: 8 * len(top.ids) * (1 + len(top.ranks)),
)


def find_top_matches(
    read: ConsistentRead, bound: BoundQuery
) -> tuple[TopMatchesKey | None, FoundIds | None]:
    """
    Build the key of a ranked query, and find what is kept of it, with a count that is needed.

    There is no key for a query whose page must not be kept.
    """
    version, query = read.version_key, bound.query
    is_within = bound.end is not None and bound.end <= MAX_TOP_IDS
    if not bound.is_ranked or version is None or not is_within or query.is_copied:
        return None, None
    where = bound.where.text.as_string()
    parameters = tuple([sql.Literal(each).as_string() for each in bound.where.parameters])
    if len(where) + sum(map(len, parameters)) > _MAX_KEY_LENGTH:
        return None, None
    key = version, where, parameters
    top = top_matches_cache.get(key)
    is_known = top is not None and not (query.include_total and top.total is None)
    return key, top if is_known else None


def keep_top_matches(key: TopMatchesKey, head: Sequence[bytes | None], *, is_counted: bool) -> None:
    """Keep a ranking's number of matches and arrays of ids and ranks; none without a match."""
    total, ids, *ranks = head
    if ids is not None:
        numbers = array("q", map(int, ids[1:-1].split(b",")))
        values = [array("d", map(float, (each or b"")[1:-1].split(b","))) for each in ranks]
        is_all = len(numbers) < MAX_TOP_IDS
        known = len(numbers) if is_all else int(total or 0) if is_counted else None
        top_matches_cache.add(key, FoundIds(numbers, known, values))


# Pages that others find ---------------------------------------------------------------------------

#: PostgreSQL scans smaller tables fast, and skips as many keys of an index.
_MIN_SCANNED_RECORDS = 20_000


#: Finds a page of the version that is read; None leaves it to PostgreSQL.
page_finder: Hook[Callable[[ConsistentRead, BoundQuery], FoundIds | None] | None] = Hook(
    "finder of pages", None
)


def find_page(
    read: ConsistentRead, bound: BoundQuery, total: int | None, *, is_counted: bool = False
) -> FoundIds | None:
    """
    Find a page of a large table whose records PostgreSQL would scan, sort or skip.

    ``total`` is the number of matches, where it is known.  If it ``is_counted`` by
    PostgreSQL, the finder was asked before about conditions without an index.
    """
    query, relation, finder = bound.query, bound.relation, page_finder.entry
    if finder is None or query.q or query.q_fields or bound.is_distinct or bound.end is None:
        return None
    if (relation.record_count or 0) < _MIN_SCANNED_RECORDS:
        return None
    if query.filters and not any(_has_index(each, relation) for each in query.filters):
        return None if is_counted else finder(read, bound)
    if bound.is_by_id or total is None or total <= _MAX_SORTED_MATCHES:
        return None
    # PostgreSQL sorts by further keys as it scans the index of the first.
    is_ordered = _has_index_order(bound, most_keys=1 + bound.is_unfiltered * len(bound.sort))
    return finder(read, bound) if query.offset >= _MIN_SCANNED_RECORDS or not is_ordered else None


def report_wanted_orders(read: ConsistentRead, bound: BoundQuery) -> None:
    """Report the fields whose order a query of a larger table needs, and has no index."""
    relation, query = bound.relation, bound.query
    if (relation.record_count or 0) < _MIN_ORDERED_RECORDS:
        return
    names = [key.field for key in bound.sort[:1]]
    names += [
        each.field
        for each in query.filters
        if isinstance(each, Comparison) and operators[each.operator].order
    ]
    if bound.is_distinct and len(bound.fields) == 1:
        names.append(bound.fields[0][0])
    missing = relation.types.keys() - relation.ordered
    if wanted := [name for name in dict.fromkeys(names) if name in missing]:
        orders_wanted.send_robust(Resource, resource=read.resource, names=wanted)


def _has_index(condition: Condition, relation: Relation) -> bool:
    """Return whether PostgreSQL finds the records that meet a condition by an index."""
    if isinstance(condition, And | Or):
        parts = [_has_index(each, relation) for each in condition.conditions]
        return any(parts) if isinstance(condition, And) else all(parts)
    if isinstance(condition, Near):
        return False
    if isinstance(condition, In):
        is_short = len(condition.values) <= MAX_INDEXED_VALUES
        return condition.field == ID or (relation.has_value_index and is_short)
    name, operator = condition.field, operators[condition.operator]
    if operator.order:
        return name == ID or name in relation.ordered
    if operator.counts_as_text and not field_types[relation.types.get(name, "int8")].is_nested:
        return relation.substring_index is not None and operator.name in INDEXED_OPERATORS
    return relation.has_value_index and not operator.is_negative(condition.value)


# The choice ---------------------------------------------------------------------------------------


def choose_plans(
    bound: BoundQuery, total: int | None, top: FoundIds | None = None, *, lists_top: bool = False
) -> list[Plan]:
    """
    Choose the plans that are tried one after the other, until one is complete; the last one is.

    ``total`` is the number of matches, where it is known.  Where all matches must be read anyway,
    they are counted by the statement that reads the page.  ``top`` are the first matches by rank,
    including the page, if they are known; a ranking ``lists_top`` otherwise.
    """
    query, relation, counts_matches = bound.query, bound.relation, bound.counts_matches
    if bound.is_distinct:
        grouping = Grouping(bound, counts_matches=counts_matches)
        is_ordered = len(bound.fields) == 1 and bound.fields[0][0] in relation.ordered
        skips = counts_matches and is_ordered and not (query.filters or query.q or query.q_fields)
        return [SkipScan(bound, counts_matches=True), grouping] if skips else [grouping]
    if bound.is_ranked:
        ranking: Plan = RankSort(bound, counts_matches, lists_top=lists_top)
        if top is not None:
            page = slice(query.offset, bound.end)
            ranks = [each[page] for each in top.ranks]
            ranking = PageLookup(bound, ids=top.ids[page], ranks=ranks)
        return [ranking]
    if bound.is_by_id and (bound.is_unfiltered or bound.is_id_range):
        return [KeyScan(bound) if bound.is_unfiltered else IndexScan(bound)]
    if not _has_index_order(bound):
        return [Sort(bound)]
    if bound.is_unfiltered:
        # A record in the order of a field costs five times one that is read in table order.
        is_far = 5 * (query.offset + (query.limit or 0)) > (relation.record_count or 0)
        return [Sort(bound) if is_far else IndexScan(bound)]
    window = _choose_window(bound, total)
    return [Sort(bound)] if window is None else [IndexScan(bound, window=window), Sort(bound)]


def choose_stream_plan(bound: BoundQuery, count: Callable[[], int]) -> Plan:
    """
    Choose the plan of a stream, which is sent while it is read, so a second plan is impossible.

    ``count`` counts the matches; without a ``limit`` PostgreSQL chooses well by itself.
    """
    *_others, plan = choose_plans(bound, bound.known_total)
    if isinstance(plan, KeyScan) or not _has_index_order(bound):
        return replace(plan, counts_matches=False)
    if bound.is_unfiltered or bound.query.limit is None or bound.is_id_range:
        return IndexScan(bound)
    total = count() if bound.known_total is None else bound.known_total
    return Sort(bound) if _choose_window(bound, total) is None else IndexScan(bound)


def _has_index_order(bound: BoundQuery, most_keys: int = 1) -> bool:
    if bound.is_by_id or bound.is_ranked or bound.is_distinct:
        return bound.is_by_id
    key = bound.sort[0]
    return (
        len(bound.sort) <= most_keys
        and key.field in bound.relation.ordered
        and key.nulls_first in {None, key.descending}
    )


def _choose_window(bound: BoundQuery, total: int | None) -> int | None:
    """Choose a window that should hold a full page; None where all matches should be sorted."""
    end, rows = bound.end, bound.relation.record_count
    if end is None:
        return None
    if total is None or rows is None:
        window = end * 20 + _WINDOW_MARGIN  # as if every twentieth record matched
        return window if rows is None or window < rows else None
    if bound.ids and bound.is_by_id:
        # Within the range, if the keys have no gaps.
        rows = max(1, min(rows, bound.ids[1]) - max(0, bound.ids[0] - 1))
    if total <= _MAX_SORTED_MATCHES:
        return None
    # Four times the records that fill the page, if the matches are spread evenly.
    window = end * rows * 4 // total + _WINDOW_MARGIN
    return window if window < total else None
