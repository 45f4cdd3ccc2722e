"""Plan a load before anything is written: what changes, and which rows cannot be loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import attrgetter
from typing import Protocol

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from .... import __version__
from ....database.tables import count_records
from ....models import Resource, TableSettings, TableVersion
from ....writing import MAX_KEY_FIELDS
from ..formats.staging import StagedTable, check_field_count
from ..messages import LoadFailed, Notice, quote_names
from ..models import Load, LoadState, Mode
from ..types.field_formats import (
    FORMAT_SEPARATOR,
    SHORT_YEAR_ORDERS,
    Decision,
    FieldFormat,
    field_formats,
    list_written_groups,
    parse_field_format,
)
from ..types.inference import collect_type_notices, decide_formats, explain_texts
from ..types.matching import count_matches
from ..types.options import LoadOptions, resolve_key
from .bad_rows import record_key_errors, record_unstorable_values


class ProgressReporter(Protocol):
    """Takes reports of a load's progress, and may end the load by raising ``LoadFailed``."""

    def enter_state(self, state: LoadState) -> None:
        """Record that the load has reached a state."""

    def report_rows(self, done: int, total: int) -> None:
        """Report how many rows have been written, of how many."""


# A file that has been loaded already (``docs/decisions/0018``) ------------------------------------


def is_unchanged(load: Load, options: LoadOptions) -> bool:
    """Return whether loading a file would make the records that the resource serves already."""
    if options.force or not load.checksum:
        return False
    resource = Resource.objects.filter(pk=load.resource_id).select_related("table_version").first()
    if resource is None or resource.table_version is None:
        return False
    served = resource.table_version
    key = resolve_key(resource, options)
    fingerprint = compute_fingerprint(load, options, key, resource.table_settings)
    if fingerprint != served.fingerprint:
        return False
    # Something else may have removed records: a restore without them, a statement by hand.
    connection = connections[router.db_for_write(Load)]
    return count_records(connection, served.pk) == served.record_count


