"""
The only read path: ``search(resource, query)`` → ``Page``.

Records leave PostgreSQL as JSON text, members in the order of the fields, and are never parsed in
Python.  Each statement runs under a time limit.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import OperationalError, ProgrammingError
from psycopg import errors, sql

from .conf import conf
from .exceptions import QueryTooSlow, UnknownResource, UnsteadyResource
from .field_types import as_json
from .filters import AnyOf, Clause, all_of, asks, meets
from .models import Load, Resource
from .storage import record_table, statement_limit

#: Matches up to this many are taken from the index and sorted; above, the primary key is walked
#: until the page is full.  Walking is a disaster when matches are few or lie at the table's end
#: (600 ms in a million), sorting when they are many: ``docs/decisions/0004``.
_SORTED_MATCHES = 20_000

#: How often a resource is read again that is replaced between two looks.
_LOOKS = 5

#: PostgreSQL cuts names in a record's row type at this many bytes.
_NAME_BYTES = 63

#: ``concat`` takes a hundred arguments; each field needs two.
_FIELDS_AT_ONCE = 45


@dataclass(frozen=True, slots=True)
class Query:
    """
    What is asked of a resource.

    ``q`` is a full-text query or empty; ``limit`` and ``offset`` count records.
    """

    limit: int
    offset: int = 0
    q: str = ""
    filters: tuple[AnyOf, ...] = ()
    include_total: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """
    The answer: ``records`` is the text of a JSON array, ``total`` counts all matches.

    ``fields`` are names and types in the order of the records' members.
    """

    records: str
    total: int | None
    fields: tuple[tuple[str, str], ...]


class RecordsReplaced(Exception):
    """The records were replaced, and the old ones dropped, between two looks; look again."""


Answer = TypeVar("Answer")


def answer_from(resource_id: uuid.UUID, answer: Callable[[Resource], Answer]) -> Answer:
    """
    Describe a resource and answer from it, anew when its records are replaced meanwhile.

    ``answer`` takes the described resource; it may be called several times.

    Raises: ``UnknownResource``; ``UnsteadyResource``; whatever ``answer`` raises.
    """
    for _look in range(_LOOKS):
        try:
            return answer(Resource.objects.described(resource_id))
        except RecordsReplaced:
            continue
    raise UnsteadyResource


def search(resource: Resource, query: Query) -> Page:
    """
    Find the records of a resource that match a query.

    ``resource`` has been read by ``described``.

    Raises: ``InvalidParameter`` for filters that do not fit the fields; ``QueryTooSlow``;
    ``RecordsReplaced`` when the resource must be read again.
    """
    load = resource.current_load
    if load is None:
        raise UnknownResource(resource=resource.pk)
    statements = _Statements(resource, load, query)
    connection = connections[router.db_for_read(Load)]
    try:
        with statement_limit(connection, conf.STATEMENT_TIMEOUT):
            total = _total(connection, load, statements, query)
            records = _records(connection, statements, query, total)
    except ProgrammingError as error:
        if isinstance(error.__cause__, errors.UndefinedTable):
            raise RecordsReplaced from error
        raise
    except OperationalError as error:
        if isinstance(error.__cause__, errors.QueryCanceled):
            raise QueryTooSlow from error
        raise
    return Page(
        records=f"[{','.join(records)}]",
        total=total if query.include_total else None,
        fields=statements.fields,
    )


def _total(
    connection: BaseDatabaseWrapper, load: Load, statements: _Statements, query: Query
) -> int:
    """Count the matches: the table's own count, or an exact one, which also chooses the plan."""
    if not (query.filters or query.q):
        return load.rows
    ((total,),) = _execute(connection, statements.count())
    return int(total)


def _records(
    connection: BaseDatabaseWrapper, statements: _Statements, query: Query, total: int
) -> list[str]:
    if query.limit == 0 or query.offset >= total:
        return []
    rows = _execute(connection, statements.page(few=total <= _SORTED_MATCHES))
    return [str(text) for (text,) in rows]


def _execute(connection: BaseDatabaseWrapper, statement: Clause) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement.text, statement.parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


