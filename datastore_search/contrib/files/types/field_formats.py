"""
The formats in which files write values: one table.

A field format is a type and a way to write it, as in Frictionless: ``date`` alone is ISO's format,
``date:dmy`` has the day first.  Formats that read the same text as different values are ambiguous:
see ``format_groups``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....field_types import FieldType, field_types
from ..formats.duckdb_sql import SQL, Composed, quote_literal
from ..messages import Message, Notice
from .duckdb_types import duckdb_types

#: Numbers and dates in each way of writing them.
_NUMBERS = {"": "1234.50", "point": "1,234.50", "comma": "1.234,50", "spaced": "1 234.50"}
_DATES = {
    "": "2024-12-31", "dmy": "31/12/2024", "mdy": "12/31/2024", "ymd": "2024/12/31",
    "dmyy": "31/12/99", "mdyy": "12/31/99", "yymd": "99/12/31",
    "dmy,en": "31 Dec 2024", "mdy,en": "Dec 31, 2024", "ymd,en": "2024 Dec 31",
    "dmyy,en": "31 Dec 99", "mdyy,en": "Dec 31, 99", "yymd,en": "99 Dec 31",
}  # fmt: skip


def bind_value(template: str, value: Composed) -> Composed:
    """Write a template of DuckDB's SQL over an expression, in place of ``{v}``."""
    return SQL(template.replace("{v}", value.text))


@dataclass(frozen=True, slots=True)
class FieldFormat:
    """
    A type, and a format in which its values are written.

    ``inference_conditions`` are sets of alternatives: a field has the format when at least one
    condition of each set holds for all its values, so that every value is written in the same way.
    ``condition`` is the wider condition for a format that a user has chosen, and
    ``json_expression`` writes a value as JSON text.  All are templates of DuckDB's SQL over
    ``{v}``, a text that is not empty.
    """

    field_type: FieldType
    format: str
    inference_conditions: tuple[tuple[str, ...], ...]
    condition: str
    json_expression: str
    is_inferred: bool = True
    #: As ``inference_conditions``, of values that come back; the same where there are none.
    lossless_conditions: tuple[tuple[str, ...], ...] = ()
    #: What the numbers count, such as ``%`` or ``€``: it is written in the file, and not stored.
    unit: str = ""

    @property
    def name(self) -> str:
        """The name by which users choose the format."""
        return f"{self.field_type.name}:{self.format}" if self.format else self.field_type.name

    @property
    def title(self) -> Message | str:
        """The title for users: a message, or the type where that is enough."""
        if not self.format:
            return self.field_type.name
        return Message("format.example", type=self.field_type.name, example=self.example)

    @property
    def example(self) -> str:
        """A number or a date as the format writes it; empty for other types."""
        style = self.format.removesuffix(self.unit).rstrip(",")
        if self.field_type.is_number:
            number = _NUMBERS[style][: -len(".50") if self.field_type.is_integer else None]
            return f"{number} {self.unit}".strip()
        clock = " 10:00" if self.field_type.is_timestamp else ""
        return _DATES[style] + clock if self.field_type.has_day else ""

    @property
    def lossless_condition(self) -> str:
        """The condition of a value that comes back as it was written."""
        notations = self.lossless_conditions or self.inference_conditions
        return " AND ".join(f"({' OR '.join(each)})" for each in ((self.condition,), *notations))

    @property
    def loss_condition(self) -> str:
        """The condition of a value that can be read, and comes back in another way."""
        return f"({self.condition}) AND NOT coalesce({self.lossless_condition}, false)"

    def matches(self, conditions_met: frozenset[str]) -> bool:
        """Return whether a field may have the format, given the conditions that all values meet."""
        return all(conditions_met.intersection(either) for either in self.inference_conditions)

    def build_json_value(self, cell: Composed) -> Composed:
        """Build a cell as JSON: an empty cell is null, an empty text of a text field stays text."""
        return SQL(
            "CASE WHEN {cell} IS NULL THEN 'null' WHEN {cell} = '' THEN {empty} ELSE {value} END"
        ).format(
            cell=cell,
            empty=quote_literal('""' if self.field_type.is_text else "null"),
            value=bind_value(self.json_expression, cell),
        )


