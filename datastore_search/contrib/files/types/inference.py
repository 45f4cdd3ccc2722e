"""
Decide the formats of a file's fields: chosen, declared, or inferred over all rows without loss.

A field has an inferred format only if every value matches it and all are written in the same way,
so that the stored values can be written back as they were: ``007``, ``+84``, ``1e5`` and numbers
too long for an integer stay text.  So do ambiguous values: ``1/2/2024``, ``1,234``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from django.db import connections, router

from ....database.server import cast_texts
from ....field_types import NUMERIC, field_types, parse_texts
from ....field_types.numbers import SAME_DOUBLE
from ..formats.duckdb_sql import SQL, Composed, quote_identifier, quote_literal
from ..formats.header_rows import are_numbers_names
from ..formats.staging import STAGED_ROWS, StagedTable
from ..messages import BadRow, Message, Notice
from ..messages.failures import LoadFailed
from ..models import Load
from .explanations import REASONS_FOR_TEXT, explain_text_columns
from .field_formats import (
    FORMAT_SEPARATOR,
    SHORT_YEAR_ORDERS,
    TEXT,
    Decision,
    FieldFormat,
    bind_value,
    field_formats,
    list_written_groups,
    parse_field_format,
)
from .matching import (
    VALUE,
    count_matches,
    find_columns_that_meet,
    find_conditions_met,
    find_first_values,
    group_columns,
    match_formats,
)
from .options import LoadOptions
from .schema import parse_table_schema

#: What has a digit, or is a truth value, may be a value of a type.
_VALUE = re.compile(r"\d|^(true|false)$", re.IGNORECASE)
_MAX_SHOWN_LABELS = 5

#: Grouped digits that all have at least this length, and the same, are telephone numbers.
_MIN_CODE_LENGTH = 9

_HAS_COMMA = "contains({v}, ',')"
_HAS_POINT = "contains({v}, '.')"
#: The decision about a field of numbers with decimals that no user and no file has typed.
_NUMERIC = Decision(field_formats[NUMERIC.name])
#: Numbers of which all decimals are three: perhaps the point separates thousands.
_LIKE_THOUSANDS = r"regexp_full_match({v}, '-?[1-9][0-9]{0,2}(\.[0-9]{3})?')"


def decide_formats(
    table: StagedTable,
    options: LoadOptions,
    *,
    explain: bool = False,
    lossless: Collection[str] = (),
) -> tuple[Decision, ...]:
    """
    Decide the format of each field: chosen, declared by the file, or the narrowest that matches.

    Null texts become null first.  Values that do not match a chosen format become row errors, and
    so do those of the fields in ``lossless`` that would not come back as they were written.
    ``explain`` adds an explanation to each decision, which takes time.

    Raises: ``LoadFailed`` with ``option.unknown_field``, ``UnknownType``.
    """
    columns = _index_columns(table)
    for name in options.types:
        if name not in columns:
            raise LoadFailed("option.unknown_field", field=name)
    if options.nulls:
        table.rows.replace_by_null(table.columns, options.nulls)
    table.rows.copy_cells(table.columns, table.count_rows())
    decisions = _take_chosen_formats(table, options, lossless)
    unchosen = [column for column in table.columns if column not in decisions]
    decisions |= _take_declared_formats(table, unchosen)
    undecided = [column for column in unchosen if column not in decisions]
    chosen = list_written_groups(options.date_order)
    matches = match_formats(table, undecided, tuple(chosen))
    clear = {column: formats[0] for column, formats in matches.items() if len(formats) == 1}
    decisions |= dict.fromkeys(undecided, Decision(TEXT))
    decisions |= {column: Decision(each) for column, each in clear.items()}
    decisions |= _doubt_codes(table, clear)
    decisions |= _decide_ambiguous(table, matches, options)
    decisions |= _doubt_thousands(table, [c for c in undecided if decisions[c] == _NUMERIC])
    if explain:
        decisions = _add_explanations(table, decisions)
    return tuple(decisions[column] for column in table.columns)


def collect_type_notices(
    table: StagedTable, options: LoadOptions, decisions: Sequence[Decision]
) -> tuple[Notice, ...]:
    columns = _index_columns(table)
    unknown = [name for name in options.requested_types if name not in columns]
    return (
        *_doubt_header(table, decisions),
        *parse_table_schema(options.schema).notices,
        *(Notice("notice.type_not_applied", field=name) for name in unknown),
        *(decision.notice for decision in decisions if decision.notice),
        *(
            Notice("notice.unit", field=name, unit=decision.field_format.unit)
            for name, decision in zip(table.names, decisions, strict=True)
            if decision.field_format.unit
        ),
    )


def _index_columns(table: StagedTable) -> dict[str, str]:
    """Index the columns by the names of their fields, and by their labels in the header."""
    labelled = zip(reversed(table.labels), reversed(table.columns), strict=True)
    return dict(labelled) | dict(zip(table.names, table.columns, strict=True))


# The header ---------------------------------------------------------------------------------------


def _doubt_header(table: StagedTable, decisions: Sequence[Decision]) -> Iterator[Notice]:
    """Describe a header that fits the types of all fields below, and is no set of names."""
    typed = [
        (column, label, decision.field_format)
        for column, label, decision in zip(table.columns, table.labels, decisions, strict=True)
        if not decision.field_type.is_text
    ]
    if not (table.has_header and typed and all(_VALUE.search(label) for _, label, _ in typed)):
        return
    tests = [
        bind_value(f"({each.lossless_condition})", quote_literal(label)) for _, label, each in typed
    ]
    if all(each.field_type.is_number for _, _, each in typed):
        if are_numbers_names([label for _, label, _ in typed]):
            return
        tests += [_test_size(table, *each) for each in typed]
    # One at a time: DuckDB takes no condition of as many parts as a wide table has.
    if all(table.staging_area.fetch_value(SQL("SELECT {}").format(test)) for test in tests):
        shown = ", ".join(f"“{label}”" for label in table.labels[:_MAX_SHOWN_LABELS])
        yield Notice("notice.header_like_record", values=shown)


def _test_size(table: StagedTable, column: str, label: str, field_format: FieldFormat) -> Composed:
    """Test whether a number is of the size of those of a column."""
    number, each = (
        SQL("abs(try_cast({} AS DOUBLE))").format(field_format.build_json_value(value))
        for value in (quote_literal(label), VALUE)
    )
    return SQL("(SELECT {0} BETWEEN min({1}) / 10 AND 10 * max({1}) FROM {2})").format(
        number, each, table.rows.select_cells([column])
    )


# Chosen and declared formats ----------------------------------------------------------------------


def _take_chosen_formats(
    table: StagedTable, options: LoadOptions, lossless: Collection[str]
) -> dict[str, Decision]:
    """Use the formats that a user or a schema chose; values that do not match are row errors."""
    columns = _index_columns(table)
    choices = {
        columns[name]: tuple(parse_field_format(each) for each in names.split(FORMAT_SEPARATOR))
        for name, names in options.requested_types.items()
        if name in columns
    }
    counts = count_matches(table, {c: some for c, some in choices.items() if len(some) > 1})
    chosen = {
        column: max(formats, key=counts[column].__getitem__) if column in counts else formats[0]
        for column, formats in choices.items()
    }
    notices: dict[str, Notice] = {}
    examined = {column: _adapt_to_file(table, column, each) for column, each in chosen.items()}
    for field_format, some in group_columns(table, examined):
        notices |= _take_chosen_format(table, field_format, some, lossless)
    return {
        column: Decision(each, is_chosen=True, notice=notices.get(column))
        for column, each in chosen.items()
    }


def _take_chosen_format(
    table: StagedTable, field_format: FieldFormat, columns: Sequence[str], lossless: Collection[str]
) -> dict[str, Notice]:
    """
    Record the errors of columns in a format, and return notices of values that will be changed.

    In the fields of ``lossless`` such values are errors, too.  DuckDB reads nearly all values; the
    parser of the type reads those in another notation, as if they had come by the API.
    """
    is_unread = f"NOT coalesce({field_format.condition}, false)"
    is_lost = field_format.loss_condition
    counts = count_matches(table, dict.fromkeys(columns, (is_unread, is_lost)), str)
    unread = [column for column in columns if counts[column][is_unread]]
    lost = {column: counts[column][is_lost] for column in columns}
    has_readings = bool(unread) and not field_format.format
    if has_readings:
        _read_other_notations(table, field_format, unread)
        is_unread = f"{is_unread} AND NOT {_IS_KNOWN}"
        is_lost = f"({is_lost} OR {_IS_CHANGED})"
        counts = count_matches(table, dict.fromkeys(unread, (is_lost,)), str)
        lost |= {column: counts[column][is_lost] for column in unread}
    strict = [column for column in columns if table.get_name(column) in lossless]
    for code, some, condition in (
        ("row.wrong_type", unread, is_unread),
        ("row.changed", [column for column in strict if lost[column]], is_lost),
    ):
        if some:
            is_bad = SQL("value <> '' AND {}").format(bind_value(condition, VALUE))
            table.record_errors(some, is_bad, BadRow(code, type=field_format.title))
    changed = [column for column in columns if lost[column] and column not in strict]
    firsts = find_first_values(table, changed, is_lost)
    if has_readings:
        table.rows.replace([each for each in unread if each not in strict], _READINGS)
    return {
        column: Notice(
            "notice.values_changed",
            field=table.get_name(column),
            type=field_format.title,
            count=lost[column],
            value=value,
        )
        for column, value in firsts.items()
    }


#: The texts that the parser of a type reads, and their canonical texts, which DuckDB reads.
_READINGS = quote_identifier("temp", "readings")
_IS_KNOWN = "{v} IN (SELECT value FROM temp.readings)"
_IS_CHANGED = "{v} IN (SELECT value FROM temp.readings WHERE reading <> value)"
_OTHERS = quote_identifier("temp", "others")

#: Texts that are parsed at once, of at most these bytes each: PostgreSQL parses some of them.
_TEXTS_AT_ONCE, _MAX_TEXT_BYTES = 1_000, 100_000


def _read_other_notations(
    table: StagedTable, field_format: FieldFormat, columns: Sequence[str]
) -> None:
    """Fill ``_READINGS`` with the values of columns that DuckDB does not read, each once."""
    kind = field_format.field_type
    cast = partial(cast_texts, connections[router.db_for_write(Load)])
    table.execute(
        SQL(
            "CREATE OR REPLACE TEMP TABLE {} (value VARCHAR, reading VARCHAR);"
            "CREATE OR REPLACE TEMP TABLE {} AS SELECT DISTINCT value FROM {} WHERE value <> ''"
            " AND NOT coalesce({}, false) AND strlen(value) <= {}"
        ).format(
            _READINGS,
            _OTHERS,
            table.rows.select_cells(columns),
            bind_value(field_format.condition, VALUE),
            quote_literal(_MAX_TEXT_BYTES),
        )
    )
    query = SQL("SELECT value FROM {} WHERE rowid >= ? AND rowid < ?").format(_OTHERS)
    for start in itertools.count(0, _TEXTS_AT_ONCE):
        found = table.execute(query, [start, start + _TEXTS_AT_ONCE]).fetchall()
        texts = [text for (text,) in found]
        readings = parse_texts(kind.name, kind.parse_text or kind.parse_value, texts, cast)
        if kind.is_nested:  # whose texts in files are JSON
            plain = list(readings.values())
        else:
            plain = [each.strip('"') for each in readings.values()]
        table.execute(
            SQL("INSERT INTO {} SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])").format(
                _READINGS
            ),
            [list(readings), plain],
        )
        if len(texts) < _TEXTS_AT_ONCE:
            return


def _adapt_to_file(table: StagedTable, column: str, field_format: FieldFormat) -> FieldFormat:
    """Let numbers and days of the file's own types come back by their value, not their text."""
    declared = field_types.get(table.declared_types[table.columns.index(column)] or "")
    if not (
        declared and declared.has_range and declared.ordered is field_format.field_type.ordered
    ):
        return field_format
    condition = SAME_DOUBLE if field_format.field_type.is_double else "true"
    return replace(field_format, lossless_conditions=((condition,),))


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


