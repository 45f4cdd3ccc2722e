"""
The types of a file's fields, inferred over all rows and without loss.

A field has a type only when every value says so and the stored value writes the same value again:
``007``, ``+84``, ``1e5`` and numbers too long for an integer stay text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..exceptions.loads import Remark, UnfitValue, UnknownTypeField
from ..field_types import FieldType
from .forms import TEXT, Form, chosen_form, inferred_forms
from .options import LoadOptions
from .table import FAULTS, Table, kept_literal, literal

#: Rows that are looked at before all others.
_FIRST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Decision:
    """
    What a field's values are read as.

    ``chosen`` says that a person did; ``reason`` why, where that is worth saying.
    """

    form: Form
    chosen: bool = False
    reason: Remark | None = None

    @property
    def kind(self) -> FieldType:
        """Give the type."""
        return self.form.kind


def decide(table: Table, options: LoadOptions) -> tuple[Decision, ...]:
    """
    Give each field its type: the chosen one, or the narrowest that holds all its values.

    Values that are not of a chosen type become faults of the table.

    Raises: ``UnknownTypeField``, ``UnknownType``.
    """
    for name in options.types:
        if name not in table.names:
            raise UnknownTypeField(field=name)
    chosen = {name: chosen_form(wanted) for name, wanted in options.types.items()}
    decisions = tuple(
        Decision(chosen[name], chosen=True) if name in chosen else Decision(form)
        for name, form in zip(table.names, _inferred(table), strict=True)
    )
    for column, name, decision in zip(table.columns, table.names, decisions, strict=True):
        if decision.chosen:
            _note_misfits(table, column, name, decision.form)
    return decisions


def longest_values(table: Table) -> list[int]:
    """Measure the longest value of each field, in bytes."""
    longest = ", ".join(f"max(strlen({column}))" for column in table.columns)
    found = table.connection.execute(f"SELECT {longest} FROM {table.relation}").fetchone()
    return [length or 0 for length in found or ()]


def _inferred(table: Table) -> list[Form]:
    """
    Try every condition on every value, in one pass over the file.

    The first rows are looked at before, for they refute most conditions: only where some are left
    is all of the file read.
    """
    candidates = [(form, condition) for form in inferred_forms for condition in form.infers]
    every = {column: list(range(len(candidates))) for column in table.columns}
    start = f"(SELECT * FROM {table.relation} LIMIT {_FIRST_ROWS})"
    found = _surviving(table, start, candidates, every)
    undecided = {
        column: places or every[column]
        for column, places in found.items()
        if not places or candidates[places[0]][0] is not TEXT
    }
    if undecided:
        found |= _surviving(table, table.relation, candidates, undecided)
    return [candidates[found[column][0]][0] if found[column] else TEXT for column in table.columns]


def _surviving(
    table: Table,
    relation: str,
    candidates: Sequence[tuple[Form, str]],
    tried: Mapping[str, Sequence[int]],
) -> dict[str, list[int]]:
    """
    Find the places of the candidates that no value of a column refutes, among those tried.

    Text is never refuted; a column without any value has none.

    The columns are turned into rows first, so that a table of 500 columns costs as many
    expressions as one of a single column: DuckDB takes 2 ms to prepare each.
    """
    places = sorted({place for column in tried.values() for place in column})
    holds = ", ".join(
        f"bool_and(coalesce({FieldType.over(candidates[place][1], 'value')}, false))"
        for place in places
    )
    answers = table.connection.execute(
        f"SELECT name, {holds} FROM (UNPIVOT (SELECT * FROM {relation})"
        f" ON {', '.join(tried)} INTO NAME name VALUE value) WHERE value <> '' GROUP BY name"
    ).fetchall()
    fits = {name: dict(zip(places, held, strict=True)) for name, *held in answers}
    return {
        column: [place for place in wanted if fits[column][place]] if column in fits else []
        for column, wanted in tried.items()
    }


def _note_misfits(table: Table, column: str, name: str, form: Form) -> None:
    """Make faults of the values that are not of the type somebody chose."""
    fault = kept_literal(UnfitValue(type=form.name).kept())
    table.connection.execute(
        f"INSERT INTO {FAULTS} SELECT line, {literal(name)}, {column}[:100], {fault}"
        f" FROM {table.relation} WHERE {column} <> ''"
        f" AND NOT coalesce({FieldType.over(form.accepts, column)}, false)"
    )
