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
from ..formats.duckdb_sql import SQL, quote_identifier, quote_literal
from ..formats.headers_and_footers import are_numbers_names
from ..formats.staging import STAGED_ROWS, StagedTable
from ..messages import BadRow, LoadFailed, Message, Notice, quote_names
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
#: Numbers of which all decimals are three: perhaps the point separates thousands.
_LIKE_THOUSANDS = r"regexp_full_match({v}, '-?[1-9][0-9]{0,2}(\.[0-9]{3})?')"

_HAS_EIGHT_DIGITS = "length({v}) = 8"
#: The formats that also read days without separators.
_DAY_FORMATS = [field_formats[name] for name in ("date:ymd", "date:dmy", "date:mdy")]


def decide_formats(
    table: StagedTable, options: LoadOptions, *, lossless: Collection[str] = ()
) -> tuple[Decision, ...]:
    """
    Decide the format of each field: chosen, declared by the file, or the narrowest that matches.

    Null texts become null first.  Values that do not match a chosen format become row errors, and
    so do those of the fields in ``lossless`` that would not come back as they were written.

    Raises: ``LoadFailed`` with ``option.unknown_field``, ``UnknownType``.
    """
    columns = _index_columns(table)
    for name in options.types:
        if name not in columns:
            raise LoadFailed("option.unknown_field", field=name)
    if options.nulls:
        table.rows.replace_by_null(table.columns, options.nulls)
    table.rows.copy_cells(table.columns, table.count_rows())
    # Chosen by a user or a schema: of several formats, the one that most values match.
    decisions: dict[str, Decision] = {}
    examined: dict[str, FieldFormat] = {}
    declared_types = dict(zip(table.columns, table.declared_types, strict=True))
    choices = {
        columns[name]: tuple(parse_field_format(each) for each in names.split(FORMAT_SEPARATOR))
        for name, names in options.requested_types.items()
        if name in columns
    }
    counts = count_matches(table, {c: some for c, some in choices.items() if len(some) > 1})
    for column, formats in choices.items():
        chosen = max(formats, key=counts[column].__getitem__) if column in counts else formats[0]
        explanation = Message("type.chosen", type=chosen.title)
        decisions[column] = Decision(chosen, is_chosen=True, explanation=explanation)
        # Numbers and days of the file's own types come back by their value, not their text.
        own, kind = field_types.get(declared_types[column] or ""), chosen.field_type
        if own and own.has_range and own.ordered is kind.ordered:
            condition = SAME_DOUBLE if kind.is_double else "true"
            chosen = replace(chosen, lossless_conditions=((condition,),))
        examined[column] = chosen
    for field_format, some in group_columns(table, examined):
        for column, notice in _record_errors(table, field_format, some, lossless):
            decisions[column] = replace(decisions[column], notice=notice)
    # Declared by the file, unless as text, which is examined further.
    declared = {
        column: field_formats[name]
        for column, name in declared_types.items()
        if column not in decisions and name not in {None, TEXT.name}
    }
    conditions = {column: [each.condition] for column, each in declared.items()}
    met = find_conditions_met(table, STAGED_ROWS, conditions)
    decisions |= {
        column: Decision(each, explanation=Message("type.declared", type=each.title))
        for column, each in declared.items()
        if each.condition in met.get(column, {each.condition})
    }
    undecided = [column for column in table.columns if column not in decisions]
    decisions |= _infer_formats(table, undecided, options.date_order)
    unexplained = [column for column in undecided if not decisions[column].explanation]
    for column, reason in explain_text_columns(table, unexplained).items():
        decisions[column] = replace(decisions[column], explanation=reason)
    return tuple(decisions[column] for column in table.columns)


def collect_type_notices(
    table: StagedTable, options: LoadOptions, decisions: Sequence[Decision]
) -> tuple[Notice, ...]:
    columns = _index_columns(table)
    unknown = [name for name in options.requested_types if name not in columns]
    notices = [
        *parse_table_schema(options.schema).notices,
        *(Notice("notice.type_not_applied", field=name) for name in unknown),
        *(decision.notice for decision in decisions if decision.notice),
        *(
            Notice("notice.unit", field=name, unit=decision.field_format.unit)
            for name, decision in zip(table.names, decisions, strict=True)
            if decision.field_format.unit
        ),
    ]
    # A header that fits the types of all fields below, and is no set of names, may be a record.
    typed = [
        (column, label, decision.field_format)
        for column, label, decision in zip(table.columns, table.labels, decisions, strict=True)
        if table.has_header and not decision.field_type.is_text
    ]
    is_doubtful = bool(typed) and all(_VALUE.search(label) for _, label, _ in typed)
    tests = [
        bind_value(f"({each.lossless_condition})", quote_literal(label)) for _, label, each in typed
    ]
    if is_doubtful and all(each.field_type.is_number for _, _, each in typed):
        is_doubtful = not are_numbers_names([label for _, label, _ in typed])
        for column, label, each in typed:  # a number is of the size of those of its column
            number, value = (
                SQL("abs(try_cast({} AS DOUBLE))").format(each.build_json_value(text))
                for text in (quote_literal(label), VALUE)
            )
            is_near = SQL("(SELECT {0} BETWEEN min({1}) / 10 AND 10 * max({1}) FROM {2})")
            tests.append(is_near.format(number, value, table.rows.select_cells([column])))
    # One at a time: DuckDB takes no condition of as many parts as a wide table has.
    fetch_value = table.staging_area.fetch_value
    if is_doubtful and all(fetch_value("SELECT {}", test) for test in tests):
        shown = quote_names(table.labels[:_MAX_SHOWN_LABELS])
        notices.insert(0, Notice("notice.header_like_record", values=shown))
    return tuple(notices)


