"""
Replacing the records of a resource: a new table takes the place of the old one, at one moment.

Until then readers see the old records, and from then on the new ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from ... import storage
from ...conf import conf
from ...exceptions.loads import LoadFailed, UnstorableRecord
from ...field_types import dump_json
from ...models import Field, LoadState, Resource
from ..typing.options import save_options
from .fingerprint import fingerprint
from .keys import format_field_names
from .plan import LoadPlan
from .profiles import build_profiles
from .progress import ProgressReporter
from .rows import find_line, measure_longest_values, render_rows

_FIELDS_AT_ONCE = 500

#: So few rows are copied before another connection is there.
_ROWS_FEW = 10_000

#: So few rows are sorted without an index as fast as with one.
_ROWS_SORTED = 2_000

#: Of values that so many records have the number is kept.
_COMMON = 10_000

#: Values of a field whose order is indexed are as long as this at most.
_SHORT_BYTES = 500


def replace_records(
    connection: BaseDatabaseWrapper, plan: LoadPlan, progress: ProgressReporter
) -> None:
    """
    Make a new table of a file's rows, and let the resource serve it.

    Raises: ``LoadFailed``.
    """
    load = plan.load
    rows = plan.table.count_rows()
    load.profiles = build_profiles(plan.table, plan.decisions)
    indexes = _indexes(load.resource, plan, rows)
    streams = conf.LOAD_CONNECTIONS if rows > _ROWS_FEW else 1
    progress.enter_state(LoadState.COPYING)
    load.rows = _copy(connection, plan, rows, streams, progress)
    progress.enter_state(LoadState.INDEXING)
    storage.index_records(
        connection, load.pk, indexes, memory_bytes=conf.LOAD_MEMORY_BYTES, streams=streams
    )
    _set_key(connection, plan)
    load.value_counts = _common(connection, plan, indexes)
    _publish(connection, plan, indexes, progress)


def _indexes(resource: Resource, plan: LoadPlan, rows: int) -> storage.Indexes:
    """Say what to index: small tables are sorted in no time, and long texts are not sorted by."""
    if rows <= _ROWS_SORTED:
        return resource.wanted_indexes({})
    lengths = dict(zip(plan.table.names, measure_longest_values(plan.table), strict=True))
    return resource.wanted_indexes(
        {name: kind for name, kind in plan.types.items() if lengths[name] <= _SHORT_BYTES}
    )


def _copy(
    connection: BaseDatabaseWrapper,
    plan: LoadPlan,
    rows: int,
    streams: int,
    progress: ProgressReporter,
) -> int:
    try:
        return storage.create_records(
            connection,
            plan.load.pk,
            language=plan.load.language,
            batches=_watched(plan, rows, progress),
            streams=streams,
        )
    except UnstorableRecord as error:
        raise UnstorableRecord(find_line(plan.table, error.row)) from error


def _watched(plan: LoadPlan, total: int, progress: ProgressReporter) -> Iterator[list[str]]:
    done = 0
    progress.report_rows(done, total)
    for batch in render_rows(plan.table, plan.decisions):
        yield [text for _line, text in batch]
        done += len(batch)
        progress.report_rows(done, total)


def _set_key(connection: BaseDatabaseWrapper, plan: LoadPlan) -> None:
    if not plan.key:
        return
    try:
        with storage.working(connection, plan.load.pk):
            storage.set_key(connection, plan.load.pk, plan.key)
    except IntegrityError as error:
        raise LoadFailed("key.duplicate", fields=format_field_names(plan.key)) from error


def _common(
    connection: BaseDatabaseWrapper, plan: LoadPlan, indexes: storage.Indexes
) -> dict[str, dict[str, int]]:
    """Count the values that would take long to count each time they are asked for."""
    texts = [name for name in indexes.orders if plan.types[name] == "text"]
    found = storage.count_common(connection, plan.load.pk, texts, least=_COMMON)
    return {
        name: {dump_json(value): count for value, count in counts.items()}
        for name, counts in found.items()
    }


def _publish(
    connection: BaseDatabaseWrapper,
    plan: LoadPlan,
    indexes: storage.Indexes,
    progress: ProgressReporter,
) -> None:
    """Switch the resource to the new records, its fields with it, at one moment."""
    load = plan.load
    with storage.working(connection, load.pk):
        resource = Resource.objects.select_for_update().filter(pk=load.resource_id).first()
        if resource is None:
            raise LoadFailed("load.resource_deleted")
        _describe(resource, plan, indexes)
        resource.current_load = load
        resource.primary_key = list(plan.key)
        resource.save(update_fields=["current_load", "primary_key", "modified_at"])
        save_options(resource, plan.options)
        load.finished_at = timezone.now()
        load.field_formats = plan.field_formats
        load.fingerprint = fingerprint(load, plan.options, plan.key)
        if load.profiles:
            load.profiles["of"] = load.fingerprint
        load.save(update_fields=["field_formats", "fingerprint", "profiles"])
        progress.enter_state(LoadState.READY)
    load.resource = resource


def _describe(resource: Resource, plan: LoadPlan, indexes: storage.Indexes) -> None:
    """Bring the dictionary up to the new fields; what people wrote about a field stays."""
    known = {field.name: field for field in resource.fields.all()}
    resource.fields.exclude(name__in=plan.table.names).delete()
    fields = []
    for position, (name, label) in enumerate(zip(plan.table.names, plan.table.labels, strict=True)):
        field = known.get(name) or new_field(resource, name, label)
        field.position, field.type, field.is_sparse = position, plan.types[name], False
        field.has_order_index = name in indexes.orders
        fields.append(field)
    Field.objects.bulk_create(
        fields,
        update_conflicts=True,
        unique_fields=["resource", "name"],
        update_fields=["position", "type", "is_sparse", "has_order_index"],
        batch_size=_FIELDS_AT_ONCE,
    )


def new_field(resource: Resource, name: str, label: str) -> Field:
    """Describe a field that a file brings; a label that is the name itself says nothing."""
    return Field(resource=resource, name=name, label=label if label != name else "")
