"""Preview a load: show how a file would be loaded, before anything is written."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from django.db import Error, transaction

from ....database.sessions import override_settings
from ....database.statements import Clause
from ....models import Resource
from ....writing.records import ARRAY, RecordTable
from ..formats.duckdb_sql import SQL
from ..formats.process import open_table
from ..formats.staging import STAGED_ROWS, Interrupter, StagedTable
from ..messages import LoadFailed, Message, Notice, quote_names
from ..models import Load, RowError
from ..sources.limits import find_shortage
from ..types.matching import find_first_cells
from ..types.options import LoadOptions, resolve_options
from .bad_rows import delete_bad_rows, read_row_errors
from .plan import FieldChanges, LoadPlan, build_plan
from .rows import render_rows

_MAX_ROWS, _MAX_LAST_ROWS, _MAX_ROW_ERRORS = 20, 5, 50
_MAX_VALUES, _MAX_LENGTH = 3, 300

MAX_COMPARING_SECONDS = 10  # in which rows are compared with the records that they replace


@dataclass(frozen=True, slots=True)
class PreviewedField:
    """
    A field of a file.

    ``format`` is the name of its field format, ``is_chosen`` whether a user chose it, and
    ``explanation`` why it has it; ``values`` are its first values, as the file writes them.
    ``before`` is the type that the resource's field has, if that is another one.
    """

    name: str
    label: str
    format: str
    is_chosen: bool
    explanation: Message | None
    values: tuple[str, ...]
    before: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """
    A file as it would be loaded.

    ``rows`` are the first rows, as texts, None where a cell is empty, and ``last_rows`` the last of
    the others; ``row_count`` counts all that have the file's shape.  ``bad_row_count`` counts the
    rows that cannot be loaded; ``row_errors`` are the first of their errors.  ``failure`` says why
    the load would fail, if it would.
    """

    fields: tuple[PreviewedField, ...]
    rows: tuple[tuple[str | None, ...], ...]
    last_rows: tuple[tuple[str | None, ...], ...]
    row_count: int
    bad_row_count: int
    row_errors: tuple[RowError, ...]
    notices: tuple[Notice, ...]
    changes: FieldChanges
    failure: LoadFailed | None

    def to_json(self) -> dict[str, Any]:
        """
        Return the preview as what JSON can hold, without a failure.

        Messages are stored as codes, so that each reader gets them in their own language.
        """
        return {
            "fields": [
                asdict(each) | {"explanation": each.explanation and each.explanation.to_json()}
                for each in self.fields
            ],
            "rows": self.rows,
            "last_rows": self.last_rows,
            "row_count": self.row_count,
            "bad_row_count": self.bad_row_count,
            "row_errors": [
                {"line": e.line, "field": e.field, "value": e.value, "reason": e.message}
                for e in self.row_errors
            ],
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
            plan = build_plan(Load(), resource or Resource(), table, resolved)
            row_count, bad_rows = table.count_rows(), table.count_bad_rows()
            row_errors = tuple(read_row_errors(plan.load, table, _MAX_ROW_ERRORS))
            failure = plan.find_lost_fields()
            if not failure and bad_rows and resolved.should_refuse_bad_rows:
                failure = LoadFailed("load.bad_rows", count=bad_rows, row=row_errors[0].describe())
            before = {
                each.parameters["field"]: each.parameters["before"] for each in plan.changes.retyped
            }
            # A merge chooses the types of the resource, which no user has chosen for this load.
            requested = resolved.requested_types
            values = find_first_cells(
                table, table.columns, "true", count=_MAX_VALUES, length=_MAX_LENGTH
            )
            described = zip(table.columns, table.names, table.labels, plan.decisions, strict=True)
            last = min(_MAX_LAST_ROWS, max(0, row_count - _MAX_ROWS))
            return Preview(
                fields=tuple(
                    PreviewedField(
                        name=name,
                        label=label,
                        format=decision.field_format.name,
                        is_chosen=decision.is_chosen and bool({name, label} & requested.keys()),
                        explanation=decision.explanation,
                        values=tuple(value for _line, value in values.get(column, ())),
                        before=before.get(name, ""),
                        is_new=name in plan.changes.added,
                    )
                    for column, name, label, decision in described
                ),
                rows=_fetch_rows(table, "LIMIT {}", _MAX_ROWS),
                last_rows=_fetch_rows(table, "ORDER BY rowid DESC LIMIT {}", last)[::-1],
                row_count=row_count,
                bad_row_count=bad_rows,
                row_errors=row_errors,
                # The last thing that reads the table: it deletes the bad rows.
                notices=(*_compare_records(resource, plan), *plan.reading_notices),
                changes=plan.changes,
                failure=failure,
            )
    except Exception as error:
        shortage = find_shortage(error)
        if shortage is None:
            raise
        raise shortage from error


def _compare_records(resource: Resource | None, plan: LoadPlan) -> list[Notice]:
    """Say what replacing the records adds, changes and removes: by their key, within a time."""
    served = resource.table_version if resource else None
    if not (resource and served and served.record_count and plan.replaces):
        return []
    delete_bad_rows(plan.table)
    before, after, known, same = served.record_count, plan.table.count_rows(), 0, 0
    notice = Notice("notice.records_counted", before=before, after=after)
    if not plan.key or [*plan.key] != resource.primary_key:
        return [notice]
    notice.code = "notice.records_not_compared"
    records = RecordTable(plan.connection, Resource.objects.described(resource.pk))
    end = monotonic() + MAX_COMPARING_SECONDS
    with (
        suppress(Error),  # of the time limit, or of a value that no record can have
        transaction.atomic(plan.connection.alias),
        override_settings(plan.connection, statement_timeout=f"{MAX_COMPARING_SECONDS}s"),
    ):
        for batch in render_rows(plan.table, plan.decisions):
            lines, texts = map(list, zip(*batch, strict=True))
            found = records.count_known(Clause(ARRAY, [lines, texts]), plan.types)
            known, same = known + found[0], same + found[1]
            if monotonic() > end:
                break
        else:
            key, added = quote_names(plan.key), after - known
            changed, removed = known - same, before - known
            notice = Notice(
                "notice.records_compared", key=key, added=added, changed=changed, removed=removed
            )
    return [notice]


def _fetch_rows(table: StagedTable, limit: str, count: int) -> tuple[tuple[str | None, ...], ...]:
    """Fetch the first or the last rows: the end of a query, with its number of rows."""
    chosen = SQL("{} " + limit).format(STAGED_ROWS, count)
    lines = table.execute("SELECT line FROM {}", chosen).fetchall()
    rows: dict[int, dict[str, str]] = {line: {} for (line,) in lines}
    relation = SQL("(SELECT * FROM {})").format(chosen)
    for columns in table.rows.split_columns(table.columns):
        cells = table.rows.select_cells(columns, relation, has_lines=True)
        found = table.execute("SELECT line, name, value[:{}] FROM {}", _MAX_LENGTH, cells)
        for line, name, value in found.fetchall():
            rows[line][name] = value
    return tuple(tuple(map(row.get, table.columns)) for row in rows.values())