@dataclass(frozen=True, slots=True)
class FormatGroup:
    """
    Formats that are tested together.

    Each of ``interpretations`` lists formats that read a text as the same value, the narrowest
    first; a text that matches two interpretations is ambiguous.  ``guard`` is a cheap condition
    that all texts of the group meet.
    """

    guard: str
    interpretations: tuple[tuple[FieldFormat, ...], ...]

    @property
    def formats(self) -> tuple[FieldFormat, ...]:
        """All formats of the group."""
        return tuple(each for formats in self.interpretations for each in formats)

    @property
    def first_conditions(self) -> tuple[str, ...]:
        """The conditions to test before the others; without any of them no format matches."""
        return (self.guard,) if self.guard else self.formats[0].inference_conditions[0]

    @property
    def conditions(self) -> tuple[str, ...]:
        """All conditions of the formats."""
        return tuple(
            condition
            for each in self.formats
            for either in each.inference_conditions
            for condition in either
        )

    def match_formats(self, conditions_met: frozenset[str]) -> tuple[FieldFormat, ...]:
        """Find the format of each interpretation that matches, given the conditions met."""
        found = (
            next((each for each in formats if each.matches(conditions_met)), None)
            for formats in self.interpretations
        )
        return tuple(each for each in found if each)


@dataclass(frozen=True, slots=True)
class Decision:
    """
    The format in which the values of a field are read, and why.

    ``is_chosen`` means that a user chose it, ``is_declared`` that the file declares it.
    ``explanation`` is None where none is computed.  ``notice`` is what the user should know in
    any case.
    """

    field_format: FieldFormat
    is_chosen: bool = False
    is_declared: bool = False
    explanation: Message | None = None
    notice: Notice | None = None

    @property
    def field_type(self) -> FieldType:
        """The type."""
        return self.field_format.field_type


# The default format of a type ---------------------------------------------------------------------

_DEFAULT_FORMATS = {
    name: FieldFormat(field_types[name], "", **each._asdict())
    for name, each in duckdb_types.items()
}

TEXT = _DEFAULT_FORMATS["text"]

#: Separates formats of which the one that most values match is used.
FORMAT_SEPARATOR = "|"

# Dates and times ----------------------------------------------------------------------------------

_SEPARATORS = "-/."
#: The orders of day, month and year.
DAY_ORDERS = ("dmy", "mdy", "ymd")
_DIGITS = {"d": "[0-9]{1,2}", "m": "[0-9]{1,2}", "y": "[0-9]{4}"}
_CLOCK_24 = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
_CLOCK_12 = "(0?[1-9]|1[0-2]):[0-5][0-9](:[0-5][0-9])? ?([AP]M|[ap]m)"
#: A pattern of the time of a timestamp, with what is before it.
CLOCK = f"[ T]({_CLOCK_24}|{_CLOCK_12})"
#: The formats of DuckDB that read such a time, or none.
CLOCK_FORMATS = (
    *(" %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", " %I:%M:%S%p", " %I:%M%p"),
    "",
)
#: ISO's dates, which no other order reads as another day.
_ISO = "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]|$)"
_STRPTIME_FORMATS = ", ".join(f"'%Y-%m-%d{clock}'" for clock in CLOCK_FORMATS)
_UNIFORM_CLOCKS = (
    ("contains({v}, ' ')", "contains({v}, 'T')"),
    ("regexp_matches({v}, '[ T][0-9]{2}:')", "regexp_matches({v}, '[ T](0|[1-9][0-9]?):')"),
    ("regexp_matches({v}, ':[0-9]{2}:')", "NOT regexp_matches({v}, ':[0-9]{2}:')"),
    (
        "regexp_matches({v}, '[0-9]$')",
        "ends_with({v}, ' AM') OR ends_with({v}, ' PM')",
        "ends_with({v}, ' am') OR ends_with({v}, ' pm')",
        "regexp_matches({v}, '[0-9][AP]M$')",
        "regexp_matches({v}, '[0-9][ap]m$')",
    ),
)