class _Statements:
    """The statements of one query over one table."""

    def __init__(self, resource: Resource, load: Load, query: Query) -> None:
        types = {field.name: field.type for field in resource.schema}
        self._table = record_table(load.pk)
        self._query = query
        self._language = load.language
        self._names = tuple(types)
        clauses = [meets(condition, types) for condition in query.filters]
        if query.q:
            clauses.append(asks(query.q, load.language))
        self._where = all_of(clauses)
        #: A field of that name hides the rank.
        self._ranked = bool(query.q) and "rank" not in types
        rank = (("rank", "float"),) if self._ranked else ()
        self.fields = (("_id", "int"), *types.items(), *rank)

    def count(self) -> Clause:
        return Clause(
            sql.SQL("SELECT count(*) FROM {table} WHERE {where}").format(
                table=self._table, where=self._where.text
            ),
            self._where.parameters,
        )

    def page(self, *, few: bool) -> Clause:
        """Read one page; ``few`` says that the matches can all be sorted."""
        if self._query.q:
            keys = self._best_first()
        elif self._query.filters:
            keys = self._by_id(sql.SQL("_id + 0" if few else "_id"))
        else:
            keys = self._all_by_id()
        return Clause(
            sql.SQL("SELECT {record} FROM ({keys}) AS page").format(
                record=_record_text(self._names, ranked=self._ranked), keys=keys.text
            ),
            keys.parameters,
        )

    def _by_id(self, order: sql.Composable) -> Clause:
        return Clause(
            sql.SQL(
                "SELECT _id, data FROM {table} WHERE {where} ORDER BY {order} LIMIT %s OFFSET %s"
            ).format(table=self._table, where=self._where.text, order=order),
            [*self._where.parameters, self._query.limit, self._query.offset],
        )

    def _all_by_id(self) -> Clause:
        """Skip over the keys alone, in the index, and only then fetch records."""
        return Clause(
            sql.SQL(
                "SELECT _id, data FROM {table} WHERE _id >= ("
                "SELECT _id FROM {table} ORDER BY _id LIMIT 1 OFFSET %s"
                ") ORDER BY _id LIMIT %s"
            ).format(table=self._table),
            [self._query.offset, self._query.limit],
        )

    def _best_first(self) -> Clause:
        return Clause(
            sql.SQL(
                "SELECT _id, data, ts_rank(search, datastore_search_question(%s, %s::regconfig))"
                " AS rank FROM {table} WHERE {where} ORDER BY rank DESC, _id LIMIT %s OFFSET %s"
            ).format(table=self._table, where=self._where.text),
            [
                self._query.q,
                self._language,
                *self._where.parameters,
                self._query.limit,
                self._query.offset,
            ],
        )


# The text of a record -----------------------------------------------------------------------------


def _record_text(names: Sequence[str], *, ranked: bool) -> sql.Composable:
    """
    Write a record as JSON text, its members in the order of the fields.

    The row is unpacked once, by ``jsonb_to_record``; one access for each field unpacks it as often
    (4.5 times slower at 50 fields).  Only a name too long for a row type is fetched by itself.
    """
    short = [name for name in names if len(name.encode()) <= _NAME_BYTES]
    members = [_member(name, unpacked=name in set(short)) for name in names]
    if ranked:
        members.append(sql.SQL("""',"rank":', page.rank"""))
    body = sql.SQL("concat('{{\"_id\":', page._id, {members}, '}}')").format(
        members=sql.SQL(", ").join(
            sql.SQL("concat({})").format(
                sql.SQL(", ").join(members[start : start + _FIELDS_AT_ONCE])
            )
            for start in range(0, len(members), _FIELDS_AT_ONCE)
        )
    )
    if not short:
        return body
    return sql.SQL("(SELECT {body} FROM jsonb_to_record(page.data) AS field({columns}))").format(
        body=body,
        columns=sql.SQL(", ").join(
            sql.SQL("{} jsonb").format(sql.Identifier(_escaped(name))) for name in short
        ),
    )


def _member(name: str, *, unpacked: bool) -> sql.Composable:
    value: sql.Composable = (
        sql.SQL("field.{}").format(sql.Identifier(_escaped(name)))
        if unpacked
        else sql.SQL("page.data -> {}").format(sql.Literal(_escaped(name)))
    )
    return sql.SQL("{key}, coalesce({value}, 'null')").format(
        key=sql.Literal(_escaped(f",{as_json(name)}:")), value=value
    )


def _escaped(text: str) -> str:
    """Keep psycopg from reading a placeholder in a name."""
    return text.replace("%", "%%")
