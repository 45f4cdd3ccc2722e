"""Plan a load before anything is written: what changes, and which rows cannot be loaded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Protocol

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from ....field_types import MAX_FIELDS
from ....models import Field, Resource, TableVersion
from ....writing import MAX_KEY_FIELDS
from ..formats.staging import StagedTable
from ..messages import Notice
from ..messages.failures import LoadFailed
from ..models import Load, LoadState, Mode
from ..types.field_formats import (
    FORMAT_SEPARATOR,
    Decision,
    FieldFormat,
    field_formats,
    get_day_order,
    list_written_groups,
    parse_field_format,
)
from ..types.inference import collect_type_notices, decide_formats, explain_texts
from ..types.matching import count_matches
from ..types.options import LoadOptions, resolve_key
from .bad_rows import record_key_errors, record_unstorable_values

_GET_LOSSLESS = attrgetter("lossless_condition")


class ProgressReporter(Protocol):
    """Takes reports of a load's progress, and may end the load by raising ``LoadFailed``."""

    def enter_state(self, state: LoadState) -> None:
        """Record that the load has reached a state."""

    def report_rows(self, done: int, total: int) -> None:
        """Report how many rows have been written, of how many."""


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
    load: Load, resource: Resource, table: StagedTable, options: LoadOptions
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
        decisions = decide_formats(table, options, explain=True)
    else:
        key = _resolve_merge_key(resource, options)
        _check_key(key, table.names)
        merging, lossless, notices = _resolve_merge_options(resource, table, options)
        decisions = decide_formats(table, merging, explain=True, lossless=lossless)
    changes = compare_fields(resource, table, decisions)
    record_unstorable_values(table, decisions)
    record_key_errors(table, decisions, key)
    change_notices = changes.build_notices(replaces=replaces)
    ordered = (*change_notices, *notices) if replaces else (*notices, *change_notices)
    reading = (*table.notices, *collect_type_notices(table, options, decisions))
    told = (*reading, *explain_texts(table, decisions), *ordered)
    return LoadPlan(load, table, options, replaces, decisions, key, changes, reading, told)


def _check_key(key: Sequence[str], names: Collection[str]) -> None:
    """Refuse a key that a table cannot have; ``names`` are the names of its fields."""
    for name in key:
        if name not in names:
            raise LoadFailed("key.missing_field", field=name)
    if len(key) > MAX_KEY_FIELDS:
        raise LoadFailed("key.too_many_fields", most=MAX_KEY_FIELDS)


def _resolve_replacing_key(
    resource: Resource, table: StagedTable, options: LoadOptions
) -> tuple[tuple[str, ...], list[Notice]]:
    """Resolve the key of the new table: the resource's own key is dropped if a field of it is."""
    key = resolve_key(resource, options)
    missing = [name for name in key if name not in table.names]
    if options.key is None and missing:
        return (), [Notice("notice.key_dropped", fields=", ".join(missing))]
    _check_key(key, table.names)
    return key, []


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """The names of fields that the file adds or lacks, and a notice of each other type."""

    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    retyped: tuple[Notice, ...] = ()

    def build_notices(self, *, replaces: bool) -> list[Notice]:
        """Build a notice of each change; ``replaces`` if missing fields are dropped."""
        notices: list[Notice] = []
        if self.added:
            notices.append(Notice("notice.fields_added", fields=quote_names(self.added)))
        if self.missing:
            code = "notice.fields_dropped" if replaces else "notice.fields_empty"
            notices.append(Notice(code, fields=quote_names(self.missing)))
        return [*notices, *self.retyped]


def compare_fields(
    resource: Resource, table: StagedTable, decisions: Sequence[Decision]
) -> FieldChanges:
    """Compare a file with a resource; one without a table has no fields that could change."""
    if resource.table_version_id is None:
        return FieldChanges()
    before = dict(resource.fields.values_list("name", "type"))
    types = (decision.field_type.name for decision in decisions)
    now = dict(zip(table.names, types, strict=True))
    return FieldChanges(
        added=tuple(name for name in now if name not in before),
        missing=tuple(name for name in before if name not in now),
        retyped=tuple(
            Notice("notice.field_retyped", field=name, before=before[name], type=kind)
            for name, kind in now.items()
            if before.get(name, kind) != kind
        ),
    )


def quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def build_field(resource: Resource, name: str, label: str, type_name: str) -> Field:
    """Build a new field of a file, without a label that equals the name."""
    label = label if label != name else ""
    return Field(resource=resource, name=name, label=label, type=type_name)


# Files that are merged ----------------------------------------------------------------------------


def _resolve_merge_key(resource: Resource, options: LoadOptions) -> tuple[str, ...]:
    """Resolve the key by which rows are merged; empty where they are only added."""
    key = resolve_key(resource, options)
    if resource.primary_key and list(key) != resource.primary_key:
        raise LoadFailed("key.cannot_change", fields=", ".join(resource.primary_key))
    if options.mode == Mode.UPSERT and not key:
        raise LoadFailed("key.required")
    return key


def _resolve_merge_options(
    resource: Resource, table: StagedTable, options: LoadOptions
) -> tuple[LoadOptions, list[str], list[Notice]]:
    """
    Choose the types that the resource's fields have, in the formats in which the file writes them.

    Return also the fields whose values must come back as they were written, because the call does
    not choose their types.

    Raises: ``LoadFailed`` with ``file.too_many_fields``, ``UnknownType``.
    """
    known = dict(resource.fields.values_list("name", "type"))
    count = len(known.keys() | set(table.names))
    if count > MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=count, most=MAX_FIELDS)
    types = dict(options.types)
    lossless: list[str] = []
    notices: list[Notice] = []
    requested = options.requested_types
    version = TableVersion.objects.filter(pk=resource.table_version_id or 0)
    before = version.values_list("field_formats", flat=True).first() or {}
    undecided: dict[str, str] = {}
    for column, name, label in zip(table.columns, table.names, table.labels, strict=True):
        if name not in known:
            continue
        type_name = known[name]
        chosen = requested.get(name) or requested.get(label) or ""
        of_type = [
            each
            for each in (chosen.split(FORMAT_SEPARATOR) if chosen else ())
            if parse_field_format(each).field_type.name == type_name
        ]
        if chosen and not of_type:
            notices.append(Notice("notice.type_kept", field=name, type=type_name, chosen=chosen))
        types.pop(label, None)
        types[name] = FORMAT_SEPARATOR.join(of_type)
        if not (of_type and {name, label} & options.types.keys()):
            lossless.append(name)
        if not of_type:
            undecided[column] = type_name
    for column, found in _find_formats(table, undecided, options, before).items():
        types[table.get_name(column)] = found.name
    return replace(options, types=types), lossless, notices


def _find_formats(
    table: StagedTable, types: Mapping[str, str], options: LoadOptions, before: Mapping[str, str]
) -> dict[str, FieldFormat]:
    """
    Find the format in which most values of each column come back; ``types`` are by column.

    Of several, the previous file's is used, or the format of the chosen order of day and month, or
    the default format.  Where it is none of these, the column is ambiguous, and values that are not
    in the default format are row errors.
    """
    groups = list_written_groups(options.date_order)
    allowed = [*field_formats.values(), *(each for group in groups for each in group.formats)]
    formats: dict[str, tuple[FieldFormat, ...]] = {}
    for column, type_name in types.items():
        last = before.get(table.get_name(column))
        some = [*allowed, *([parse_field_format(last)] if last else [])]
        formats[column] = tuple(
            each for each in dict.fromkeys(some) if each.field_type.name == type_name
        )
    found = {column: field_formats[type_name] for column, type_name in types.items()}
    several = {column: some for column, some in formats.items() if len(some) > 1}
    for column, counts in count_matches(table, several, _GET_LOSSLESS).items():
        best = [each for each in formats[column] if counts[each] == max(counts.values())]
        last = before.get(table.get_name(column))
        if preferred := _find_preferred(best, last, options):
            found[column] = preferred
    return found


def _find_preferred(
    formats: Sequence[FieldFormat], last: str | None, options: LoadOptions
) -> FieldFormat | None:
    """
    Find the format to prefer: the only one, the previous file's, the chosen order's, the default.

    Numbers with spaces alone between thousands are read as the same in all formats.
    """
    if len(formats) == 1:
        return formats[0]
    orders = {options.date_order, get_day_order(options.date_order)} - {""}
    preferred = (
        *(each for each in formats if each.name == last),
        *(each for each in formats if each.format in orders),
        *(each for each in formats if each.format in {"", "spaced"}),
    )
    return preferred[0] if preferred else None