def match_all(pattern: str) -> str:
    """Match a whole text by a pattern."""
    return f"regexp_full_match({{v}}, {quote_literal(pattern)})"


def _match_start(pattern: str) -> str:
    return f"regexp_matches({{v}}, {quote_literal('^' + pattern)})"


def _rewrite_as_iso(order: str) -> str:
    """Rewrite the date at the start of a text as year, month and day."""
    parts = f"[{_SEPARATORS}]".join(f"({_DIGITS[part]})" for part in order)
    pattern = quote_literal(f"^{parts}")
    groups = quote_literal("-".join(rf"\{order.index(part) + 1}" for part in "ymd"))
    return f"regexp_replace({{v}}, {pattern}, {groups})"


def _build_uniform_dates(order: str) -> tuple[tuple[str, ...], ...]:
    """Require one separator, and one use of zeros before days and before months."""
    separated = tuple(_match_start(f"[0-9]+[{sign}][0-9]+[{sign}]") for sign in _SEPARATORS)
    before = {part: f"[0-9]+[{_SEPARATORS}]" * order.index(part) for part in "dm"}
    zeros = (
        (_match_start(f"{start}[0-9]{{2}}"), _match_start(f"{start}[1-9]"))
        for start in before.values()
    )
    return (separated, *zeros)


_DATE_GUARD = match_all("[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T][0-9].*)?")

YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_MULTIPLE_OF_4 = "(0[48]|[2468][048]|[13579][26])"
#: The days that exist, with the months and years that have them.
_CALENDAR = (
    {"d": "(0?[1-9]|[12][0-9]|3[01])", "m": "(0?[13578]|1[02])", "y": YEAR},
    {"d": "(0?[1-9]|[12][0-9]|30)", "m": "(0?[469]|11)", "y": YEAR},
    {"d": "(0?[1-9]|1[0-9]|2[0-8])", "m": "0?2", "y": YEAR},
    {"d": "29", "m": "0?2", "y": f"([0-9]{{2}}{_MULTIPLE_OF_4}|{_MULTIPLE_OF_4}00)"},
)


def _match_existing_date(order: str, clock: str) -> str:
    """Match existing dates in an order, and a time, by a pattern, which is faster than a cast."""
    days = (f"[{_SEPARATORS}]".join(parts[part] for part in order) for parts in _CALENDAR)
    return match_all(f"({'|'.join(days)}){clock}")


def _build_date_format(order: str) -> FieldFormat:
    is_date = _match_existing_date(order, "")
    return FieldFormat(
        field_type=field_types["date"],
        format=order,
        inference_conditions=((is_date,), *_build_uniform_dates(order)),
        condition=f"{is_date} OR {_DEFAULT_FORMATS['date'].condition}",
        json_expression=f"CAST(to_json(CAST({_rewrite_as_iso(order)} AS DATE)) AS VARCHAR)",
    )


def _build_timestamp_format(order: str) -> FieldFormat:
    moment = f"try_strptime(replace({_rewrite_as_iso(order)}, 'T', ' '), [{_STRPTIME_FORMATS}])"
    return FieldFormat(
        field_type=field_types["timestamp"],
        format=order,
        inference_conditions=(
            (_match_existing_date(order, CLOCK),),
            *_build_uniform_dates(order),
            *_UNIFORM_CLOCKS,
        ),
        condition=f"{_match_existing_date(order, f'({CLOCK})?')} OR"
        f" {_match_start(_ISO)} AND {_match_existing_date('ymd', f'({CLOCK})?')}",
        json_expression=f"strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.000\"')",
    )


def _build_date_groups(build: Callable[[str], FieldFormat]) -> tuple[FormatGroup, ...]:
    """Build the groups of dates or timestamps: the year first, or the ambiguous day or month."""
    day, month, year = map(build, DAY_ORDERS)
    return FormatGroup(_DATE_GUARD, ((year,),)), FormatGroup(_DATE_GUARD, ((day,), (month,)))


# Numbers ------------------------------------------------------------------------------------------

#: Separators of thousands: space, no-break space, narrow no-break space, and apostrophes.
_SPACES = " \u00a0\u202f'\u2019"
_NUMBER_GUARD = match_all(f"-?[0-9][0-9.,{_SPACES}]*")
_PLAIN = "-?(0|[1-9][0-9]*)"


