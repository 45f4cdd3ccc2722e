"""Diagnose the tables of all resources, and mend what can be mended without a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.utils import timezone

from datastore_search import database as storage
from datastore_search.conf import conf
from datastore_search.field_types import field_types
from datastore_search.models import Alias, Field, IndexKind, Load, Resource, TableVersion
from datastore_search.writing.changes import add_fields, create_order_indexes, drop_order_indexes
from datastore_search.contrib.files.jobs.cleanup import clean_up_loads, list_kept_tables

#: The types of fields, by those of their JSON values.
_TYPES = {"number": "numeric", "boolean": "bool", "string": "text"}

#: The kinds of which a table has one index; the others are of single fields, and chosen by a load.
_OF_TABLE = (IndexKind.FILTERS, IndexKind.WORDS, IndexKind.SUBSTRINGS)

#: What creates an index, by its role.
_Wanted = dict[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    Something that is damaged: a stable code, the object, and a message.

    ``mend`` repairs it without a loss; None where a person must decide.
    """

    code: str
    name: str
    message: str
    mend: Callable[[], object] | None = None


def diagnose(*, count_records: bool = False) -> Iterator[Finding]:
    """
    Find what is damaged; ``count_records`` reads every record.

    What a finding mends is done before the next one is looked for.
    """
    connection = connections[router.db_for_write(Load)]
    yield from _diagnose_functions(connection)
    yield from _diagnose_names(connection)
    kept: set[int] = set()
    resources = Resource.objects.using(connection.alias).select_related("table_version")
    for resource in resources.order_by("name"):
        yield from _diagnose_resource(connection, resource, kept)
    yield from _diagnose_leftovers(connection, kept)
    if count_records:
        yield from _count_records(connection, resources)


def _count_records(
    connection: BaseDatabaseWrapper, resources: QuerySet[Resource]
) -> Iterator[Finding]:
    for resource in resources.filter(table_version__isnull=False).order_by("name"):
        if version := resource.table_version:
            found = storage.count_records(connection, version.pk)
            if found not in {version.record_count, None}:  # None without the table, reported above
                message = f"There are {found} records, not {version.record_count}."
                yield Finding("count.wrong", str(resource.pk), message)


