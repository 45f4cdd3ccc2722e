"""
Consistent reads: all statements see one version of a resource.

A resource's description is cached in the process with its version, and each statement returns the
version that it has seen.  So an answer usually takes one statement, without a transaction, and
nothing is described twice.  When the resource has changed, the read is retried
(``docs/decisions/0014``).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import psycopg
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import ClientCursor, Copy, errors, sql

from .. import storage
from ..bounded_cache import BoundedCache
from ..conf import conf
from ..exceptions.access import RecordsMissing
from ..exceptions.availability import (
    QueryTooSlow,
    ReadBlocked,
    TemporarilyUnavailable,
    TooManyRetries,
)
from ..exceptions.search import InvalidFullTextQuery
from ..filters import Clause
from ..guards.clients import Client
from ..guards.shares import hold_slot, name_client
from ..models import Alias, Load, Resource, normalize_name, parse_resource_id
from .query import Relation, build_relation

#: Attempts to read a resource that changes meanwhile.  The last one reads a snapshot, which only
#: the replacement of the whole table disturbs.
_MAX_ATTEMPTS = 5

#: Cached descriptions, of 18 kB each for 14 fields.
_MAX_DESCRIPTIONS = 2_000

Answer = TypeVar("Answer")


class StaleVersion(Exception):
    """The resource or its records have changed since it was described; it must be read again."""


class MissingTable(StaleVersion):
    """The record table does not exist: the resource has changed, or its table is lost."""


# A read -------------------------------------------------------------------------------------------


class VersionKey(NamedTuple):
    """What all answers from one version of a resource have in common."""

    alias: str
    resource: uuid.UUID
    version: int


#: What encloses a statement of a kind, about a resource, for a client.
Trace = Callable[[str, Resource | None, Client | None], AbstractContextManager[None]]

_UNTRACED: Final = nullcontext()


class ConsistentRead:
    """Statements that all see one version; without ``version``, the session must be a snapshot."""

    #: Encloses each statement; None where nothing is traced.
    trace: ClassVar[Trace | None] = None

    def __init__(
        self,
        session: storage.Session,
        relation: Relation,
        resource: Resource | None = None,
        version: Clause | None = None,
        *,
        client: Client | None = None,
    ) -> None:
        """
        Read a relation; ``version`` reads the present version of the resource that it belongs to.

        What is read counts only after ``verify``.  ``client`` is named where the session has none.
        """
        self.session = session
        self.connection = session.connection
        self.relation = relation
        self._resource = resource
        self._version = version
        self._is_verified = False
        self._client = client or session.client

    @property
    def resource(self) -> Resource:
        """The resource that is read, as it was described."""
        if self._resource is None:
            raise TypeError("This relation belongs to no resource.")
        return self._resource

    @property
    def version_key(self) -> VersionKey | None:
        """
        What identifies the version that is read, for caches; None where nothing must be kept.

        A transaction may see records of its own that it has written under the version before.
        """
        resource = self._resource
        if resource is None or self.connection.in_atomic_block:
            return None
        return VersionKey(self.connection.alias, resource.pk, resource.version)

    def fetch_rows(
        self, statement: Clause, *, limit: timedelta = timedelta(0)
    ) -> list[tuple[Any, ...]]:
        """
        Run a statement, perhaps within a shorter time ``limit``, and return its rows.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        if self._version is None:
            with self._trace("rows"):
                return self.session.fetch_rows(statement.text, statement.parameters, limit=limit)
        versioned = _add_version(self._version, statement)
        with self._trace("rows"):
            rows = self.session.fetch_rows(versioned.text, versioned.parameters, limit=limit)
        self._compare(rows[0][0] if rows else _read_version(self.session, self._version))
        return [row[1:] for row in rows]

    def fetch_texts(
        self,
        statement: Clause,
        read_batches: storage.BatchReader[Answer],
        *,
        batch_rows: int | None = None,
        is_scan: bool = False,
    ) -> Answer:
        """
        Run a statement whose rows differ in the last column alone, and return what is read.

        ``batch_rows`` and ``is_scan`` are passed to ``storage.Session.fetch_texts``.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        if self._version is None:
            with self._trace("records"):
                return self.session.fetch_texts(
                    statement.text,
                    statement.parameters,
                    read_batches,
                    batch_rows=batch_rows,
                    is_scan=is_scan,
                )
        is_compared = False

        def compare(batches: Iterator[storage.TextBatch]) -> Iterator[storage.TextBatch]:
            nonlocal is_compared
            for head, last in batches:
                if head and not is_compared:
                    self._compare(int(head[0]) if head[0] else None)
                    is_compared = True
                yield storage.TextBatch(head[1:], last)

        versioned = _add_version(self._version, statement)
        with self._trace("records"):
            found = self.session.fetch_texts(
                versioned.text,
                versioned.parameters,
                lambda batches: read_batches(compare(batches)),
                batch_rows=batch_rows,
                is_scan=is_scan,
            )
        if not is_compared:  # there is no row
            self._compare(_read_version(self.session, self._version))
        return found

    @contextmanager
    def copy(self, statement: Clause, options: sql.Composable) -> Iterator[Copy]:
        """
        Copy the rows of a statement out, as PostgreSQL's COPY; the end of the block ends it.

        A COPY cannot return a version, so the session must show one snapshot.  It takes no
        parameters either: they are merged into its text.  psycopg would merge them only if there
        are some, and otherwise leave each ``%%`` as it is.
        """
        connection = self.connection
        text = sql.SQL("COPY ({}) TO STDOUT ({})").format(statement.text, options)
        with (
            self._trace("copy"),
            connection.wrap_database_errors,
            connection.cursor() as cursor,
        ):
            merged = ClientCursor(connection.connection).mogrify(text, statement.parameters)
            with cursor.cursor.copy(merged.encode()) as rows:
                yield rows

    def verify(self) -> None:
        """Raise ``StaleVersion`` unless the resource still has the version of its description."""
        if self._version is not None and not self._is_verified:
            self._compare(_read_version(self.session, self._version))

    def _trace(self, kind: str) -> AbstractContextManager[None]:
        if ConsistentRead.trace is None:
            return _UNTRACED
        return ConsistentRead.trace(kind, self._resource, self._client)

    def _compare(self, version: int | None) -> None:
        if version != self.resource.version:
            raise StaleVersion
        self._is_verified = True


def _read_version(session: storage.Session, version: Clause) -> int | None:
    text = sql.SQL("SELECT ({})").format(version.text)
    ((read_version,),) = session.fetch_rows(text, version.parameters)
    return None if read_version is None else int(read_version)


def _add_version(version: Clause, statement: Clause) -> Clause:
    """Extend a statement: each row begins with the version that the statement has read."""
    text = sql.SQL("SELECT ({}), answer.* FROM ({}) AS answer").format(version.text, statement.text)
    return Clause(text, [*version.parameters, *statement.parameters])


#: The options of a COPY of JSON texts, which hold none of these characters: a text is a line.
JSON_LINES = sql.SQL("FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'")


def compose_csv_options(delimiter: str) -> sql.Composable:
    """Compose the options of a COPY of rows of cells."""
    return sql.SQL("FORMAT csv, DELIMITER {}").format(sql.Literal(delimiter))


# Descriptions -------------------------------------------------------------------------------------

#: The alias of a database, and the id or an alias of a resource.
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


# Retries ------------------------------------------------------------------------------------------


class _Terms(NamedTuple):
    """What a session is opened with: the limits of each statement, and for whom it runs."""

    timeout: timedelta
    memory_bytes: int
    client: Client | None


def with_consistent_read(
    name: uuid.UUID | str,
    answer: Callable[[ConsistentRead], Answer],
    *,
    client: Client | None = None,
    as_snapshot: bool = False,
) -> Answer:
    """
    Answer from one version of a resource.

    ``name`` is the resource's id or an alias.  ``answer`` is called again when the resource has
    changed meanwhile.  ``client`` is the sender of the request; None is the program itself.
    ``as_snapshot`` is for statements that cannot return a version, such as a COPY.

    Raises: ``UnknownResource``; ``RecordsMissing``; ``TooManyRetries``; ``QueryTooSlow``;
    ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``; whatever ``answer`` raises.
    """
    normalized = normalize_name(str(name))

    def answer_within(timeout: timedelta) -> Answer:
        terms = _Terms(timeout, conf.SEARCH_MEMORY_BYTES, client)
        return _answer_within(terms, normalized, answer, as_snapshot=as_snapshot)

    before = name_client(client)
    try:
        # A private resource cannot be read without the user anyway.
        description = _descriptions.get((_choose_connection().alias, normalized))
        if description is not None and description.resource.private:
            return answer_within(choose_timeout(client))
        return with_client_timeout(client, answer_within)
    finally:
        name_client(before)


def _answer_within(
    terms: _Terms, name: str, answer: Callable[[ConsistentRead], Answer], *, as_snapshot: bool
) -> Answer:
    read: ConsistentRead | None = None
    for attempt in range(_MAX_ATTEMPTS):
        connection = _choose_connection()  # once, for a router may choose among several replicas
        key = connection.alias, name
        try:
            is_snapshot = as_snapshot or attempt == _MAX_ATTEMPTS - 1
            open_session = storage.open_snapshot if is_snapshot else storage.open_session
            with translate_database_errors(), open_session(connection, *terms) as session:
                read = _begin_read(key, session, terms.timeout)
                if is_snapshot:
                    read.verify()
                answered = answer(read)
                read.verify()
                return answered
        except MissingTable as error:
            if read:
                raise_if_table_lost(connection, name, read.resource, error, terms.client)
            _descriptions.remove(key)
        except StaleVersion:
            _descriptions.remove(key)
        except TemporarilyUnavailable:
            raise
        except Exception:
            # An error from stale metadata is not reported; the read is retried.
            if not _is_stale(connection, name, terms):
                raise
            _descriptions.remove(key)
    raise TooManyRetries


def _begin_read(key: Key, session: storage.Session, timeout: timedelta) -> ConsistentRead:
    description = _descriptions.get(key)
    if description is None:
        _alias, name = key
        with session.watch_statements(timeout):
            resource = Resource.objects.using(session.connection.alias).described(name)
        description = Description(resource, build_relation(resource), _compile_version(name))
        _descriptions.add(key, description)
    return ConsistentRead(session, description.relation, description.resource, description.version)


def _is_stale(connection: BaseDatabaseWrapper, name: str, terms: _Terms) -> bool:
    """Return whether a resource has another version than its description, if it has one."""
    description = _descriptions.get((connection.alias, name))
    if description is None:
        return False
    try:
        return not _is_current(connection, name, description.resource, terms)
    except (DatabaseError, TemporarilyUnavailable):  # the first error is the one to report
        return False


def _is_current(
    connection: BaseDatabaseWrapper, name: str, resource: Resource, terms: _Terms
) -> bool:
    """Return whether a resource still has the version of its description."""
    with storage.open_session(connection, *terms) as session:
        return _read_version(session, _compile_version(name)) == resource.version


def raise_if_table_lost(
    connection: BaseDatabaseWrapper,
    name: str,
    resource: Resource,
    error: MissingTable,
    client: Client | None = None,
) -> None:
    """Raise ``RecordsMissing`` for a missing table, unless its resource has got another one."""
    terms = _Terms(conf.ANONYMOUS_STATEMENT_TIMEOUT, conf.SEARCH_MEMORY_BYTES, client)
    if _is_current(connection, name, resource, terms):
        raise RecordsMissing(resource=name) from error


_RESOURCES = sql.Identifier(Resource._meta.db_table)  # noqa: SLF001 - Django's public name for it
_ID_BY_ALIAS = sql.SQL("(SELECT resource_id FROM {aliases} WHERE name = %s)").format(
    aliases=sql.Identifier(Alias._meta.db_table)  # noqa: SLF001 - Django's public name for it
)


def _compile_version(name: str) -> Clause:
    """Compile what reads the version of the resource that has a name now."""
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
    Read all records of the block from one snapshot, each statement within the client's timeout.

    Raises: ``QueryTooSlow``; ``ShareExceeded``; ``ServerFull``; ``ReadBlocked``;
    ``StaleVersion`` when a resource must be read again.
    """
    terms = _Terms(choose_timeout(client), conf.SEARCH_MEMORY_BYTES, client)
    with (
        hold_slot(client, terms.timeout),
        translate_database_errors(),
        storage.open_snapshot(_choose_connection(), *terms) as session,
    ):
        yield session