def _decide_ambiguous(
    table: StagedTable, matches: Mapping[str, Sequence[FieldFormat]], options: LoadOptions
) -> dict[str, Decision]:
    """Leave fields that match several formats as text, unless the order of dates is chosen."""
    order = SHORT_YEAR_ORDERS.get(options.date_order, options.date_order)
    matches = {column: formats for column, formats in matches.items() if len(formats) > 1}
    decisions = {
        column: Decision(each, explanation=Message("type.date_order", type=each.title))
        for column, formats in matches.items()
        for each in reversed(formats)
        if order and each.format == order
    }
    numbers: list[str] = []
    moments: list[str] = []
    for column in matches.keys() - decisions:
        is_number = matches[column][0].field_type.is_number
        (numbers if is_number else moments).append(column)
    commas = find_first_values(table, numbers, _HAS_COMMA)
    points = [column for column in numbers if column not in commas]
    for code, columns, values in (
        ("notice.ambiguous_dates", moments, find_first_values(table, moments, "true")),
        ("notice.ambiguous_numbers", commas, commas),
        ("notice.ambiguous_points", points, find_first_values(table, points, _HAS_POINT)),
    ):
        for column in columns:
            one, other = (each.name for each in matches[column][:2])
            decisions[column] = _leave_as_text(
                table, column, code, values.get(column, ""), one=one, other=other
            )
    return decisions


