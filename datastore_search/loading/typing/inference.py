"""
The types of a file's fields, inferred over all rows and without loss.

A field has a form only when every value says so and all are written alike, so that the stored
values can be written back as they were: ``007``, ``+84``, ``1e5`` and numbers too long for an
integer stay text.  So does what two rival forms read differently: ``1/2/2024``, ``1,234``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...exceptions.loads import LoadFailed
from ...field_types import FieldType
from ...messages import BadRow, Message, Notice
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable, literal, message_literal
from .explanations import explain_text_columns
from .field_formats import FORMAT_SEPARATOR, TEXT, FieldFormat, field_formats, parse_field_format
from .matching import find_conditions_met, is_met_by_all_values, match_formats
from .options import LoadOptions
from .schema import parse_table_schema

#: Groups of figures that are all as long as this are telephone numbers rather than amounts.
_CODE_LETTERS = 9


@dataclass(frozen=True, slots=True)
class Decision:
    """
    What a field's values are read as.

    ``chosen`` says that a person did, ``told`` that the file did; ``reason`` says why, as far as it
    was asked for.  ``notice`` is what a person should know in any case.
    """

    form: FieldFormat
    chosen: bool = False
    told: bool = False
    reason: Message | None = None
    notice: Notice | None = None

    @property
    def kind(self) -> FieldType:
        """Give the type."""
        return self.form.kind


def decide_formats(
    table: StagedTable, options: LoadOptions, *, explain: bool = False
) -> tuple[Decision, ...]:
    """
    Give each field its form: the chosen one, the file's own, or the narrowest that fits all values.

    The texts that mean nothing become null first.  Values that are not of a chosen form become
    faults of the table.  ``explain`` finds the reason of each decision, which takes time.

    Raises: ``LoadFailed`` with ``option.unknown_field``, ``UnknownType``.
    """
    for name in options.types:
        if _column(table, name) is None:
            raise LoadFailed("option.unknown_field", field=name)
    _empty_nulls(table, options.nulls)
    found = _chosen(table, options)
    found |= _told(table, [column for column in table.columns if column not in found])
    read = match_formats(table, [column for column in table.columns if column not in found])
    found |= {
        column: _decision(table, column, read.get(column, ()), options)
        for column in table.columns
        if column not in found
    }
    if explain:
        found |= _explained(table, found)
    return tuple(found[column] for column in table.columns)


def collect_type_notices(
    table: StagedTable, options: LoadOptions, decisions: Iterable[Decision]
) -> tuple[Notice, ...]:
    """Say what a person should know of the types of a file, beside the notices of the table."""
    unknown = [name for name in options.requested_types if _column(table, name) is None]
    return (
        *parse_table_schema(options.schema).notices,
        *(Notice("notice.type_not_applied", field=name) for name in unknown),
        *(decision.notice for decision in decisions if decision.notice),
    )


def measure_longest_values(table: StagedTable) -> list[int]:
    """Measure the longest value of each field, in bytes."""
    longest = ", ".join(f"max(strlen({column}))" for column in table.columns)
    found = table.connection.execute(f"SELECT {longest} FROM {STAGED_ROWS}").fetchone()
    return [length or 0 for length in found or ()]


def _empty_nulls(table: StagedTable, nulls: Sequence[str]) -> None:
    """
    Make null of the texts that mean nothing.

    Only the columns that have such texts are written anew: a view would compare every value each
    time that the rows are read, a new table takes as long as reading the file.
    """
    if not nulls:
        return
    nothing = f"IN ({', '.join(literal(text) for text in nulls)})"
    found = table.connection.execute(
        f"SELECT {', '.join(f'bool_or({column} {nothing})' for column in table.columns)}"
        f" FROM {STAGED_ROWS}"
    ).fetchone()
    for column, has_some in zip(table.columns, found or (), strict=True):
        if has_some:
            table.connection.execute(
                f"ALTER TABLE {STAGED_ROWS} ALTER {column} TYPE VARCHAR"
                f" USING CASE WHEN {column} {nothing} THEN NULL ELSE {column} END"
            )


def _name(table: StagedTable, column: str) -> str:
    return table.names[table.columns.index(column)]


def _column(table: StagedTable, name: str) -> str | None:
    """Find the column of a field by its name, or by the header's own word for it."""
    for words in (table.names, table.labels):
        if name in words:
            return table.columns[words.index(name)]
    return None


# What people and the file say ---------------------------------------------------------------------


def _chosen(table: StagedTable, options: LoadOptions) -> dict[str, Decision]:
    """Take the types that were chosen, for this load or before, and note what does not fit them."""
    wanted = {
        column: [parse_field_format(name) for name in said.split(FORMAT_SEPARATOR)]
        for name, said in options.requested_types.items()
        if (column := _column(table, name))
    }
    found = {}
    for column, choices in wanted.items():
        form = choices[0] if len(choices) == 1 else _fitting_most(table, column, choices)
        found[column] = Decision(form, chosen=True)
        _note_misfits(table, column, form)
    return found


