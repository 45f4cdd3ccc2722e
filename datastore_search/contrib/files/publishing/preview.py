"""Preview a load: show how a file would be loaded, before anything is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....models import Resource
from ..formats.duckdb_sql import SQL, quote_literal
from ..formats.interrupter import Interrupter
from ..formats.process import open_table
from ..formats.staging import ROW_ERRORS, StagedTable
from ..formats.stored_rows import STAGED_ROWS
from ..messages import BadRow, Message, Notice, describe_bad_row
from ..messages.failures import LoadFailed
from ..models import Load
from ..types.field_formats import Decision
from ..types.inference import collect_type_notices
from ..types.matching import find_first_cells
from ..types.options import LoadOptions, resolve_options
from .changes import FieldChanges, compare_fields
from .plan import build_plan, is_replacing
from .shortages import find_shortage

_MAX_ROWS = 20
_MAX_ROW_ERRORS = 50
_MAX_VALUES = 3
_MAX_VALUE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class PreviewedField:
    """
    A field of a file.

    ``format`` is the name of its field format, ``is_chosen`` whether a user chose it, and
    ``explanation`` why it has it; ``values`` are its first values, as the file writes them.
    """

    name: str
    label: str
    format: str
    is_chosen: bool
    explanation: Message | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreviewedRowError:
    """A value, or a whole row, that cannot be loaded."""

    line: int
    field: str
    value: str
    reason: BadRow | None

    def to_json(self) -> dict[str, Any]:
        """Return the error as what JSON can hold."""
        return {
            "line": self.line,
            "field": self.field,
            "value": self.value,
            "reason": self.reason and self.reason.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """
    A file as it would be loaded.

    ``rows`` are the first rows, as texts, None where a cell is empty; ``row_count`` counts all that
    have the file's shape.  ``bad_row_count`` counts the rows that cannot be loaded; ``row_errors``
    are the first of their errors.  ``failure`` says why the load would fail, if it would.
    """

    fields: tuple[PreviewedField, ...]
    rows: tuple[tuple[str | None, ...], ...]
    row_count: int
    bad_row_count: int
    row_errors: tuple[PreviewedRowError, ...]
    notices: tuple[Notice, ...]
    changes: FieldChanges
    failure: LoadFailed | None

    def to_json(self) -> dict[str, Any]:
        """
        Return the preview as what JSON can hold, without a failure.

        Messages are stored as codes, so that each reader gets them in their own language.
        """
        before = {each.name: each.before for each in self.changes.retyped}
        return {
            "fields": [
                {
                    "name": each.name,
                    "label": each.label,
                    "format": each.format,
                    "explanation": each.explanation and each.explanation.to_json(),
                    "values": each.values,
                    "before": before.get(each.name, ""),
                    "is_new": each.name in self.changes.added,
                }
                for each in self.fields
            ],
            "rows": self.rows,
            "row_count": self.row_count,
            "bad_row_count": self.bad_row_count,
            "row_errors": [each.to_json() for each in self.row_errors],
            "notices": [notice.to_json() for notice in self.notices],
            "missing": self.changes.missing,
        }


def build_preview(
    resource: Resource | None,
    path: Path,
    options: LoadOptions,
    *,
    name: str = "",
    interrupter: Interrupter | None = None,
) -> Preview:
    """
    Preview the load of a file, and write nothing.

    ``resource`` is the one that it would be loaded into, if there is one already; ``name`` is the
    name of the file, if it differs from its path.  ``interrupter`` can end the preview.

    Raises: ``LoadFailed`` when the file cannot be read, or the options cannot be used.
    """
    resolved = resolve_options(resource, options)
    try:
        with open_table(path, resolved, name=name, interrupter=interrupter) as table:
            return _preview_table(resource, table, resolved)
    except Exception as error:
        shortage = find_shortage(error)
        if shortage is None:
            raise
        raise shortage from error


def _preview_table(resource: Resource | None, table: StagedTable, options: LoadOptions) -> Preview:
    into = resource or Resource()
    decisions = build_plan(Load(), into, table, options, explain=True).decisions
    preview = Preview(
        fields=_preview_fields(table, options, decisions),
        rows=_fetch_first_rows(table),
        row_count=table.count_rows(),
        bad_row_count=table.count_bad_rows(),
        row_errors=_fetch_first_row_errors(table),
        notices=(*table.notices, *collect_type_notices(table, options, decisions)),
        changes=compare_fields(resource, table, decisions),
        failure=None,
    )
    return replace(
        preview, failure=_find_failure(preview, options, replaces=is_replacing(into, options))
    )


def _find_failure(found: Preview, options: LoadOptions, *, replaces: bool) -> LoadFailed | None:
    """Find why a load would fail, as ``pipeline.publish_table`` does."""
    try:
        if replaces:
            found.changes.check_missing(drop_missing_fields=options.drop_missing_fields)
    except LoadFailed as failure:
        return failure
    if not (found.bad_row_count and options.should_refuse_bad_rows):
        return None
    first = found.row_errors[0]
    row = describe_bad_row(first.line, first.field, first.value, first.reason)
    return LoadFailed("load.bad_rows", count=found.bad_row_count, row=row)


def _preview_fields(
    table: StagedTable, options: LoadOptions, decisions: Sequence[Decision]
) -> tuple[PreviewedField, ...]:
    # A merge chooses the types of the resource, which no user has chosen for this load.
    requested = options.requested_types
    values = find_first_cells(
        table, table.columns, "true", count=_MAX_VALUES, length=_MAX_VALUE_LENGTH
    )
    described = zip(table.columns, table.names, table.labels, decisions, strict=True)
    return tuple(
        PreviewedField(
            name=name,
            label=label,
            format=decision.field_format.name,
            is_chosen=decision.is_chosen and bool({name, label} & requested.keys()),
            explanation=decision.explanation,
            values=tuple(value for _line, value in values.get(column, ())),
        )
        for column, name, label, decision in described
    )


def _fetch_first_rows(table: StagedTable) -> tuple[tuple[str | None, ...], ...]:
    found = table.execute(
        SQL("SELECT line FROM {} LIMIT {}").format(STAGED_ROWS, quote_literal(_MAX_ROWS))
    ).fetchall()
    rows: dict[int, dict[str, str]] = {line: {} for (line,) in found}
    relation = SQL("(SELECT * FROM {} LIMIT {})").format(STAGED_ROWS, quote_literal(_MAX_ROWS))
    for columns in table.rows.split_columns(table.columns):
        cells = table.execute(
            SQL("SELECT line, name, value[:{}] FROM {}").format(
                quote_literal(_MAX_VALUE_LENGTH),
                table.rows.select_cells(columns, relation, has_lines=True),
            )
        ).fetchall()
        for line, name, value in cells:
            rows[line][name] = value
    return tuple(tuple(map(row.get, table.columns)) for row in rows.values())


def _fetch_first_row_errors(table: StagedTable) -> tuple[PreviewedRowError, ...]:
    found = table.execute(
        SQL("SELECT line, field, value, error FROM {} ORDER BY line, field LIMIT {}").format(
            ROW_ERRORS, quote_literal(_MAX_ROW_ERRORS)
        )
    ).fetchall()
    return tuple(
        PreviewedRowError(line, field, value, BadRow.from_json(json.loads(error)))
        for line, field, value, error in found
    )
