"""Diagnose the tables of all resources, and mend what can be mended without a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.utils import timezone

from ...conf import conf
from ...database.findings import Finding, finders
from ...database.indexes import (
    Indexes,
    add_indexes,
    analyze_records,
    name_key_index,
    name_order_index,
)
from ...database.indexes import set_key as set_table_key
from ...database.substrings import name_substring_index
from ...database.tables import count_records as count_table_records
from ...database.tables import drop_indexes, has_table
from ...database.unserved import mark_unserved
from ...field_types import field_types
from ...models import Alias, Field, IndexKind, Resource, TableVersion
from ...writing.changes import add_fields, create_order_indexes, drop_order_indexes
from .tables import (
    FoundIndex,
    diagnose_record_table,
    find_value_types,
    list_damaged_functions,
    list_damaged_triggers,
    rebuild_index,
    restore_functions,
    restore_triggers,
    restore_vectors,
)

#: The types of fields, by those of their JSON values.
_TYPES = {"number": "numeric", "boolean": "bool", "string": "text"}

#: The kinds of which a table has one index; the others are of single fields, and chosen by a load.
_OF_TABLE = (IndexKind.FILTERS, IndexKind.WORDS, IndexKind.SUBSTRINGS)

#: What creates an index, by its role.
_Wanted = dict[str, Callable[[], object]]


def diagnose(*, count_records: bool = False) -> Iterator[Finding]:
    """
    Find what is damaged; ``count_records`` reads every record.

    What a finding mends is done before the next one is looked for.
    """
    connection = connections[router.db_for_write(Resource)]
    yield from _diagnose_functions(connection)
    yield from _diagnose_names(connection)
    kept: set[int] = set()
    resources = Resource.objects.using(connection.alias).select_related("table_version")
    for resource in resources.order_by("name"):
        yield from _diagnose_resource(connection, resource, kept)
    for find in finders.values():
        yield from find(connection, kept)
    if count_records:
        yield from _count_records(connection, resources)


def _count_records(
    connection: BaseDatabaseWrapper, resources: QuerySet[Resource]
) -> Iterator[Finding]:
    for resource in resources.filter(table_version__isnull=False).order_by("name"):
        if version := resource.table_version:
            found = count_table_records(connection, version.pk)
            if found not in {version.record_count, None}:  # None without the table, reported above
                message = f"There are {found} records, not {version.record_count}."
                yield Finding("count.wrong", str(resource.pk), message)


def _diagnose_functions(connection: BaseDatabaseWrapper) -> Iterator[Finding]:
    for name in list_damaged_functions(connection):
        yield Finding(
            "function.outdated",
            name,
            "The function is missing, or not that of this version.",
            partial(restore_functions, connection),
        )
    for trigger, table in list_damaged_triggers(connection):
        yield Finding(
            "trigger.disabled",
            f"{table}.{trigger}",
            "The trigger is missing or disabled.",
            partial(restore_triggers, connection),
        )


def _diagnose_names(connection: BaseDatabaseWrapper) -> Iterator[Finding]:
    """Find names and aliases that are the name or the id of another resource."""
    names = dict(Resource.objects.using(connection.alias).values_list("name", "pk"))
    aliases = Alias.objects.using(connection.alias).values_list("name", "resource_id")
    ids = {str(pk): pk for pk in names.values()}
    for name, pk in sorted([*names.items(), *aliases]):
        for other in {names.get(name), ids.get(name.lower())} - {pk, None}:
            yield Finding(
                "name.taken",
                name,
                f"It names resource {pk}, but is the name or the id of {other}.",
            )


def _diagnose_resource(
    connection: BaseDatabaseWrapper, resource: Resource, kept: set[int]
) -> Iterator[Finding]:
    """Diagnose the table of a resource; ``kept`` gets the one that it has lost."""
    version, name = resource.table_version, str(resource.pk)
    if version is None or not has_table(connection, version.pk):
        lost = _find_kept_version(connection, resource)
        if lost is not None:
            kept.add(lost.pk)
            yield Finding(
                "table.lost",
                name,
                (
                    f"Its records are in the table of version {lost.pk}: {lost.record_count}, of"
                    f" {lost.published_at}."
                ),
                partial(_give_table_back, connection, resource, lost),
            )
        elif version is not None:
            yield Finding("table.missing", name, "The table of the records is not there.")
        return
    found = diagnose_record_table(connection, version.pk)
    if not found.has_columns:
        yield Finding("table.columns", name, "The table has other columns than it should.")
    if not found.computes_vectors:
        yield Finding(
            "vectors.stale",
            name,
            "New records are not found by their words.",
            partial(restore_vectors, connection, version.pk, language=version.language),
        )
    if not found.has_primary_key:
        yield Finding("index.missing", name, "The table has no primary key.")
    lost_fields = _find_lost_fields(connection, resource, version)
    for field in lost_fields:
        yield Finding(
            "field.missing",
            name,
            f"The records have values of “{field.name}”, which is not a field.",
            partial(_add_lost_field, connection, resource, version, field),
        )
    # Some may be mended now.
    left = lost_fields and _find_lost_fields(connection, resource, version)
    orders = {name_order_index(version.pk, field.name) for field in left}
    indexes = [index for index in found.indexes if index.role not in orders]
    yield from _diagnose_indexes(connection, resource, version, indexes)
    if not found.has_statistics and version.record_count > found.analyze_threshold:
        yield Finding(
            "statistics.missing",
            name,
            "The table has no statistics, so searches may be slow.",
            partial(analyze_records, connection, version.pk),
        )


def _find_kept_version(connection: BaseDatabaseWrapper, resource: Resource) -> TableVersion | None:
    """Find the version that the resource has served last, of those whose table is there."""
    served = resource.table_versions.filter(published_at__isnull=False).order_by("-published_at")
    return next((each for each in served if has_table(connection, each.pk)), None)


def _give_table_back(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> None:
    Resource.objects.using(connection.alias).filter(pk=resource.pk).update(
        table_version=version, modified_at=timezone.now()
    )
    mark_unserved(connection, version.pk, None)


def _find_lost_fields(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> list[Field]:
    """Find the fields that the first records have, and the resource has not."""
    found = find_value_types(connection, version.pk)
    known = set(resource.fields.values_list("name", flat=True))
    return [
        Field(
            resource=resource,
            name=name,
            type=_TYPES.get(found[name][0], "json") if len(found[name]) == 1 else "text",
        )
        for name in sorted(found.keys() - known)
    ]


def _add_lost_field(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion, field: Field
) -> None:
    """Add a field after the others; its index, which may be of another type, is made again."""
    with transaction.atomic(using=connection.alias):
        add_fields(connection, resource, [field])
        found = diagnose_record_table(connection, version.pk).indexes
        if name_order_index(version.pk, field.name) in {index.role for index in found}:
            drop_order_indexes(connection, resource, [field.name])
            create_order_indexes(connection, resource, {field.name: field.type})


# Indexes ------------------------------------------------------------------------------------------


def _diagnose_indexes(
    connection: BaseDatabaseWrapper,
    resource: Resource,
    version: TableVersion,
    found: Sequence[FoundIndex],
) -> Iterator[Finding]:
    """Find indexes that are missing, not valid, superfluous, or differ from the choice."""
    wanted = _list_wanted(connection, resource, version)
    missing = dict(wanted)
    for index in found:  # the valid ones first
        if index.role in missing:
            del missing[index.role]
            if not index.is_valid:
                yield _report_invalid(index.name, partial(rebuild_index, connection, index.name))
        elif not index.is_valid:
            mend = rebuild_index if index.is_primary else drop_indexes
            yield _report_invalid(index.name, partial(mend, connection, index.name))
        elif not index.is_primary:
            yield Finding(
                "index.superfluous",
                index.name,
                "No search uses this index, and every write takes longer for it.",
                partial(drop_indexes, connection, index.name),
            )
    for role, create in missing.items():
        message = f"The table lacks an index: {role}."
        yield Finding("index.missing", str(resource.pk), message, create)
    yield from _diagnose_choice(connection, resource, version)


def _report_invalid(name: str, mend: Callable[[], object]) -> Finding:
    return Finding("index.invalid", name, "The index is not valid, so it is not used.", mend)


def _list_wanted(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> _Wanted:
    """List the indexes that searches and writes expect, which the last load has recorded."""
    add = partial(_add_indexes, connection, version.pk)
    wanted: _Wanted = {
        _get_role(kind, version.pk): partial(add, kinds=[kind])
        for kind in _OF_TABLE
        if kind in version.indexes
    }
    for field in resource.fields.filter(has_order_index=True):
        orders = {field.name: field_types[field.type].sort_expression}
        wanted[name_order_index(version.pk, field.name)] = partial(add, orders=orders)
    if resource.primary_key:
        set_key = partial(set_table_key, connection, version.pk, resource.primary_key)
        wanted[name_key_index(version.pk)] = set_key
    return wanted


def _get_role(kind: IndexKind, table_id: int) -> str:
    is_named = kind == IndexKind.SUBSTRINGS
    return name_substring_index(table_id) if is_named else kind.value


def _add_indexes(
    connection: BaseDatabaseWrapper,
    table_id: int,
    *,
    kinds: Sequence[str] = (),
    orders: dict[str, str] | None = None,
) -> None:
    indexes = Indexes(
        filters=IndexKind.FILTERS in kinds,
        words=IndexKind.WORDS in kinds,
        substrings=IndexKind.SUBSTRINGS in kinds,
        orders=orders or {},
    )
    add_indexes(connection, table_id, indexes, memory_bytes=conf.LOAD_MEMORY_BYTES)


def _diagnose_choice(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> Iterator[Finding]:
    chosen = [kind for kind in _OF_TABLE if kind in resource.index_kinds]
    present = [kind for kind in _OF_TABLE if kind in version.indexes]
    if chosen == present:
        return
    message = (
        f"The resource is to be indexed by {', '.join(chosen) or '–'}, and its table is indexed by"
        f" {', '.join(present) or '–'}. The next load follows the choice, too."
    )
    follow = partial(_follow_choice, connection, resource, version, chosen)
    yield Finding("index.choice", str(resource.pk), message, follow)


def _follow_choice(
    connection: BaseDatabaseWrapper,
    resource: Resource,
    version: TableVersion,
    chosen: Sequence[IndexKind],
) -> None:
    """Create what was chosen, drop what was not, and record it, which gives a new version."""
    found = diagnose_record_table(connection, version.pk).indexes
    roles = {_get_role(kind, version.pk): kind for kind in _OF_TABLE}
    present = {roles[index.role] for index in found if index.role in roles}
    _add_indexes(connection, version.pk, kinds=[kind for kind in chosen if kind not in present])
    others = [kind for kind in version.indexes if kind not in _OF_TABLE]
    rows = TableVersion.objects.using(connection.alias).filter(pk=version.pk)
    rows.update(indexes=[*map(str, chosen), *others])
    Resource.objects.using(connection.alias).filter(pk=resource.pk).update(
        modified_at=timezone.now()
    )
    # The last: until now a search could rely on them.
    for index in found:
        if index.role in roles and roles[index.role] not in chosen:
            drop_indexes(connection, index.name)
