"""Explain why fields are text although their values look like something else: for the preview."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ....field_types import INT8, NUMERIC, field_types
from ..formats.duckdb_sql import SQL, Composed
from ..formats.staging import STAGED_ROWS, StagedTable
from ..messages import Message, quote_names
from .field_formats import SHORT_YEAR_ORDERS, TEXT, bind_value, field_formats, find_format
from .matching import (
    VALUE,
    aggregate_cells,
    count_matches,
    find_columns_that_meet,
    find_first_cells,
)

#: The least share of values that match a format nearly.
_MIN_SHARE = 0.95

#: With at most this number of exceptions, or of texts for no value, a format matches nearly with
#: this share.
_MAX_EXCEPTIONS = 3
_MAX_LISTED = 5
_MIN_SHARE_WITH_FEW_EXCEPTIONS = 0.5

#: The rows that are examined before all others; a column has values enough in them, or all of its
#: values are.
_MAX_SAMPLE_ROWS, _MIN_SAMPLED_VALUES = 2_000, 20

#: What exceptions may be to be treated as empty: texts without digits, and not long.
_IS_WORD = r"(NOT regexp_matches({v}, '[0-9\n\r]') AND length({v}) <= 30)"

#: The title of what the values look like, by Table Schema's type or the code of their format.
_TITLE_CODES = {
    "number": "values.numbers",
    "date": "values.dates",
    "datetime": "values.timestamps",
    "time": "values.times",
    "type.two_digit_years": "values.dates",
    "type.month_names": "values.dates",
    "type.units": "values.numbers",
}
#: Every number, date and time has a digit.
_HAS_DIGIT = "regexp_matches({v}, '[0-9]')"
#: Percent, signs of currencies, and codes such as EUR and kr.
_UNIT = r"([%‰]|[A-Z]{0,2}\p{Sc}|[A-Z]{3}|kr|zł|Kč|Ft|đ)"
#: Values that are read by choice only, by the code of the explanation.
_BY_CHOICE = {
    "type.two_digit_years": (
        "regexp_full_match({v}, '[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}( .*)?')"
    ),
    "type.month_names": (
        "regexp_full_match({v}, '[0-9]{1,4}[-./, ]*[A-Za-z]{3,}[-./, ]+"
        "([0-9]{4}|[0-9]{1,2})( .*)?')"
        r" OR regexp_full_match({v}, '[A-Za-z]{3,}\.? [0-9]{1,2},? ([0-9]{4}|[0-9]{2})( .*)?')"
    ),
    "type.units": (
        rf"regexp_full_match({{v}}, '[-(]?{_UNIT}[ \x{{a0}}]?[-(]?[0-9][0-9., ]*[)]?|"
        rf"[-(]?[0-9][0-9., \x{{a0}}\x{{202f}}]*[)]?[ \x{{a0}}\x{{202f}}]?{_UNIT}[)]?')"
    ),
}
_ISO_NAMES = [kind.name for kind in field_types.values() if kind.has_day]
#: The names of the formats that may read such values: those in one list read them as the same.
_WAYS = {
    "type.mixed_formats": [
        [f"{kind}{order}" for kind in _ISO_NAMES] for order in ("", ":dmy", ":mdy", ":ymd")
    ],
    **{
        code: [
            [f"{kind}:{each}{names}" for kind in _ISO_NAMES[:2] for each in (order, short)]
            for short, order in SHORT_YEAR_ORDERS.items()
        ]
        for code, names in (("type.two_digit_years", ""), ("type.month_names", ",en"))
    },
    # The unit follows.
    "type.units": [
        [f"{INT8.name}:"],
        [f"{NUMERIC.name}:", f"{NUMERIC.name}:point,"],
        [f"{NUMERIC.name}:comma,"],
    ],
}
_NUMBER_SIGNS = re.compile("[-+−0-9.,()'’\\s]+")
#: The reasons that a load reports: a choice or a correction gives the field another type.
REASONS_FOR_TEXT = {"type.nearly_all", "type.mixed_formats", *_BY_CHOICE}


def _trim(condition: str) -> str:
    return condition.replace("{v}", "trim({v})")


#: Timestamps first: formats of days read their days.
_CONDITIONS: Mapping[str, str] = {
    name: f"contains({{v}}, ':') AND ({each.condition})"
    if kind.is_timestamp
    else (_trim(each.condition) if name == NUMERIC.name else each.condition)
    for kind in sorted(field_types.values(), key=lambda kind: not kind.is_timestamp)
    for name, each in field_formats.items()
    if each.field_type is kind and (kind is NUMERIC or kind.is_moment)
} | _BY_CHOICE

#: What a number would lose, and the condition of values that would lose it.
_LOSSES: Mapping[str, str] = {
    "type.leading_zeros": "regexp_matches({v}, '^[+-]?0[0-9]')",
    "type.leading_plus": "starts_with({v}, '+')",
    "type.long_numbers": "regexp_full_match({v}, '-?[0-9]{19,}')",
    "type.exponents": "regexp_matches({v}, '[0-9.][eE]|^[+-]?[.]|^-0([.]0+)?$|[nN]')",
}


@dataclass(frozen=True, slots=True)
class _MatchCount:
    """The values that meet a condition, and how many exceptions are different, and plain words."""

    matching: int
    total: int
    distinct: int = 0
    plain: int = 0

    @property
    def share(self) -> float:
        return self.matching / self.total

    @property
    def is_near(self) -> bool:
        """Return whether nearly all values meet it, or all but what may mean no value."""
        exceptions = self.total - self.matching
        has_few_exceptions = exceptions <= _MAX_EXCEPTIONS or (
            self.distinct <= _MAX_LISTED and (self.plain <= 1 or exceptions >= 2 * self.distinct)
        )
        return self.share >= _MIN_SHARE or (
            has_few_exceptions and self.share > _MIN_SHARE_WITH_FEW_EXCEPTIONS
        )


def explain_text_columns(table: StagedTable, columns: Sequence[str]) -> dict[str, Message | None]:
    """Explain why columns are text; None where they hold words, which needs no explanation."""
    if not columns:
        return {}
    # Words need no other condition, of which DuckDB prepares each in 2 ms.
    digits = _sample_matches(table, dict.fromkeys(columns, (_HAS_DIGIT,)))
    least = _MIN_SHARE_WITH_FEW_EXCEPTIONS
    doubtful = [column for column, counts in digits.items() if counts[_HAS_DIGIT].share > least]
    sampled = _sample_matches(table, dict.fromkeys(doubtful, tuple(_CONDITIONS)))
    near = {
        column: tuple(name for name, each in counts.items() if each.share > least)
        for column, counts in sampled.items()
    }
    best = {
        column: (max(names, key=lambda name: sampled[column][name].matching),)
        for column, names in near.items()
        if names
    }
    counts = _count_matches(table, STAGED_ROWS, best, "")
    inexact = {
        column: near[column] for column, (name,) in best.items() if counts[column][name].share < 1
    }
    counts |= _count_matches(table, STAGED_ROWS, inexact, _EXCEPTIONS)
    empty = Message("type.no_values")
    messages = {column: None if column in digits else empty for column in columns}
    by_choice: defaultdict[str, list[str]] = defaultdict(list)
    numbers: dict[str, str] = {}
    mixed: dict[str, Message] = {}
    for column, some in counts.items():
        name, count = max(some.items(), key=lambda item: item[1].matching)
        kind = None if name in _BY_CHOICE else field_formats[name].field_type
        title = Message(_TITLE_CODES[kind.table_schema_type if kind else name])
        if not count.is_near:
            continue
        if count.share < 1:
            messages[column] = _explain_nearly_all(table, column, name, count, title)
        elif kind is None:
            by_choice[name].append(column)
        else:
            message = messages[column] = Message("type.mixed_formats", type=title)
            if kind is NUMERIC:
                numbers[column] = name
            elif kind.has_day:
                mixed[column] = message
    totals = {column: next(iter(some.values())).total for column, some in counts.items()}
    _add_formats(table, "type.mixed_formats", mixed, totals)
    for code, some_columns in by_choice.items():
        found = _name_first_cells(table, some_columns, code, _CONDITIONS[code])
        _add_formats(table, code, found, totals)
        messages |= found
    return messages | _explain_numbers(table, numbers)


def _explain_numbers(table: StagedTable, formats: Mapping[str, str]) -> dict[str, Message]:
    """Explain why numbers of a format are text: what they would lose, the file's type, blanks."""
    declared = dict(zip(table.columns, table.declared_types, strict=True))
    messages, columns = dict[str, Message](), list(formats)
    for code, condition in _LOSSES.items():
        messages |= _name_first_cells(table, columns, code, _trim(condition))
        columns = [column for column in columns if column not in messages]
    whole = find_columns_that_meet(table, columns, _trim(field_formats[INT8.name].condition))
    for column in columns:
        if declared[column] == TEXT.name:
            messages[column] = Message("type.declared", type=TEXT.title)
            continue
        numbers = Message(_TITLE_CODES[NUMERIC.table_schema_type])
        message = messages[column] = Message("type.mixed_formats", type=numbers)
        message.parameters["formats"] = [INT8.name if column in whole else formats[column]]
    return messages


