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
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import errors, sql

from .. import storage
from ..conf import conf
from ..exceptions import InvalidQuestion, QueryTooSlow, UnsteadyResource
from ..filters import Clause
from ..models import Load, Resource, Version, as_id
from .relations import Relation, relation_of

#: How often a resource is read again that is changed between two looks; the last look is a
#: snapshot, which only the replacement of the whole table disturbs.
_LOOKS = 5

#: Descriptions that are kept in the process, of 18 kB for 14 fields.
_KEPT = 2_000


Answer = TypeVar("Answer")


class Outdated(Exception):
    """The resource was changed, or its records replaced, between two looks; look again."""


class Look:
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
    def resource(self) -> Resource:
        """The resource that is looked at."""
        if self._resource is None:
            raise TypeError("This look is at no resource.")
        return self._resource

    @property
    def relation(self) -> Relation:
        """What is searched: the records of the resource."""
        if self._relation is None:
            self._relation = relation_of(self.resource)
        return self._relation

    def rows(self, statement: Clause) -> list[tuple[Any, ...]]:
        """
        Run a statement and return its rows.

        Raises: ``Outdated`` when it has seen another version.
        """
        if self._version is None:
            return self._session.rows(statement.text, statement.parameters)
        rows = self._session.rows(*_with(self._version, statement))
        self._compare(rows[0][0] if rows else self._read())
        return [row[1:] for row in rows]

    def texts(
        self, statement: Clause, gather: storage.Gather[Answer], *, is_scan: bool = False
    ) -> Answer:
        """
        Run a statement whose rows differ in the last column alone, and gather their texts.

        ``is_scan`` is for a statement that may look at half a table.

        Raises: ``Outdated`` when it has seen another version.
        """
        if self._version is None:
            return self._session.texts(
                statement.text, statement.parameters, gather, is_scan=is_scan
            )
        is_compared = False

        def compared(batches: Iterator[storage.Texts]) -> Iterator[storage.Texts]:
            nonlocal is_compared
            for head, last in batches:
                if head and not is_compared:
                    self._compare(head[0].decode() if head[0] else None)
                    is_compared = True
                yield storage.Texts(head[1:], last)

        found = self._session.texts(
            *_with(self._version, statement),
            lambda batches: gather(compared(batches)),
            is_scan=is_scan,
        )
        if not is_compared:  # there is no row
            self._compare(self._read())
        return found

    def verify(self) -> None:
        """
        Make sure that the resource is still what its description says.

        Raises: ``Outdated``.
        """
        if not self._verified:
            self._compare(self._read())

    def _read(self) -> str | None:
        if self._version is None:
            return None
        ((found,),) = self._session.rows(
            sql.SQL("SELECT ({})").format(self._version.text), self._version.parameters
        )
        return str(found)

    def _compare(self, found: str | None) -> None:
        if found != self.resource.version:
            raise Outdated
        self._verified = True


def _with(version: Clause, statement: Clause) -> tuple[sql.Composable, list[Any]]:
    """Let a statement say the version that it has seen, before each row."""
    text = sql.SQL("SELECT ({}), answer.* FROM ({}) AS answer").format(version.text, statement.text)
    return text, [*version.parameters, *statement.parameters]


# Answers ------------------------------------------------------------------------------------------


def answer_from(
    name: uuid.UUID | str, answer: Callable[[Look], Answer], *, as_snapshot: bool = False
) -> Answer:
    """
    Answer from a resource as it is at one moment.

    ``name`` is the resource's id or an alias.  ``answer`` takes a look at it, and is called anew
    when the resource is changed meanwhile.  ``as_snapshot`` is for what cannot say which version it
    has seen, such as a COPY.

    Raises: ``UnknownResource``; ``UnsteadyResource``; ``QueryTooSlow``; whatever ``answer`` raises.
    """
    for look in range(_LOOKS):
        place = _place_of(_connection().alias, str(name))
        try:
            if as_snapshot or look == _LOOKS - 1:
                with at_one_moment() as session:
                    found = _look_at(str(name), place, session)
                    found.verify()
                    return answer(found)
            with anticipated(), storage.reading(_connection(), *_limits()) as session:
                found = _look_at(str(name), place, session)
                answered = answer(found)
                found.verify()
                return answered
        except Outdated:
            place.description = None
        except Exception:
            # Nobody is told of a fault in what is no longer so.
            if not _is_outdated(str(name), place):
                raise
            place.description = None
    raise UnsteadyResource


def _look_at(name: str, place: _Place, session: storage.Session) -> Look:
    description = place.description
    if description is None:
        resource = Resource.objects.using(session.connection.alias).described(name)
        place.description = description = resource, relation_of(resource)
    resource, relation = description
    return Look(session, resource, _version_of(name), relation)


def _is_outdated(name: str, place: _Place) -> bool:
    """Tell whether a resource has another version than its description, if it has one."""
    description = place.description
    if description is None:
        return False
    resource, _relation = description
    try:
        with storage.reading(_connection(), *_limits()) as session:
            Look(session, resource, _version_of(name)).verify()
    except Outdated:
        return True
    except DatabaseError:  # what went wrong before is what the caller must see
        return False
    return False


@dataclass(slots=True)
class _Place:
    """Where the description of a resource is kept, once there is one, and what is searched."""

    description: tuple[Resource, Relation] | None = None


@lru_cache(maxsize=_KEPT)
def _place_of(_alias: str, _name: str) -> _Place:
    return _Place()


@lru_cache(maxsize=_KEPT)
def _version_of(name: str) -> Clause:
    resource_id = as_id(name)
    wanted = (
        "%s::uuid"
        if resource_id
        else "(SELECT resource_id FROM datastore_search_alias WHERE name = %s)"
    )
    return Clause(
        sql.SQL(Version.read + wanted),
        [str(resource_id) if resource_id else name],
    )


@contextmanager
def at_one_moment() -> Iterator[storage.Session]:
    """
    Read all records of the block from one snapshot, each statement within its time.

    Raises: ``QueryTooSlow``; ``Outdated`` when a resource must be read again.
    """
    with anticipated(), storage.snapshot(_connection(), *_limits()) as session:
        yield session


def _connection() -> BaseDatabaseWrapper:
    connection: BaseDatabaseWrapper = connections[router.db_for_read(Load)]
    return connection


def _limits() -> tuple[Any, int]:
    return conf.STATEMENT_TIMEOUT, conf.SEARCH_MEMORY_BYTES


def steadily(look: Callable[[], Answer]) -> Answer:
    """
    Look, and look again when the records are replaced meanwhile.

    Raises: ``UnsteadyResource``; whatever ``look`` raises.
    """
    for _look in range(_LOOKS):
        try:
            return look()
        except Outdated:
            continue
    raise UnsteadyResource


# What PostgreSQL may say --------------------------------------------------------------------------


@contextmanager
def anticipated(*, plain: bool = True) -> Iterator[None]:
    """Turn what PostgreSQL may say into our own failures."""
    try:
        yield
    except (DatabaseError, psycopg.Error) as error:  # COPY goes past Django, which would wrap it
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        if isinstance(cause, errors.UndefinedTable):
            raise Outdated from error
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
