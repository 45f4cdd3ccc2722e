"""
A consistent read: statements that return the version of the resource that they have seen.

Whatever PostgreSQL raises meanwhile becomes an error of the API, or ``StaleVersion``: the resource
must be read again (``docs/decisions/0014``).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any, Final, NamedTuple

import psycopg
from django.db.utils import DatabaseError
from psycopg import ClientCursor, Copy, errors, sql

from ..contributions import Hook
from ..database.sessions import Session
from ..filters import Clause, compose
from ..guards.clients import Client
from ..messages.availability import QueryTooSlow, ReadBlocked
from ..messages.search import InvalidFullTextQuery
from ..models import Resource
from .query import Relation
from .rendering import FoundRecords, collect_records


class StaleVersion(Exception):
    """The resource or its records have changed since it was described; it must be read again."""


class MissingTable(StaleVersion):
    """The record table does not exist: the resource has changed, or its table is lost."""


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
        self._is_verified = False
        self._client = client or session.client

    def fetch_rows(
        self, statement: Clause, *, limit: timedelta = timedelta(0)
    ) -> list[tuple[Any, ...]]:
        """
        Run a statement, perhaps within a shorter time ``limit``, and return its rows.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        version = self._version
        versioned = statement if version is None else compose(_VERSIONED, version, statement)
        with self._trace("rows"):
            rows = self.session.fetch_rows(versioned, limit=limit)
        if version is None:
            return rows
        self._compare(rows[0][0] if rows else read_version(self.session, version))
        return [row[1:] for row in rows]

    def fetch_texts(
        self, statement: Clause, *, batch_rows: int | None = None, is_scan: bool = False
    ) -> FoundRecords:
        """
        Run a statement whose rows differ in the last column alone: the text of a record, or null.

        ``batch_rows`` and ``is_scan`` are passed to ``database.sessions.Session.fetch_texts``.

        Raises: ``StaleVersion`` when it has seen another version.
        """
        version = self._version
        versioned = statement if version is None else compose(_VERSIONED, version, statement)
        with self._trace("records"):
            found = self.session.fetch_texts(
                versioned, collect_records, batch_rows=batch_rows, is_scan=is_scan
            )
        if version is None:
            return found
        try:
            seen, *head = found.head or (read_version(self.session, version),)
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
            self._compare(read_version(self.session, self._version))

    def _trace(self, kind: str) -> AbstractContextManager[None]:
        if tracer.entry is None:
            return _UNTRACED
        return tracer.entry(kind, getattr(self, "resource", None), self._client)

    def _compare(self, version: int | None) -> None:
        if version != self.resource.version:
            raise StaleVersion
        self._is_verified = True


#: Each row begins with the version that the statement has read.
_VERSIONED: Final = "SELECT ({}), answer.* FROM ({}) AS answer"


def read_version(session: Session, version: Clause) -> int | None:
    """Read the present version of a resource; None if the resource does not exist."""
    ((present,),) = session.fetch_rows(compose("SELECT ({})", version))
    return None if present is None else int(present)


def compose_csv_options(delimiter: str) -> sql.Composable:
    """Compose the options of a COPY of rows of cells."""
    return sql.SQL("FORMAT csv, DELIMITER {}").format(sql.Literal(delimiter))


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
