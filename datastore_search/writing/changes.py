"""
Change the records of a resource, by the same rules for every writer.

The API (``writing``) and files that are merged (``files.publishing``) go through this module.
The caller has locked the row of the resource, and works in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Max
from django.utils import timezone

from ..conf import conf
from ..database.indexes import (
    Indexes,
    add_indexes,
    has_outgrown_scans,
    name_order_index,
    set_key,
)
from ..database.statements import execute
from ..database.substrings import name_substring_index
from ..database.tables import drop_indexes
from ..field_types import field_types
from ..messages.access import UnknownResource
from ..models import Field, IndexKind, Resource, TableVersion
from ..models.base import report_change
from ..signals import profiles_outdated

#: Bytes of the longest value that an order index can hold.  An entry of a B-tree has at most 2,704
#: bytes, of which the header, the length and the ``_id`` take up to 32.
MAX_INDEXED_VALUE_BYTES = 2_600

_FIELDS_PER_STATEMENT = 500

#: One message; profiles would show values that no record has.
_RECORD_CHANGE = """
WITH version AS (
    UPDATE datastore_search_tableversion SET record_count = record_count + %s, value_counts = '{}',
    profiles = '{}', fingerprint = %s, field_formats = field_formats || %s::jsonb WHERE id = %s
)
UPDATE datastore_search_resource SET modified_at = %s WHERE id = %s
"""


def set_primary_key(
    connection: BaseDatabaseWrapper, resource: Resource, names: Sequence[str]
) -> None:
    """
    Make the values of some fields unique together.

    Raises: Django's ``IntegrityError`` when some have, ``OperationalError`` when a value is too
    long, or when a key cannot be replaced because the table is read.
    """
    set_key(connection, get_table_id(resource), names)
    resources = Resource.objects.using(connection.alias).filter(pk=resource.pk)
    resources.update(primary_key=list(names))
    resource.primary_key = list(names)


def add_fields(
    connection: BaseDatabaseWrapper, resource: Resource, fields: Sequence[Field]
) -> None:
    """Add fields after those that the resource has; existing records lack them."""
    alias = connection.alias
    known = Field.objects.using(alias).filter(resource=resource)
    last = known.aggregate(last=Max("position"))["last"]
    versions = TableVersion.objects.using(alias).filter(pk=get_table_id(resource))
    has_records = versions.filter(record_count__gt=0).exists()
    for position, field in enumerate(fields, start=0 if last is None else last + 1):
        field.position, field.is_sparse = position, has_records
    Field.objects.using(alias).bulk_create(fields, batch_size=_FIELDS_PER_STATEMENT)


def create_order_indexes(
    connection: BaseDatabaseWrapper, resource: Resource, types: Mapping[str, str]
) -> None:
    """
    Index the order of some fields; ``types`` maps their names to the names of their types.

    Raises: Django's ``OperationalError`` when a value is too long, ``DataError`` when a deleted
    record of another type may still be read.
    """
    expressions = {name: field_types[kind].sort_expression for name, kind in types.items()}
    indexes = Indexes(orders=expressions)
    add_indexes(connection, get_table_id(resource), indexes, memory_bytes=conf.LOAD_MEMORY_BYTES)
    _mark_order_indexes(connection, resource, types, exist=True)


def drop_order_indexes(
    connection: BaseDatabaseWrapper, resource: Resource, names: Collection[str]
) -> None:
    """
    Drop the order indexes of some fields.

    Raises: Django's ``OperationalError`` while the table is read for long.
    """
    table_id = get_table_id(resource)
    indexes = (name_order_index(table_id, name) for name in names)
    drop_indexes(connection, *indexes)
    _mark_order_indexes(connection, resource, names, exist=False)


def drop_outgrown_order_indexes(
    connection: BaseDatabaseWrapper, resource: Resource, longest_bytes: Mapping[str, int]
) -> None:
    """
    Drop the order indexes that new values do not fit.

    ``longest_bytes`` maps the names of fields to the bytes of the longest of their new values, as
    texts in UTF-8.

    Raises: as ``drop_order_indexes``.
    """
    long = [name for name, length in longest_bytes.items() if length > MAX_INDEXED_VALUE_BYTES]
    if not long:
        return
    fields = Field.objects.using(connection.alias).filter(resource=resource, name__in=long)
    outgrown = list(fields.filter(has_order_index=True).values_list("name", flat=True))
    if outgrown:
        drop_order_indexes(connection, resource, outgrown)


def index_substrings(connection: BaseDatabaseWrapper, resource: Resource, *, wanted: bool) -> None:
    """
    Index the substrings of all fields, or drop that index; the next tables follow.

    Raises: Django's ``OperationalError`` while the table is read for long, when it is dropped.
    """
    table_id = get_table_id(resource)
    if wanted:
        indexes = Indexes([IndexKind.SUBSTRINGS])
        add_indexes(connection, table_id, indexes, memory_bytes=conf.LOAD_MEMORY_BYTES)
    else:
        drop_indexes(connection, name_substring_index(table_id))
    versions = TableVersion.objects.using(connection.alias).filter(pk=table_id)
    versions.update(indexes=_choose(versions.get().indexes, wanted=wanted))
    resource.indexes = _choose(resource.chosen_index_kinds, wanted=wanted)
    resource.save(using=connection.alias, update_fields=["indexes", "modified_at"])


def _choose(kinds: Iterable[str], *, wanted: bool) -> list[str]:
    others = [kind for kind in kinds if kind != IndexKind.SUBSTRINGS]
    return [*others, IndexKind.SUBSTRINGS.value] if wanted else others


def record_change(
    connection: BaseDatabaseWrapper,
    resource: Resource,
    *,
    added: int,
    fingerprint: str = "",
    field_formats: Mapping[str, str] | None = None,
) -> None:
    """
    Record a change of the records, which gives the resource a new version.

    A table that is no longer small gets its indexes over all fields.

    ``added`` is the number of new records minus the number of deleted ones; ``field_formats``
    belong to the file that is merged.
    """
    alias, table_id = connection.alias, get_table_id(resource)
    served = resource.table_version
    is_profiled = served is not None and bool(served.profiles)
    if has_outgrown_scans(connection, table_id):
        version = TableVersion.objects.using(alias).get(pk=table_id)
        indexes = Indexes(version.indexes)
        add_indexes(connection, table_id, indexes, memory_bytes=conf.LOAD_MEMORY_BYTES)
    formats = json.dumps(dict(field_formats or {}))
    values = (added, fingerprint, formats, table_id, timezone.now(), resource.pk)
    report_change(Resource.objects.using(alias).filter(pk=resource.pk))
    execute(connection, _RECORD_CHANGE, values)
    if served is not None and is_profiled:
        served.profiles = {}
        send = partial(profiles_outdated.send_robust, Resource, resource=resource)
        transaction.on_commit(send, using=alias, robust=True)


def get_table_id(resource: Resource) -> int:
    """Get the number of the record table of a resource."""
    if resource.table_version_id is None:
        raise UnknownResource(resource=resource.pk)
    return resource.table_version_id


def _mark_order_indexes(
    connection: BaseDatabaseWrapper, resource: Resource, names: Collection[str], *, exist: bool
) -> None:
    fields = Field.objects.using(connection.alias).filter(resource=resource, name__in=names)
    fields.update(has_order_index=exist)