def _build_grouped_pattern(sign: str) -> str:
    """Build the pattern of an integer with a separator between all its thousands."""
    return f"-?(0|[1-9][0-9]{{0,2}}([{sign}][0-9]{{3}})*)"


def _rewrite_as_plain(signs: str, point: str) -> str:
    """Rewrite a number without separators of thousands, and with a decimal point."""
    text = f"translate({{v}}, {quote_literal(signs)}, '')"
    return text if point == "." else f"replace({text}, {quote_literal(point)}, '.')"


def _build_wide_pattern(signs: str) -> str:
    """Build the pattern of an integer with separators between its thousands, or without any."""
    return f"[+-]?([0-9]+|[1-9][0-9]{{0,2}}([{signs}][0-9]{{3}})+)"


def _build_integer_format(name: str, format_name: str, signs: str) -> FieldFormat:
    default, cleaned = _DEFAULT_FORMATS[name], _rewrite_as_plain(signs, ".")
    in_range = default.condition.replace("{v}", cleaned)
    # Values of this length, with separators, have at most 9 or 18 digits; counting them is slow.
    short = (
        f"CASE WHEN length({{v}}) < {13 if name == 'int4' else 25} THEN true ELSE {in_range} END"
    )
    return FieldFormat(
        field_type=default.field_type,
        format=format_name,
        inference_conditions=(
            (short,),
            ("{v} <> '-0'",),
            tuple(match_all(_build_grouped_pattern(sign)) for sign in signs),
        ),
        condition=f"CASE WHEN {match_all(_build_wide_pattern(signs))} THEN {in_range} END",
        json_expression=default.json_expression.replace("{v}", cleaned),
    )


def _build_decimal_format(format_name: str, signs: str, point: str) -> FieldFormat:
    default, cleaned = _DEFAULT_FORMATS["numeric"], _rewrite_as_plain(signs, point)
    fraction = f"([{point}][0-9]+)?"
    # A whole number too long for int8 is an identifier; minus zero would lose its sign.
    short = (
        f"CASE WHEN contains({{v}}, '{point}') OR length({{v}}) < 19 THEN length({{v}}) < 1000"
        f" ELSE length({cleaned}) < 19 END"
    )
    ways = [_build_grouped_pattern(sign) for sign in signs] + ([] if point == "." else [_PLAIN])
    return FieldFormat(
        field_type=default.field_type,
        format=format_name,
        inference_conditions=(
            (short,),
            (f"NOT {match_all(f'-0([{point}]0+)?')}",),
            tuple(match_all(way + fraction) for way in ways),
        ),
        condition=f"{match_all(_build_wide_pattern(signs) + fraction)} AND length({{v}}) < 16000",
        json_expression=default.json_expression.replace("{v}", cleaned),
    )


def _build_number_formats(format_name: str, signs: str, point: str) -> tuple[FieldFormat, ...]:
    return (
        _build_integer_format("int4", format_name, signs),
        _build_integer_format("int8", format_name, signs),
        _build_decimal_format(format_name, signs, point),
    )


_SPACED = tuple(_build_integer_format(name, "spaced", _SPACES) for name in ("int4", "int8"))
_POINT = _build_number_formats("point", f",{_SPACES}", ".")
_COMMA = _build_number_formats("comma", f".{_SPACES}", ",")

# All of them --------------------------------------------------------------------------------------

#: The formats that are inferred, beside text, in the order in which they are tested.
format_groups: tuple[FormatGroup, ...] = (
    *(
        FormatGroup("", ((each,),))
        for each in _DEFAULT_FORMATS.values()
        if each.is_inferred and each is not TEXT
    ),
    *_build_date_groups(_build_date_format),
    *_build_date_groups(_build_timestamp_format),
    FormatGroup(_NUMBER_GUARD, (_SPACED,)),
    FormatGroup(_NUMBER_GUARD, (_POINT, _COMMA)),
)

field_formats: Mapping[str, FieldFormat] = _DEFAULT_FORMATS | {
    each.name: each for group in format_groups for each in group.formats if each.format
}
