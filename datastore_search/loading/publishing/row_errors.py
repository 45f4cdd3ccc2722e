"""The rows of a file that cannot be loaded: kept with the load, and written for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import Q
from django.utils import translation
from django.utils.translation import gettext as _

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Notice
from ...models import Load, RowError
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable
from ..typing.options import BadRowsChoice, LoadOptions
from .plan import LoadPlan

#: Faults that a report lists at most; all of them are counted.
_LISTED = 100_000
_ROWS_AT_ONCE = 2_000

#: What makes a spreadsheet take a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def save_row_errors(plan: LoadPlan) -> None:
    """
    Keep with a load what people should know of it, and the first of the rows that cannot be loaded.

    All of those are counted.
    """
    load, table = plan.load, plan.table
    load.row_error_count = table.count_bad_rows()
    load.notices = [notice.to_json() for notice in (*plan.notices, *_notices(plan))]
    load.save(update_fields=["row_error_count", "notices"])
    if not load.row_error_count:
        return
    found = table.connection.execute(
        f"SELECT line, field, value, error FROM {ROW_ERRORS} ORDER BY line, field LIMIT {_LISTED}"
    )
    while batch := found.fetchmany(_ROWS_AT_ONCE):
        RowError.objects.bulk_create(
            RowError(
                load=load,
                line=line,
                field=field,
                value=value.replace("\0", "�"),  # which PostgreSQL's texts cannot hold
                message=json.loads(kept),
            )
            for line, field, value, kept in batch
        )


def _notices(plan: LoadPlan) -> list[Notice]:
    """Say what became of the rows that cannot be loaded, and whether the report lists them all."""
    notices: list[Notice] = []
    if plan.load.row_error_count and not refuses(plan.options):
        notices.append(Notice("notice.rows_left_out", count=plan.load.row_error_count))
    count = plan.table.count_row_errors()
    if count > _LISTED:
        notices.append(Notice("notice.report_cut", listed=_LISTED, count=count))
    return notices


def refuses(options: LoadOptions) -> bool:
    """Tell whether a single bad row refuses the file."""
    return options.bad_rows == BadRowsChoice.REFUSE


def raise_row_errors(load: Load) -> None:
    """
    Refuse the file for its bad rows, if it has any.

    Raises: ``LoadFailed`` with ``load.bad_rows``.
    """
    first = load.row_errors.first()
    if first is not None:
        raise LoadFailed(
            "load.bad_rows",
            count=load.row_error_count,
            line=first.line,
            field=first.field or "–",
            value=first.value,
            reason=BadRow.from_json(first.message),
        )


def delete_bad_rows(table: StagedTable) -> None:
    """Keep of the rows those that can be loaded."""
    table.connection.execute(
        f"DELETE FROM {STAGED_ROWS} WHERE line IN (SELECT line FROM {ROW_ERRORS})"
    )


# For people ---------------------------------------------------------------------------------------


def write_row_error_report(load: Load, language: str) -> Iterator[str]:
    """
    Write the bad rows of a load as CSV, in a language, piece by piece.

    It begins with a byte order mark, by which spreadsheets know the encoding; a value that they
    would take for a formula gets an apostrophe.
    """
    with translation.override(language):
        header = [_("Line"), _("Field"), _("Value"), _("Reason")]
        first = "\ufeff" + _written([header])
    yield first
    batch: Sequence[RowError] = ()
    # Not by a cursor of the server: a pooler may give each batch another session.
    while batch := _rows_after(load, batch[-1] if batch else None):
        # Between two pieces the language is that of whoever reads them.
        with translation.override(language):
            piece = _written([row.line, row.field, row.value, row.reason] for row in batch)
        yield piece


def _rows_after(load: Load, last: RowError | None) -> Sequence[RowError]:
    """Read the next bad rows of a load, after one or from the first."""
    rows = load.row_errors.order_by("line", "pk")
    if last is not None:
        rows = rows.filter(Q(line=last.line, pk__gt=last.pk) | Q(line__gt=last.line))
    return list(rows[:_ROWS_AT_ONCE])


def _written(rows: Iterable[list[str] | list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: object) -> str:
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
