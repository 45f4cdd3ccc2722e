"""
The write path of single records: changes to the table that is being served.

Whole files go through ``loading``, which replaces the table.  Here each call is one transaction
under a lock of the resource.  Writers wait for each other; readers wait only while a primary key is
replaced.  A call that fails changes nothing.  The number of records changes with them, and the
search vector is a generated column (``docs/decisions/0010``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import IntegrityError
from django.utils import timezone
from psycopg import errors

from ..conf import conf
from ..database.indexes import create_indexes, set_key
from ..database.server import cast_texts
from ..database.sessions import Session
from ..database.statements import translate_errors
from ..database.substrings import has_trigrams
from ..database.tables import create_table
from ..database.writes import RowToLock, begin_write_transaction, lock_aliases, refuse_if_blocked
from ..field_types import field_types
from ..filters import Condition, TypedFields, compile_conditions
from ..messages.access import RecordsMissing, UnknownResource
from ..messages.availability import ResourceBusy
from ..messages.parameters import UnknownField
from ..messages.search import SubstringsNotSupported
from ..messages.writing import (
    DuplicateKeys,
    IndexTooLong,
    KeyNotUnique,
    KeyTooLong,
    KeyTooWide,
    ReadOnlyResource,
    TakenAlias,
)
from ..models import (
    Alias,
    Field,
    Origin,
    Resource,
    TableVersion,
    check_alias,
    drop_tables_on_commit,
)
from ..signals import resource_written
from . import changes
from .history import record_changes
from .records import Method, measure_longest_values, read_records
from .rows import RecordTable
from .schema import GivenField, change_fields

#: The columns of an index, a limit of PostgreSQL.
MAX_KEY_FIELDS = 32


@contextmanager
def open_writer(resource: Resource, user: Any = None) -> Iterator[Writer]:
    """
    Begin a transaction that changes a resource, lock it, and yield its ``Writer``.

    ``resource_written`` is sent when the changes are committed; the history of the admin has them
    for the ``user``.

    Raises: ``UnknownResource`` when it is gone, ``RecordsMissing`` when its table is;
    ``WriteBlocked`` when the writer before takes too long; ``KeyTooLong``, ``ResourceBusy``.
    """
    using = router.db_for_write(TableVersion)
    row = RowToLock(Resource._meta.db_table, resource.pk)
    begun = begin_write_transaction(connections[using], row)
    translated = translate_errors(
        (errors.LockNotAvailable, ResourceBusy),
        (errors.ProgramLimitExceeded, KeyTooLong),
        (errors.UndefinedTable, RecordsMissing(resource=resource.pk)),
    )
    with begun as is_found, translated:
        if not is_found:
            raise UnknownResource(resource=resource.pk)
        writer = Writer(connections[using], resource.pk)
        yield writer
        if not connections[using].needs_rollback:  # as a dry run does
            record_changes(user, writer.resource, writer.counts, using)
        send = partial(resource_written.send_robust, Resource, resource=writer.resource)
        transaction.on_commit(partial(send, **writer.counts), using=using, robust=True)


class Writer:
    """One call's changes to one resource, which is locked meanwhile."""

    def __init__(self, connection: BaseDatabaseWrapper, resource_id: Any) -> None:
        """Read the resource as it is under the lock."""
        self._connection = connection
        self.using = connection.alias
        self._resource_id = resource_id
        self._cast_texts = partial(cast_texts, connection)
        self.counts = {"added": 0, "updated": 0, "deleted": 0}
        self.resource = self._read_resource()

    def check_writable(self, *, force: bool) -> None:
        """
        Refuse to change records that the next file replaces.

        Raises: ``ReadOnlyResource`` unless ``force``.
        """
        version = self.resource.table_version
        if version is not None and version.origin != Origin.API and not force:
            raise ReadOnlyResource

    def create(
        self,
        fields: Sequence[GivenField],
        given: Sequence[Mapping[str, Any]],
        *,
        delete_others: bool = False,
    ) -> None:
        """
        Create the table if there is none, and add the given fields.

        Types that are not given are guessed from the ``given`` records, which are not stored yet.

        Raises: ``InvalidParameters`` for fields that cannot be.
        """
        if not self.resource.has_table:
            self._create_table(fields)
        change_fields(self._connection, self.resource, fields, given, delete_others=delete_others)
        changes.record_change(self._connection, self.resource, added=0)
        self.resource = self._read_resource()
        if not self.resource.types.keys() >= {*self.resource.primary_key}:
            self.set_key([])

    def set_key(self, names: Sequence[str]) -> None:
        """
        Make the values of some fields unique together.

        Replacing an existing key waits for the readers, and new readers wait for the end of the
        call.

        Raises: ``UnknownField``; ``KeyTooWide``; ``KeyNotUnique``; ``ResourceBusy``.
        """
        self._check_known(names, "primary_key")
        unique = list(dict.fromkeys(names))
        if unique == self.resource.primary_key:
            return
        if len(unique) > MAX_KEY_FIELDS:
            raise KeyTooWide(most=MAX_KEY_FIELDS)
        try:
            changes.set_primary_key(self._connection, self.resource, unique)
        except IntegrityError as error:
            raise KeyNotUnique from error

    def index_orders(self, names: Sequence[str]) -> None:
        """
        Index the order of some fields, as far as their types have one.

        Raises: ``UnknownField``; ``IndexTooLong``; ``ResourceBusy``.
        """
        types = self._check_known(names, "indexes")
        ordered = {name: types[name] for name in names if field_types[types[name]].ordered}
        # A deleted record of another type may still be read.
        other_type = errors.DataError, ResourceBusy
        with translate_errors(other_type, (errors.ProgramLimitExceeded, IndexTooLong)):
            changes.create_order_indexes(self._connection, self.resource, ordered)

    def index_substrings(self, wanted: bool) -> None:
        """
        Index the substrings of all fields, or drop that index.

        Raises: ``SubstringsNotSupported``; ``ResourceBusy``.
        """
        if wanted and not has_trigrams(self._connection):
            raise SubstringsNotSupported
        changes.index_substrings(self._connection, self.resource, wanted=wanted)

    def set_aliases(self, names: Sequence[str]) -> None:
        """
        Replace the aliases of the resource.

        Raises: ``InvalidAlias``, ``TakenAlias``; ``WriteBlocked``.
        """
        for name in names:
            check_alias(name)
        # Two writers that take names from each other would otherwise wait for each other.
        with refuse_if_blocked():
            lock_aliases(self._connection)
        aliases = Alias.objects.using(self.using)
        aliases.filter(resource=self.resource).exclude(name__in=names).delete()
        known = set(aliases.filter(resource=self.resource).values_list("name", flat=True))
        for name in dict.fromkeys(names):
            if name in known:
                continue
            try:
                with transaction.atomic(using=self.using):
                    aliases.create(resource=self.resource, name=name)
            except IntegrityError as error:
                raise TakenAlias(alias=name) from error

    def write(self, given: Sequence[Mapping[str, Any]], method: Method) -> list[int]:
        """
        Store records and return the ``_id`` of each.

        Raises: ``InvalidRecord`` for the first that cannot be stored; ``NoKey``; ``DuplicateKeys``.
        """
        table = RecordTable(self._connection, self.resource)
        read = read_records(self.resource, given, method, self._cast_texts)
        changes.drop_outgrown_order_indexes(
            self._connection, self.resource, measure_longest_values(read)
        )
        try:
            planned = table.plan_changes(read, method)
            table.apply_changes(planned)
        except IntegrityError as error:
            raise DuplicateKeys from error
        changes.record_change(self._connection, self.resource, added=len(planned.added))
        self.counts["added"] += len(planned.added)
        self.counts["updated"] += len(planned.changed)
        return planned.ids

    def delete(self, conditions: Sequence[Condition]) -> int:
        """
        Delete the records that meet all conditions and return how many.

        Raises: ``InvalidParameters`` for conditions that do not fit the fields.
        """
        table = RecordTable(self._connection, self.resource)
        sparse = frozenset(field.name for field in self.resource.schema if field.is_sparse)
        fields = TypedFields(self.resource.types, self._cast_texts, sparse)
        where = compile_conditions(conditions, fields)
        deleted = table.delete_records(where)
        changes.record_change(self._connection, self.resource, added=-deleted)
        self.counts["deleted"] += deleted
        return deleted

    def drop_table(self) -> None:
        """Drop the table, and delete its fields and aliases; the resource stays."""
        table_id = changes.get_table_id(self.resource)
        self.resource.fields.using(self.using).all().delete()
        self.resource.aliases.using(self.using).all().delete()
        Resource.objects.using(self.using).filter(pk=self._resource_id).update(
            table_version=None, primary_key=[], modified_at=timezone.now()
        )
        TableVersion.objects.using(self.using).filter(pk=table_id).delete()
        drop_tables_on_commit([table_id], using=self.using)
        version = self.resource.table_version
        self.counts["deleted"] += version.record_count if version else 0
        self.resource.table_version = None

    def roll_back(self) -> None:
        """Roll all changes back when the block ends."""
        transaction.set_rollback(True, using=self.using)

    # ----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """A session over the connection of the changes, which sees them before the commit."""
        return Session(self._connection, {})

    def _read_resource(self) -> Resource:
        """Read the resource with its fields; one that was never loaded has none."""
        resource = (
            Resource.objects.using(self.using)
            .select_related("table_version")
            .get(pk=self._resource_id)
        )
        resource.schema = tuple(resource.fields.using(self.using).all())
        return resource

    def _check_known(self, names: Sequence[str], parameter: str) -> Mapping[str, str]:
        """Refuse names that are not of fields; return the types of all fields."""
        types = self.resource.types
        for name in names:
            if name not in types:
                raise UnknownField(parameter=parameter, field=name[:100])
        return types

    def _create_table(self, given: Sequence[GivenField]) -> None:
        settings = self.resource.table_settings
        described = [Field(name=each.name, extra_info=each.info) for each in given if each.info]
        version = TableVersion.objects.using(self.using).create(
            resource=self.resource,
            origin=Origin.API,
            language=settings.language,
            indexes=settings.indexes,
            published_at=timezone.now(),
        )
        create_table(
            self._connection,
            version.pk,
            language=version.language,
            weights={**settings.weights, **{field.name: field.weight for field in described}},
        )
        create_indexes(
            self._connection,
            version.pk,
            self.resource.choose_indexes({}),
            memory_bytes=conf.LOAD_MEMORY_BYTES,
        )
        fields = self.resource.fields.using(self.using)
        if self.resource.table_version is None:
            fields.all().delete()
        else:  # the table is lost, but not its fields
            fields.update(has_order_index=False, is_sparse=False)
            set_key(self._connection, version.pk, self.resource.primary_key)
        self.resource.schema = tuple(fields.all())
        self.resource.table_version = version
        self.resource.save(using=self.using, update_fields=["table_version", "modified_at"])
