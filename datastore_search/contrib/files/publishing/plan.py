"""Plan a load before anything is written: what changes, and which rows cannot be loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from ....models import Field, Resource
from ..formats.staging import StagedTable
from ..messages import Notice
from ..messages.failures import LoadFailed
from ..models import Load, LoadState, Mode
from ..types.field_formats import Decision, FieldFormat
from ..types.inference import collect_type_notices, decide_formats, explain_texts
from ..types.options import LoadOptions, resolve_key
from .keys import check_key, record_key_errors
from .merge_options import resolve_merge_key, resolve_merge_options
from .postgres_limits import record_unstorable_values

_Row = TypeVar("_Row")


class ProgressReporter(Protocol):
    """Takes reports of a load's progress, and may end the load by raising ``LoadFailed``."""

    def enter_state(self, state: LoadState) -> None:
        """Record that the load has reached a state."""

    def report_rows(self, done: int, total: int) -> None:
        """Report how many rows have been written, of how many."""


def report_batches(
    table: StagedTable, progress: ProgressReporter, batches: Iterable[list[_Row]]
) -> Iterator[list[_Row]]:
    """Report each batch of a table's rows once it is written, when the next one is asked for."""
    done, total = 0, table.count_rows()
    progress.report_rows(done, total)
    for batch in batches:
        yield batch
        done += len(batch)
        progress.report_rows(done, total)


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """
    A load, its file, and what was decided about it.

    ``replaces`` tells whether it replaces the records, if there are any; ``key`` names the fields
    of the primary key; ``notices`` are for the user, the ``reading_notices`` among them.
    """

    load: Load
    table: StagedTable
    options: LoadOptions
    replaces: bool
    decisions: tuple[Decision, ...]
    key: tuple[str, ...]
    changes: FieldChanges
    reading_notices: tuple[Notice, ...]
    notices: tuple[Notice, ...]

    @property
    def connection(self) -> BaseDatabaseWrapper:
        """The connection to the database of the load."""
        return connections[router.db_for_write(Load)]

    @property
    def formats(self) -> dict[str, FieldFormat]:
        """The formats, by the names of the file's fields."""
        formats = (decision.field_format for decision in self.decisions)
        return dict(zip(self.table.names, formats, strict=True))

    @property
    def types(self) -> dict[str, str]:
        """The names of the types, by the names of the file's fields."""
        return {name: each.field_type.name for name, each in self.formats.items()}

    @property
    def field_formats(self) -> dict[str, str]:
        """The names of the formats, by the names of the file's fields."""
        return {name: each.name for name, each in self.formats.items()}

    @property
    def units(self) -> dict[str, str]:
        """The units of numbers in the file, by the names of the fields that have one."""
        return {name: each.unit for name, each in self.formats.items() if each.unit}

    def find_lost_fields(self) -> LoadFailed | None:
        """Find the failure of a load by which fields would be lost without permission."""
        may_lose = self.options.drop_missing_fields or not self.replaces
        lost = () if may_lose else self.changes.missing
        return LoadFailed("load.missing_fields", fields=quote_names(lost)) if lost else None


def build_plan(
    load: Load,
    resource: Resource,
    table: StagedTable,
    options: LoadOptions,
) -> LoadPlan:
    """
    Decide how a file is loaded; rows that cannot be loaded get row errors in the table.

    Raises: ``LoadFailed``.
    """
    replaces = options.mode == Mode.REPLACE or not resource.has_table
    if replaces:
        key, notices = _resolve_replacing_key(resource, table, options)
        if resource.index_kinds != resource.chosen_index_kinds:
            notices.append(Notice("notice.substrings_not_indexed"))
        check_key(key, table.names)
        decisions = decide_formats(table, options, explain=True)
    else:
        key = resolve_merge_key(resource, options)
        check_key(key, table.names)
        merging, lossless, notices = resolve_merge_options(resource, table, options)
        decisions = decide_formats(table, merging, explain=True, lossless=lossless)
    changes = compare_fields(resource, table, decisions)
    record_unstorable_values(table, decisions)
    record_key_errors(table, decisions, key)
    change_notices = changes.build_notices(replaces=replaces)
    ordered = (*change_notices, *notices) if replaces else (*notices, *change_notices)
    reading = (*table.notices, *collect_type_notices(table, options, decisions))
    told = (*reading, *explain_texts(table, decisions), *ordered)
    return LoadPlan(load, table, options, replaces, decisions, key, changes, reading, told)


def _resolve_replacing_key(
    resource: Resource, table: StagedTable, options: LoadOptions
) -> tuple[tuple[str, ...], list[Notice]]:
    """Resolve the key of the new table: the resource's own key is dropped if a field of it is."""
    key = resolve_key(resource, options)
    missing = [name for name in key if name not in table.names]
    if options.key is None and missing:
        return (), [Notice("notice.key_dropped", fields=", ".join(missing))]
    return key, []


@dataclass(frozen=True, slots=True)
class RetypedField:
    """A field that has another type than before; both are names of types."""

    name: str
    before: str
    type: str


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """The names of fields that the file adds or lacks, and the fields with another type."""

    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    retyped: tuple[RetypedField, ...] = ()

    def build_notices(self, *, replaces: bool) -> list[Notice]:
        """Build a notice of each change; ``replaces`` if missing fields are dropped."""
        notices: list[Notice] = []
        if self.added:
            notices.append(Notice("notice.fields_added", fields=quote_names(self.added)))
        if self.missing:
            code = "notice.fields_dropped" if replaces else "notice.fields_empty"
            notices.append(Notice(code, fields=quote_names(self.missing)))
        notices += [
            Notice("notice.field_retyped", field=each.name, before=each.before, type=each.type)
            for each in self.retyped
        ]
        return notices


def compare_fields(
    resource: Resource, table: StagedTable, decisions: Sequence[Decision]
) -> FieldChanges:
    """Compare a file with a resource; one without a table has no fields that could change."""
    if resource.table_version_id is None:
        return FieldChanges()
    before = dict(resource.fields.values_list("name", "type"))
    now = dict(zip(table.names, decisions, strict=True))
    return FieldChanges(
        added=tuple(name for name in now if name not in before),
        missing=tuple(name for name in before if name not in now),
        retyped=tuple(
            RetypedField(name, before[name], decision.field_type.name)
            for name, decision in now.items()
            if before.get(name, decision.field_type.name) != decision.field_type.name
        ),
    )


def quote_names(names: Sequence[str]) -> str:
    """List names in a message."""
    return ", ".join(f"“{name}”" for name in names)


def build_field(resource: Resource, name: str, label: str, type_name: str) -> Field:
    """Build a new field of a file, without a label that equals the name."""
    label = label if label != name else ""
    return Field(resource=resource, name=name, label=label, type=type_name)
