"""
The only write path: from a file to records that are being served.

source → reading → inference → a new record table → indexes → publish, all in one direction; each
step is a state of a ``Load`` that staff can watch.  Until the last moment readers see the old
records, and from then on the new ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import duckdb
from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from .. import storage
from ..conf import conf
from ..exceptions import LoadBroken, LoadFailed, LoadInterrupted, ResourceGone, UnreadableFile
from ..field_types import FieldType, as_json
from ..models import Field, Load, LoadState, Resource
from .inference import count_rows, infer_types, longest_values
from .reading import Table, read_csv

logger = logging.getLogger(__name__)

_ROWS_AT_ONCE = 2_000
_KEYS_AT_ONCE = 500

#: So few rows are copied before another connection is there, and sorted without an index.
_ROWS_FEW = 10_000

#: Of values that so many records have the number is kept.
_COMMON = 10_000

#: Values of a field whose order is indexed are as long as this at most.
_SHORT_BYTES = 500

#: Called with the records written so far and all of them.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is read from the file, and what is made of it: the fields' types, the indexes."""

    table: Table
    kinds: tuple[FieldType, ...]
    rows: int
    indexes: storage.Indexes


def load_file(
    resource: Resource,
    path: Path,
    *,
    types: Mapping[str, str] | None = None,
    source: str = "",
    progress: Progress | None = None,
) -> Load:
    """
    Load a CSV file into a resource, in place of what it holds.

    ``types`` chooses the types of some fields by name; the others are inferred.  ``source`` is what
    staff call the file (its name, if not given).

    Raises: ``LoadFailed`` when the file cannot be loaded: the resource serves what it served, and
    the load, which keeps the reason, is marked as failed.
    """
    cleanup(resource)
    load = Load.objects.create(
        resource=resource,
        source=(source or path.name)[-500:],
        language=resource.language,
        indexes=resource.index_kinds,
    )
    connection = connections[router.db_for_write(Load)]
    try:
        with storage.load_at_work(connection, load.pk), read_csv(path) as table:
            kinds = infer_types(table, types or {})
            rows = count_rows(table)
            plan = _Plan(table, kinds, rows, _indexes(resource, table, kinds, rows))
            _fill(connection, load, plan, progress or _nobody_watches)
            _publish(connection, load, plan)
    except duckdb.Error as error:
        failure = UnreadableFile(reason=str(error).strip().split("\n", 1)[0][:200])
        _fail(connection, load, failure)
        raise failure from error
    except LoadFailed as error:
        _fail(connection, load, error)
        raise
    except BaseException:
        logger.exception("Load %s of resource %s failed.", load.pk, resource.pk)
        _fail(connection, load, LoadBroken())
        raise
    cleanup(resource)
    return load


def cleanup(resource: Resource | None = None) -> int:
    """
    Remove what loads have left behind, of one resource or of all, and return how many tables.

    Loads whose process is gone are marked as failed; tables that no resource serves and no load is
    filling are dropped, unless somebody is still reading them.
    """
    connection = connections[router.db_for_write(Load)]
    loads = Load.objects.all() if resource is None else Load.objects.filter(resource=resource)
    stored = storage.stored_loads(connection)
    for load in loads.exclude(state__in=(LoadState.READY, LoadState.FAILED)):
        if storage.is_at_work(connection, load.pk):
            stored.discard(load.pk)
        else:
            _mark_failed(load, LoadInterrupted())
    serving = Resource.objects.exclude(current_load=None).values_list("current_load", flat=True)
    stored -= set(serving)
    if resource is not None:
        stored &= set(loads.values_list("pk", flat=True))
    return sum(storage.drop_records(connection, load_id) for load_id in stored)


def _indexes(
    resource: Resource, table: Table, kinds: tuple[FieldType, ...], rows: int
) -> storage.Indexes:
    """Say what to index: small tables are sorted in no time, and long texts are not sorted by."""
    if rows <= _ROWS_FEW:
        return resource.wanted_indexes({})
    named = zip(table.names, kinds, longest_values(table), strict=True)
    short = {name: kind.name for name, kind, longest in named if longest <= _SHORT_BYTES}
    return resource.wanted_indexes(short)


# The steps ----------------------------------------------------------------------------------------


def _fill(connection: BaseDatabaseWrapper, load: Load, plan: _Plan, progress: Progress) -> None:
    streams = conf.LOAD_CONNECTIONS if plan.rows > _ROWS_FEW else 1
    _enter(load, LoadState.COPYING)
    load.rows = storage.create_records(
        connection,
        load.pk,
        language=load.language,
        batches=_watched(_batches(plan.table, plan.kinds), plan.rows, progress),
        streams=streams,
    )
    _enter(load, LoadState.INDEXING)
    storage.index_records(
        connection,
        load.pk,
        plan.indexes,
        memory_bytes=conf.LOAD_MEMORY_BYTES,
        streams=streams,
    )
    load.common = _common(connection, load, plan)


