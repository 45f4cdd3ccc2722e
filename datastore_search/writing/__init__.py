"""
The one writer: it changes the table that is being served, for calls and for files that are merged.

Each call is one transaction under a lock of the resource.  Writers wait for each other; readers
wait only while a primary key is replaced.  A call that fails changes nothing.  The number of
records changes with them, and the search vector is a generated column (``docs/decisions/0010``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet
from django.db.utils import IntegrityError
from django.utils import timezone
from psycopg import errors

from ..database.indexes import (
    Indexes,
    add_indexes,
    create_indexes,
    has_trigrams,
    name_order_index,
    name_substring_index,
    set_key,
)
from ..database.server import cast_texts
from ..database.sessions import Session
from ..database.statements import (
    BLOCKED,
    RowToLock,
    begin_write_transaction,
    execute,
    lock_aliases,
    translate_errors,
)
from ..database.tables import create_table, drop_indexes, has_outgrown_scans
from ..field_types import field_types
from ..filters import Clause, Condition, TypedFields, compile_conditions
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
    IndexKind,
    Origin,
    Resource,
    TableVersion,
    check_alias,
    drop_tables_on_commit,
    has_dataset,
)
from ..models.base import report_change
from ..signals import resource_written
from .history import record_changes
from .records import Method, RecordTable, get_table_id, measure_longest_value, read_records
from .schema import GivenField, add_fields, change_fields

#: The columns of an index, a limit of PostgreSQL.
MAX_KEY_FIELDS = 32

#: Bytes of the longest value that an index can hold.  An entry of a B-tree has at most 2,704 bytes,
#: of which the header, the length and the ``_id`` take up to 32.
MAX_INDEXED_VALUE_BYTES = 2_600

#: One message; an older version of the package has stored values of records, which go, too.
_RECORD_CHANGE = """
WITH version AS (
    UPDATE datastore_search_tableversion SET record_count = record_count + %s, value_counts = '{}',
    profiles = '{}', fingerprint = %s, field_formats = field_formats || %s::jsonb WHERE id = %s
)
UPDATE datastore_search_resource SET modified_at = %s WHERE id = %s
"""


@contextmanager
def open_writer(resource: Resource, user: Any = None, *, force: bool = True) -> Iterator[Writer]:
    """
    Begin a transaction that changes a resource, lock it, and yield its ``Writer``.

    ``resource_written`` is sent when the changes are committed; the history of the admin has them
    for the ``user``.  Without ``force``, records that the next file replaces are not changed.

    Raises: ``UnknownResource`` when it is gone, ``RecordsMissing`` when its table is;
    ``WriteBlocked`` when the writer before takes too long; ``ReadOnlyResource``, ``KeyTooLong``,
    ``ResourceBusy``.
    """
    using = router.db_for_write(TableVersion)
    row = RowToLock(Resource._meta.db_table, resource.pk)
    begun = begin_write_transaction(connections[using], row)
    translated = translate_errors(
        (errors.LockNotAvailable, ResourceBusy),
        (errors.ProgramLimitExceeded, KeyTooLong),
        (errors.UndefinedTable, partial(RecordsMissing, resource=resource.pk)),
    )
    with begun as is_found, translated:
        if not is_found:
            raise UnknownResource(resource=resource.pk)
        writer = Writer(connections[using], resource.pk)
        version = writer.resource.table_version
        if version is not None and version.origin != Origin.API and not force:
            raise ReadOnlyResource
        yield writer
        if not connections[using].needs_rollback:  # as a dry run does
            writer.record_changes(user)
        send = partial(resource_written.send_robust, Resource, resource=writer.resource)
        transaction.on_commit(partial(send, **writer.counts), using=using, robust=True)


class Writer:
    """One call's changes to one resource, which is locked meanwhile."""

    def __init__(self, connection: BaseDatabaseWrapper, resource_id: Any) -> None:
        self._connection = connection
        self.using = connection.alias
        self._resources = Resource.objects.using(self.using).filter(pk=resource_id)
        self._cast_texts = partial(cast_texts, connection)
        self._is_changed = False
        self.counts = {"added": 0, "updated": 0, "deleted": 0}
        self.resource = self._read_resource()

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
            settings = self.resource.table_settings
            described = [
                Field(name=each.name, extra_info=each.info) for each in fields if each.info
            ]
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
            create_indexes(self._connection, version.pk, self.resource.choose_indexes({}))
            if self.resource.table_version is None:
                self._fields.delete()
            else:  # the table is lost, but not its fields
                self._fields.update(has_order_index=False, is_sparse=False)
                set_key(self._connection, version.pk, self.resource.primary_key)
            self.resource.schema = tuple(self._fields)
            self.resource.table_version = version
            self.resource.save(using=self.using, update_fields=["table_version", "modified_at"])
        change_fields(self._connection, self.resource, fields, given, delete_others=delete_others)
        self._is_changed = True
        self.resource = self._read_resource()
        if not self.resource.types.keys() >= {*self.resource.primary_key}:
            self.set_key([])

    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields after those that the resource has; existing records lack them."""
        add_fields(self._connection, self.resource, fields)
        self.resource = self._read_resource()

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
            set_key(self._connection, get_table_id(self.resource), unique)
        except IntegrityError as error:
            raise KeyNotUnique from error
        self._resources.update(primary_key=unique)
        self.resource.primary_key = unique

    def index_orders(self, names: Sequence[str]) -> None:
        """
        Index the order of some fields, as far as their types have one.

        Raises: ``UnknownField``; ``IndexTooLong``; ``ResourceBusy``.
        """
        types = self._check_known(names, "indexes")
        kinds = {name: field_types[types[name]] for name in names}
        orders = {name: kind.sort_expression for name, kind in kinds.items() if kind.ordered}
        # A deleted record of another type may still be read.
        other_type = errors.DataError, ResourceBusy
        with translate_errors(other_type, (errors.ProgramLimitExceeded, IndexTooLong)):
            self._add_indexes(Indexes(orders=orders))
        self._fields.filter(name__in=orders).update(has_order_index=True)

    def drop_outgrown_order_indexes(self, measure: Callable[[str], int]) -> None:
        """
        Drop the order indexes that new values do not fit.

        ``measure`` returns the bytes of the longest new value of a field, as text in UTF-8.

        Raises: Django's ``OperationalError`` while the table is read for long.
        """
        ordered = [field.name for field in self.resource.schema if field.has_order_index]
        if outgrown := [name for name in ordered if measure(name) > MAX_INDEXED_VALUE_BYTES]:
            table_id = get_table_id(self.resource)
            drop_indexes(self._connection, *(name_order_index(table_id, name) for name in outgrown))
            self._fields.filter(name__in=outgrown).update(has_order_index=False)

    def index_substrings(self, wanted: bool) -> None:
        """
        Index the substrings of all fields, or drop that index; the next tables follow.

        Raises: ``SubstringsNotSupported``; ``ResourceBusy``.
        """
        if wanted and not has_trigrams(self._connection):
            raise SubstringsNotSupported
        if wanted:
            self._add_indexes(Indexes([IndexKind.SUBSTRINGS]))
        else:
            drop_indexes(self._connection, name_substring_index(get_table_id(self.resource)))

        def choose(kinds: Iterable[str]) -> list[str]:
            others = [kind for kind in kinds if kind != IndexKind.SUBSTRINGS]
            return [*others, IndexKind.SUBSTRINGS.value] if wanted else others

        if version := self.resource.table_version:
            version.indexes = choose(version.indexes)
            version.save(using=self.using, update_fields=["indexes"])
        self.resource.indexes = choose(self.resource.chosen_index_kinds)
        self.resource.save(using=self.using, update_fields=["indexes", "modified_at"])

    def set_aliases(self, names: Sequence[str]) -> None:
        """
        Replace the aliases of the resource.

        Raises: ``InvalidAlias``, ``TakenAlias``; ``WriteBlocked``.
        """
        for name in names:
            check_alias(name)
        # Two writers that take names from each other would otherwise wait for each other.
        with translate_errors(*BLOCKED):
            lock_aliases(self._connection)
        aliases = Alias.objects.using(self.using)
        aliases.filter(resource=self.resource).exclude(name__in=names).delete()
        known = set(aliases.filter(resource=self.resource).values_list("name", flat=True))
        for name in dict.fromkeys(names):
            if name in known:
                continue
            if has_dataset.entry(name, self.resource.pk):
                raise TakenAlias(alias=name)
            try:
                with transaction.atomic(using=self.using):
                    aliases.create(resource=self.resource, name=name)
            except IntegrityError as error:
                raise TakenAlias(alias=name) from error

    def write(self, given: Sequence[Mapping[str, Any]], method: Method) -> list[int]:
        """
        Store records and return the ``_id`` of each.

        Raises: ``InvalidParameters`` for records that cannot be stored; ``InvalidRecord`` for keys
        that exist or do not; ``NoKey``; ``DuplicateKeys``.
        """
        table = RecordTable(self._connection, self.resource)
        records = read_records(self.resource, given, method, self._cast_texts)
        self.drop_outgrown_order_indexes(partial(measure_longest_value, records))
        try:
            ids, added, updated = table.merge(records, method)
        except IntegrityError as error:
            raise DuplicateKeys from error
        self._is_changed = True
        self.counts["added"] += added
        self.counts["updated"] += updated
        return ids

    def merge(self, rows: Clause, method: Method, names: Collection[str]) -> None:
        """
        Merge the rows of a file, which all have the fields of these names, by the primary key.

        Rows whose key exists are updated (upsert) or skipped (insert).

        Raises: Django's ``IntegrityError``, or ``KeyNotUnique``, when two rows have the same key.
        """
        self._is_changed, table = True, RecordTable(self._connection, self.resource)
        if method is Method.UPSERT:
            if table.has_repeated_keys(rows):
                raise KeyNotUnique
            self.counts["updated"] += table.update(rows)
        self.counts["added"] += table.insert(rows, names)

    def list_known(self, rows: Clause, key: Sequence[str]) -> Iterator[list[int]]:
        """List the numbers of the rows whose ``key`` a record has already, in batches."""
        return RecordTable(self._connection, self.resource, key).list_known(rows)

    def delete(self, conditions: Sequence[Condition]) -> int:
        """
        Delete the records that meet all conditions and return how many.

        Raises: ``InvalidParameters`` for conditions that do not fit the fields.
        """
        table = RecordTable(self._connection, self.resource)
        sparse = frozenset(field.name for field in self.resource.schema if field.is_sparse)
        fields = TypedFields(self.resource.types, self._cast_texts, sparse)
        deleted = table.delete(compile_conditions(conditions, fields))
        self._is_changed = True
        self.counts["deleted"] += deleted
        return deleted

    def drop_table(self) -> None:
        """Drop the table, and delete its fields and aliases; the resource stays."""
        table_id = get_table_id(self.resource)
        self._fields.delete()
        self.resource.aliases.using(self.using).all().delete()
        self._resources.update(table_version=None, primary_key=[], modified_at=timezone.now())
        # The records that a load has replaced go, too; not those that one is about to publish.
        versions = TableVersion.objects.using(self.using).filter(resource=self.resource)
        published = versions.filter(Q(pk=table_id) | Q(published_at__isnull=False))
        table_ids = list(published.values_list("pk", flat=True))
        published.delete()
        drop_tables_on_commit(table_ids, using=self.using)
        version = self.resource.table_version
        self.counts["deleted"] += version.record_count if version else 0
        self.resource.table_version = None

    def record_changes(
        self, user: Any, fingerprint: str = "", field_formats: Mapping[str, str] | None = None
    ) -> None:
        """
        Count the records, give the resource a new version, and add to the history of the admin.

        A table that is no longer small gets its indexes over all fields.  ``field_formats`` belong
        to the file that is merged.
        """
        if any(self.counts.values()):
            record_changes(user, self.resource, self.counts, self.using)
        version = self.resource.table_version
        if version is None or not self._is_changed:
            return
        if any(self.counts.values()) and has_outgrown_scans(self._connection, version.pk):
            self._add_indexes(Indexes(version.indexes))
        added = self.counts["added"] - self.counts["deleted"]
        formats = json.dumps(dict(field_formats or {}))
        report_change(self._resources)
        values = (added, fingerprint, formats, version.pk, timezone.now(), self.resource.pk)
        execute(self._connection, _RECORD_CHANGE, values)

    def roll_back(self) -> None:
        transaction.set_rollback(True, using=self.using)

    # ----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """A session over the connection of the changes, which sees them before the commit."""
        return Session(self._connection, {})

    @property
    def _fields(self) -> QuerySet[Field]:
        return self.resource.fields.using(self.using)

    def _read_resource(self) -> Resource:
        """Read the resource with its fields; one that was never loaded has none."""
        resource = self._resources.select_related("table_version").get()
        resource.schema = tuple(resource.fields.using(self.using))
        return resource

    def _add_indexes(self, indexes: Indexes) -> None:
        add_indexes(self._connection, get_table_id(self.resource), indexes)

    def _check_known(self, names: Sequence[str], parameter: str) -> Mapping[str, str]:
        """Refuse names that are not of fields; return the types of all fields."""
        types = self.resource.types
        for name in names:
            if name not in types:
                raise UnknownField(parameter=parameter, field=name[:100])
        return types