def _sample_matches(
    table: StagedTable, conditions: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, _MatchCount]]:
    """Count as ``_count_matches``: in a sample of the rows if a column has enough values there."""
    step = table.count_rows() // _MAX_SAMPLE_ROWS + 1
    sample = SQL("(SELECT * FROM {} WHERE rowid % {} = 0)").format(STAGED_ROWS, step)
    counts = _count_matches(table, sample, conditions, "")
    sparse = {
        column: names
        for column, names in conditions.items()
        if step > 1
        and (column not in counts or counts[column][names[0]].total < _MIN_SAMPLED_VALUES)
    }
    return counts | _count_matches(table, STAGED_ROWS, sparse, "")


#: What is counted besides.
_EXCEPTIONS = (
    ", 'distinct': approx_count_distinct(value[:100]) FILTER (NOT {0}), 'plain':"
    " approx_count_distinct(value[:100]) FILTER (NOT {0} AND regexp_full_match(value, '[\\pL ]+'))"
)


def _count_matches(
    table: StagedTable, relation: Composed, conditions: Mapping[str, tuple[str, ...]], more: str
) -> dict[str, dict[str, _MatchCount]]:
    """Count the values of columns that meet conditions, given by name; none without values."""

    def count(name: str) -> Composed:
        is_met = SQL("coalesce({}, false)").format(bind_value(_CONDITIONS.get(name, name), VALUE))
        return SQL("{{'matching': count_if({0}), 'total': count(*)" + more + "}}").format(is_met)

    return {
        column: {
            name: _MatchCount(**each) for name, each in zip(conditions[column], found, strict=True)
        }
        for column, found in aggregate_cells(table, conditions, count, relation)
    }


