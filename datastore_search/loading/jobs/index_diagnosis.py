"""Compare the indexes of a record table with those that it should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ... import storage
from ...conf import conf
from ...field_types import field_types
from ...models import IndexKind, Resource, TableVersion
from .findings import Finding

#: The kinds of which a table has one index; the others are of single fields, and chosen by a load.
_OF_TABLE = (IndexKind.FILTERS, IndexKind.WORDS, IndexKind.SUBSTRINGS)

#: What creates an index, by its role.
_Wanted = dict[str, Callable[[], object]]


def diagnose_indexes(
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