def _choose_connection() -> BaseDatabaseWrapper:
    connection: BaseDatabaseWrapper = connections[router.db_for_read(Load)]
    return connection


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
    timeout = conf.STATEMENT_TIMEOUT
    if client is None or client.is_authenticated():
        return timeout
    return _choose_shortest(timeout, conf.ANONYMOUS_STATEMENT_TIMEOUT)


def _choose_shortest(*timeouts: timedelta) -> timedelta:
    """Choose the shortest timeout; zero is none, as in PostgreSQL."""
    return min(filter(None, timeouts), default=timedelta(0))


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
    anonymous_timeout = _choose_shortest(timeout, conf.ANONYMOUS_STATEMENT_TIMEOUT)
    if client is None or anonymous_timeout == timeout:
        return answer(timeout)
    try:
        return answer(anonymous_timeout)
    except QueryTooSlow:
        if not client.is_authenticated():
            raise
    return answer(timeout)


# Errors of the database ---------------------------------------------------------------------------

#: A retry may succeed: a standby had to follow its primary.
_TRANSIENT = (errors.SerializationFailure, errors.DeadlockDetected)

#: PostgreSQL cannot read a query in its own query language.
_FULL_TEXT_ERRORS = (
    errors.SyntaxError,
    errors.DataError,
    errors.ProgramLimitExceeded,
    errors.StatementTooComplex,
    errors.InternalError_,  # "tsquery stack too small"
)


@contextmanager
def translate_database_errors(*, plain: bool = True) -> Iterator[None]:
    """
    Translate PostgreSQL's errors to errors of the API, or to ``StaleVersion``.

    ``plain`` is false for a full-text query in PostgreSQL's own query language.

    Source: PostgreSQL's hot standby, which ends a statement that keeps it from following its
    primary with the errors of a transaction that cannot be serialized, or of a deadlock.
    """
    try:
        yield
    except (DatabaseError, psycopg.Error) as error:  # Django does not wrap errors of a COPY
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        if isinstance(cause, errors.UndefinedTable):
            raise MissingTable from error
        if isinstance(cause, _TRANSIENT):
            raise StaleVersion from error
        if isinstance(cause, errors.QueryCanceled):
            raise QueryTooSlow from error
        if isinstance(cause, errors.LockNotAvailable):
            raise ReadBlocked from error
        if not plain and isinstance(cause, _FULL_TEXT_ERRORS):
            raise InvalidFullTextQuery from error
        raise