def _explain_nearly_all(
    table: StagedTable, column: str, name: str, count: _MatchCount, title: Message
) -> Message:
    """List the values that do not meet a condition with their numbers, the first one first."""
    found = table.execute(
        "SELECT value[:100], count(*), min(line), {is_word} FROM {cells}"
        " WHERE value <> '' AND NOT coalesce({is_met}, false) GROUP BY ALL"
        " ORDER BY min(line) > min(min(line)) OVER (), count(*) DESC, min(line) LIMIT {most}",
        is_word=bind_value(_IS_WORD, VALUE),
        cells=table.rows.select_cells([column], has_lines=True),
        is_met=bind_value(_CONDITIONS[name], VALUE),
        most=_MAX_LISTED + 1,
    ).fetchall()
    are_all = len(found) <= _MAX_LISTED
    words = [value for value, _number, _line, is_word in found if is_word and are_all]
    shown = [f"“{value}” ({number})" for value, number, *_more in found[:_MAX_LISTED]]
    return Message(
        "type.nearly_all",
        count=count.total - count.matching,
        total=count.total,
        type=title,
        line=found[0][2],
        value=f"“{found[0][0]}”" if len(found) == 1 else ", ".join(shown) + "…" * (not are_all),
        words=quote_names(sorted(words) if len(words) == len(found) else ()),
    )


def _name_first_cells(
    table: StagedTable, columns: Sequence[str], code: str, condition: str
) -> dict[str, Message]:
    return {
        column: Message(code, line=line, value=value)
        for column, ((line, value),) in find_first_cells(table, columns, condition).items()
    }


def _add_formats(
    table: StagedTable, code: str, messages: Mapping[str, Message], totals: Mapping[str, int]
) -> None:
    """Add to messages the names of the formats that read all values of their columns."""
    ways = {}
    for column, message in messages.items():
        value = message.parameters["value"] if code == "type.units" else ""
        unit = _NUMBER_SIGNS.sub("", value)
        ways[column] = [[name + unit for name in way] for way in _WAYS[code]]
    candidates = {
        column: tuple(found for each in chain(*some) if (found := find_format(each)))
        for column, some in ways.items()
    }
    # A day would lose times.
    timed = find_first_cells(table, list(ways), "contains({v}, ':')")
    for column, counts in count_matches(table, candidates).items():
        fit = {each.name for each, count in counts.items() if count == totals[column]}
        ordered = [way[::-1] if column in timed else way for way in ways[column]]
        read = [next((name for name in way if name in fit), "") for way in ordered]
        # Whole numbers without separators are the same in both ways, as is what is of ISO's format.
        shown = read[1:2] if read[0].startswith(INT8.name) else read
        shown = read[:1] if read[0] in _ISO_NAMES else shown
        messages[column].parameters["formats"] = [name for name in shown if name]
