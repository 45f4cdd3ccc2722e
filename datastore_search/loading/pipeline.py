"""
From a table that was read to records that are being served.

Types → a new record table → indexes → publish, all in one direction.  Until the last moment readers
see the old records, and from then on the new ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from .. import storage
from ..conf import conf
from ..exceptions.loads import BadRow, BadRows, ResourceGone
from ..field_types import FieldType, as_json
from ..models import BadRowReport, Field, Load, LoadState, Resource
from .forms import Form
from .inference import Decision, decide, longest_values
from .options import BadRowsChoice, LoadOptions
from .table import FAULTS, STAGED, Table, literal

_ROWS_AT_ONCE = 2_000
_KEYS_AT_ONCE = 500

#: So few rows are copied before another connection is there, and sorted without an index.
_ROWS_FEW = 10_000

#: Of values that so many records have the number is kept.
_COMMON = 10_000

#: Values of a field whose order is indexed are as long as this at most.
_SHORT_BYTES = 500

#: Bad rows that a report lists at most; all of them are counted.
_REPORTED = 100_000


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how far a load is."""

    load: Load
    enter: Callable[[Load, LoadState], None]
    progress: Callable[[int, int], None] | None

    def enters(self, state: LoadState) -> None:
        """Tell of a new state."""
        self.enter(self.load, state)

    def advances(self, done: int, total: int) -> None:
        """Tell how many records have been written."""
        self.load.done, self.load.total = done, total
        if self.progress:
            self.progress(done, total)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is read from the file, and what is made of it: the fields' types, the indexes."""

    table: Table
    decisions: tuple[Decision, ...]
    rows: int
    indexes: storage.Indexes


def load_table(
    connection: BaseDatabaseWrapper,
    load: Load,
    table: Table,
    options: LoadOptions,
    watch: Watch,
) -> None:
    """
    Do what is to be done once a file has been read.

    Raises: ``LoadFailed``.
    """
    decisions = decide(table, options)
    _report(load, table, options)
    rows = table.count()
    plan = _Plan(table, decisions, rows, _indexes(load.resource, table, decisions, rows))
    _fill(connection, load, plan, watch)
    _publish(connection, load, plan, watch)


def _report(load: Load, table: Table, options: LoadOptions) -> None:
    """
    Keep the rows that cannot be loaded, and leave them out, or refuse the file.

    Raises: ``BadRows``.
    """
    load.faults = table.count(f"(SELECT DISTINCT line FROM {FAULTS})")
    if not load.faults:
        return
    found = table.connection.execute(
        f"SELECT line, field, value, kept FROM {FAULTS} ORDER BY line LIMIT {_REPORTED}"
    ).fetchall()
    reports = [
        BadRowReport(load=load, line=line, field=field, value=value, kept=json.loads(kept))
        for line, field, value, kept in found
    ]
    BadRowReport.objects.bulk_create(reports, batch_size=_KEYS_AT_ONCE)
    Load.objects.filter(pk=load.pk).update(faults=load.faults)
    if options.bad_rows == BadRowsChoice.REFUSE:
        first = reports[0]
        raise BadRows(
            count=load.faults,
            line=first.line,
            field=first.field or "–",
            value=first.value,
            reason=BadRow.revived(first.kept),
        )
    table.connection.execute(f"DELETE FROM {STAGED} WHERE line IN (SELECT line FROM {FAULTS})")


def _indexes(
    resource: Resource, table: Table, decisions: tuple[Decision, ...], rows: int
) -> storage.Indexes:
    """Say what to index: small tables are sorted in no time, and long texts are not sorted by."""
    if rows <= _ROWS_FEW:
        return resource.wanted_indexes({})
    named = zip(table.names, decisions, longest_values(table), strict=True)
    short = {name: found.kind.name for name, found, longest in named if longest <= _SHORT_BYTES}
    return resource.wanted_indexes(short)


# The steps ----------------------------------------------------------------------------------------


def _fill(connection: BaseDatabaseWrapper, load: Load, plan: _Plan, watch: Watch) -> None:
    streams = conf.LOAD_CONNECTIONS if plan.rows > _ROWS_FEW else 1
    watch.enters(LoadState.COPYING)
    load.rows = storage.create_records(
        connection,
        load.pk,
        language=load.language,
        batches=_watched(_batches(plan.table, plan.decisions), plan.rows, watch),
        streams=streams,
    )
    watch.enters(LoadState.INDEXING)
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
    found_for = dict(zip(plan.table.names, plan.decisions, strict=True))
    texts = [name for name in plan.indexes.orders if found_for[name].kind.is_text]
    found = storage.count_common(connection, load.pk, texts, least=_COMMON)
    return {
        name: {as_json(value): count for value, count in counts.items()}
        for name, counts in found.items()
    }


def _batches(table: Table, decisions: tuple[Decision, ...]) -> Iterator[list[str]]:
    """Write the rows as JSON texts, in the order of the file."""
    members = [
        f"{literal(as_json(name) + ':')} || {_member(column, decision.form)}"
        for column, name, decision in zip(table.columns, table.names, decisions, strict=True)
    ]
    rows = table.connection.execute(
        f"SELECT '{{' || concat_ws(',', {', '.join(members)}) || '}}' FROM {table.relation}"
    )
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        yield [text for (text,) in batch]


def _member(column: str, form: Form) -> str:
    """Write a column's values as JSON; an empty cell is null, a quoted empty text is kept."""
    empty = "'\"\"'" if form.kind.is_text else "'null'"
    return (
        f"CASE WHEN {column} IS NULL THEN 'null' WHEN {column} = '' THEN {empty}"
        f" ELSE {FieldType.over(form.writes, column)} END"
    )


def _watched(batches: Iterator[list[str]], total: int, watch: Watch) -> Iterator[list[str]]:
    done = 0
    watch.advances(done, total)
    for batch in batches:
        yield batch
        done += len(batch)
        watch.advances(done, total)


def _publish(connection: BaseDatabaseWrapper, load: Load, plan: _Plan, watch: Watch) -> None:
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
        watch.enters(LoadState.READY)
    load.resource = resource


def _describe(resource: Resource, plan: _Plan) -> None:
    """Bring the dictionary up to the new fields; what people wrote about a field stays."""
    known = {field.name: field for field in resource.fields.all()}
    table = plan.table
    resource.fields.exclude(name__in=table.names).delete()
    fields = []
    for position, (name, label, decision) in enumerate(
        zip(table.names, table.labels, plan.decisions, strict=True)
    ):
        field = known.get(name) or Field(
            resource=resource, name=name, label=label if label != name else ""
        )
        field.position, field.type, field.sparse = position, decision.kind.name, False
        field.ordered = name in plan.indexes.orders
        fields.append(field)
    Field.objects.bulk_create(
        fields,
        update_conflicts=True,
        unique_fields=["resource", "name"],
        update_fields=["position", "type", "sparse", "ordered"],
        batch_size=_KEYS_AT_ONCE,
    )
