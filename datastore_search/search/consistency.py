"""
Answers from one version of a resource.

A resource's description is cached in the process with its version, and each statement returns the
version that it has seen.  So an answer usually takes one statement, without a transaction, and
nothing is described twice.  When the resource has changed, the read is retried
(``docs/decisions/0014``).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import sql

from ..conf import conf
from ..database import placement
from ..database.sessions import Session
from ..database.sessions import open_session as begin_session
from ..database.sessions import open_snapshot as begin_snapshot
from ..database.tables import name_record_table
from ..filters import Clause
from ..guards import clients
from ..guards.cache import BoundedCache
from ..guards.clients import Client
from ..messages.access import RecordsMissing
from ..messages.availability import QueryTooSlow, TemporarilyUnavailable, TooManyRetries
from ..models import RESOURCE_ID, Alias, Resource, parse_resource_id
from .query import Relation, build_relation
from .reads import (
    ConsistentRead,
    MissingTable,
    StaleVersion,
    read_version,
    translate_database_errors,
)

#: Attempts to read a resource that changes meanwhile.  The last one reads a snapshot, which only
#: the replacement of the whole table disturbs.
_MAX_ATTEMPTS = 5

#: Cached descriptions, of 18 kB each for 14 fields.
_MAX_DESCRIPTIONS = 2_000

Answer = TypeVar("Answer")


# Descriptions -------------------------------------------------------------------------------------

#: The alias of a database, and the id, an alias or the name of a resource.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """A described resource, its relation, and the clause that reads its present version."""

    resource: Resource
    relation: Relation
    version: Clause


#: Only resources that exist have a description, under names that they have.  So requests for
#: unknown names neither fill the memory nor displace what is used.
_descriptions: BoundedCache[Key, Description] = BoundedCache("descriptions", _MAX_DESCRIPTIONS)


_RESOURCES = sql.Identifier(Resource._meta.db_table)
_IS_ALIASED = sql.SQL("id = (SELECT resource_id FROM {aliases} WHERE name = %s)").format(
    aliases=sql.Identifier(Alias._meta.db_table)
)


def _compile_version(name: str, resource: Resource) -> Clause:
    """Compile what reads the version of the resource that has a name now; it was ``resource``."""
    resource_id = parse_resource_id(name)
    is_it = sql.SQL("name = %s") if name == resource.name else _IS_ALIASED
    is_it = sql.SQL("id = %s::uuid") if resource_id else is_it
    return Clause(
        sql.SQL("SELECT version FROM {} WHERE {}").format(_RESOURCES, is_it),
        [str(resource_id) if resource_id else name],
    )


def _describe(key: Key, session: Session, timeout: timedelta) -> Description:
    description = _descriptions.get(key)
    if description is None:
        alias, name = key
        with session.watch_statements(timeout):
            resource = Resource.objects.using(alias).described(name)
        relation, table_version = build_relation(resource), resource.table_version
        version = _compile_version(name, resource)
        if table_version is not None and table_version.is_placed:
            version = placement.compile_version(name_record_table(table_version.pk))
        description = Description(resource, relation, version)
        _descriptions.add(key, description)
    return description


# Retries ------------------------------------------------------------------------------------------


def with_consistent_read(
    name: uuid.UUID | str,
    answer: Callable[[ConsistentRead], Answer],
    *,
    client: Client | None = None,
    as_snapshot: bool = False,
) -> Answer:
    """
    Answer from one version of a resource.

    ``name`` is the resource's id, alias or name.  ``answer`` is called again when the resource has
    changed meanwhile.  ``client`` is the sender of the request; None is the program itself.
    ``as_snapshot`` is for statements that cannot return a version, such as a COPY.

    Raises: ``UnknownResource``; ``RecordsMissing``; ``TooManyRetries``; ``QueryTooSlow``;
    ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``; whatever ``answer`` raises.
    """
    name = str(name)
    if RESOURCE_ID.fullmatch(name):
        name = name.lower()  # as the database spells it, so that each id has one description
    answer_within = partial(_answer_within, name, answer, client, as_snapshot)
    before = clients.name_client(client)
    try:
        # A private resource cannot be read without the user anyway.
        description = _descriptions.get((router.db_for_read(Resource), name))
        if description is not None and description.resource.private:
            return answer_within(choose_timeout(client))
        return with_client_timeout(client, answer_within)
    finally:
        clients.name_client(before)


def _answer_within(
    name: str,
    answer: Callable[[ConsistentRead], Answer],
    client: Client | None,
    as_snapshot: bool,
    timeout: timedelta,
) -> Answer:
    described: Description | None = None
    for attempt in range(_MAX_ATTEMPTS):
        # Once, for a router may choose among several replicas.
        connection = connections[router.db_for_read(Resource)]
        key = connection.alias, name
        is_snapshot = as_snapshot or attempt == _MAX_ATTEMPTS - 1
        open_session = begin_snapshot if is_snapshot else begin_session
        limits = timeout, conf.SEARCH_MEMORY_BYTES, client
        try:
            with translate_database_errors(), open_session(connection, *limits) as session:
                described = _describe(key, session, timeout)
                read = ConsistentRead(
                    session, described.relation, described.resource, described.version
                )
                if is_snapshot:
                    read.verify()
                answered = answer(read)
                read.verify()
                return answered
        except MissingTable as error:
            if described:
                raise_if_table_lost(connection, name, described.resource, error, client)
            _descriptions.remove(key)
        except StaleVersion:
            _descriptions.remove(key)
        except TemporarilyUnavailable:
            raise
        except Exception:
            # An error from stale metadata is not reported; the read is retried.
            if not _is_stale(key, begin_session(connection, *limits)):
                raise
            _descriptions.remove(key)
    raise TooManyRetries


def _is_stale(key: Key, opened: AbstractContextManager[Session]) -> bool:
    """Return whether a resource has another version than its description, if it has one."""
    description = _descriptions.get(key)
    if description is None:
        return False
    try:
        return not _is_current(key[1], description.resource, opened)
    except (DatabaseError, TemporarilyUnavailable):  # the first error is the one to report
        return False


def raise_if_table_lost(
    connection: BaseDatabaseWrapper,
    name: str,
    resource: Resource,
    error: MissingTable,
    client: Client | None = None,
) -> None:
    """Raise ``RecordsMissing`` for a missing table, unless its resource has got another one."""
    limits = conf.ANONYMOUS_STATEMENT_TIMEOUT, conf.SEARCH_MEMORY_BYTES
    if _is_current(name, resource, begin_session(connection, *limits, client)):
        raise RecordsMissing(resource=name) from error


def _is_current(name: str, resource: Resource, opened: AbstractContextManager[Session]) -> bool:
    """Return whether a resource still has the version of its description."""
    with opened as session:
        return read_version(session, _compile_version(name, resource)) == resource.version


@contextmanager
def open_snapshot(client: Client | None = None) -> Iterator[Session]:
    """
    Read all records of the block from one snapshot, each statement within the client's timeout.

    Raises: ``QueryTooSlow``; ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``;
    ``StaleVersion`` when a resource must be read again.
    """
    timeout, memory_bytes = choose_timeout(client), conf.SEARCH_MEMORY_BYTES
    connection = connections[router.db_for_read(Resource)]
    with (
        clients.process_shares.hold(client, timeout),
        translate_database_errors(),
        begin_snapshot(connection, timeout, memory_bytes, client) as session,
    ):
        yield session


def retry_if_stale(read: Callable[[], Answer]) -> Answer:
    """
    Read, and read again when the records are replaced meanwhile.

    Raises: ``TooManyRetries``; whatever ``read`` raises.
    """
    for _attempt in range(_MAX_ATTEMPTS):
        try:
            return read()
        except StaleVersion:
            continue
    raise TooManyRetries


# Timeouts -----------------------------------------------------------------------------------------


def choose_timeout(client: Client | None) -> timedelta:
    """Choose the timeout of a client's statements; this reads its token or session."""
    timeouts = [conf.STATEMENT_TIMEOUT]
    if client is not None and not client.is_authenticated():
        timeouts.append(conf.ANONYMOUS_STATEMENT_TIMEOUT)
    return min(filter(None, timeouts), default=timedelta(0))  # zero is none, as in PostgreSQL


def with_client_timeout(
    client: Client | None,
    answer: Callable[[timedelta], Answer],
    timeout: timedelta | None = None,
) -> Answer:
    """
    Answer within the timeout of anonymous clients; if it is exceeded, retry as a known client.

    So the token of a fast search is not read.  ``timeout`` applies to a known client.

    Raises: ``QueryTooSlow``; whatever ``answer`` raises.
    """
    timeout = conf.STATEMENT_TIMEOUT if timeout is None else timeout
    anonymous_timeout = conf.ANONYMOUS_STATEMENT_TIMEOUT
    is_shorter = timedelta(0) < timeout <= anonymous_timeout  # zero is none, as in PostgreSQL
    if client is None or not anonymous_timeout or is_shorter:
        return answer(timeout)
    try:
        return answer(anonymous_timeout)
    except QueryTooSlow:
        if not client.is_authenticated():
            raise
    return answer(timeout)
