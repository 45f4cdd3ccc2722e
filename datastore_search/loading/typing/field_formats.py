"""
The notations in which files write values: one table.

A form is a type and a way to write it: ``date`` alone is ISO's notation, ``date:dmy`` has the day
first.  Forms that the same text may be of, with different values, are rivals: see
``format_groups``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...exceptions.loads import UnknownType
from ...field_types import FieldType, Ordered, field_type, field_types, inferred_types
from ...messages import Message
from ..readers.staging import literal


@dataclass(frozen=True, slots=True)
class FieldFormat:
    """
    One notation of a type.

    ``infers`` are sets of alternatives: a field has the form when of each set at least one
    condition holds for all its values, so that every value is written in the same way.
    ``accepts`` is the wider condition for a form that somebody has chosen, and ``writes`` an
    expression that gives JSON text.  All are DuckDB's, over ``{v}``, a text that is not empty.
    """

    kind: FieldType
    notation: str
    infers: tuple[tuple[str, ...], ...]
    accepts: str
    writes: str
    title_code: str = ""

    @property
    def name(self) -> str:
        """Name the form as people choose it."""
        return f"{self.kind.name}:{self.notation}" if self.notation else self.kind.name

    @property
    def title(self) -> Message | str:
        """Name the form for people to read: a message, or the type where that says it all."""
        if not self.title_code:
            return self.kind.name
        if self.title_code == "format.boolean_words":
            return Message(self.title_code, type=self.kind.name, name=self.name)
        return Message(self.title_code, type=self.kind.name)

    @property
    def is_number(self) -> bool:
        """Tell whether the values are numbers."""
        return self.kind.ordered is Ordered.NUMBERS

    def fits(self, held: frozenset[str]) -> bool:
        """Tell whether a field may have the form, given the conditions that hold for all values."""
        return all(any(way in held for way in ways) for ways in self.infers)


@dataclass(frozen=True, slots=True)
class FormatGroup:
    """
    Forms that are tried together.

    Each of ``readings`` lists forms that give a text the same value, the narrowest first; a text
    that fits two readings says different things by each.  ``guard`` is a cheap condition that all
    their texts meet.
    """

    guard: str
    readings: tuple[tuple[FieldFormat, ...], ...]

    @property
    def kinds(self) -> frozenset[str]:
        """Name the types of the field_formats."""
        return frozenset(form.kind.name for reading in self.readings for form in reading)

    @property
    def first_ways(self) -> tuple[str, ...]:
        """List the conditions to try before the others."""
        return (self.guard,) if self.guard else self.readings[0][0].infers[0]

    @property
    def ways(self) -> tuple[str, ...]:
        """List all conditions of the field_formats."""
        return tuple(
            way
            for reading in self.readings
            for form in reading
            for ways in form.infers
            for way in ways
        )

    def may_fit(self, held: frozenset[str]) -> bool:
        """Tell whether the forms are still possible once the first conditions have been tried."""
        return any(way in held for way in self.first_ways)

    def read(self, held: frozenset[str]) -> tuple[FieldFormat, ...]:
        """Find the form of each reading that fits, given the conditions that hold."""
        found = (
            next((form for form in reading if form.fits(held)), None) for reading in self.readings
        )
        return tuple(form for form in found if form)


# A type's own notation ----------------------------------------------------------------------------

#: DuckDB takes the hour 24 for the next day's first.
_BEFORE_MIDNIGHT = "{v}[12:13] < '24'"
_SECONDS_AS_WRITTEN = (
    "length({v}) = 16",
    "length({v}) = 19",
    *(f"length({{v}}) = {20 + decimals}" for decimals in range(1, 7)),
    # without zeros at the end, as PostgreSQL does
    "length({v}) = 19 OR length({v}) > 20 AND NOT ends_with({v}, '0')",
    # six or none, as Python does
    "length({v}) = 19 OR length({v}) = 26 AND NOT ends_with({v}, '.000000')",
)

#: What makes all values of a field written alike, beyond the conditions of the type itself.
_ALIKE: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "float8": (("NOT ends_with({v}, '.0')", "contains({v}, '.') OR contains({v}, 'e')"),),
    "timestamp": (
        (_BEFORE_MIDNIGHT,),
        ("{v}[11] = 'T'", "{v}[11] = ' '"),
        _SECONDS_AS_WRITTEN,
    ),
}


def _own(kind: FieldType) -> FieldFormat:
    infers = (kind.infers, *_ALIKE.get(kind.name, ())) if kind.infers else ((),)
    return FieldFormat(kind, "", infers, kind.accepts, kind.writes)


_OWN = {name: _own(kind) for name, kind in field_types.items()}

TEXT = _OWN["text"]

#: Stands between forms of which the first that fits is chosen.
FORMAT_SEPARATOR = "|"

# Dates and times ----------------------------------------------------------------------------------

_SEPARATORS = "-/."
#: Where day, month and year stand.
_ORDERS: tuple[tuple[str, str], ...] = (
    ("dmy", "format.day_first"),
    ("mdy", "format.month_first"),
    ("ymd", "format.year_first"),
)
_FIGURES = {"d": "[0-9]{1,2}", "m": "[0-9]{1,2}", "y": "[0-9]{4}"}
_CLOCK_24 = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
_CLOCK_12 = "(0?[1-9]|1[0-2]):[0-5][0-9](:[0-5][0-9])? ?([AP]M|[ap]m)"
_CLOCK = f"[ T]({_CLOCK_24}|{_CLOCK_12})"
_MOMENT_FORMATS = ", ".join(
    f"'%Y-%m-%d{clock}'"
    for clock in (
        " %H:%M:%S",
        " %H:%M",
        " %I:%M:%S %p",
        " %I:%M %p",
        " %I:%M:%S%p",
        " %I:%M%p",
        "",
    )
)
_CLOCK_ALIKE = (
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


def _fullmatch(pattern: str) -> str:
    return f"regexp_full_match({{v}}, {literal(pattern)})"


def _begins(pattern: str) -> str:
    return f"regexp_matches({{v}}, {literal('^' + pattern)})"


def _day(order: str) -> str:
    """Match a date in an order, each part within brackets."""
    return f"[{_SEPARATORS}]".join(f"({_FIGURES[part]})" for part in order)


def _in_iso(order: str) -> str:
    """Write the date that a text begins with as year, month and day."""
    places = "-".join(rf"\{order.index(part) + 1}" for part in "ymd")
    return f"regexp_replace({{v}}, {literal('^' + _day(order))}, {literal(places)})"


def _days_alike(order: str) -> tuple[tuple[str, ...], ...]:
    """Say how dates are written alike: the separator, the zeros before days and before months."""
    separated = tuple(_begins(f"[0-9]+[{sign}][0-9]+[{sign}]") for sign in _SEPARATORS)
    before = {part: f"[0-9]+[{_SEPARATORS}]" * order.index(part) for part in "dm"}
    zeros = ((_begins(f"{start}[0-9]{{2}}"), _begins(f"{start}[1-9]")) for start in before.values())
    return (separated, *zeros)


_DATELIKE = _fullmatch("[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T][0-9].*)?")

_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_FOURTH = "(0[48]|[2468][048]|[13579][26])"
#: The days that there are, with the months and years that have them.
_CALENDAR = (
    {"d": "(0?[1-9]|[12][0-9]|3[01])", "m": "(0?[13578]|1[02])", "y": _YEAR},
    {"d": "(0?[1-9]|[12][0-9]|30)", "m": "(0?[469]|11)", "y": _YEAR},
    {"d": "(0?[1-9]|1[0-9]|2[0-8])", "m": "0?2", "y": _YEAR},
    {"d": "29", "m": "0?2", "y": f"([0-9]{{2}}{_FOURTH}|{_FOURTH}00)"},
)


def _exists(order: str, clock: str) -> str:
    """
    Ask whether a text is a day that there is, in an order, and a time.

    A pattern takes a third of the time that a cast does.
    """
    days = (f"[{_SEPARATORS}]".join(parts[part] for part in order) for parts in _CALENDAR)
    return _fullmatch(f"({'|'.join(days)}){clock}")


def _date(order: str, title_code: str) -> FieldFormat:
    exists = _exists(order, "")
    return FieldFormat(
        kind=field_types["date"],
        notation=order,
        infers=((exists,), *_days_alike(order)),
        accepts=exists,
        writes=f"CAST(to_json(CAST({_in_iso(order)} AS DATE)) AS VARCHAR)",
        title_code=title_code,
    )


def _timestamp(order: str, title_code: str) -> FieldFormat:
    moment = f"try_strptime(replace({_in_iso(order)}, 'T', ' '), [{_MOMENT_FORMATS}])"
    return FieldFormat(
        kind=field_types["timestamp"],
        notation=order,
        infers=(
            (_exists(order, _CLOCK),),
            *_days_alike(order),
            *_CLOCK_ALIKE,
        ),
        accepts=_exists(order, f"({_CLOCK})?"),
        writes=f"strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.000\"')",
        title_code=title_code,
    )


def _moments(make: Callable[[str, str], FieldFormat]) -> tuple[FormatGroup, ...]:
    """Make the families of dates or timestamps: the year first, or one of two rivals."""
    day, month, year = (make(order, title_code) for order, title_code in _ORDERS)
    return FormatGroup(_DATELIKE, ((year,),)), FormatGroup(_DATELIKE, ((day,), (month,)))


# Numbers ------------------------------------------------------------------------------------------

#: Blanks that set thousands apart (common, no-break, narrow no-break) and apostrophes.
_SPACES = " \u00a0\u202f'\u2019"
_NUMBERLIKE = _fullmatch(f"-?[0-9][0-9.,{_SPACES}]*")
_PLAIN = "-?(0|[1-9][0-9]*)"


def _grouped(sign: str) -> str:
    """Match a whole number, all thousands of which a sign sets apart."""
    return f"-?(0|[1-9][0-9]{{0,2}}([{sign}][0-9]{{3}})*)"


def _cleaned(signs: str, point: str) -> str:
    """Write a number without signs between its thousands, and with a decimal point."""
    text = f"translate({{v}}, {literal(signs)}, '')"
    return text if point == "." else f"replace({text}, {literal(point)}, '.')"


def _accepted(signs: str) -> str:
    return f"[+-]?([0-9]+|[1-9][0-9]{{0,2}}([{signs}][0-9]{{3}})+)"


def _integer(name: str, notation: str, signs: str, title_code: str) -> FieldFormat:
    kind, cleaned = field_types[name], _cleaned(signs, ".")
    fits = FieldType.over(kind.accepts, cleaned)
    # With signs between all thousands, 9 and 18 figures are so long; it takes long to count them.
    short = f"CASE WHEN length({{v}}) < {13 if name == 'int4' else 25} THEN true ELSE {fits} END"
    return FieldFormat(
        kind=kind,
        notation=notation,
        infers=((short,), ("{v} <> '-0'",), tuple(_fullmatch(_grouped(sign)) for sign in signs)),
        accepts=f"CASE WHEN {_fullmatch(_accepted(signs))} THEN {fits} END",
        writes=FieldType.over(kind.writes, cleaned),
        title_code=title_code,
    )


def _decimal(notation: str, signs: str, point: str, title_code: str) -> FieldFormat:
    kind, cleaned = field_types["numeric"], _cleaned(signs, point)
    fraction = f"([{point}][0-9]+)?"
    # A whole number too long for int8 is an identifier; minus zero would lose its sign.
    short = (
        f"CASE WHEN contains({{v}}, '{point}') OR length({{v}}) < 19 THEN length({{v}}) < 1000"
        f" ELSE length({cleaned}) < 19 END"
    )
    ways = [_grouped(sign) for sign in signs] + ([] if point == "." else [_PLAIN])
    return FieldFormat(
        kind=kind,
        notation=notation,
        infers=(
            (short,),
            (f"NOT {_fullmatch(f'-0([{point}]0+)?')}",),
            tuple(_fullmatch(way + fraction) for way in ways),
        ),
        accepts=f"{_fullmatch(_accepted(signs) + fraction)} AND length({{v}}) < 16000",
        writes=FieldType.over(kind.writes, cleaned),
        title_code=title_code,
    )


def _reading(notation: str, signs: str, point: str, title_code: str) -> tuple[FieldFormat, ...]:
    whole = (_integer(name, notation, signs, title_code) for name in ("int4", "int8"))
    return (*whole, _decimal(notation, signs, point, title_code))


_SPACED = tuple(
    _integer(name, "spaced", _SPACES, "format.spaced_thousands") for name in ("int4", "int8")
)
_POINT = _reading("point", f",{_SPACES}", ".", "format.decimal_point")
_COMMA = _reading("comma", f".{_SPACES}", ",", "format.decimal_comma")

# All of them --------------------------------------------------------------------------------------

#: What the fields of a file may turn out to be beside text, in the order in which it is tried.
format_groups: tuple[FormatGroup, ...] = (
    *(FormatGroup("", ((_OWN[kind.name],),)) for kind in inferred_types if kind.name != "text"),
    *_moments(_date),
    *_moments(_timestamp),
    FormatGroup(_NUMBERLIKE, (_SPACED,)),
    FormatGroup(_NUMBERLIKE, (_POINT, _COMMA)),
)

field_formats: Mapping[str, FieldFormat] = _OWN | {
    form.name: form
    for family in format_groups
    for reading in family.readings
    for form in reading
    if form.notation
}


def parse_field_format(name: str) -> FieldFormat:
    """
    Find the form that somebody has chosen, by its name.

    ``bool`` takes its words: ``bool:yes,ja/no,nein``.

    Raises: ``UnknownType`` when there is none.
    """
    kind, colon, notation = name.partition(":")
    try:
        found = field_type(kind)
    except KeyError:
        raise UnknownType(name, field_formats) from None
    if found.name == "bool" and colon:
        return _truth(name, notation)
    try:
        return field_formats[f"{found.name}{colon}{notation.strip().lower()}"]
    except KeyError:
        raise UnknownType(name, field_formats) from None


def _truth(name: str, notation: str) -> FieldFormat:
    """Make the form of truth values that are written in words of their own."""
    yes, slash, no = notation.partition("/")
    words = [[word.strip() for word in side.split(",") if word.strip()] for side in (yes, no)]
    if not slash or not all(words) or set(words[0]) & set(words[1]) or {*"{}"} & {*notation}:
        raise UnknownType(name, field_formats)
    true, false = (", ".join(literal(word) for word in side) for side in words)
    return FieldFormat(
        kind=field_types["bool"],
        notation=notation,
        infers=((),),
        accepts=f"{{v}} IN ({true}, {false})",
        writes=f"CASE WHEN {{v}} IN ({true}) THEN 'true' ELSE 'false' END",
        title_code="format.boolean_words",
    )
