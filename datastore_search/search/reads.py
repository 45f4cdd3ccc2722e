"""
Consistent reads: answers from one version of a resource.

A resource's description is cached in the process with its version, and each statement returns the
version that it has seen.  So an answer usually takes one statement, without a transaction, and
nothing is described twice.  When the resource has changed, the read is retried
(``docs/decisions/0014``).  Whatever PostgreSQL raises meanwhile becomes an error of the API, or
``StaleVersion``: the resource must be read again.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, Final, LiteralString, NamedTuple, TypeVar

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError
from psycopg import ClientCursor, Copy, errors, sql

from ..conf import conf
from ..contributions import Hook
from ..database import placement
from ..database.indexes import estimate_substring_share, name_substring_index
from ..database.server import cast_texts
from ..database.sessions import Session, open_session
from ..database.statements import translate_errors
from ..database.tables import name_record_table, quote_record_table
from ..filters import Clause, TypedFields, compose
from ..filters.places import PlaceFields, find_place_fields, list_degree_fields
from ..guards import shares
from ..guards.cache import BoundedCache
from ..guards.shares import Client
from ..messages.access import RecordsMissing, UnknownResource
from ..messages.availability import (
    ClientDisconnected,
    QueryTooSlow,
    ReadBlocked,
    TemporarilyUnavailable,
    TooManyRetries,
)
from ..messages.search import InvalidFullTextQuery
from ..models import RESOURCE_ID, Alias, IndexKind, Resource, parse_resource_id
from .records import FoundRecords, RecordSizes, collect_records

logger = logging.getLogger(__name__)

#: Attempts to read a resource that changes meanwhile.  The last one reads a snapshot, which only
#: the replacement of the whole table disturbs.
_MAX_ATTEMPTS = 5

Answer = TypeVar("Answer")


class StaleVersion(Exception):
    """The resource or its records have changed since it was described; it must be read again."""


class MissingTable(StaleVersion):
    """The record table does not exist: the resource has changed, or its table is lost."""


# Statements ---------------------------------------------------------------------------------------


class VersionKey(NamedTuple):
    """What all answers from one version of a resource have in common."""

    alias: str
    resource: uuid.UUID
    version: int


#: Makes a context manager around each statement, of its kind, the resource and the client.
tracer: Hook[
    Callable[[str, Resource | None, Client | None], AbstractContextManager[None]] | None
] = Hook("tracer of statements", None)

_UNTRACED: Final = nullcontext()

#: Each row begins with the version that the statement has read.
_VERSIONED: Final = "SELECT ({}), answer.* FROM ({}) AS answer"

#: The options of a COPY of JSON texts, which hold none of these characters: a text is a line.
JSON_LINES = sql.SQL("FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL E'\\x03'")


class ConsistentRead:
    """Statements that all see one version; without ``version``, the session must be a snapshot."""

    #: The resource that is read, as it was described; missing if the relation belongs to none.
    resource: Resource

    def __init__(
        self,
        session: Session,
        relation: Relation,
        resource: Resource | None = None,
        version: Clause | None = None,
        *,
        client: Client | None = None,
    ) -> None:
        """
        Read a relation; ``version`` reads the present version of the resource that it belongs to.

        What is read counts only after ``verify``.  ``client`` is named where the session has none.
        ``version_key`` identifies the version for caches; it is None where nothing must be kept,
        because a transaction may see records that it has written under the version before.
        """
        self.session = session
        self.connection = session.connection
        self.relation = relation
        self.version_key: VersionKey | None = None
        if resource is not None:
            self.resource = resource
            if not self.connection.in_atomic_block:
                alias = self.connection.alias
                self.version_key = VersionKey(alias, resource.pk, resource.version)
        self._version = version
        self.is_verified = version is None
        self._client = client or session.client

    @cached_property
    def fields(self) -> TypedFields:
        """The fields that conditions name; each condition is compiled once in a read."""
        relation, index = self.relation, self.relation.substring_index
        return TypedFields(
            relation.types,
            partial(cast_texts, self.connection),
            relation.sparse,
            partial(estimate_substring_share, self.connection, index) if index else None,
            lambda: self.place_fields,
        )

    @cached_property
    def place_fields(self) -> PlaceFields | None:
        """The fields with the places of records, by their names, and by the values of degrees."""
        types = self.relation.types
        return find_place_fields(types, find_profiles(self, list_degree_fields(types)) or {})

    def fetch_rows(
        self, statement: Clause, *, limit: timedelta = timedelta(0)
    ) -> list[tuple[Any, ...]]:
        """
        Run a statement, perhaps within a shorter time ``limit``, and return its rows.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        version = self._version
        versioned = statement if version is None else compose(_VERSIONED, version, statement)
        with self.trace("rows"):
            rows = self.session.fetch_rows(versioned, limit=limit)
        if version is None:
            return rows
        self._compare(rows[0][0] if rows else _read_version(self.session, version))
        return [row[1:] for row in rows]

    def fetch_texts(
        self, statement: Clause, *, batch_rows: int | None = None, is_scan: bool = False
    ) -> FoundRecords:
        """
        Run a statement whose rows differ in the last column alone: the text of a record, or null.

        ``batch_rows`` and ``is_scan`` are passed to ``Session.fetch_texts``.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        version = self._version
        versioned = statement if version is None else compose(_VERSIONED, version, statement)
        with self.trace("records"):
            found = self.session.fetch_texts(
                versioned, collect_records, batch_rows=batch_rows, is_scan=is_scan
            )
        if version is None:
            return found
        try:
            seen, *head = found.head or (_read_version(self.session, version),)
            self._compare(None if seen is None else int(seen))
        except StaleVersion:
            found.records.close()
            raise
        return FoundRecords(found.records, found.count, found.size_bytes, tuple(head))

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
        with self.trace("copy"), connection.wrap_database_errors, connection.cursor() as cursor:
            merged = ClientCursor(connection.connection).mogrify(text, statement.parameters)
            with cursor.cursor.copy(merged.encode()) as rows:
                yield rows

    def verify(self) -> None:
        """Raise ``StaleVersion`` unless the resource still has the version of its description."""
        if self._version is not None:
            self._compare(_read_version(self.session, self._version))

    def trace(self, kind: str) -> AbstractContextManager[None]:
        if tracer.entry is None:
            return _UNTRACED
        return tracer.entry(kind, getattr(self, "resource", None), self._client)

    def _compare(self, version: int | None) -> None:
        if version != self.resource.version:
            raise StaleVersion
        self.is_verified = True


Profiles = Mapping[str, Mapping[str, Any]]

#: Profiles fields: facts about the values of all records, by name.
profiler: Hook[Callable[[ConsistentRead, Sequence[str]], Profiles] | None] = Hook(
    "profiles of fields", None
)


def find_profiles(read: ConsistentRead, names: Sequence[str]) -> Profiles | None:
    """Profile fields, without any profile where no app counts values; None if it cannot now."""
    try:
        with read.session.contain_failure():
            return profiler.entry(read, names) if profiler.entry else {}
    except ClientDisconnected:
        raise
    except (TemporarilyUnavailable, QueryTooSlow) as error:
        logger.warning("The fields of %s were not profiled: %s", read.resource.pk, error)
        return None


def _read_version(session: Session, version: Clause) -> int | None:
    ((present,),) = session.fetch_rows(compose("SELECT ({})", version))
    return None if present is None else int(present)


_TRANSLATIONS: Final = (
    (errors.UndefinedTable, MissingTable),
    # A retry may succeed: a standby had to follow its primary.
    (errors.SerializationFailure, StaleVersion),
    (errors.DeadlockDetected, StaleVersion),
    (errors.QueryCanceled, QueryTooSlow),
    (errors.LockNotAvailable, ReadBlocked),
)

#: PostgreSQL cannot read a query in its own query language.
_FULL_TEXT_TRANSLATIONS: Final = (
    (errors.SyntaxError, InvalidFullTextQuery),
    (errors.DataError, InvalidFullTextQuery),
    (errors.ProgramLimitExceeded, InvalidFullTextQuery),
    (errors.StatementTooComplex, InvalidFullTextQuery),
    (errors.InternalError_, InvalidFullTextQuery),  # "tsquery stack too small"
)


def translate_database_errors(*, plain: bool = True) -> AbstractContextManager[None]:
    """
    Translate PostgreSQL's errors to errors of the API, or to ``StaleVersion``.

    ``plain`` is false for a full-text query in PostgreSQL's own query language.

    Source: PostgreSQL's hot standby, which ends a statement that keeps it from following its
    primary with the errors of a transaction that cannot be serialized, or of a deadlock.
    """
    return translate_errors(*_TRANSLATIONS, *(() if plain else _FULL_TEXT_TRANSLATIONS))


# Descriptions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """
    What is searched: something with the columns ``_id``, ``data`` and ``search``.

    ``types`` maps names of fields to names of types, in order.  Some records have no
    ``sparse`` fields; an index has the order of ``ordered`` ones, and the values of all fields if
    the relation ``has_value_index``.  ``substring_index`` is the name of the index of substrings,
    if there is one.  ``record_count`` is the number of records, where
    it is known; ``value_counts`` counts the records with some values, by field and JSON text.
    ``row_locator`` is the column by which a statement fetches a record that it has found before.
    ``sizes`` are the sizes of the records that were read.
    """

    source: Clause
    types: Mapping[str, str]
    language: str
    record_count: int | None
    row_locator: LiteralString = "ctid"
    sparse: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()
    has_value_index: bool = False
    substring_index: str | None = None
    value_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sizes: RecordSizes = field(default_factory=RecordSizes)


def build_relation(resource: Resource) -> Relation:
    """Describe the record table of a resource.  Raises: ``UnknownResource`` without a table."""
    version = resource.table_version
    if version is None:
        raise UnknownResource(resource=resource.pk)
    return Relation(
        source=Clause(quote_record_table(version.pk)),
        types=resource.types,
        language=version.language,
        record_count=version.record_count,
        row_locator="_id" if version.is_placed else "ctid",  # Citus cannot read ctid of no rows
        sparse=frozenset(field.name for field in resource.schema if field.is_sparse),
        ordered=resource.ordered_fields,
        has_value_index=IndexKind.FILTERS in version.indexes,
        substring_index=name_substring_index(version.pk)
        if IndexKind.SUBSTRINGS in version.indexes
        else None,
        value_counts=version.value_counts,
    )


#: The alias of a database, and the id, an alias or the name of a resource.
Key = tuple[str, str]


class Description(NamedTuple):
    relation: Relation
    resource: Resource
    version: Clause  # reads the present version


#: Only resources that exist have a description, under names that they have.  So requests for
#: unknown names neither fill the memory nor displace what is used.
#: Each takes 18 kB for 14 fields.
descriptions: BoundedCache[Key, Description] = BoundedCache("descriptions", 2_000)

_IS_ALIASED = sql.SQL("id = (SELECT resource_id FROM {aliases} WHERE name = %s)").format(
    aliases=sql.Identifier(Alias._meta.db_table)
)


def describe(key: Key, session: Session, timeout: timedelta) -> Description:
    """Describe a resource, unless it is described already.  Raises: ``UnknownResource``."""
    description = descriptions.get(key)
    if description is None:
        alias, name = key
        with session.watch_statements(timeout):
            resource = Resource.objects.using(alias).described(name)
        relation, table_version = build_relation(resource), resource.table_version
        version = _compile_version(name, resource)
        if table_version is not None and table_version.is_placed:
            version = placement.compile_version(name_record_table(table_version.pk))
        description = Description(relation, resource, version)
        descriptions.add(key, description)
    return description


def _compile_version(name: str, resource: Resource) -> Clause:
    """Compile what reads the version of the resource that has a name now; it was ``resource``."""
    resource_id = parse_resource_id(name)
    is_it = sql.SQL("name = %s") if name == resource.name else _IS_ALIASED
    is_it = sql.SQL("id = %s::uuid") if resource_id else is_it
    return Clause(
        sql.SQL("SELECT version FROM {} WHERE {}").format(
            sql.Identifier(Resource._meta.db_table), is_it
        ),
        [str(resource_id) if resource_id else name],
    )


def raise_if_table_lost(
    connection: BaseDatabaseWrapper,
    name: str,
    resource: Resource,
    error: MissingTable,
    client: Client | None = None,
) -> None:
    """Raise ``RecordsMissing`` for a missing table, unless its resource has got another one."""
    limits = conf.ANONYMOUS_STATEMENT_TIMEOUT, conf.SEARCH_MEMORY_BYTES
    if _is_current(name, resource, open_session(connection, *limits, client)):
        raise RecordsMissing(resource=name) from error


def _is_current(name: str, resource: Resource, opened: AbstractContextManager[Session]) -> bool:
    with opened as session:
        return _read_version(session, _compile_version(name, resource)) == resource.version


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
    before, shares.working_for.client = shares.working_for.client, client
    try:
        # A private resource cannot be read without the user anyway.
        description = descriptions.get((router.db_for_read(Resource), name))
        if description is not None and description.resource.private:
            return answer_within(choose_timeout(client))
        return with_client_timeout(client, answer_within)
    finally:
        shares.working_for.client = before


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
        limits = timeout, conf.SEARCH_MEMORY_BYTES, client
        try:
            with (
                translate_database_errors(),
                open_session(connection, *limits, as_snapshot=is_snapshot) as session,
            ):
                described = describe(key, session, timeout)
                read = ConsistentRead(session, *described)
                if is_snapshot:
                    read.verify()
                answered = answer(read)
                if not read.is_verified:
                    read.verify()
                return answered
        except MissingTable as error:
            if described:
                raise_if_table_lost(connection, name, described.resource, error, client)
        except StaleVersion:
            pass
        except TemporarilyUnavailable:
            raise
        except Exception:
            # An error from stale metadata is not reported; the read is retried.
            is_stale, known = False, descriptions.get(key)
            with suppress(DatabaseError, TemporarilyUnavailable):  # the first error is to report
                opened = open_session(connection, *limits)
                is_stale = known is not None and not _is_current(name, known.resource, opened)
            if not is_stale:
                raise
        descriptions.remove(key)
    raise TooManyRetries


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
        shares.process_shares.hold(client, timeout),
        translate_database_errors(),
        open_session(connection, timeout, memory_bytes, client, as_snapshot=True) as session,
    ):
        yield session


def retry_if_stale(read: Callable[[], Answer]) -> Answer:
    """Read, and again if the records were replaced meanwhile.  Raises: ``TooManyRetries``."""
    for _attempt in range(_MAX_ATTEMPTS):
        with suppress(StaleVersion):
            return read()
    raise TooManyRetries


# Timeouts -----------------------------------------------------------------------------------------


def choose_timeout(client: Client | None) -> timedelta:
    """Choose the timeout of a client's statements; this reads its token or session."""
    timeouts = [conf.STATEMENT_TIMEOUT]
    if client is not None and not client.is_authenticated():
        timeouts.append(conf.ANONYMOUS_STATEMENT_TIMEOUT)
    return min(filter(None, timeouts), default=timedelta(0))  # zero is none, as in PostgreSQL


def with_client_timeout(
    client: Client | None, answer: Callable[[timedelta], Answer], timeout: timedelta | None = None
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
