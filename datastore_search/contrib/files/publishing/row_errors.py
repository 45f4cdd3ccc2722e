"""Save, count and report the rows of a file that cannot be loaded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice

from django.db.models import Q
from django.utils import translation
from django.utils.translation import gettext as _

from ....downloads.text_rows import disarm
from ..formats.duckdb_sql import SQL, quote_literal
from ..formats.staging import ROW_ERRORS, StagedTable
from ..messages import Notice
from ..messages.failures import LoadFailed
from ..models import Load, RowError
from .plan import LoadPlan

#: Row errors that a report lists; all of them are counted.
MAX_REPORTED_ERRORS = 100_000
_ROWS_PER_BATCH = 2_000


def save_row_errors(plan: LoadPlan) -> None:
    """Save the notices of a load, the number of its bad rows, and the first of their errors."""
    load, table, notices = plan.load, plan.table, list(plan.notices)
    bad_rows, errors = table.count_bad_rows(), table.count_row_errors()
    if bad_rows and not plan.options.should_refuse_bad_rows:
        notices.append(Notice("notice.rows_left_out", count=bad_rows))
    if errors > MAX_REPORTED_ERRORS:
        notices.append(Notice("notice.report_cut", listed=MAX_REPORTED_ERRORS, count=errors))
    load.row_error_count = bad_rows
    load.notices = [notice.to_json() for notice in notices]
    load.save(update_fields=["row_error_count", "notices"])
    first = read_row_errors(load, table, MAX_REPORTED_ERRORS)
    while batch := list(islice(first, _ROWS_PER_BATCH)):
        RowError.objects.bulk_create(batch)


def read_row_errors(load: Load, table: StagedTable, most: int) -> Iterator[RowError]:
    """Read the first row errors of a table, for a load; they are not saved."""
    found = table.execute(
        SQL("SELECT line, field, value, error FROM {} ORDER BY line, field LIMIT {}").format(
            ROW_ERRORS, quote_literal(most)
        )
    )
    while row := found.fetchone():
        line, field, value, error = row
        text = value.replace("\0", "�")  # which PostgreSQL's texts cannot hold
        yield RowError(load=load, line=line, field=field, value=text, message=json.loads(error))


def raise_row_errors(load: Load) -> None:
    """Refuse the file if it has bad rows."""
    if first := load.row_errors.first():
        raise LoadFailed("load.bad_rows", count=load.row_error_count, row=first.describe())


def delete_bad_rows(table: StagedTable) -> None:
    table.rows.delete(SQL("IN (SELECT line FROM {})").format(ROW_ERRORS))


# The report ---------------------------------------------------------------------------------------


def write_row_error_report(load: Load, language: str) -> Iterator[str]:
    """
    Write the row errors of a load as CSV, in a language, piece by piece.

    It begins with a byte order mark, by which spreadsheets recognise the encoding.  A value that
    they would read as a formula gets an apostrophe.
    """
    with translation.override(language):
        header = [_("Line"), _("Field"), _("Value"), _("Reason")]
        first = "\ufeff" + _write_csv([header])
    yield first
    ordered = rows = load.row_errors.order_by("line", "pk")
    # Without a cursor of the server: a pooler may give each batch another session.
    while batch := list(rows[:_ROWS_PER_BATCH]):
        last = batch[-1]
        rows = ordered.filter(Q(line=last.line, pk__gt=last.pk) | Q(line__gt=last.line))
        # Between two pieces the caller's language is active.
        with translation.override(language):
            piece = _write_csv([row.line, row.field, row.value, row.reason] for row in batch)
        yield piece


def _write_csv(rows: Iterable[list[str] | list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([disarm(str(cell)) for cell in row] for row in rows)
    return text.getvalue()
