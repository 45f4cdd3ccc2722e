"""Resolve the key and the types of a file whose rows are merged into existing records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ... import storage
from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...models import Mode, Resource, TableVersion
from ..readers.duckdb_sql import SQL, quote_identifier
from ..readers.staging import STAGED_ROWS, StagedTable
from ..typing.chosen_formats import list_chosen_groups, parse_field_format
from ..typing.field_formats import (
    FORMAT_SEPARATOR,
    FieldFormat,
    bind_value,
    field_formats,
)
from ..typing.matching import count_matches
from ..typing.options import LoadOptions, resolve_key
from ..typing.written_dates import get_day_order
from .keys import format_field_names


def resolve_merge_key(resource: Resource, options: LoadOptions) -> tuple[str, ...]:
    """
    Resolve the key by which rows are merged; empty where they are only added.

    Raises: ``LoadFailed`` with ``key.cannot_change``; ``key.required``.
    """
    key = resolve_key(resource, options)
    if resource.primary_key and list(key) != resource.primary_key:
        raise LoadFailed("key.cannot_change", fields=format_field_names(resource.primary_key))
    if options.mode == Mode.UPSERT and not key:
        raise LoadFailed("key.required")
    return key


def resolve_merge_options(
    resource: Resource, table: StagedTable, options: LoadOptions
) -> tuple[LoadOptions, list[Notice]]:
    """
    Choose the types that the resource's fields have, in the formats in which the file writes them.

    Raises: ``LoadFailed`` with ``file.too_many_fields``, ``UnknownType``.
    """
    known = {field.name: field.type for field in resource.fields.all()}
    count = len(known.keys() | set(table.names))
    if count > storage.MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=count, most=storage.MAX_FIELDS)
    types = dict(options.types)
    notices: list[Notice] = []
    requested = options.requested_types
    version = TableVersion.objects.filter(pk=resource.table_version_id or 0)
    before = version.values_list("field_formats", flat=True).first() or {}
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
        types[name] = (
            FORMAT_SEPARATOR.join(of_type)
            or _find_format(table, column, type_name, options, before.get(name)).name
        )
    return replace(options, types=types), notices


def _find_format(
    table: StagedTable, column: str, type_name: str, options: LoadOptions, before: str | None
) -> FieldFormat:
    """
    Find the format of a type that most values of a column match.

    Of several, that of the file before is used, or that of the chosen order of day and month, or
    the default format, or any of those that read all values as the same.  If they do not, the
    column is ambiguous, and values that are not in the default format are row errors.
    """
    chosen = list_chosen_groups(
        date_order=options.date_order, date_language=options.date_language, units=options.units
    )
    allowed = [*field_formats.values(), *(each for group in chosen for each in group.formats)]
    allowed += [parse_field_format(before)] if before else []
    formats = [each for each in dict.fromkeys(allowed) if each.field_type.name == type_name]
    default = field_formats[type_name]
    if len(formats) == 1:
        return default
    day_order = get_day_order(options.date_order)
    counts = count_matches(table, column, formats)
    best = [each for each in formats if counts[each] == max(counts.values())]
    preferred = (
        *(each for each in best if each.name == before),
        *(each for each in best if each.format in {options.date_order, day_order} - {""}),
        *(each for each in best if each is default),
    )
    if preferred:
        return preferred[0]
    return best[0] if _are_equivalent(table, column, best) else default


def _are_equivalent(table: StagedTable, column: str, formats: Sequence[FieldFormat]) -> bool:
    """Return whether formats that match the same values read all of them as the same."""
    cell = quote_identifier(column)
    first, *others = (bind_value(each.json_expression, cell) for each in formats)
    if not others:
        return True
    differences = SQL(" OR ").join(SQL("{} <> {}").format(other, first) for other in others)
    query = SQL(
        "SELECT 1 FROM {rows} WHERE CASE WHEN {cell} <> '' AND {condition}"
        " THEN {differences} END LIMIT 1"
    ).format(
        rows=STAGED_ROWS,
        cell=cell,
        condition=formats[0].build_condition(cell),
        differences=differences,
    )
    return table.execute(query).fetchone() is None