def _common(connection: BaseDatabaseWrapper, load: Load, plan: _Plan) -> dict[str, dict[str, int]]:
    """Count the values that would take long to count each time they are asked for."""
    kinds = dict(zip(plan.table.names, plan.kinds, strict=True))
    texts = [name for name in plan.indexes.orders if kinds[name].is_text]
    found = storage.count_common(connection, load.pk, texts, least=_COMMON)
    return {
        name: {as_json(value): count for value, count in counts.items()}
        for name, counts in found.items()
    }


def _batches(table: Table, kinds: tuple[FieldType, ...]) -> Iterator[list[str]]:
    """Write the rows as JSON texts, in the order of the file."""
    members = [
        f"'{_sql_text(as_json(name))}:' || {_member(column, kind)}"
        for column, name, kind in zip(table.columns, table.names, kinds, strict=True)
    ]
    rows = table.connection.execute(
        f"SELECT '{{' || concat_ws(',', {', '.join(members)}) || '}}' FROM {table.relation}"
    )
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        yield [text for (text,) in batch]


def _member(column: str, kind: FieldType) -> str:
    """Write a column's values as JSON; an empty cell is null, a quoted empty text is kept."""
    empty = "'\"\"'" if kind.name == "text" else "'null'"
    return (
        f"CASE WHEN {column} IS NULL THEN 'null' WHEN {column} = '' THEN {empty}"
        f" ELSE {FieldType.over(kind.writes, column)} END"
    )


def _sql_text(text: str) -> str:
    return text.replace("'", "''")


def _watched(batches: Iterator[list[str]], total: int, progress: Progress) -> Iterator[list[str]]:
    done = 0
    progress(done, total)
    for batch in batches:
        yield batch
        done += len(batch)
        progress(done, total)


def _nobody_watches(_done: int, _total: int) -> None:
    pass


def _publish(connection: BaseDatabaseWrapper, load: Load, plan: _Plan) -> None:
    """Switch the resource to the new records, its fields with it, at one moment."""
    with transaction.atomic(using=connection.alias):
        resource = Resource.objects.select_for_update().filter(pk=load.resource_id).first()
        if resource is None:
            raise ResourceGone
        _describe(resource, plan)
        resource.current_load = load
        resource.primary_key = []  # a constraint of the old table
        resource.save(update_fields=["current_load", "primary_key", "modified"])
        load.finished = timezone.now()
        _enter(load, LoadState.READY)
    load.resource = resource


def _describe(resource: Resource, plan: _Plan) -> None:
    """Bring the dictionary up to the new fields; what people wrote about a field stays."""
    known = {field.name: field for field in resource.fields.all()}
    table = plan.table
    resource.fields.exclude(name__in=table.names).delete()
    fields = []
    for position, (name, label, kind) in enumerate(
        zip(table.names, table.labels, plan.kinds, strict=True)
    ):
        field = known.get(name) or Field(
            resource=resource, name=name, label=label if label != name else ""
        )
        field.position, field.type, field.sparse = position, kind.name, False
        field.ordered = name in plan.indexes.orders
        fields.append(field)
    Field.objects.bulk_create(
        fields,
        update_conflicts=True,
        unique_fields=["resource", "name"],
        update_fields=["position", "type", "sparse", "ordered"],
        batch_size=_KEYS_AT_ONCE,
    )


def _enter(load: Load, state: LoadState) -> None:
    load.state = state
    updated = Load.objects.filter(pk=load.pk).update(
        state=state, rows=load.rows, common=load.common, finished=load.finished
    )
    if not updated:
        raise ResourceGone


def _fail(connection: BaseDatabaseWrapper, load: Load, failure: LoadFailed) -> None:
    """Keep the reason, as far as the database still listens, and drop what was made."""
    if connection.in_atomic_block and connection.needs_rollback:
        return
    try:
        _mark_failed(load, failure)
        storage.drop_records(connection, load.pk, patience=timedelta(seconds=2))
    except Exception:  # the failure itself is what the caller must see; a clean-up does the rest
        logger.exception("Load %s could not be marked as failed.", load.pk)


def _mark_failed(load: Load, failure: LoadFailed) -> None:
    Load.objects.filter(pk=load.pk).update(
        state=LoadState.FAILED, failure=failure.kept(), finished=timezone.now()
    )
    load.refresh_from_db()