def compute_fingerprint(
    load: Load, options: LoadOptions, key: Sequence[str], settings: TableSettings
) -> str:
    """
    Compute a digest of everything that the records of a load are made from.

    That is the file, how it is read and indexed, and the version of this package.  A load whose
    file has no checksum gets a digest of its own.
    """
    if not load.checksum:
        return f"load {load.pk}"
    made_of = {
        "version": __version__,
        "file": load.checksum,
        "options": options.select_content_options().to_json(),
        "key": list(key),
        **{name: value for name, value in settings._asdict().items() if value},
    }
    return sha256(json.dumps(made_of, sort_keys=True, default=list).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """The names of fields that the file adds or lacks, and a notice of each other type."""

    added: tuple[str, ...]
    missing: tuple[str, ...]
    retyped: tuple[Notice, ...]

    def build_notices(self, *, replaces: bool) -> list[Notice]:
        """Build a notice of each change; ``replaces`` if missing fields are dropped."""
        notices: list[Notice] = []
        if self.added:
            notices.append(Notice("notice.fields_added", fields=quote_names(self.added)))
        if self.missing:
            code = "notice.fields_dropped" if replaces else "notice.fields_empty"
            notices.append(Notice(code, fields=quote_names(self.missing)))
        return [*notices, *self.retyped]


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """
    A load, its file, and what was decided about it.

    ``replaces`` tells whether it replaces the records, if there are any; ``formats`` are those of
    the ``decisions``, by the names of the file's fields; ``key`` names the fields of the primary
    key; ``notices`` are for the user, the ``reading_notices`` among them.
    """

    load: Load
    table: StagedTable
    options: LoadOptions
    replaces: bool
    decisions: tuple[Decision, ...]
    formats: Mapping[str, FieldFormat]
    key: tuple[str, ...]
    changes: FieldChanges
    reading_notices: tuple[Notice, ...]
    notices: tuple[Notice, ...]

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return connections[router.db_for_write(Load)]

    @property
    def types(self) -> dict[str, str]:
        return {name: each.field_type.name for name, each in self.formats.items()}

    @property
    def field_formats(self) -> dict[str, str]:
        return {name: each.name for name, each in self.formats.items()}

    def find_lost_fields(self) -> LoadFailed | None:
        """Find the failure of a load by which fields would be lost without permission."""
        may_lose = self.options.drop_missing_fields or not self.replaces
        lost = () if may_lose else self.changes.missing
        return LoadFailed("load.missing_fields", fields=quote_names(lost)) if lost else None


def build_plan(
    load: Load, resource: Resource, table: StagedTable, options: LoadOptions
) -> LoadPlan:
    """Decide how a file is loaded; rows that cannot be loaded get row errors in the table."""
    replaces = options.mode == Mode.REPLACE or not resource.has_table
    notices: list[Notice] = []
    key = resolve_key(resource, options)
    missing = [name for name in key if name not in table.names]
    if replaces and options.key is None and missing:  # the resource's own key goes with its fields
        notices.append(Notice("notice.key_dropped", fields=", ".join(missing)))
        key, missing = (), []
    if not replaces and resource.primary_key and list(key) != resource.primary_key:
        raise LoadFailed("key.cannot_change", fields=", ".join(resource.primary_key))
    if not replaces and options.mode == Mode.UPSERT and not key:
        raise LoadFailed("key.required")
    if missing:
        raise LoadFailed("key.missing_field", field=missing[0])
    if len(key) > MAX_KEY_FIELDS:
        raise LoadFailed("key.too_many_fields", most=MAX_KEY_FIELDS)
    if replaces:
        if resource.index_kinds != resource.chosen_index_kinds:
            notices.append(Notice("notice.substrings_not_indexed"))
        decisions = decide_formats(table, options)
    else:
        merging, lossless, notices = _resolve_merge_options(resource, table, options)
        decisions = decide_formats(table, merging, lossless=lossless)
    formats = dict(zip(table.names, (each.field_format for each in decisions), strict=True))
    now = before = {name: each.field_type.name for name, each in formats.items()}
    if resource.table_version_id is not None:  # without a table, no field can change
        before = dict(resource.fields.values_list("name", "type"))
    changes = FieldChanges(
        added=tuple(name for name in now if name not in before),
        missing=tuple(name for name in before if name not in now),
        retyped=tuple(
            Notice("notice.field_retyped", field=name, before=before[name], type=kind)
            for name, kind in now.items()
            if before.get(name, kind) != kind
        ),
    )
    record_unstorable_values(table, decisions)
    record_key_errors(table, decisions, key)
    change_notices = changes.build_notices(replaces=replaces)
    ordered = (*change_notices, *notices) if replaces else (*notices, *change_notices)
    reading = (*table.notices, *collect_type_notices(table, options, decisions))
    told = (*reading, *explain_texts(table, decisions), *ordered)
    return LoadPlan(load, table, options, replaces, decisions, formats, key, changes, reading, told)


# How a file that is merged fits the fields that there are -----------------------------------------


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
    check_field_count(len(known.keys() | set(table.names)))
    types, requested = dict(options.types), options.requested_types
    lossless, notices, undecided = [], [], {}
    for column, name, label in zip(table.columns, table.names, table.labels, strict=True):
        if name not in known:
            continue
        chosen = requested.get(name) or requested.get(label) or ""
        of_type = [
            each
            for each in (chosen.split(FORMAT_SEPARATOR) if chosen else ())
            if parse_field_format(each).field_type.name == known[name]
        ]
        if chosen and not of_type:
            notices.append(Notice("notice.type_kept", field=name, type=known[name], chosen=chosen))
        types.pop(label, None)
        types[name] = FORMAT_SEPARATOR.join(of_type)
        if not (of_type and {name, label} & options.types.keys()):
            lossless.append(name)
        if not of_type:
            undecided[column] = known[name]
    version = TableVersion.objects.filter(pk=resource.table_version_id or 0)
    before = version.values_list("field_formats", flat=True).first() or {}
    for column, found in _find_formats(table, undecided, options, before).items():
        types[table.get_name(column)] = found.name
    return replace(options, types=types), lossless, notices


def _find_formats(
    table: StagedTable, types: Mapping[str, str], options: LoadOptions, before: Mapping[str, str]
) -> dict[str, FieldFormat]:
    """
    Find the format in which most values of each column come back; ``types`` are by column.

    Of several, the previous file's is used, or the format of the chosen order of day and month, or
    the default format; numbers with spaces alone between thousands are read as the same in all
    formats.  Where it is none of these, the column is ambiguous, and values that are not in the
    default format are row errors.
    """
    groups = list_written_groups(options.date_order)
    allowed = [*field_formats.values(), *(each for group in groups for each in group.formats)]
    formats: dict[str, tuple[FieldFormat, ...]] = {}
    last = {column: before.get(table.get_name(column), "") for column in types}
    for column, type_name in types.items():
        some = [*allowed, *([parse_field_format(last[column])] if last[column] else [])]
        of_type = (each for each in dict.fromkeys(some) if each.field_type.name == type_name)
        formats[column] = tuple(of_type)
    found = {column: field_formats[type_name] for column, type_name in types.items()}
    orders = {options.date_order, SHORT_YEAR_ORDERS.get(options.date_order)} - {"", None}
    several = {column: some for column, some in formats.items() if len(some) > 1}
    for column, counts in count_matches(table, several, attrgetter("lossless_condition")).items():
        best = [each for each in formats[column] if counts[each] == max(counts.values())]
        preferred = [
            *(best if len(best) == 1 else []),
            *(each for each in best if each.name == last[column]),
            *(each for each in best if each.format in orders),
            *(each for each in best if each.format in {"", "spaced"}),
        ]
        if preferred:
            found[column] = preferred[0]
    return found