def _diagnose_functions(connection: BaseDatabaseWrapper) -> Iterator[Finding]:
    for name in storage.list_damaged_functions(connection):
        yield Finding(
            "function.outdated",
            name,
            "The function is missing, or not that of this version.",
            partial(storage.restore_functions, connection),
        )
    for trigger, table in storage.list_damaged_triggers(connection):
        yield Finding(
            "trigger.disabled",
            f"{table}.{trigger}",
            "The trigger is missing or disabled.",
            partial(storage.restore_triggers, connection),
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
    if version is None or not storage.has_table(connection, version.pk):
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
    found = storage.diagnose_record_table(connection, version.pk)
    if not found.has_columns:
        yield Finding("table.columns", name, "The table has other columns than it should.")
    if not found.computes_vectors:
        yield Finding(
            "vectors.stale",
            name,
            "New records are not found by their words.",
            partial(storage.restore_vectors, connection, version.pk, language=version.language),
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
    orders = {storage.name_order_index(version.pk, field.name) for field in left}
    indexes = [index for index in found.indexes if index.role not in orders]
    yield from _diagnose_indexes(connection, resource, version, indexes)
    if not found.has_statistics and version.record_count > found.analyze_threshold:
        yield Finding(
            "statistics.missing",
            name,
            "The table has no statistics, so searches may be slow.",
            partial(storage.analyze_records, connection, version.pk),
        )


def _find_kept_version(connection: BaseDatabaseWrapper, resource: Resource) -> TableVersion | None:
    """Find the version that the resource has served last, of those whose table is there."""
    served = resource.table_versions.filter(published_at__isnull=False).order_by("-published_at")
    return next((each for each in served if storage.has_table(connection, each.pk)), None)


def _give_table_back(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> None:
    Resource.objects.using(connection.alias).filter(pk=resource.pk).update(
        table_version=version, modified_at=timezone.now()
    )
    storage.mark_unserved(connection, version.pk, None)


def _find_lost_fields(
    connection: BaseDatabaseWrapper, resource: Resource, version: TableVersion
) -> list[Field]:
    """Find the fields that the first records have, and the resource has not."""
    found = storage.find_value_types(connection, version.pk)
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
        found = storage.diagnose_record_table(connection, version.pk).indexes
        if storage.name_order_index(version.pk, field.name) in {index.role for index in found}:
            drop_order_indexes(connection, resource, [field.name])
            create_order_indexes(connection, resource, {field.name: field.type})


def _diagnose_leftovers(connection: BaseDatabaseWrapper, kept: set[int]) -> Iterator[Finding]:
    """Find the tables that no resource serves; those that are kept for some days are none."""
    served = Resource.objects.using(connection.alias).exclude(table_version=None)
    tables = storage.list_record_tables(connection) - kept
    tables -= set(served.values_list("table_version", flat=True))
    tables -= list_kept_tables(connection).keys()
    loads = storage.list_staging_tables(connection)
    building = Load.objects.using(connection.alias).filter(table_versions__in=tables)
    running = {
        load_id
        for load_id in {*loads, *building.values_list("pk", flat=True)}
        if storage.is_running(connection, load_id)
    }
    tables -= set(
        Load.objects.using(connection.alias)
        .filter(pk__in=running, table_versions__isnull=False)
        .values_list("table_versions", flat=True)
    )
    for table_id in sorted(tables):
        yield Finding(
            "table.unserved",
            str(table_id),
            "No resource serves this table version.",
            clean_up_loads,
        )
    for load_id in sorted(loads - running):
        yield Finding(
            "table.staging",
            str(load_id),
            "The load is over, and its rows are still in a table.",
            clean_up_loads,
        )


# Indexes ------------------------------------------------------------------------------------------


def _diagnose_indexes(
    connection: BaseDatabaseWrapper,
    resource: Resource,
    version: TableVersion,
    found: Sequence[storage.FoundIndex],
) -> Iterator[Finding]:
    """Find indexes that are missing, not valid, superfluous, or differ from the choice."""
    wanted = _list_wanted(connection, resource, version)
    missing = dict(wanted)
    for index in found:  # the valid ones first
        if index.role in missing:
            del missing[index.role]
            if not index.is_valid:
                yield _report_invalid(
                    index.name, partial(storage.rebuild_index, connection, index.name)
                )
        elif not index.is_valid:
            mend = storage.rebuild_index if index.is_primary else storage.drop_indexes
            yield _report_invalid(index.name, partial(mend, connection, index.name))
        elif not index.is_primary:
            yield Finding(
                "index.superfluous",
                index.name,
                "No search uses this index, and every write takes longer for it.",
                partial(storage.drop_indexes, connection, index.name),
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
        wanted[storage.name_order_index(version.pk, field.name)] = partial(add, orders=orders)
    if resource.primary_key:
        set_key = partial(storage.set_key, connection, version.pk, resource.primary_key)
        wanted[storage.name_key_index(version.pk)] = set_key
    return wanted


def _get_role(kind: IndexKind, table_id: int) -> str:
    is_named = kind == IndexKind.SUBSTRINGS
    return storage.name_substring_index(table_id) if is_named else kind.value


def _add_indexes(
    connection: BaseDatabaseWrapper,
    table_id: int,
    *,
    kinds: Sequence[str] = (),
    orders: dict[str, str] | None = None,
) -> None:
    indexes = storage.Indexes(
        filters=IndexKind.FILTERS in kinds,
        words=IndexKind.WORDS in kinds,
        substrings=IndexKind.SUBSTRINGS in kinds,
        orders=orders or {},
    )
    storage.add_indexes(connection, table_id, indexes, memory_bytes=conf.LOAD_MEMORY_BYTES)


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
    found = storage.diagnose_record_table(connection, version.pk).indexes
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
            storage.drop_indexes(connection, index.name)
