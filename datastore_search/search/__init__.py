"""
The only read path: from a resource and a query to records.

Statements are composed with ``psycopg.sql`` over the resource's record table and run within one
snapshot and under a timeout (``docs/decisions/0004``).  PostgreSQL writes each record as text, in
the order of the fields, and nobody parses it on the way to the client.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import errors, sql

from .. import storage
from ..conf import conf
from ..exceptions import (
    InvalidParameter,
    InvalidQuestion,
    QueryTooSlow,
    UnknownLanguage,
    UnknownResource,
    UnsteadyResource,
)
from ..filters import Clause
from ..models import Load, Resource
from .copying import copied
from .query import ID, NextPage, Page, Query, RecordsFormat, SortKey
from .statements import Relation, Statements

__all__ = [
    "ID",
    "NextPage",
    "Page",
    "Query",
    "RecordsFormat",
    "Relation",
    "SortKey",
    "answer_from",
    "anticipated",
    "are_few",
    "at_one_moment",
    "read_page",
    "relation_of",
    "search",
    "statements_of",
    "steadily",
    "total_of",
]

#: Matches up to this many are taken from the index and sorted; above, the primary key is walked
#: until the page is full.  Walking is a disaster when matches are few or lie at the table's end
#: (600 ms in a million), sorting when they are many: ``docs/decisions/0004``.
_SORTED_MATCHES = 20_000

#: How often a resource is read again that is replaced between two looks.
_LOOKS = 5

_DELIMITERS = {RecordsFormat.CSV: ",", RecordsFormat.TSV: "\t"}


class RecordsReplaced(Exception):
    """The records were replaced, and the old ones dropped, between two looks; look again."""


Answer = TypeVar("Answer")


def answer_from(name: uuid.UUID | str, answer: Callable[[Resource], Answer]) -> Answer:
    """
    Describe a resource and answer from it within one snapshot.

    ``name`` is the resource's id or an alias.  ``answer`` takes the described resource; it is
    called anew when the records are replaced meanwhile.

    Raises: ``UnknownResource``; ``UnsteadyResource``; whatever ``answer`` raises.
    """

    def look() -> Answer:
        with at_one_moment():
            return answer(Resource.objects.described(name))

    return steadily(look)


def steadily(look: Callable[[], Answer]) -> Answer:
    """
    Look, and look again when the records are replaced meanwhile.

    Raises: ``UnsteadyResource``; whatever ``look`` raises.
    """
    for _look in range(_LOOKS):
        try:
            return look()
        except RecordsReplaced:
            continue
    raise UnsteadyResource


@contextmanager
def at_one_moment() -> Iterator[None]:
    """
    Read all records of the block from one snapshot, each statement within its time.

    Raises: ``QueryTooSlow``; ``RecordsReplaced`` when a resource must be read again.
    """
    connection = connections[router.db_for_read(Load)]
    with anticipated(), storage.snapshot(connection, conf.STATEMENT_TIMEOUT):
        yield


def search(resource: Resource, query: Query) -> Page:
    """
    Find the records of a resource that match a query.

    ``resource`` has been read by ``described``.

    Raises: ``InvalidParameters`` for what does not fit the fields; ``QueryTooSlow``;
    ``RecordsReplaced`` when the resource must be read again.
    """
    return read_page(relation_of(resource), query)


def relation_of(resource: Resource) -> Relation:
    """Give what is searched: the record table of a described resource."""
    load = resource.current_load
    if load is None:
        raise UnknownResource(resource=resource.pk)
    return Relation(
        source=Clause(storage.record_table(load.pk)),
        names={field.name: field.type for field in resource.schema},
        language=load.language,
        rows=load.rows,
        sparse=frozenset(field.name for field in resource.schema if field.sparse),
    )


def read_page(relation: Relation, query: Query, *, using: str | None = None) -> Page:
    """
    Find the records of a relation that match a query, within the caller's transaction.

    ``using`` is the alias of the database, the one to read from if not given.

    Raises: as ``search``.
    """
    connection = connections[using or router.db_for_read(Load)]
    with anticipated(plain=query.plain):
        statements = statements_of(connection, relation, query)
        total = total_of(connection, relation, statements, query)
        return _read(connection, statements, query, total)


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


@contextmanager
def anticipated(*, plain: bool = True) -> Iterator[None]:
    """Turn what PostgreSQL may say into our own failures."""
    try:
        yield
    except (DatabaseError, psycopg.Error) as error:  # COPY goes past Django, which would wrap it
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        if isinstance(cause, errors.UndefinedTable):
            raise RecordsReplaced from error
        if isinstance(cause, errors.QueryCanceled):
            raise QueryTooSlow from error
        if not plain and _is_of_question(cause):
            raise InvalidQuestion from error
        raise


def _is_of_question(cause: object) -> bool:
    """Tell whether PostgreSQL stumbled over a query in its own query language."""
    return isinstance(
        cause,
        errors.SyntaxError
        | errors.DataError
        | errors.ProgramLimitExceeded
        | errors.StatementTooComplex
        | errors.InternalError_,  # "tsquery stack too small"
    )


def total_of(
    connection: BaseDatabaseWrapper, relation: Relation, statements: Statements, query: Query
) -> int | None:
    """Count the matches, if that is asked for or chooses the plan."""
    if statements.is_whole and relation.rows is not None:
        return relation.rows
    if not (query.include_total or statements.is_by_id):
        return None
    ((total,),) = _execute(connection, statements.count())
    return int(total)


def are_few(total: int | None) -> bool:
    """Tell whether so many matches are better sorted than met while walking the key."""
    return total is not None and total <= _SORTED_MATCHES


def _read(
    connection: BaseDatabaseWrapper, statements: Statements, query: Query, total: int | None
) -> Page:
    few = are_few(total)
    as_rows = query.records_format in _DELIMITERS
    empty = query.limit == 0 or (total is not None and query.offset >= total)
    last_id = None
    if empty:
        records = "" if as_rows else "[]"
    elif as_rows:
        delimiter = _DELIMITERS[query.records_format]
        records = _copied(connection, statements.cells(few=few), delimiter)
    else:
        rows = _execute(connection, statements.page(few=few))
        records = f"[{','.join(text for (text,) in rows)}]"
    if query.include_next_page and statements.is_by_id and not empty:
        ((last_id,),) = _execute(connection, statements.last_id(few=few))
    return Page(
        records=records,
        total=total if query.include_total else None,
        fields=statements.fields,
        next_page=_next_page(statements, last_id),
    )


def _next_page(statements: Statements, last_id: int | None) -> NextPage | None:
    if last_id is None:
        return None
    return NextPage("lt" if statements.is_descending else "gt", last_id)


def _execute(connection: BaseDatabaseWrapper, statement: Clause) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement.text, statement.parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _copied(connection: BaseDatabaseWrapper, statement: Clause, delimiter: str) -> str:
    options = sql.SQL("FORMAT csv, DELIMITER {}").format(sql.Literal(delimiter))
    with copied(connection, statement, options) as rows:
        return b"".join(rows).decode()