def _index_columns(table: StagedTable) -> dict[str, str]:
    """Index the columns by the names of their fields, and by their labels in the header."""
    labelled = zip(reversed(table.labels), reversed(table.columns), strict=True)
    return dict(labelled) | dict(zip(table.names, table.columns, strict=True))


def _record_errors(
    table: StagedTable, field_format: FieldFormat, columns: Sequence[str], lossless: Collection[str]
) -> Iterator[tuple[str, Notice]]:
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
    for column, value in firsts.items():
        name, kind, count = table.get_name(column), field_format.title, lost[column]
        notice = Notice("notice.values_changed", field=name, type=kind, count=count, value=value)
        yield column, notice


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
        "CREATE OR REPLACE TEMP TABLE {} (value VARCHAR, reading VARCHAR);"
        "CREATE OR REPLACE TEMP TABLE {} AS SELECT DISTINCT value FROM {} WHERE value <> ''"
        " AND NOT coalesce({}, false) AND strlen(value) <= {}",
        _READINGS,
        _OTHERS,
        table.rows.select_cells(columns),
        bind_value(field_format.condition, VALUE),
        _MAX_TEXT_BYTES,
    )
    query = "SELECT value FROM {} WHERE rowid >= {} AND rowid < {}"
    for start in itertools.count(0, _TEXTS_AT_ONCE):
        found = table.execute(query, _OTHERS, start, start + _TEXTS_AT_ONCE)
        texts = [text for (text,) in found.fetchall()]
        readings = parse_texts(kind.name, kind.parse_text or kind.parse_value, texts, cast)
        # Texts of nested types in files are JSON.
        plain = [each if kind.is_nested else each.strip('"') for each in readings.values()]
        insert = "INSERT INTO {} SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])"
        table.execute(insert, _READINGS, parameters=[list(readings), plain])
        if len(texts) < _TEXTS_AT_ONCE:
            return


def _infer_formats(
    table: StagedTable, columns: Sequence[str], date_order: str
) -> dict[str, Decision]:
    """Infer formats; values that can be read in several ways, or may be codes, stay text."""
    matches = match_formats(table, columns, tuple(list_written_groups(date_order)))
    order = SHORT_YEAR_ORDERS.get(date_order, date_order)
    decisions = dict.fromkeys(columns, Decision(TEXT))
    grouped: list[str] = []
    numbers: list[str] = []
    moments: list[str] = []
    for column, formats in matches.items():
        ordered = [each for each in formats if order and each.format == order]
        if len(formats) == 1:
            reason = Message("type.every_value", type=formats[0].title)
            decisions[column] = Decision(formats[0], explanation=reason)
            if formats[0].format == "spaced":
                grouped.append(column)
        elif ordered:
            reason = Message("type.date_order", type=ordered[0].title)
            decisions[column] = Decision(ordered[0], explanation=reason)
        elif formats:
            (numbers if formats[0].field_type.is_number else moments).append(column)
    codes: list[str] = []
    for some in table.rows.split_columns(grouped):
        # Long ones of one length, as telephone numbers are.
        query = (
            "SELECT name FROM {} WHERE value <> '' GROUP BY name"
            " HAVING min(length(value)) = max(length(value)) AND min(length(value)) >= {}"
        )
        found = table.execute(query, table.rows.select_cells(some), _MIN_CODE_LENGTH)
        codes += [name for (name,) in found.fetchall()]
    commas = find_first_values(table, numbers, _HAS_COMMA)
    pointed = [column for column in numbers if column not in commas]
    for code, values in (
        ("notice.grouped_codes", find_first_values(table, codes, "true")),
        ("notice.ambiguous_dates", find_first_values(table, moments, "true")),
        ("notice.ambiguous_numbers", commas),
        ("notice.ambiguous_points", find_first_values(table, pointed, _HAS_POINT)),
    ):
        for column, value in values.items():
            first, *others = (each.name for each in matches[column])
            named = {"one": first, "other": others[0]} if others else {"other": first}
            notice = Notice(code, field=table.get_name(column), value=value, **named)
            decisions[column] = Decision(TEXT, explanation=notice, notice=notice)
    for column, notice in _find_other_readings(table, decisions):
        decisions[column] = replace(decisions[column], notice=notice)
    return decisions


def _find_other_readings(
    table: StagedTable, decisions: Mapping[str, Decision]
) -> Iterator[tuple[str, Notice]]:
    """Find numbers that may be thousands or days."""
    decimal = [c for c in decisions if decisions[c].field_format is field_formats[NUMERIC.name]]
    doubtful = find_columns_that_meet(table, decimal, _LIKE_THOUSANDS)
    for column, value in find_first_values(table, doubtful, _HAS_POINT).items():
        name = table.get_name(column)
        yield column, Notice("notice.maybe_thousands", field=name, value=value, other="int4:comma")
    whole = [c for c in decisions if decisions[c].field_type.is_integer]
    whole = find_columns_that_meet(table, whole, _HAS_EIGHT_DIGITS)
    dated = {
        each.name: find_columns_that_meet(table, whole, each.condition) for each in _DAY_FORMATS
    }
    for column, value in find_first_values(table, whole, _HAS_EIGHT_DIGITS).items():
        if formats := [name for name, some in dated.items() if column in some]:
            notice = Notice("notice.maybe_dates", field=table.get_name(column), value=value)
            notice.parameters["formats"] = formats
            yield column, notice


def explain_texts(table: StagedTable, decisions: Sequence[Decision]) -> Iterator[Notice]:
    for name, decision in zip(table.names, decisions, strict=True):
        if (reason := decision.explanation) and reason.code in REASONS_FOR_TEXT:
            yield Notice("notice.stays_text", field=name, reason=reason)
