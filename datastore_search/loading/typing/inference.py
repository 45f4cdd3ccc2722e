"""
Decide the formats of a file's fields: chosen, declared, or inferred over all rows without loss.

A field has an inferred format only if every value matches it and all are written in the same way,
so that the stored values can be written back as they were: ``007``, ``+84``, ``1e5`` and numbers
too long for an integer stay text.  So do ambiguous values: ``1/2/2024``, ``1,234``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...exceptions.loads import LoadFailed
from ...field_types import Ordered
from ...messages import BadRow, Message, Notice
from ..readers.duckdb_sql import SQL, quote_identifier, quote_literal
from ..readers.staging import ROW_ERRORS, STAGED_ROWS, StagedTable, quote_message
from .chosen_formats import list_chosen_groups, parse_field_format
from .explanations import explain_text_columns
from .field_formats import (
    FORMAT_SEPARATOR,
    TEXT,
    Decision,
    FieldFormat,
    bind_value,
    field_formats,
)
from .matching import count_matches, find_columns_that_meet, find_conditions_met, match_formats
from .options import LoadOptions
from .schema import parse_table_schema
from .written_dates import get_day_order

#: Grouped digits that all have at least this length, and the same, are telephone numbers.
_MIN_CODE_LENGTH = 9

_HAS_COMMA = "contains({v}, ',')"
_HAS_POINT = "contains({v}, '.')"
#: The decision about a field of numbers with decimals that no user and no file has typed.
_NUMERIC = Decision(field_formats["numeric"])
#: Numbers of which all decimals are three: perhaps the point separates thousands.
_LIKE_THOUSANDS = r"regexp_full_match({v}, '-?[1-9][0-9]{0,2}(\.[0-9]{3})?')"


def decide_formats(
    table: StagedTable, options: LoadOptions, *, explain: bool = False
) -> tuple[Decision, ...]:
    """
    Decide the format of each field: chosen, declared by the file, or the narrowest that matches.

    Null texts become null first.  Values that do not match a chosen format become row errors.
    ``explain`` adds an explanation to each decision, which takes time.

    Raises: ``LoadFailed`` with ``option.unknown_field``, ``UnknownType``.
    """
    for name in options.types:
        if _find_column(table, name) is None:
            raise LoadFailed("option.unknown_field", field=name)
    _replace_null_texts(table, options.nulls)
    decisions = _take_chosen_formats(table, options)
    decisions |= _take_declared_formats(table, _list_undecided(table, decisions))
    undecided = _list_undecided(table, decisions)
    chosen = list_chosen_groups(
        date_order=options.date_order, date_language=options.date_language, units=options.units
    )
    matches = match_formats(table, undecided, chosen)
    decisions |= {
        column: _decide_among_matches(table, column, matches.get(column, ()), options)
        for column in undecided
    }
    decisions |= _doubt_thousands(table, [c for c in undecided if decisions[c] == _NUMERIC])
    if explain:
        decisions = _add_explanations(table, decisions)
    return tuple(decisions[column] for column in table.columns)


def collect_type_notices(
    table: StagedTable, options: LoadOptions, decisions: Sequence[Decision]
) -> tuple[Notice, ...]:
    """Collect the notices about the types of a file's fields."""
    unknown = [name for name in options.requested_types if _find_column(table, name) is None]
    return (
        *parse_table_schema(options.schema).notices,
        *(Notice("notice.type_not_applied", field=name) for name in unknown),
        *(decision.notice for decision in decisions if decision.notice),
        *(
            Notice("notice.unit", field=name, unit=decision.field_format.unit)
            for name, decision in zip(table.names, decisions, strict=True)
            if decision.field_format.unit
        ),
    )


def _replace_null_texts(table: StagedTable, nulls: Sequence[str]) -> None:
    """
    Replace texts that stand for no value by null.

    Only columns with such texts are rewritten: a view would compare every value each time that the
    rows are read, and a new table takes as long as reading the file.
    """
    if not nulls:
        return
    null_texts = SQL(", ").join(map(quote_literal, nulls))
    tests = (
        SQL("bool_or({} IN ({}))").format(quote_identifier(column), null_texts)
        for column in table.columns
    )
    query = SQL("SELECT {} FROM {}").format(SQL(", ").join(tests), STAGED_ROWS)
    has_null_texts = table.execute(query).fetchone() or ()
    for column, has_some in zip(table.columns, has_null_texts, strict=True):
        if has_some:
            table.execute(
                SQL(
                    "ALTER TABLE {rows} ALTER {cell} TYPE VARCHAR"
                    " USING CASE WHEN {cell} IN ({null_texts}) THEN NULL ELSE {cell} END"
                ).format(rows=STAGED_ROWS, cell=quote_identifier(column), null_texts=null_texts)
            )


def _list_undecided(table: StagedTable, decisions: Mapping[str, Decision]) -> list[str]:
    return [column for column in table.columns if column not in decisions]


def _find_name(table: StagedTable, column: str) -> str:
    return table.names[table.columns.index(column)]


def _find_column(table: StagedTable, name: str) -> str | None:
    """Find the column of a field by its name, or by its label in the header."""
    for names in (table.names, table.labels):
        if name in names:
            return table.columns[names.index(name)]
    return None


# Chosen and declared formats ----------------------------------------------------------------------


def _take_chosen_formats(table: StagedTable, options: LoadOptions) -> dict[str, Decision]:
    """Use the formats that a user or a schema chose; values that do not match are row errors."""
    choices = {
        column: [parse_field_format(each) for each in names.split(FORMAT_SEPARATOR)]
        for name, names in options.requested_types.items()
        if (column := _find_column(table, name))
    }
    decisions = {}
    for column, formats in choices.items():
        field_format = formats[0]
        if len(formats) > 1:
            counts = count_matches(table, column, formats)
            field_format = max(formats, key=counts.__getitem__)
        decisions[column] = Decision(field_format, is_chosen=True)
        _record_mismatches(table, column, field_format)
    return decisions


