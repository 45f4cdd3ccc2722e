"""
Looks at a resource: statements that all see it at one moment.

A resource's description is kept in the process, under its version, and each statement says which
version it has seen.  So an answer usually takes one statement, without a transaction, and nothing
is described twice; only when somebody changes the resource between two statements is it looked at
again (``docs/decisions/0014``).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import errors, sql

from .. import storage
from ..clients import Client
from ..conf import conf
from ..exceptions import (
    InvalidFullTextQuery,
    QueryTooSlow,
    ReadBlocked,
    RecordsMissing,
    TemporarilyUnavailable,
    TooManyRetries,
)
from ..filters import Clause
from ..models import Alias, Load, Resource, normalize_name, parse_resource_id
from .descriptions import Description, Descriptions, Key
from .relations import Relation, build_relation

#: How often a resource is read again that is changed between two looks; the last look is a
#: snapshot, which only the replacement of the whole table disturbs.
_LOOKS = 5

#: Descriptions that are kept in the process, of 18 kB for 14 fields.
_MAX_DESCRIPTIONS = 2_000

_descriptions = Descriptions(_MAX_DESCRIPTIONS)

_RESOURCES = sql.Identifier(Resource._meta.db_table)  # noqa: SLF001 - Django's public name for it
_ID_BY_ALIAS = sql.SQL("(SELECT resource_id FROM {aliases} WHERE name = %s)").format(
    aliases=sql.Identifier(Alias._meta.db_table)  # noqa: SLF001 - Django's public name for it
)


Answer = TypeVar("Answer")


class StaleVersion(Exception):
    """The resource was changed, or its records replaced, between two looks; look again."""


class MissingTable(StaleVersion):
    """The table of the records was not there: the resource was changed, or has lost it."""


class ConsistentRead:
    """
    One look at a resource, by statements that see it as it is described.

    Without a ``version`` the session itself must show one moment.
    """

    def __init__(
        self,
        session: storage.Session,
        resource: Resource | None,
        version: Clause | None = None,
        relation: Relation | None = None,
    ) -> None:
        """
        Begin to look; what the look finds counts only if ``verify`` has agreed.

        ``relation`` is that of the resource, if somebody has made it already.
        """
        self._session = session
        self._resource = resource
        self._version = version
        self._relation = relation
        self._verified = version is None

    @property
    def connection(self) -> BaseDatabaseWrapper:
        """The connection to read by."""
        return self._session.connection

    @property
    def session(self) -> storage.Session:
        """The session to read by, where the version does not matter."""
        return self._session

    @property
    def resource(self) -> Resource:
        """The resource that is looked at."""
        if self._resource is None:
            raise TypeError("This look is at no resource.")
        return self._resource

    @property
    def relation(self) -> Relation:
        """What is searched: the records of the resource."""
        if self._relation is None:
            self._relation = build_relation(self.resource)
        return self._relation

    def rows(self, statement: Clause) -> list[tuple[Any, ...]]:
        """
        Run a statement and return its rows.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        if self._version is None:
            return self._session.rows(statement.text, statement.parameters)
        rows = self._session.rows(*_with(self._version, statement))
        self._compare(rows[0][0] if rows else self._read())
        return [row[1:] for row in rows]

    def texts(
        self,
        statement: Clause,
        gather: storage.Gather[Answer],
        *,
        batch_rows: int | None = None,
        is_scan: bool = False,
    ) -> Answer:
        """
        Run a statement whose rows differ in the last column alone, and gather their texts.

        ``batch_rows`` and ``is_scan`` are those of ``storage.Session.texts``.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        if self._version is None:
            return self._session.texts(
                statement.text,
                statement.parameters,
                gather,
                batch_rows=batch_rows,
                is_scan=is_scan,
            )
        is_compared = False

        def compared(batches: Iterator[storage.Texts]) -> Iterator[storage.Texts]:
            nonlocal is_compared
            for head, last in batches:
                if head and not is_compared:
                    self._compare(int(head[0]) if head[0] else None)
                    is_compared = True
                yield storage.Texts(head[1:], last)

        found = self._session.texts(
            *_with(self._version, statement),
            lambda batches: gather(compared(batches)),
            batch_rows=batch_rows,
            is_scan=is_scan,
        )
        if not is_compared:  # there is no row
            self._compare(self._read())
        return found

    def verify(self) -> None:
        """
        Make sure that the resource is still what its description says.

        Raises: ``StaleVersion``.
        """
        if not self._verified:
            self._compare(self._read())

    def _read(self) -> int | None:
        if self._version is None:
            return None
        ((found,),) = self._session.rows(
            sql.SQL("SELECT ({})").format(self._version.text), self._version.parameters
        )
        version: int | None = found
        return version

    def _compare(self, found: int | None) -> None:
        if found != self.resource.version:
            raise StaleVersion
        self._verified = True


def _with(version: Clause, statement: Clause) -> tuple[sql.Composable, list[Any]]:
    """Let a statement say the version that it has seen, before each row."""
    text = sql.SQL("SELECT ({}), answer.* FROM ({}) AS answer").format(version.text, statement.text)
    return text, [*version.parameters, *statement.parameters]


# Answers ------------------------------------------------------------------------------------------


def with_consistent_read(
    name: uuid.UUID | str,
    answer: Callable[[ConsistentRead], Answer],
    *,
    client: Client | None = None,
    as_snapshot: bool = False,
) -> Answer:
    """
    Answer from a resource as it is at one moment.

    ``name`` is the resource's id or an alias.  ``answer`` takes a look at it, and is called anew
    when the resource is changed meanwhile.  ``client`` is who asks; None is the program itself.
    ``as_snapshot`` is for what cannot say which version it has seen, such as a COPY.

    Raises: ``UnknownResource``; ``RecordsMissing``; ``TooManyRetries``; ``QueryTooSlow``;
    ``TooManySlowSearches``; ``ReadBlocked``; whatever ``answer`` raises.
    """
    spelled = normalize_name(str(name))

    def answer_within(limit: timedelta) -> Answer:
        return _answer_from(spelled, answer, _Terms(client, limit), as_snapshot=as_snapshot)

    # To read a private resource takes a look at the user anyway.
    description = _descriptions.get((_connection().alias, spelled))
    if description is not None and description.resource.private:
        return answer_within(time_of(client))
    return within_time_of(client, answer_within)


def _answer_from(
    name: str, answer: Callable[[ConsistentRead], Answer], terms: _Terms, *, as_snapshot: bool
) -> Answer:
    found: ConsistentRead | None = None
    for look in range(_LOOKS):
        connection = _connection()  # once, for a router may choose among several replicas
        key = connection.alias, name
        try:
            if as_snapshot or look == _LOOKS - 1:
                with _snapshot(connection, terms) as session:
                    found = _look_at(key, session, terms.limit)
                    found.verify()
                    return answer(found)
            with translate_database_errors(), storage.reading(connection, *terms.limits) as session:
                found = _look_at(key, session, terms.limit)
                answered = answer(found)
                found.verify()
                return answered
        except MissingTable as error:
            if found:
                raise_if_current(connection, name, found.resource, error, terms.client)
            _descriptions.remove(key)
        except StaleVersion:
            _descriptions.remove(key)
        except TemporarilyUnavailable:
            raise
        except Exception:
            # Nobody is told of a fault in what is no longer so.
            if not _is_outdated(connection, name, terms):
                raise
            _descriptions.remove(key)
    raise TooManyRetries


def _look_at(key: Key, session: storage.Session, limit: timedelta) -> ConsistentRead:
    description = _descriptions.get(key)
    if description is None:
        _alias, name = key
        with session.watched(limit):
            resource = Resource.objects.using(session.connection.alias).described(name)
        description = Description(resource, build_relation(resource), _version_of(name))
        _descriptions.add(key, description)
    return ConsistentRead(session, description.resource, description.version, description.relation)


def _is_outdated(connection: BaseDatabaseWrapper, name: str, terms: _Terms) -> bool:
    """Tell whether a resource has another version than its description, if it has one."""
    description = _descriptions.get((connection.alias, name))
    if description is None:
        return False
    try:
        return not _is_current(connection, name, description.resource, terms)
    except (DatabaseError, TemporarilyUnavailable):  # the caller must see what went wrong before
        return False


def _is_current(
    connection: BaseDatabaseWrapper, name: str, resource: Resource, terms: _Terms
) -> bool:
    """Tell whether a resource still has the version of a description."""
    try:
        with storage.reading(connection, *terms.limits) as session:
            ConsistentRead(session, resource, _version_of(name)).verify()
    except StaleVersion:
        return False
    return True


def raise_if_current(
    connection: BaseDatabaseWrapper,
    name: str,
    resource: Resource,
    error: MissingTable,
    client: Client | None = None,
) -> None:
    """
    Say that the table of a resource is lost, unless the resource was changed meanwhile.

    A table is dropped after the resource has another one.

    Raises: ``RecordsMissing``.
    """
    terms = _Terms(client, conf.ANONYMOUS_STATEMENT_TIMEOUT)
    if _is_current(connection, name, resource, terms):
        raise RecordsMissing(resource=name) from error


def _version_of(name: str) -> Clause:
    """Ask for the version of the resource that has a name now."""
    resource_id = parse_resource_id(name)
    return Clause(
        sql.SQL("SELECT version FROM {resources} WHERE id = {id}").format(
            resources=_RESOURCES, id=sql.SQL("%s::uuid") if resource_id else _ID_BY_ALIAS
        ),
        [str(resource_id) if resource_id else name],
    )


@contextmanager
def open_snapshot(client: Client | None = None) -> Iterator[storage.Session]:
    """
    Read all records of the block from one snapshot, each statement within the client's time.

    Raises: ``QueryTooSlow``; ``TooManySlowSearches``; ``ReadBlocked``;
    ``StaleVersion`` when a resource
    must be read again.
    """
    with _snapshot(_connection(), _Terms(client, time_of(client))) as session:
        yield session


@contextmanager
def _snapshot(connection: BaseDatabaseWrapper, terms: _Terms) -> Iterator[storage.Session]:
    with translate_database_errors(), storage.snapshot(connection, *terms.limits) as session:
        yield session


def _connection() -> BaseDatabaseWrapper:
    connection: BaseDatabaseWrapper = connections[router.db_for_read(Load)]
    return connection


def retry_if_stale(look: Callable[[], Answer]) -> Answer:
    """
    Look, and look again when the records are replaced meanwhile.

    Raises: ``TooManyRetries``; whatever ``look`` raises.
    """
    for _look in range(_LOOKS):
        try:
            return look()
        except StaleVersion:
            continue
    raise TooManyRetries


# Time ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Terms:
    """For whom statements run, and how long each of them may."""

    client: Client | None
    limit: timedelta

    @property
    def limits(self) -> tuple[timedelta, int, Client | None]:
        """Give what a session is opened with."""
        return self.limit, conf.SEARCH_MEMORY_BYTES, self.client


def time_of(client: Client | None) -> timedelta:
    """Say how long a statement may run for a client; this looks at its token or session."""
    longer = conf.STATEMENT_TIMEOUT
    if client is None or client.is_authenticated():
        return longer
    return _shorter(longer, conf.ANONYMOUS_STATEMENT_TIMEOUT)


def _shorter(*limits: timedelta) -> timedelta:
    """Give the shortest of some limits, of which zero is none, as PostgreSQL has it."""
    return min(filter(None, limits), default=timedelta(0))


def within_time_of(
    client: Client | None,
    answer: Callable[[timedelta], Answer],
    longer: timedelta | None = None,
) -> Answer:
    """
    Answer within the time of an anonymous client, and anew if that is too short and it is known.

    So the token of a fast search is not looked at.  ``longer`` is the time of a known client.

    Raises: ``QueryTooSlow``; whatever ``answer`` raises.
    """
    longer = conf.STATEMENT_TIMEOUT if longer is None else longer
    shorter = _shorter(longer, conf.ANONYMOUS_STATEMENT_TIMEOUT)
    if client is None or shorter == longer:
        return answer(longer)
    try:
        return answer(shorter)
    except QueryTooSlow:
        if not client.is_authenticated():
            raise
    return answer(longer)


# What PostgreSQL may say --------------------------------------------------------------------------


#: Another look may well succeed: a standby had to follow its primary.
_PASSING = (errors.SerializationFailure, errors.DeadlockDetected)


@contextmanager
def translate_database_errors(*, plain: bool = True) -> Iterator[None]:
    """
    Turn what PostgreSQL may say into our own failures.

    Source: PostgreSQL's hot standby, which ends a statement that keeps it from following its
    primary with the errors of a transaction that cannot be serialized, or of a deadlock.
    """
    try:
        yield
    except (DatabaseError, psycopg.Error) as error:  # COPY goes past Django, which would wrap it
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        if isinstance(cause, errors.UndefinedTable):
            raise MissingTable from error
        if isinstance(cause, _PASSING):
            raise StaleVersion from error
        if isinstance(cause, errors.QueryCanceled):
            raise QueryTooSlow from error
        if isinstance(cause, errors.LockNotAvailable):
            raise ReadBlocked from error
        if not plain and _is_of_question(cause):
            raise InvalidFullTextQuery from error
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
