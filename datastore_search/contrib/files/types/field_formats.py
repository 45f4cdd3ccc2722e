"""
The formats in which files write values: one table.

A field format is a type and a way to write it, as in Frictionless: ``date`` alone is ISO's format,
``date:dmy`` has the day first.  Formats that read the same text as different values are ambiguous:
see ``format_groups``.  Others are never inferred, but used where they are chosen:

- ``date:dmy,en`` reads ``12 March 2024``, ``date:mdyy,en`` ``Mar 3, 99``;
- ``numeric:comma,€`` reads ``€ 1.234,50``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from ....field_types import TEXT as TEXT_TYPE, FieldType, field_types, get_field_type
from ..formats.duckdb_sql import SQL, Composed, quote_literal
from ..messages import Message, Notice, UnknownType

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
        notations = self.lossless_conditions or self.inference_conditions
        return " AND ".join(f"({' OR '.join(each)})" for each in ((self.condition,), *notations))

    @property
    def loss_condition(self) -> str:
        """The condition of a value that can be read, and comes back in another way."""
        return f"({self.condition}) AND NOT coalesce({self.lossless_condition}, false)"

    def build_json_value(self, cell: Composed) -> Composed:
        """Build a cell as JSON: an empty cell is null, an empty text of a text field stays text."""
        return SQL(
            "CASE WHEN {cell} IS NULL THEN 'null' WHEN {cell} = '' THEN {empty} ELSE {value} END"
        ).format(
            cell=cell,
            empty='""' if self.field_type.is_text else "null",
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
        return tuple(each for formats in self.interpretations for each in formats)

    @property
    def first_conditions(self) -> tuple[str, ...]:
        """The conditions to test before the others; without any of them no format matches."""
        return (self.guard,) if self.guard else self.formats[0].inference_conditions[0]

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(
            condition
            for each in self.formats
            for either in each.inference_conditions
            for condition in either
        )

    def match_formats(self, conditions_met: frozenset[str]) -> tuple[FieldFormat, ...]:
        """Find the format of each interpretation that all values match, given what they meet."""
        found: list[FieldFormat] = []
        for formats in self.interpretations:
            for each in formats:
                if all(conditions_met.intersection(some) for some in each.inference_conditions):
                    found.append(each)
                    break
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Decision:
    """
    The format in which the values of a field are read, and why.

    ``is_chosen`` means that a user chose it.  ``explanation`` is None for words, which need none.
    ``notice`` is what the user should know in any case.
    """

    field_format: FieldFormat
    is_chosen: bool = False
    explanation: Message | None = None
    notice: Notice | None = None

    @property
    def field_type(self) -> FieldType:
        return self.field_format.field_type


# The default format of a type ---------------------------------------------------------------------

#: In the order in which they are inferred: numbers keep the digits that they are written with.
_DEFAULT_FORMATS = {
    kind.name: FieldFormat(kind, "", **kind.duckdb._asdict())
    for kind in sorted(field_types.values(), key=lambda kind: (not kind.is_number, kind.is_double))
}

TEXT = _DEFAULT_FORMATS[TEXT_TYPE.name]

#: Separates formats of which the one that most values match is used.
FORMAT_SEPARATOR = "|"


def match_all(pattern: str) -> str:
    return f"regexp_full_match({{v}}, {quote_literal(pattern)})"


def _match_start(pattern: str) -> str:
    return f"regexp_matches({{v}}, {quote_literal('^' + pattern)})"


def _rewrite(pattern: str, groups: str) -> str:
    return f"regexp_replace({{v}}, {quote_literal(pattern)}, {quote_literal(groups)})"


# Dates and times ----------------------------------------------------------------------------------

_DATE_TYPES = [kind for kind in field_types.values() if kind.has_day and not kind.has_zone]
_SEPARATORS = "-/."
#: The orders of day, month and year, and those in which years may have two digits.  DuckDB reads 69
#: as 1969 and 68 as 2068, as POSIX does.
_DAY_ORDERS = ("dmy", "mdy", "ymd")
SHORT_YEAR_ORDERS = {"dmyy": "dmy", "mdyy": "mdy", "yymd": "ymd"}
#: Behind an order: months have English names.
_NAMED = ",en"

_CLOCK_24 = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
_CLOCK_12 = "(0?[1-9]|1[0-2]):[0-5][0-9](:[0-5][0-9])? ?([AP]M|[ap]m)"
#: A pattern of the time of a timestamp with what is before it, and DuckDB's formats for it.
_CLOCK = f"[ T]({_CLOCK_24}|{_CLOCK_12})"
_CLOCK_FORMATS = (
    *(" %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", " %I:%M:%S%p", " %I:%M%p"),
    "",
)
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

_DATE_GUARD = match_all("[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T][0-9].*)?")
_WRITTEN_GUARD = "length({v}) BETWEEN 5 AND 80 AND regexp_matches({v}, '[0-9]')"

_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_ISO_TIME = (
    "^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ][0-2][0-9](:[0-9]{2}){1,2}([.][0-9]{1,6})?(Z|[+-][0-9:]+)?$"
)
_MULTIPLE_OF_4 = "(0[48]|[2468][048]|[13579][26])"
#: The days that exist, with the months and years that have them.
_CALENDAR = (
    {"d": "(0?[1-9]|[12][0-9]|3[01])", "m": "(0?[13578]|1[02])", "y": _YEAR},
    {"d": "(0?[1-9]|[12][0-9]|30)", "m": "(0?[469]|11)", "y": _YEAR},
    {"d": "(0?[1-9]|1[0-9]|2[0-8])", "m": "0?2", "y": _YEAR},
    {"d": "29", "m": "0?2", "y": f"([0-9]{{2}}{_MULTIPLE_OF_4}|{_MULTIPLE_OF_4}00)"},
)


def _match_existing_date(order: str, clock: str) -> str:
    """Match existing dates in an order, and a time, by a pattern, which is faster than a cast."""
    days = (f"[{_SEPARATORS}]".join(parts[part] for part in order) for parts in _CALENDAR)
    return match_all(f"({'|'.join(days)}){clock}")


def _build_date_format(kind: FieldType, order: str) -> FieldFormat:
    """Build a format of numbers in an order, with a clock if the type has one."""
    digits = {"d": "[0-9]{1,2}", "m": "[0-9]{1,2}", "y": "[0-9]{4}"}
    parts = f"[{_SEPARATORS}]".join(f"({digits[part]})" for part in order)
    iso = _rewrite(f"^{parts}", "-".join(rf"\{order.index(part) + 1}" for part in "ymd"))
    exists = _match_existing_date(order, _CLOCK if kind.is_timestamp else "")
    if kind.is_timestamp:
        styles = ", ".join(f"'%Y-%m-%d{clock}'" for clock in _CLOCK_FORMATS)
        moment = f"try_strptime(replace({iso}, 'T', ' '), [{styles}])"
        json_expression = f"strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.000\"')"
        # No other order reads ISO's dates as another day.
        condition = (
            f"{_match_existing_date(order, f'({_CLOCK})?')} OR"
            f" {_match_start('[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]|$)')}"
            f" AND {_match_existing_date('ymd', f'({_CLOCK})?')}"
        )
    else:
        # Also digits alone, and the day of ISO's dates with a time.
        compact = "".join("([0-9]{4})" if part == "y" else "([0-9]{2})" for part in order)
        day = _rewrite(f"^{compact}$", r"\1-\2-\3").replace("{v}", _rewrite(_ISO_TIME, r"\1"))
        json_expression = f"CAST(to_json(CAST({iso} AS DATE)) AS VARCHAR)".replace("{v}", day)
        condition = f"{exists} OR {kind.duckdb.condition}".replace("{v}", day)
    before = {part: f"[0-9]+[{_SEPARATORS}]" * order.index(part) for part in "dm"}
    return FieldFormat(
        field_type=kind,
        format=order,
        inference_conditions=(
            (exists,),
            # One separator, and one use of zeros before days and before months.
            tuple(_match_start(f"[0-9]+[{sign}][0-9]+[{sign}]") for sign in _SEPARATORS),
            *(
                (_match_start(f"{start}[0-9]{{2}}"), _match_start(f"{start}[1-9]"))
                for start in before.values()
            ),
            *(_UNIFORM_CLOCKS if kind.is_timestamp else ()),
        ),
        condition=condition,
        json_expression=json_expression,
    )


@cache
def _find_written_format(type_name: str, format_name: str) -> FieldFormat | None:
    """Find a format that is read by choice only: with names of months, or short years."""
    order = format_name.removesuffix(_NAMED)
    is_named, has_short_years = order != format_name, order in SHORT_YEAR_ORDERS
    kind = next((kind for kind in _DATE_TYPES if kind.name == type_name), None)
    if kind is None or not (has_short_years or (is_named and order in _DAY_ORDERS)):
        return None
    signs, days = "[-/., \u00a0]+", SHORT_YEAR_ORDERS.get(order, order)
    parts = {
        "d": "[0-9]{1,2}",
        "m": "[A-Za-z]{3,9}" if is_named else "[0-9]{1,2}",
        "y": f"({_YEAR}|[0-9]{{2}})" if has_short_years else _YEAR,
    }
    pattern = (signs if is_named else "[-/.]").join(parts[part] for part in days)
    # %Y reads years of two digits, too, as the first of our era: the pattern refuses them.
    styles = [
        " ".join({"d": "%d", "m": month, "y": year}[part] for part in days) + clock
        for year in (("%y", "%Y") if has_short_years else ("%Y",))
        for month in (("%b", "%B") if is_named else ("%m",))
        for clock in (_CLOCK_FORMATS if kind.is_timestamp else ("",))
    ]
    moment = SQL("try_strptime(regexp_replace({}, {}, ' ', 'g'), [{}])").format(
        SQL(_rewrite("([0-9])T([0-9])", r"\1 \2")), signs, styles
    )
    exists = f"{match_all(pattern + (f'({_CLOCK})?' if kind.is_timestamp else ''))}"
    exists += f" AND {moment} IS NOT NULL"
    has_clock = (("contains({v}, ':')",),) if kind.is_timestamp else ()
    clock = "T%H:%M:%S.000" if kind.is_timestamp else ""
    return FieldFormat(
        field_type=kind,
        format=format_name,
        inference_conditions=((exists,), *has_clock),
        condition=exists,
        json_expression=f"strftime({moment}, '\"%Y-%m-%d{clock}\"')",
    )


def list_written_groups(order: str) -> Iterator[FormatGroup]:
    """List the groups to infer from where an order of dates is chosen for a load."""
    if not order:
        return
    orders = [
        order if each == SHORT_YEAR_ORDERS.get(order, order) else each for each in _DAY_ORDERS
    ]
    names = [*({order} & SHORT_YEAR_ORDERS.keys()), *(each + _NAMED for each in orders)]
    for kind in _DATE_TYPES:
        formats = (_find_written_format(kind.name, name) for name in names)
        yield FormatGroup(_WRITTEN_GUARD, tuple((each,) for each in formats if each))


# Numbers ------------------------------------------------------------------------------------------

_NUMBER_TYPES = [
    kind
    for kind in field_types.values()
    if kind.is_number and kind.duckdb.is_inferred and not kind.is_double
]
#: The digits that always fit: counting those of longer numbers is slow.
_SAFE_DIGITS = {"INTEGER": 9, "BIGINT": 18}

#: Separators of thousands: space, no-break space, narrow no-break space, and apostrophes.
_SPACES = " \u00a0\u202f'\u2019"
_NUMBER_GUARD = match_all(f"-?[0-9][0-9.,{_SPACES}]*")


def _build_number_format(kind: FieldType, format_name: str, signs: str, point: str) -> FieldFormat:
    """Build a format of numbers whose thousands have one of the ``signs`` between them."""
    default = _DEFAULT_FORMATS[kind.name]
    cleaned = f"translate({{v}}, {quote_literal('−' + signs)}, '-')"
    if point != "." and not kind.is_integer:
        cleaned = f"replace({cleaned}, {quote_literal(point)}, '.')"
    grouped = [f"-?(0|[1-9][0-9]{{0,2}}([{sign}][0-9]{{3}})*)" for sign in signs]
    wide = f"[+−-]?([0-9]+|[1-9][0-9]{{0,2}}([{signs}][0-9]{{3}})+)"
    if kind.is_integer:
        fits = default.condition.replace("{v}", cleaned)
        most = _SAFE_DIGITS[kind.duckdb_type] * 4 // 3 + 1
        first = f"CASE WHEN length({{v}}) < {most} THEN true ELSE {fits} END"
        no_minus_zero, fraction = "{v} <> '-0'", ""
        condition = f"CASE WHEN {match_all(wide)} THEN {fits} END"
    else:
        # A whole number too long for int8 is an identifier; minus zero would lose its sign.
        first = (
            f"CASE WHEN contains({{v}}, '{point}') OR length({{v}}) < 19 THEN length({{v}}) < 1000"
            f" ELSE length({cleaned}) < 19 END"
        )
        no_minus_zero, fraction = f"NOT {match_all(f'-0([{point}]0+)?')}", f"([{point}][0-9]+)?"
        condition = f"{match_all(wide + fraction)} AND length({{v}}) < 16000"
        grouped += [] if point == "." else ["-?(0|[1-9][0-9]*)"]
    return FieldFormat(
        field_type=kind,
        format=format_name,
        inference_conditions=(
            (first,),
            (no_minus_zero,),
            tuple(match_all(way + fraction) for way in grouped),
        ),
        condition=condition,
        json_expression=default.json_expression.replace("{v}", cleaned),
    )


def _build_number_formats(
    format_name: str, signs: str, point: str, *, only_integers: bool = False
) -> tuple[FieldFormat, ...]:
    return tuple(
        _build_number_format(kind, format_name, signs, point)
        for kind in _NUMBER_TYPES
        if kind.is_integer or not only_integers
    )


# All that are inferred ----------------------------------------------------------------------------

#: The formats that are inferred, beside text, in the order in which they are tested.
format_groups: tuple[FormatGroup, ...] = (
    *(
        FormatGroup("", ((each,),))
        for each in _DEFAULT_FORMATS.values()
        if each.is_inferred and each is not TEXT
    ),
    *(
        group
        for kind in _DATE_TYPES
        for group in (
            FormatGroup(_DATE_GUARD, ((_build_date_format(kind, "ymd"),),)),
            FormatGroup(
                _DATE_GUARD,
                ((_build_date_format(kind, "dmy"),), (_build_date_format(kind, "mdy"),)),
            ),
        )
    ),
    # With decimals, numbers that have spaces are those of the next group.
    FormatGroup(
        _NUMBER_GUARD, (_build_number_formats("spaced", _SPACES, ".", only_integers=True),)
    ),
    FormatGroup(
        _NUMBER_GUARD,
        (
            _build_number_formats("point", f",{_SPACES}", "."),
            _build_number_formats("comma", f".{_SPACES}", ","),
        ),
    ),
)

field_formats: Mapping[str, FieldFormat] = _DEFAULT_FORMATS | {
    each.name: each for group in format_groups for each in group.formats if each.format
}

# Units --------------------------------------------------------------------------------------------

MAX_UNIT_LENGTH = 20

_UNIT = re.compile(r"[^\s0-9+−,|{}()'’-](?:[^0-9+−,|{}()'’-]*[^\s0-9+−,|{}()'’-])?")
_BLANKS = "[ \u00a0\u202f]*"
_SIGN = "([-+−]?)"
_NUMBER = "([0-9](?:[0-9., \u00a0\u202f'’]*[0-9])?)"
#: No unit has the name of a format.
_NAMES_OF_FORMATS = frozenset(each.format for each in field_formats.values())


@cache
def _find_unit_format(type_name: str, format_name: str) -> FieldFormat | None:
    """Find a format of numbers with a unit, such as ``comma,€``."""
    plain, comma, unit = format_name.rpartition(",")
    base = field_formats.get(f"{type_name}:{plain}" if comma else type_name)
    if base is None or base.field_type not in _NUMBER_TYPES:
        return None
    if len(unit) > MAX_UNIT_LENGTH or unit in _NAMES_OF_FORMATS or not _UNIT.fullmatch(unit):
        return None
    sign = re.escape(unit)
    before, after = f"{sign}{_BLANKS}", f"{_BLANKS}{sign}"
    plain = f"{_SIGN}{_BLANKS}(?:{before}{_SIGN}{_BLANKS}{_NUMBER}|{_NUMBER}{after})"
    plain = f"{_BLANKS}{plain}{_BLANKS}"
    negative = [
        rf"\({_BLANKS}{before}{_NUMBER}{_BLANKS}\)",
        rf"\({_BLANKS}{_NUMBER}{after}{_BLANKS}\)",
        rf"\({_BLANKS}{_NUMBER}{_BLANKS}\){after}",
        rf"{before}\({_BLANKS}{_NUMBER}{_BLANKS}\)",
    ]
    wrapped = f"{_BLANKS}(?:{'|'.join(negative)}){_BLANKS}"
    of_plain, of_wrapped = (
        _rewrite(
            f"^{pattern}$",
            "".join(rf"\{number + 1}" for number in range(re.compile(pattern).groups)),
        )
        for pattern in (plain, wrapped)
    )
    # With a minus sign, and null without the unit.
    number = (
        f"(CASE WHEN {match_all(plain)} THEN replace({of_plain}, '−', '-')"
        f" WHEN {match_all(wrapped)} THEN '-' || {of_wrapped} END)"
    )

    def bind(template: str) -> str:
        return template.replace("{v}", number)

    return replace(
        base,
        format=format_name,
        inference_conditions=tuple(
            tuple(map(bind, each)) for each in base.lossless_conditions or base.inference_conditions
        ),
        lossless_conditions=(),
        condition=bind(base.condition),
        json_expression=bind(base.json_expression),
        unit=unit,
    )


# Choosing by name ---------------------------------------------------------------------------------

#: Formats that need a choice, and that forms offer in addition to the table's.
OFFERED_FORMATS = (
    *(f"{_DATE_TYPES[0].name}:{each}" for each in SHORT_YEAR_ORDERS),
    *(f"{_DATE_TYPES[0].name}:{each}{_NAMED}" for each in _DAY_ORDERS),
    *(
        f"{_NUMBER_TYPES[-1].name}:{style}{unit}"
        for style in ("", "comma,")
        for unit in ("%", "€", "$", "£", "¥", "₫", "R$")
    ),
)


def parse_field_format(name: str) -> FieldFormat:
    """Parse the name of a format, as users choose it.  Raises: ``UnknownType``."""
    type_name, colon, format_name = name.partition(":")
    with suppress(KeyError):
        kind = get_field_type(type_name).name
        if found := find_format(f"{kind}{colon}{format_name.strip()}"):
            return found
    raise UnknownType(name, field_formats)


def find_format(name: str) -> FieldFormat | None:
    """Find a format by the name of its type and its own; None if there is no such format."""
    type_name, _colon, format_name = name.partition(":")
    return (
        field_formats.get(name.lower())
        or _find_written_format(type_name, format_name.lower())
        or _find_unit_format(type_name, format_name)
    )