def _record_mismatches(table: StagedTable, column: str, field_format: FieldFormat) -> None:
    """Record a row error for each value that does not match its chosen format."""
    cell = quote_identifier(column)
    table.execute(
        SQL(
            "INSERT INTO {row_errors} SELECT line, {name}, {cell}[:100], {error} FROM {rows}"
            " WHERE {cell} <> '' AND NOT coalesce({condition}, false)"
        ).format(
            row_errors=ROW_ERRORS,
            name=quote_literal(_find_name(table, column)),
            cell=cell,
            error=quote_message(BadRow("row.wrong_type", type=field_format.title)),
            rows=STAGED_ROWS,
            condition=field_format.build_condition(cell),
        )
    )


def _take_declared_formats(table: StagedTable, columns: Sequence[str]) -> dict[str, Decision]:
    """Use the types that the file declares, where all values match; text is examined further."""
    declared_types = dict(zip(table.columns, table.declared_types, strict=True))
    declared = {
        column: field_formats[name]
        for column in columns
        if (name := declared_types[column]) not in {None, TEXT.name}
    }
    met = find_conditions_met(
        table, STAGED_ROWS, {column: [each.condition] for column, each in declared.items()}
    )
    return {
        column: Decision(field_format, is_declared=True)
        for column, field_format in declared.items()
        if field_format.condition in met.get(column, {field_format.condition})
    }


# Inferred formats ---------------------------------------------------------------------------------


def _decide_among_matches(
    table: StagedTable, column: str, matches: Sequence[FieldFormat], options: LoadOptions
) -> Decision:
    """Decide among the formats that all values match: text where there is none, or a doubt."""
    if not matches:
        return Decision(TEXT)
    if len(matches) > 1:
        return _decide_ambiguous(table, column, matches, options)
    return _decide_doubtful(table, column, matches[0])


def _decide_ambiguous(
    table: StagedTable, column: str, matches: Sequence[FieldFormat], options: LoadOptions
) -> Decision:
    """Leave an ambiguous field as text, unless the order of dates is chosen."""
    for each in matches:
        if options.date_order and each.format == get_day_order(options.date_order):
            return Decision(each, explanation=Message("type.date_order", type=each.title))
    if matches[0].field_type.ordered is not Ordered.NUMBERS:
        code, value = "notice.ambiguous_dates", _find_example(table, column, "true")
    elif value := _find_example(table, column, _HAS_COMMA):
        code = "notice.ambiguous_numbers"
    else:
        code, value = "notice.ambiguous_points", _find_example(table, column, _HAS_POINT)
    notice = Notice(
        code,
        field=_find_name(table, column),
        value=value,
        one=matches[0].name,
        other=matches[1].name,
    )
    return Decision(TEXT, explanation=notice, notice=notice)


def _decide_doubtful(table: StagedTable, column: str, match: FieldFormat) -> Decision:
    """Choose a format; grouped digits that may be codes are text, with a notice."""
    if match.format == "spaced" and _has_codes(table, column):
        name, value = _find_name(table, column), _find_example(table, column, "true")
        notice = Notice("notice.grouped_codes", field=name, value=value, other=match.name)
        return Decision(TEXT, explanation=notice, notice=notice)
    return Decision(match)


def _doubt_thousands(table: StagedTable, columns: Sequence[str]) -> dict[str, Decision]:
    """Decide about inferred numbers whose points may separate thousands: with a notice."""
    decisions = {}
    for column in find_columns_that_meet(table, columns, _LIKE_THOUSANDS):
        notice = Notice(
            "notice.maybe_thousands",
            field=_find_name(table, column),
            value=_find_example(table, column, _HAS_POINT),
            other="int4:comma",
        )
        decisions[column] = Decision(field_formats["numeric"], notice=notice)
    return decisions


def _has_codes(table: StagedTable, column: str) -> bool:
    """Return whether grouped digits are long and all of one length, as telephone numbers are."""
    row = table.execute(
        SQL(
            "SELECT min(length({cell})), max(length({cell})) FROM {rows} WHERE {cell} <> ''"
        ).format(cell=quote_identifier(column), rows=STAGED_ROWS)
    ).fetchone()
    shortest, longest = row or (0, 0)
    return bool(shortest == longest >= _MIN_CODE_LENGTH)


def _find_example(table: StagedTable, column: str, condition: str) -> str:
    cell = quote_identifier(column)
    row = table.execute(
        SQL("SELECT {cell}[:100] FROM {rows} WHERE {cell} <> '' AND {condition} LIMIT 1").format(
            cell=cell, rows=STAGED_ROWS, condition=bind_value(condition, cell)
        )
    ).fetchone()
    return str(row[0]) if row else ""


# Explanations -------------------------------------------------------------------------------------


def _add_explanations(table: StagedTable, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    explanations = {column: _explain_decision(each) for column, each in decisions.items()}
    unexplained = [column for column, explanation in explanations.items() if not explanation]
    explanations |= explain_text_columns(table, unexplained)
    return {
        column: replace(decision, explanation=explanations[column])
        for column, decision in decisions.items()
    }


def _explain_decision(decision: Decision) -> Message | None:
    """Explain a decision without reading values; None for an inferred text."""
    if decision.explanation:
        return decision.explanation
    title = decision.field_format.title
    if decision.is_chosen:
        return Message("type.chosen", type=title)
    if decision.is_declared:
        return Message("type.declared", type=title)
    return None if decision.field_type.is_text else Message("type.every_value", type=title)
