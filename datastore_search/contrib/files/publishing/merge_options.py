"""Resolve the key and the types of a file whose rows are merged into existing records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from ....field_types import MAX_FIELDS
from ....models import Resource, TableVersion
from ..formats.staging import StagedTable
from ..messages import Notice
from ..messages.failures import LoadFailed
from ..models import Mode
from ..types.chosen_formats import parse_field_format
from ..types.field_formats import FORMAT_SEPARATOR, FieldFormat, field_formats
from ..types.matching import count_matches
from ..types.options import LoadOptions, resolve_key
from ..types.written_dates import get_day_order, list_written_groups

_GET_LOSSLESS = attrgetter("lossless_condition")


def resolve_merge_key(resource: Resource, options: LoadOptions) -> tuple[str, ...]:
    """Resolve the key by which rows are merged; empty where they are only added."""
    key = resolve_key(resource, options)
    if resource.primary_key and list(key) != resource.primary_key:
        raise LoadFailed("key.cannot_change", fields=", ".join(resource.primary_key))
    if options.mode == Mode.UPSERT and not key:
        raise LoadFailed("key.required")
    return key


def resolve_merge_options(
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
