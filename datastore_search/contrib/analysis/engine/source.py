"""
The matches of a query as a table of the engine.

A small table is read from PostgreSQL once for each version; of a large one there is a snapshot, and
the records that have changed since are read.  Everything is of the version that the read describes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from time import monotonic
from typing import Any, cast

from django.db import connections
from psycopg import sql

from ....database.statements import execute
from ....database.tables import name_record_table
from ....field_types import FieldType, field_types
from ....filters import And, Clause, Condition, In, Near, Or, TypedFields, compose
from ....filters.names import ID
from ....filters.operators import ID_TYPE, Comparing, DuckDBField, Folding, operators
from ....guards.cache import BoundedCache
from ....messages.availability import QueryTooSlow
from ....messages.parameters import InvalidParameters
from ....search import BoundQuery, ConsistentRead, Query, StaleVersion, bind_query
from ....search.plan import FoundIds
from ..errors import SnapshotBeingPrepared, TooManyValuesToSort
from ..models import Snapshot
from .columns import Column, select_united, unite
from .process import (
    EngineUnavailable,
    FileDamaged,
    NumbersOutOfRange,
    TableClosed,
    engine,
    name_table,
)
from .questions import read_value
from .snapshots import (
    MAX_CHANGES,
    MAX_SMALL_CELLS,
    SnapshotMissing,
    choose_duckdb_types,
    discard,
    fetch_file,
    find_snapshot,
    prepare,
    select_cells,
    select_changes,
    write_csv,
)

#: A table that takes more space than this has a snapshot, however few cells it has.
_MAX_SMALL_BYTES = 64 * 2**20

#: The values of a field that are ranked, where DuckDB would sort them otherwise, and their bytes.
MAX_RANKED_VALUES, _MAX_RANKED_BYTES = 100_000, 16 * 2**20

#: How often a question is asked again for tables that the engine has closed meanwhile.
_MAX_ATTEMPTS = 4

_numbers = count()

#: The columns of tables that the engine has, or had.
_columns: BoundedCache[str, Sequence[Column]] = BoundedCache("engine_columns", 1_000)

#: Answers as JSON, by the tables, which are of one version, the statement and its parameters.
_answers: BoundedCache[str, str] = BoundedCache(
    "engine_answers", 2_000, max_size=16 * 2**20, max_value_size=2**18, measure=len
)


class NotReady(Exception):
    """The engine cannot answer at once, or not as PostgreSQL does."""


class Source:
    """
    The matches of a query, with some fields.

    ``columns`` are those of the fields by name; ``relation`` has the records, and ``where`` is the
    condition of the matches with its ``parameters``, in DuckDB's SQL over ``tables``.
    """

    #: With a limit, nothing is prepared or waited for, and PostgreSQL is not asked for ids.
    max_seconds = 0.0

    def __init__(
        self,
        read: ConsistentRead,
        query: Query,
        names: Iterable[str],
        *,
        can_wait: bool = True,
        ordered: Iterable[str] = (),
    ) -> None:
        """
        Open the records of a read; ``names`` are the fields that are asked for.

        If it ``can_wait``, a missing snapshot is waited for; it is prepared in both cases.
        ``orders`` has what sorts as PostgreSQL's values of the ``ordered`` fields do.

        Raises: ``NotReady``; ``SnapshotBeingPrepared``; as ``search.read_answer``, ``Engine.ask``.
        """
        self.read, self.query, self._can_wait = read, query, can_wait and not self.max_seconds
        seconds = self.max_seconds or read.session.timeout_ms / 1000 or 60.0
        self._deadline = monotonic() + seconds
        named = [*names, *_list_fields(query.filters, read.fields)]
        types = read.relation.types
        self._ordered = [*dict.fromkeys(ordered)]
        self._names = [*dict.fromkeys(name for name in named if name in types)]
        #: Identifies the version that all records are of; a transaction may have others.
        version: tuple[Any, ...] | None = read.version_key
        if version is None:
            writing = Clause(sql.SQL("SELECT pg_current_xact_id_if_assigned() IS NOT NULL"))
            ((has_written,),) = read.fetch_rows(writing)
            known = read.connection.alias, read.resource.pk, read.resource.version
            version = ("transaction", next(_numbers)) if has_written else known
        self._version = (*version,)
        self._open()

    def get_type(self, name: str) -> FieldType:
        return field_types[self.read.relation.types[name]]

    @property
    def seconds(self) -> float:
        """The time that is left for the question."""
        return max(0.001, self._deadline - monotonic())

    def fetch(self, statement: str, *parameters: Any) -> list[list[Any]]:
        """
        Run a statement that reads ``matches``, after a WITH; steps of its own begin with a comma.

        The answer of the same question, of the same version, is kept.

        Raises: ``QueryTooSlow``; ``EngineUnavailable``; ``ClientDisconnected``; ``StaleVersion``.
        """
        text = f"WITH matches AS (SELECT * FROM {self.relation} WHERE {self.where}) {statement}"
        for _attempt in range(_MAX_ATTEMPTS):
            given, client = [*self.parameters, *parameters], self.read.session.client
            key = name_table(self.tables, text, given)
            if kept := _answers.get(key):
                return cast(list[list[Any]], json.loads(kept))
            try:
                rows = engine.ask(self.tables, text, given, self.seconds, client)
            except TableClosed:
                before = self.relation, self.where, self.columns
                self._open()
                if before != (self.relation, self.where, self.columns):
                    raise StaleVersion from None
            except FileDamaged:
                if self._snapshot is not None:
                    discard(self._snapshot)
                raise StaleVersion from None
            else:
                _answers.add(key, json.dumps(rows))
                return rows
        raise EngineUnavailable

    def _open(self) -> None:
        """Open all tables, again if the engine has closed one of them meanwhile."""
        types = self.read.relation.types
        cells = (self.read.relation.record_count or 0) * len(types)
        for _attempt in range(_MAX_ATTEMPTS):
            self.tables: list[str] = []
            self.columns: Mapping[str, Column] = {}
            self._snapshot: Snapshot | None = None
            if cells > MAX_SMALL_CELLS or not self._open_records():
                self._open_snapshot()
            with suppress(TableClosed):
                self.orders = {name: self._open_order(name) for name in self._ordered}
                self.where, self.parameters = self._compile()
                return
        raise EngineUnavailable

    def _store(self, key: object, names: Iterable[str], rows: bytes, *heads: str) -> str:
        """Make a table of the engine of rows of CSV, and return its name."""
        table, types = name_table(key), self.read.relation.types
        kinds = choose_duckdb_types([types[name] for name in names])
        _columns.add(table, engine.store(table, kinds, rows, self.seconds, heads))
        return table

    # Records --------------------------------------------------------------------------------------

    def _open_records(self) -> bool:
        """Open all records of a small table; return whether they are not too large."""
        read, types = self.read, self.read.relation.types
        table = name_table(self._version)
        if not engine.has(table) or _columns.get(table) is None:
            if self.max_seconds:
                raise NotReady
            cells, records = select_cells(types), read.relation.source
            select = compose("SELECT _id{} FROM {} AS record", cells, records)
            name = name_record_table(read.resource.table_version_id or 0)
            size = Clause(sql.SQL("SELECT pg_table_size(%s::regclass)"), [name])
            ((size_bytes,),) = read.fetch_rows(size)
            if size_bytes > _MAX_SMALL_BYTES:
                return False
            watched = read.session.watch_statements()
            with watched, read.copy(select, sql.SQL("FORMAT csv")) as copy:
                rows = b"".join(map(bytes, copy))
            read.verify()
            self._store(self._version, types, rows, "_id")
        self.tables.append(table)
        self.relation = table
        self.columns = dict(zip(types, _columns.get(table) or (), strict=True))
        return True

    def _open_snapshot(self) -> None:
        """Open the snapshot of a large table, and what has changed since; prepare a missing one."""
        for _attempt in range(_MAX_ATTEMPTS):
            snapshot = find_snapshot(self.read)
            if snapshot is None:
                self._prepare()
                continue
            try:
                file = name_table(snapshot.file)
                if not engine.has(file):
                    engine.attach(file, fetch_file(snapshot), self.seconds)
                self.tables, self.relation = [file], file
                self.columns = {name: Column(**each) for name, _kind, each in snapshot.columns}
                self._open_changes(snapshot)
            except FileDamaged:
                discard(snapshot)
            except SnapshotMissing:
                self._prepare()
            else:
                self._snapshot = snapshot
                return
        raise SnapshotBeingPrepared  # this read's replica or transaction does not see it yet

    def _prepare(self) -> None:
        self.read.verify()  # a table that a load has replaced gets no snapshot
        prepare(self.read, self.seconds if self._can_wait else 0)
        if not self._can_wait:
            raise SnapshotBeingPrepared

    def _open_changes(self, snapshot: Snapshot) -> None:
        """Let the records that have changed take the place of those in the snapshot."""
        key = ("changes", self._version, snapshot.file, tuple(self._names))
        table = name_table(key)
        changed = _columns.get(table)
        if changed is None or not (changed == () or engine.has(table)):
            rows = self.read.fetch_rows(select_changes(snapshot, self._names))
            noted = [row[2:] for row in rows if row[1]]
            if not rows[0][0] or len(noted) > MAX_CHANGES or any(row[0] is None for row in noted):
                raise SnapshotMissing
            if 2 * len(noted) > MAX_CHANGES:
                prepare(self.read, 0)
            if noted:
                self._store(key, self._names, write_csv(noted), "_id", "is_there")
            else:
                _columns.add(table, ())
            changed = _columns.get(table) or ()
        else:
            self.read.verify()
        if not changed:
            return
        self.tables.append(table)
        united, before, after = {}, ["_id"], ["_id"]
        for name, each in zip(self._names, changed, strict=True):
            united[name] = unite(self.columns[name], each)
            before += select_united(self.columns[name], united[name])
            after += select_united(each, united[name])
        self.relation = (
            f"(SELECT {', '.join(before)} FROM {self.tables[0]} ANTI JOIN {table} USING (_id)"
            f" UNION ALL SELECT {', '.join(after)} FROM {table} WHERE is_there)"
        )
        self.columns = united

    def _open_order(self, name: str) -> str:
        """Choose what sorts as in PostgreSQL: value, or rank.  Raises: ``InvalidParameters``."""
        kind, column = self.get_type(name), self.columns[name]
        is_by_code_point = kind.is_text and read_folding(self.read.connection.alias)[0]
        if is_by_code_point or kind.is_moment or kind.is_boolean or kind.is_number:
            return column.value
        key = ("ranks", self._version, name)
        table = name_table(key)
        if not engine.has(table):
            if self.max_seconds:
                raise NotReady
            values = f"SELECT DISTINCT {column.value} AS v FROM {self.relation} WHERE v IS NOT NULL"
            ((number, _size, listed),) = engine.ask(
                self.tables,
                f"WITH found AS MATERIALIZED ({values} LIMIT {MAX_RANKED_VALUES + 1})"
                " SELECT count(*), sum(strlen(v)), CASE WHEN count(*) <="
                f" {MAX_RANKED_VALUES} AND sum(strlen(v)) <= {_MAX_RANKED_BYTES} THEN list(v) END"
                " FROM found",
                [],
                self.seconds,
                self.read.session.client,
            )
            if number and listed is None:
                raise InvalidParameters([TooManyValuesToSort(field=name, most=MAX_RANKED_VALUES)])
            rank = sql.SQL(f"dense_rank() OVER (ORDER BY {read_value(kind)}), v").format(
                sql.Identifier("v")
            )
            ranks = Clause(
                sql.SQL("SELECT {} FROM unnest(%s::text[]) AS found (v)").format(rank),
                [listed or []],
            )
            self._store(key, [name], write_csv(self.read.fetch_rows(ranks)), "_id")
        self.tables.append(table)
        order = f"o{column.position}"
        self.relation = (
            f"(SELECT own.*, ranked._id AS {order} FROM {self.relation} AS own"
            f" LEFT JOIN {table} AS ranked ON ranked.c0 = own.{column.value})"
        )
        return order

    # Conditions -----------------------------------------------------------------------------------

    def _compile(self) -> tuple[str, list[Any]]:
        query = self.query
        if not (query.q or query.q_fields or query.filters):
            return "true", []
        bound = bind_query(self.read, query)
        conditions = Conditions(self.columns, self.read.fields, self.read.connection.alias)
        parts = [conditions.compile(each) for each in query.filters]
        if not (query.q or query.q_fields or None in parts):
            return " AND ".join(map(str, parts)), conditions.parameters
        if self.max_seconds:
            raise NotReady
        # What DuckDB may find differently is found by PostgreSQL.
        key = ("ids", self._version, repr(query))
        table = name_table(key)
        if not engine.has(table):
            ids = Clause(sql.SQL("string_agg(_id::text, E'\\n')"))
            ((found,),) = self.read.fetch_rows(bound.select(ids))
            self._store(key, (), (found or "").encode(), "_id")
        else:
            self.read.verify()
        self.tables.append(table)
        return f"_id IN (FROM {table})", []


def _list_fields(conditions: Iterable[Condition], fields: TypedFields) -> list[str]:
    listed: list[str] = []
    for each in conditions:
        if isinstance(each, And | Or):
            listed += _list_fields(each.conditions, fields)
        elif isinstance(each, Near):
            listed += each.choose_fields(fields)
        else:
            listed.append(each.field)
    return listed


# Conditions in DuckDB's SQL -----------------------------------------------------------------------

#: The capitals of all alphabets, in PostgreSQL and in DuckDB.
_LETTERS = (
    "SELECT letter, lower(letter) FROM (SELECT chr(CAST(n AS integer)) AS letter"
    " FROM (SELECT n FROM generate_series(1, 55295) AS low (n)"
    " UNION ALL SELECT n FROM generate_series(57344, 131071) AS high (n)) AS numbers) AS letters"
    " WHERE lower(letter) <> letter"
)
_LETTERS_I = "iIıİ"
_START_SECONDS = 20.0

#: As ``datastore_search_is_near`` of PostgreSQL.
_IS_NEAR = (
    "power(sin(radians({0} - {2}) / 2), 2)"
    " + cos(radians({3})) * cos(radians({0})) * power(sin(radians({1} - {4}) / 2), 2) <= {5}"
)


@dataclass(slots=True)
class Conditions:
    """
    Compiles conditions where DuckDB's SQL means the same as PostgreSQL's; others are asked there.

    Each is true or false, never null, so that it can be negated.  ``parameters`` are the values of
    their ``?``, in order.
    """

    columns: Mapping[str, Column]
    fields: TypedFields
    alias: str
    parameters: list[Any] = field(default_factory=list)

    def compile(self, condition: Condition) -> str | None:
        """Compile a condition; None where DuckDB may find other records than PostgreSQL."""
        if isinstance(condition, And | Or):
            parts = [self.compile(each) for each in condition.conditions]
            if None in parts:
                return None
            word = " AND " if isinstance(condition, And) else " OR "
            return f"({word.join(map(str, parts))})"
        if isinstance(condition, Near):
            place = condition.choose_fields(self.fields)
            y, x = (self.columns.get(name) for name in (place.lat, place.lon))
            box = self.compile(condition.build_box(place)) if y and x else None
            if not (y and x and box):  # as of numbers without a type of DuckDB's
                return None
            degrees = [f"least(greatest({each.value}::float8, -180), 180)" for each in (y, x)]
            latitude, *others = condition.list_operands()
            marks = map(self.bind, (latitude, latitude, *others))
            return f"({box} AND {_IS_NEAR.format(*degrees, *marks)})"
        name, is_id = condition.field, condition.field == ID
        kind = ID_TYPE if is_id else field_types[self.fields.types[name]]
        operator = "in" if isinstance(condition, In) else condition.operator
        operand: Any = condition.values if isinstance(condition, In) else condition.value
        column = Column(-1, "BIGINT") if is_id else self.columns.get(name)
        if column is None:
            return None
        value, text = ("_id", "CAST(_id AS VARCHAR)") if is_id else (column.value, column.text)
        return operators[operator].compile_duckdb(
            Comparing(name, kind, operator, operand, self.fields),
            DuckDBField(value, text, column.type, self.bind, lambda: read_folding(self.alias)),
        )

    def bind(self, value: Any) -> str:
        self.parameters.append(value)
        return "?"


@lru_cache(maxsize=8)
def read_folding(alias: str) -> Folding:
    """Compare once how a database and DuckDB fold the case of all letters."""
    connection = connections[alias]
    ((is_by_code_point, depends_on_others),) = execute(
        connection,
        "SELECT datlocprovider = 'b' OR datlocprovider = 'c'"
        " AND datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8'), lower('ΑΣ') NOT IN ('ΑΣ', 'ασ')"
        " FROM pg_database WHERE datname = current_database()",
    )
    if depends_on_others:
        return Folding(is_by_code_point, None)
    theirs = dict(execute(connection, _LETTERS))
    ours = dict(map(tuple, engine.ask([], _LETTERS, [], _START_SECONDS)))
    different = {letter for letter, lower in theirs.items() ^ ours.items()}
    letters = {*different, *"".join(each.get(n, n) for n in different for each in (theirs, ours))}
    letters |= {letter for letter, lower in ours.items() if lower in letters}
    # A text with one of these is compared as if they were one letter.
    letters |= set() if letters.isdisjoint(_LETTERS_I) else {*_LETTERS_I}
    return Folding(is_by_code_point, frozenset(letters))


# Pages of records ---------------------------------------------------------------------------------


class _ReadySource(Source):
    """What the engine has already; PostgreSQL answers where it does not within this time."""

    max_seconds = 2.0


_FAILURES = (NotReady, SnapshotBeingPrepared, EngineUnavailable, NumbersOutOfRange, QueryTooSlow)


def find_page(read: ConsistentRead, bound: BoundQuery) -> FoundIds | None:
    """Find the ids of a page, in PostgreSQL's order, that it would scan; None if not at once."""
    with read.trace("engine"), suppress(*_FAILURES), read.session.contain_failure():
        query, named = bound.query, [key.field for key in bound.sort if key.field != ID]
        source = _ReadySource(read, query, named, ordered=named)
        if any(source.get_type(n).is_number and not source.columns[n].is_typed for n in named):
            raise NotReady
        keys, order, is_descending = list[str](), list[str](), False
        for n, key in enumerate(bound.sort):
            value, is_descending = source.orders.get(key.field, "_id"), key.descending
            nulls = is_descending if key.nulls_first is None else key.nulls_first
            keys.append(f", {value} AS k{n}")
            order.append(
                f"k{n} {'DESC' if is_descending else 'ASC'} NULLS {'FIRST' if nulls else 'LAST'}"
            )
        by = ", ".join([*order, "_id DESC" if is_descending else "_id"])
        is_counted = query.include_total and bound.known_total is None
        page = f"SELECT * FROM found ORDER BY {by} LIMIT {query.limit} OFFSET {query.offset}"
        ((total, ids),) = source.fetch(
            f", found AS {'MATERIALIZED ' if is_counted else ''}"
            f"(SELECT _id{''.join(keys)} FROM matches)"
            f" SELECT {'(SELECT count(*) FROM found)' if is_counted else 'NULL'},"
            f" (SELECT list(_id ORDER BY {by}) FROM ({page}))"
        )
        return FoundIds(ids or [], total if is_counted else bound.known_total)
    return None