def _leave_as_text(
    table: StagedTable, column: str, code: str, value: str, **names: str
) -> Decision:
    notice = Notice(code, field=table.get_name(column), value=value, **names)
    return Decision(TEXT, explanation=notice, notice=notice)


def _doubt_codes(table: StagedTable, matches: Mapping[str, FieldFormat]) -> dict[str, Decision]:
    """Decide about grouped digits that may be codes: text, with a notice."""
    grouped = [column for column, match in matches.items() if match.format == "spaced"]
    codes: list[str] = []
    for some in table.rows.split_columns(grouped):
        # Long ones of one length, as telephone numbers are.
        query = SQL(
            "SELECT name FROM {} WHERE value <> '' GROUP BY name"
            " HAVING min(length(value)) = max(length(value)) AND min(length(value)) >= {}"
        ).format(table.rows.select_cells(some), quote_literal(_MIN_CODE_LENGTH))
        codes += [name for (name,) in table.execute(query).fetchall()]
    code = "notice.grouped_codes"
    return {
        column: _leave_as_text(table, column, code, value, other=matches[column].name)
        for column, value in find_first_values(table, codes, "true").items()
    }


def _doubt_thousands(table: StagedTable, columns: Sequence[str]) -> dict[str, Decision]:
    """Decide about inferred numbers whose points may separate thousands: with a notice."""
    doubtful = find_columns_that_meet(table, columns, _LIKE_THOUSANDS)
    values = find_first_values(table, doubtful, _HAS_POINT)
    return {
        column: replace(
            _NUMERIC,
            notice=Notice(
                "notice.maybe_thousands",
                field=table.get_name(column),
                value=values.get(column, ""),
                other="int4:comma",
            ),
        )
        for column in doubtful
    }


# Explanations -------------------------------------------------------------------------------------


def _add_explanations(table: StagedTable, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    explained = {}
    unexplained = []
    for column, each in decisions.items():
        code = "type.declared" if each.is_declared else "type.every_value"
        code = "type.chosen" if each.is_chosen else code
        if each.explanation or code != "type.every_value" or not each.field_type.is_text:
            reason = Message(code, type=each.field_format.title)
            explained[column] = each.explanation or reason
        else:
            unexplained.append(column)
    reasons = explained | explain_text_columns(table, unexplained)
    return {
        column: replace(decision, explanation=reasons[column])
        for column, decision in decisions.items()
    }


def explain_texts(table: StagedTable, decisions: Sequence[Decision]) -> Iterator[Notice]:
    for name, decision in zip(table.names, decisions, strict=True):
        if (reason := decision.explanation) and reason.code in REASONS_FOR_TEXT:
            yield Notice("notice.stays_text", field=name, reason=reason)
