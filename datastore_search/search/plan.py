"""
Pages: which statements find the records of a query, and what they give.

How many match decides the way to a page (``docs/decisions/0014``): all matches are taken from the
index and sorted while they are few; when they are many, the order is walked, within a window that
should hold a full page, so that nobody walks a million records in vain.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import LiteralString

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from .. import storage
from ..exceptions import InvalidParameter, RecordsIncomplete, UnknownLanguage
from ..filters import Clause
from ..spooling import Found, Spool, gather
from .consistency import ConsistentRead, translate_database_errors
from .copying import ONE_TEXT, copied
from .query import NextPage, Page, Query, RecordsFormat
from .relations import Relation
from .sql import Statements, Way

#: Matches up to this many are taken from the index and sorted.
_SORTED_MATCHES = 20_000

#: A window holds so many times the records that should fill the page, if the matches lie evenly.
_WINDOW_TIMES = 4

#: Where nobody has counted the matches, one record in so many is taken for a match.
_SCARCITY = 20

#: A window holds so many records more.
_WINDOW_MORE = 1_000

#: Values that an index is skipped through for at most: each costs as much as twenty rows read.
_LOOSE_VALUES = 1_000

#: To step from record to record in the order of a field may cost so many times what it costs to
#: read them as they lie, and to sort them.
_STEPS = 5

_DELIMITERS: Mapping[RecordsFormat, LiteralString] = {
    RecordsFormat.CSV: ",",
    RecordsFormat.TSV: "\t",
}


def statements_of(connection: BaseDatabaseWrapper, relation: Relation, query: Query) -> Statements:
    """
    Fit a query to a relation.

    Raises: ``InvalidParameters``, everything that does not fit.
    """
    cast = partial(storage.cast_texts, connection)
    return Statements(relation, query, cast, _faults_of_language(connection, query))


def _faults_of_language(connection: BaseDatabaseWrapper, query: Query) -> list[InvalidParameter]:
    asked = query.language if query.q or query.q_fields else ""
    if not asked or asked in storage.search_languages(connection):
        return []
    return [UnknownLanguage(language=asked[:100])]


def way_to(total: int | None, relation: Relation, statements: Statements, query: Query) -> Way:
    """Choose between sorting all matches and walking through the order until the page is full."""
    if statements.is_whole or total is None:
        return Way.WALKED
    return Way.SORTED if _window(total, relation, query) is None else Way.WALKED


def _window(total: int | None, relation: Relation, query: Query) -> int | None:
    """Say within how many records of the order a page should be full; None: sort all matches."""
    if query.limit is None:
        return None
    wanted, rows = query.offset + query.limit, relation.rows
    if total is None or rows is None:
        window = wanted * _SCARCITY + _WINDOW_MORE
        return window if rows is None or window < rows else None
    if total <= _SORTED_MATCHES:
        return None
    window = wanted * rows * _WINDOW_TIMES // total + _WINDOW_MORE
    return window if window < total else None


def total_of(look: ConsistentRead, statements: Statements) -> int:
    """Count the matches, if their number is not known."""
    if statements.known_total is not None:
        return statements.known_total
    ((total,),) = look.rows(statements.count())
    return int(total)


def read_page(look: ConsistentRead, relation: Relation, query: Query) -> Page:
    """
    Find the records of a relation that match a query.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``;
    ``TooManySlowSearches``; ``ReadBlocked``; ``StaleVersion`` when the resource must be read again.
    """
    admission = nullcontext() if query.is_light else look.session.admitted()
    with admission, translate_database_errors(plain=query.plain):
        statements = statements_of(look.connection, relation, query)
        return _Reader(look, relation, statements, query).page()


class _Reader:
    """Reads one page."""

    def __init__(
        self, look: ConsistentRead, relation: Relation, statements: Statements, query: Query
    ) -> None:
        self._look = look
        self._relation = relation
        self._statements = statements
        self._query = query

    def page(self) -> Page:
        statements, query = self._statements, self._query
        as_rows = query.is_text or query.is_large
        is_counted = statements.is_distinct or (statements.is_ranked and query.include_total)
        if is_counted and query.limit and not as_rows:
            return self._answer(*self._counted())
        total = self._total()
        empty = query.limit == 0 or (total is not None and query.offset >= total)
        if empty:
            self._check_table(total)
            return self._answer(total, [b'""'] if query.is_text else [b"[", b"]"])
        *tries, last = self._ways(total)
        for way, window in tries:
            records, count = self._read(way, window)
            if count == query.limit:
                break
            _close(records)
        else:
            way, window = last
            records, count = self._read(way, window)
        if self._statements.known_total is not None:
            self._check_count(records, count, total)
        return self._answer(total, records, self._last(way))

    def _check_table(self, total: int | None) -> None:
        """
        Make sure that a table has records at all, of which nobody wants to see one.

        Raises: ``RecordsIncomplete``.
        """
        if not (total and self._statements.known_total):
            return
        ((size,),) = self._look.rows(self._statements.size())
        if not size:
            raise RecordsIncomplete

    def _check_count(self, records: list[bytes] | Spool, count: int, total: int | None) -> None:
        """
        Make sure that a page holds as many records as the number that was kept promises.

        Raises: ``RecordsIncomplete``.
        """
        promised = (total or 0) - self._query.offset
        if self._query.limit is not None:
            promised = min(promised, self._query.limit)
        if count < promised:
            _close(records)
            raise RecordsIncomplete

    def _answer(
        self, total: int | None, records: list[bytes] | Spool, last_id: int | None = None
    ) -> Page:
        operator = "lt" if self._statements.is_descending else "gt"
        return Page(
            records=records,
            total=total if self._query.include_total else None,
            fields=self._statements.fields,
            next_page=None if last_id is None else NextPage(operator, last_id),
        )

    def _total(self) -> int | None:
        if self._query.include_total:
            return total_of(self._look, self._statements)
        return self._statements.known_total

    def _counted(self) -> tuple[int, list[bytes] | Spool]:
        """Find all matches once, count them and read the page of the best."""
        statements = self._statements
        if statements.is_ranked:
            return self._total_and_records(statements.ranked())
        if statements.is_loose:
            loosely = statements.combined_loosely(_LOOSE_VALUES + 1)
            total, records = self._total_and_records(loosely)
            if total <= _LOOSE_VALUES:
                return total, records
            _close(records)
        return self._total_and_records(statements.combined())

    def _total_and_records(self, statement: Clause) -> tuple[int, list[bytes] | Spool]:
        found = self._found(statement)
        (total,) = found.head
        return int(total or 0), found.records

    def _ways(self, total: int | None) -> list[tuple[Way, int | None]]:
        """List the ways to try, each with its window; the last one finds whatever there is."""
        statements, query = self._statements, self._query
        if statements.is_whole or not statements.is_walkable:
            wanted = query.offset + (query.limit or 0)
            is_far = not statements.is_by_id and wanted * _STEPS > (self._relation.rows or 0)
            return [(Way.SORTED if is_far else Way.WALKED, None)]
        window = _window(total, self._relation, self._query)
        tries = [] if window is None else [(Way.WALKED, window)]
        return [*tries, (Way.SORTED, None)]

    def _read(self, way: Way, window: int | None) -> tuple[list[bytes] | Spool, int]:
        """Read the records, and say how many there are; what is copied needs a snapshot."""
        query, statements = self._query, self._statements
        if query.is_text:
            options = f"FORMAT csv, DELIMITER '{_DELIMITERS[query.records_format]}'"
            statement = statements.cells(way, window)
        elif query.is_large:
            options, statement = ONE_TEXT, statements.page(way, window, begin=",")
        else:
            found = self._found(statements.page(way, window), is_scan=statements.is_ranked)
            return found.records, found.count
        with (
            self._look.session.watched(),
            copied(self._look.connection, statement, sql.SQL(options)) as copy,
        ):
            spool = (Spool.of_text if query.is_text else Spool.of_list)(map(bytes, copy))
            return spool, copy.cursor.rowcount

    def _found(self, statement: Clause, *, is_scan: bool = False) -> Found:
        sizes = self._relation.sizes
        batch_rows = sizes.batch_rows(self._query.limit)
        found: Found = self._look.texts(statement, gather, batch_rows=batch_rows, is_scan=is_scan)
        sizes.note(found.count, found.size_bytes)
        return found

    def _last(self, way: Way) -> int | None:
        """Read the last ``_id`` of the page, if somebody wants to go on from it."""
        if not (self._query.include_next_page and self._statements.is_by_id):
            return None
        ((last_id,),) = self._look.rows(self._statements.last_id(way))
        return None if last_id is None else int(last_id)


def _close(records: list[bytes] | Spool) -> None:
    if isinstance(records, Spool):
        records.close()
