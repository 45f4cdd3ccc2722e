"""What would become of a file, before anything is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...exceptions.loads import LoadFailed
from ...messages import BadRow, Message, Notice
from ...models import Load, Resource
from ..readers import open_table
from ..readers.interrupter import Interrupter
from ..readers.shortages import shortage_of_machine
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable
from ..typing.inference import Decision, collect_type_notices
from ..typing.options import LoadOptions, resolve_options
from .changes import FieldChanges, compare_fields
from .pipeline import build_plan, is_replacing
from .row_errors import refuses

_ROWS_SHOWN = 20
_FAULTS_SHOWN = 50
_VALUES_SHOWN = 3
_LETTERS_SHOWN = 300


@dataclass(frozen=True, slots=True)
class PreviewedField:
    """
    A field of a file.

    ``form`` is the name of its type and notation, ``chosen`` says that a person chose it, and
    ``reason`` why it has it; ``values`` are its first values, as the file writes them.
    """

    name: str
    label: str
    form: str
    chosen: bool
    reason: Message | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreviewedRowError:
    """A value, or a whole row, that cannot be loaded."""

    line: int
    field: str
    value: str
    reason: BadRow | None


@dataclass(frozen=True, slots=True)
class Preview:
    """
    A file as it would be loaded.

    ``rows`` are the first rows, as texts, None where a cell is empty; ``total`` counts all that
    have the file's shape.  ``faulty`` counts the rows that cannot be loaded; ``faults`` are the
    first of what is wrong with them.  ``refusal`` says why a load would fail, if it would.
    """

    fields: tuple[PreviewedField, ...]
    rows: tuple[tuple[str | None, ...], ...]
    total: int
    faulty: int
    faults: tuple[PreviewedRowError, ...]
    notices: tuple[Notice, ...]
    changes: FieldChanges
    refusal: LoadFailed | None


def build_preview(
    resource: Resource | None,
    path: Path,
    options: LoadOptions,
    *,
    name: str = "",
    interrupter: Interrupter | None = None,
) -> Preview:
    """
    Say what a load of a file would make of it, and write nothing.

    ``resource`` is what it would be loaded into, if that is there already; ``name`` is what the
    file is called, if not as its path says.  ``interrupter`` can end the preview.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file or the options.
    """
    wanted = resolve_options(resource, options)
    try:
        return _previewed(resource, path, wanted, name, interrupter)
    except Exception as error:
        shortage = shortage_of_machine(error)
        if shortage is None:
            raise
        raise shortage from error


def _previewed(
    resource: Resource | None,
    path: Path,
    wanted: LoadOptions,
    name: str,
    interrupter: Interrupter | None,
) -> Preview:
    into = resource or Resource()
    with open_table(path, wanted, name=name, interrupter=interrupter) as table:
        decisions = build_plan(Load(), into, table, wanted, explain=True).decisions
        found = Preview(
            fields=_fields(table, wanted, decisions),
            rows=_first_rows(table),
            total=table.count_rows(),
            faulty=table.count_bad_rows(),
            faults=_first_faults(table),
            notices=(*table.notices, *collect_type_notices(table, wanted, decisions)),
            changes=compare_fields(resource, table, decisions),
            refusal=None,
        )
    return replace(found, refusal=_refusal(found, wanted, replaces=is_replacing(into, wanted)))


def _refusal(found: Preview, options: LoadOptions, *, replaces: bool) -> LoadFailed | None:
    """Say why a load would fail, as ``pipeline.publish_table`` does."""
    try:
        if replaces:
            found.changes.check(may_drop=options.may_drop)
    except LoadFailed as failure:
        return failure
    if not (found.faulty and refuses(options)):
        return None
    first = found.faults[0]
    return LoadFailed(
        "load.bad_rows",
        count=found.faulty,
        line=first.line,
        field=first.field or "–",
        value=first.value,
        reason=first.reason,
    )


def _fields(
    table: StagedTable, options: LoadOptions, decisions: Sequence[Decision]
) -> tuple[PreviewedField, ...]:
    wanted = options.requested_types  # where rows are added, types are given by what is there, too
    described = zip(table.columns, table.names, table.labels, decisions, strict=True)
    return tuple(
        PreviewedField(
            name=name,
            label=label,
            form=decision.form.name,
            chosen=decision.chosen and bool({name, label} & wanted.keys()),
            reason=decision.reason,
            values=_first_values(table, column),
        )
        for column, name, label, decision in described
    )


def _first_values(table: StagedTable, column: str) -> tuple[str, ...]:
    found = table.connection.execute(
        f"SELECT {column}[:{_LETTERS_SHOWN}] FROM {STAGED_ROWS} WHERE {column} <> ''"
        f" LIMIT {_VALUES_SHOWN}"
    ).fetchall()
    return tuple(value for (value,) in found)


def _first_rows(table: StagedTable) -> tuple[tuple[str | None, ...], ...]:
    cells = ", ".join(f"{column}[:{_LETTERS_SHOWN}]" for column in table.columns)
    return tuple(
        table.connection.execute(
            f"SELECT {cells} FROM {STAGED_ROWS} LIMIT {_ROWS_SHOWN}"
        ).fetchall()
    )


def _first_faults(table: StagedTable) -> tuple[PreviewedRowError, ...]:
    found = table.connection.execute(
        f"SELECT line, field, value, error FROM {ROW_ERRORS} ORDER BY line, field"
        f" LIMIT {_FAULTS_SHOWN}"
    ).fetchall()
    return tuple(
        PreviewedRowError(line, field, value, BadRow.from_json(json.loads(kept)))
        for line, field, value, kept in found
    )