def _fitting_most(table: StagedTable, column: str, choices: Sequence[FieldFormat]) -> FieldFormat:
    """Choose the first of the forms that most values are of."""
    counts = ", ".join(f"count_if({FieldType.over(form.accepts, column)})" for form in choices)
    found = table.connection.execute(
        f"SELECT {counts} FROM {STAGED_ROWS} WHERE {column} <> ''"
    ).fetchone()
    fitting = dict(zip(choices, found or (), strict=True))
    return max(choices, key=lambda form: fitting[form])


def _told(table: StagedTable, columns: Sequence[str]) -> dict[str, Decision]:
    """Take the types that the file gives, where all values are of them; text is looked into."""
    tells = dict(zip(table.columns, table.declared_types, strict=True))
    told = {
        column: field_formats[tell]
        for column in columns
        if (tell := tells[column]) not in {None, "text"}
    }
    held = find_conditions_met(
        table, str(STAGED_ROWS), {column: [form.accepts] for column, form in told.items()}
    )
    return {
        column: Decision(form, told=True)
        for column, form in told.items()
        if form.accepts in held.get(column, {form.accepts})
    }


def _note_misfits(table: StagedTable, column: str, form: FieldFormat) -> None:
    """Make faults of the values that are not of the form somebody chose."""
    fault = message_literal(BadRow("row.wrong_type", type=form.title).to_json())
    table.connection.execute(
        f"INSERT INTO {ROW_ERRORS} SELECT line, {literal(_name(table, column))}, {column}[:100],"
        f" {fault} FROM {STAGED_ROWS} WHERE {column} <> ''"
        f" AND NOT coalesce({FieldType.over(form.accepts, column)}, false)"
    )


# What the values say ------------------------------------------------------------------------------


def _decision(
    table: StagedTable, column: str, read: Sequence[FieldFormat], options: LoadOptions
) -> Decision:
    """Choose the form of a field among those that all its values are of."""
    if not read:
        return Decision(TEXT)
    if len(read) > 1:
        return _between_rivals(table, column, read, options)
    return _doubted(table, column, read[0])


def _between_rivals(
    table: StagedTable, column: str, rivals: Sequence[FieldFormat], options: LoadOptions
) -> Decision:
    """Leave a field as text that can be read in two ways, unless the order of dates is chosen."""
    for form in rivals:
        if form.notation == options.date_order:
            return Decision(form, reason=Message("type.date_order", type=form.title))
    are_numbers = rivals[0].is_number
    notice = Notice(
        "notice.ambiguous_numbers" if are_numbers else "notice.ambiguous_dates",
        field=_name(table, column),
        value=_example(table, column, _HAS_COMMA if are_numbers else "true"),
        one=rivals[0].name,
        other=rivals[1].name,
    )
    return Decision(TEXT, reason=notice, notice=notice)


_HAS_COMMA = "contains({v}, ',')"
#: Numbers whose decimals, if they have any, are three: figures of thousands, perhaps.
_LIKE_THOUSANDS = r"regexp_full_match({v}, '-?[1-9][0-9]{0,2}(\.[0-9]{3})?')"


def _doubted(table: StagedTable, column: str, form: FieldFormat) -> Decision:
    """Take a form, but say so where its figures may be meant in another way."""
    name = _name(table, column)
    if form.notation == "spaced" and _are_codes(table, column):
        notice = Notice(
            "notice.grouped_codes",
            field=name,
            value=_example(table, column, "true"),
            other=form.name,
        )
        return Decision(TEXT, reason=notice, notice=notice)
    if form is field_formats["numeric"] and is_met_by_all_values(table, column, _LIKE_THOUSANDS):
        value = _example(table, column, "contains({v}, '.')")
        return Decision(
            form,
            notice=Notice("notice.maybe_thousands", field=name, value=value, other="int4:comma"),
        )
    return Decision(form)


def _are_codes(table: StagedTable, column: str) -> bool:
    found = table.connection.execute(
        f"SELECT min(length({column})), max(length({column})) FROM {STAGED_ROWS}"
        f" WHERE {column} <> ''"
    ).fetchone()
    shortest, longest = found or (0, 0)
    return bool(shortest == longest >= _CODE_LETTERS)


def _example(table: StagedTable, column: str, condition: str) -> str:
    found = table.connection.execute(
        f"SELECT {column}[:100] FROM {STAGED_ROWS} WHERE {column} <> ''"
        f" AND {FieldType.over(condition, column)} LIMIT 1"
    ).fetchone()
    return str(found[0]) if found else ""


# Why ----------------------------------------------------------------------------------------------


def _explained(table: StagedTable, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Say of each decision why it was made."""
    unsaid = [c for c, made in decisions.items() if made.kind.is_text and not _said(made)]
    reasons = explain_text_columns(table, unsaid)
    return {
        column: replace(made, reason=_said(made) or reasons.get(column))
        for column, made in decisions.items()
    }


def _said(decision: Decision) -> Message | None:
    if decision.reason:
        return decision.reason
    if decision.chosen:
        return Message("type.chosen", type=decision.form.title)
    if decision.told:
        return Message("type.declared", type=decision.form.title)
    return None if decision.kind.is_text else Message("type.every_value", type=decision.form.title)
