"""
Parse JSON values as values of a type.

Each type has up to three functions: for a value to be stored, where nothing may be lost; for an
operand of a filter, where a number that does not fit equals nothing; and for a bound that values
are compared with.  All return canonical JSON text.  A text in another notation (``1 March 2021``,
``{a,b}``) raises ``UnknownNotation``: PostgreSQL parses it.

Source: PostgreSQL's input syntax; CKAN ``datastore_search``, sections 5 and 6 of its semantics.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import MAX_PREC, ROUND_UP, Context, Decimal
from string import whitespace
from typing import Never, TypeVar

DateOrTime = TypeVar("DateOrTime", date, datetime, time)

#: A value as the JSON parser returns it; fractions are exact.
Json = str | int | Decimal | bool | None | Sequence["Json"] | Mapping[str, "Json"]

#: Parses texts of a type in PostgreSQL: canonical JSON for each, or None where it is refused.
Cast = Callable[[str, Sequence[str]], Sequence[str | None]]

#: Limits of PostgreSQL's ``numeric``, and so of numbers in its JSON.
_MAX_DIGITS_BEFORE_POINT, _MAX_DIGITS_AFTER_POINT = 131_072, 16_383

#: Does not round.
_EXACT = Context(prec=MAX_PREC)

#: The smallest positive number of ``numeric``.
_SMALLEST_NUMBER = Decimal((0, (1,), -_MAX_DIGITS_AFTER_POINT))

#: A longer text is not a number.
_MAX_NUMBER_LENGTH = 200_000

#: For a number that is sent with an exponent: its digits when written without it.
MAX_NUMBER_DIGITS = 1_000

#: Digits that all exponents of a value add when written out.  More are accepted where they are at
#: most ``_MAX_EXPANSION`` times the length of the value.
_MAX_ADDED_DIGITS = 100_000
_MAX_EXPANSION = 10


class NotOfType(ValueError):
    """A value cannot be of a type."""


class TooManyDigits(NotOfType):
    """The numbers of a value are too long when written without exponents."""


class ValueNotOfType(NotOfType):
    """One of several values cannot be of a type; ``position`` counts from 0."""

    def __init__(self, position: int, value: Json, *, has_many_digits: bool = False) -> None:
        """``has_many_digits``: its numbers are too long when written without exponents."""
        super().__init__(position, value)
        self.position = position
        self.value = value
        self.has_many_digits = has_many_digits


class UnknownNotation(Exception):
    """A text may be of the type, but only PostgreSQL can parse it."""

    def __init__(self, text: str) -> None:
        """Store the text."""
        super().__init__(text)
        self.text = text


def parse_values(
    type_name: str,
    parse: Callable[[Json], str | None],
    values_given: Iterable[Json],
    cast: Cast,
) -> list[str | None]:
    """
    Parse values as a type; null stays null.

    ``parse`` is one of the type's three functions.  Texts that it cannot parse are sent to
    PostgreSQL with one statement.

    Raises: ``ValueNotOfType``, with the position of the value.
    """
    given = list(values_given)
    found: list[str | None] = []
    unparsed: dict[int, str] = {}
    for position, value in enumerate(given):
        try:
            found.append("null" if value is None else parse(value))
        except NotOfType as error:
            many = isinstance(error, TooManyDigits)
            raise ValueNotOfType(position, value, has_many_digits=many) from None
        except UnknownNotation as text:
            unparsed[position] = text.text
            found.append(None)
    if unparsed:
        texts = list(unparsed.values())
        for position, answer in zip(unparsed, cast(type_name, texts), strict=True):
            if answer is None:
                raise ValueNotOfType(position, given[position])
            found[position] = answer
    return found


# JSON ---------------------------------------------------------------------------------------------


def dump_json(value: Json) -> str:
    """
    Write a value as JSON text for PostgreSQL, with characters and digits unchanged.

    Raises: ``NotOfType`` for what PostgreSQL cannot store: NUL, lone surrogates, numbers beyond
    ``numeric``, and nesting beyond Python's recursion limit.
    """
    try:
        return dump_json_as_sent(value, _dump_number)
    except RecursionError:
        raise NotOfType from None


def dump_json_as_sent(value: Json, write_number: Callable[[Decimal], str] = str) -> str:
    """
    Write a value as JSON text, with numbers of any size, or as ``write_number`` writes them.

    Raises: ``NotOfType`` for a text with NUL or a lone surrogate.
    """
    if isinstance(value, str):
        if not is_storable(value):
            raise NotOfType
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Decimal):
        return write_number(value)
    if isinstance(value, Mapping):
        members = [
            f"{dump_json_as_sent(name)}:{dump_json_as_sent(each, write_number)}"
            for name, each in value.items()
        ]
        return "{" + ",".join(members) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join([dump_json_as_sent(each, write_number) for each in value]) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return write_number(Decimal(value))
    return json.dumps(value)


def is_storable(value: object) -> bool:
    """Return whether no text of a JSON value, at any depth, has NUL or a lone surrogate."""
    texts, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, Mapping):
            left += [*each, *each.values()]
        elif isinstance(each, list):
            left += each
    try:
        return b"\0" not in "".join(texts).encode()
    except UnicodeEncodeError:
        return False


def _dump_number(number: Decimal) -> str:
    if number.as_tuple().exponent < -_MAX_DIGITS_AFTER_POINT:  # type: ignore[operator] # finite
        number = _EXACT.normalize(number)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_MAX_DIGITS_AFTER_POINT:
        raise NotOfType
    if number.adjusted() >= _MAX_DIGITS_BEFORE_POINT:
        raise NotOfType
    return str(number)


class _Expansion:
    """Count the digits that exponents add when PostgreSQL writes a value such as 1E+1000."""

    def __init__(self) -> None:
        """Start at zero."""
        self._added = 0

    def dump_number(self, number: Decimal) -> str:
        """Write a number, and count the digits that its exponent adds."""
        if (text := str(number)).find("E") < 0:
            return _dump_number(number)
        exponent = number.as_tuple().exponent
        digits = max(number.adjusted(), 0) + 1 + max(-int(exponent), 0)
        if digits > MAX_NUMBER_DIGITS:
            raise TooManyDigits
        self._added += max(digits - len(text), 0)
        return _dump_number(number)

    def check(self, text: str) -> str:
        """Return the text of the value, unless it becomes many times as long when written out."""
        if self._added > max(_MAX_ADDED_DIGITS, _MAX_EXPANSION * len(text)):
            raise TooManyDigits
        return text


# Texts and JSON -----------------------------------------------------------------------------------


def refuse_constant(name: str) -> Never:
    """Refuse ``NaN`` and the infinities, which JSON does not have."""
    raise ValueError(f"{name} is not JSON")


def parse_json_value(value: Json) -> str:
    """Parse any value of the type ``json``."""
    expansion = _Expansion()
    try:
        return expansion.check(dump_json_as_sent(value, expansion.dump_number))
    except RecursionError:
        raise NotOfType from None


def parse_text(value: Json) -> str:
    """Parse a text; another value becomes its JSON text, as PostgreSQL prints it."""
    return dump_json(value if isinstance(value, str) else dump_json(value))


def parse_text_operand(value: Json) -> str:
    """Parse a text; another value becomes what Python prints, as in CKAN: ``True``, ``1000.0``."""
    if isinstance(value, list | Mapping):
        raise NotOfType
    return dump_json(str(float(value) if isinstance(value, Decimal) else value))


def parse_json_operand(value: Json) -> str | None:
    """Parse any value; one that PostgreSQL cannot store equals nothing."""
    try:
        return dump_json(value)
    except NotOfType:
        return None


# Numbers ------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?", re.IGNORECASE)
_NOT_FINITE = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)


def parse_integer(value: Json, *, bits: int) -> str:
    """Parse a whole number in range, also as text."""
    number = parse_integer_operand(value, bits=bits)
    if number is None:
        raise NotOfType
    return number


def parse_integer_operand(value: Json, *, bits: int) -> str | None:
    """Parse a number, also as text; one that is not whole or not in range equals nothing."""
    within = range(-(2 ** (bits - 1)), 2 ** (bits - 1))
    if isinstance(value, str):
        text = value.strip(whitespace)
        if not _INTEGER.fullmatch(text) or int(text) not in within:
            raise NotOfType
        return str(int(text))
    number = _check_number(value)
    if number.adjusted() > bits or number != number.to_integral_value():
        return None
    return str(int(number)) if int(number) in within else None


def parse_integer_bound(value: Json, *, bits: int) -> str:
    """Parse any number, also one that is not whole or not in range."""
    if isinstance(value, str):
        return parse_integer(value, bits=bits)
    number = _check_number(value)
    if number.adjusted() > bits:
        return str(2**bits if number > 0 else -(2**bits))
    return dump_json(_round_decimals(number))


def parse_numeric(value: Json) -> str:
    """Parse a number with all its digits, also as text; NaN and the infinities only as text."""
    return parse_json_value(_parse_number(value))


def parse_numeric_operand(value: Json) -> str | None:
    """Parse a number; one beyond PostgreSQL's range equals nothing."""
    number = _parse_number(value)
    try:
        return dump_json(number)
    except NotOfType:
        return None


def parse_numeric_bound(value: Json) -> str:
    """Parse a number; one beyond PostgreSQL's range becomes infinite."""
    number = _parse_number(value)
    if isinstance(number, Decimal) and number.adjusted() >= _MAX_DIGITS_BEFORE_POINT:
        return _dump_infinity(number)
    return dump_json(_round_decimals(number) if isinstance(number, Decimal) else number)


def _round_decimals(number: Decimal) -> Decimal:
    """Round a number with more decimals than PostgreSQL stores away from zero."""
    if number.as_tuple().exponent >= -_MAX_DIGITS_AFTER_POINT:  # type: ignore[operator] # finite
        return number
    return number.quantize(_SMALLEST_NUMBER, rounding=ROUND_UP, context=_EXACT)


def parse_float8(value: Json) -> str:
    """Parse a number in the range of a double."""
    text = parse_float8_operand(value)
    if text is None:
        raise NotOfType
    return text


def parse_float8_operand(value: Json) -> str | None:
    """Parse a number; out of range, a text is refused as in PostgreSQL, a number equals nothing."""
    number = _parse_number(value)
    if isinstance(number, str):
        return dump_json(number)
    double = _to_double(number)
    if not _is_out_of_range(double, number):
        return _format_double(double)
    if isinstance(value, str):
        raise NotOfType
    return None


def parse_float8_bound(value: Json) -> str:
    """Parse a number; one out of range becomes infinite, or 0."""
    number = _parse_number(value)
    if isinstance(number, str):
        return dump_json(number)
    double = _to_double(number)
    if isinstance(value, str) and _is_out_of_range(double, number):
        raise NotOfType
    return _dump_infinity(number) if math.isinf(double) else _format_double(double)


def _is_out_of_range(double: float, number: Decimal) -> bool:
    return math.isinf(double) or (double == 0 and number != 0)


def _format_double(double: float) -> str:
    return repr(double).removesuffix(".0")


def _check_number(value: Json) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise NotOfType
    return Decimal(value)


def _parse_number(value: Json) -> Decimal | str:
    """Parse a number as PostgreSQL does: its value, or the name of NaN or an infinity."""
    if not isinstance(value, str):
        return _check_number(value)
    text = value.strip(whitespace)
    if _NOT_FINITE.fullmatch(text):
        return str(Decimal(text))
    if len(text) > _MAX_NUMBER_LENGTH or not NUMBER.fullmatch(text):
        raise NotOfType
    return Decimal(text)


def _to_double(number: Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _dump_infinity(number: Decimal | str) -> str:
    return dump_json("-Infinity" if Decimal(number) < 0 else "Infinity")


# Booleans -----------------------------------------------------------------------------------------

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def parse_boolean(value: Json) -> str:
    """Parse a boolean, or one of PostgreSQL's words for one."""
    if isinstance(value, bool):
        return dump_json(value)
    word = value.strip(whitespace).lower() if isinstance(value, str) else ""
    if word not in _TRUE | _FALSE:
        raise NotOfType
    return dump_json(word in _TRUE)


# Dates and times ----------------------------------------------------------------------------------

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_TIMESTAMP = re.compile(rf"{_DATE.pattern}([T ]{_CLOCK})?")
_ZONED = re.compile(rf"({_DATE.pattern}[T ]{_CLOCK})(Z|[+-][0-9]{{2}}:?[0-9]{{2}})")
_TIME = re.compile(_CLOCK)

#: Longer texts are not sent to PostgreSQL to be parsed.
_MAX_TEXT_LENGTH = 100_000


def parse_date(value: Json) -> str:
    """Parse a date in ISO's notation."""
    match = _match(value, _DATE)
    return dump_json(_parse_iso(date.fromisoformat, match).isoformat())


def parse_timestamp(value: Json) -> str:
    """Parse a date with a time: three decimals as in CKAN, six where three lose something."""
    match = _match(value, _TIMESTAMP)
    return dump_json(_format_timestamp(_parse_iso(datetime.fromisoformat, match)))


def parse_timestamptz(value: Json) -> str:
    """Parse a date with a time and a zone into UTC."""
    match = _match(value, _ZONED)
    moment = _parse_iso(datetime.fromisoformat, match)
    try:
        return dump_json(_format_timestamp(moment.astimezone(UTC)))
    except OverflowError:
        raise NotOfType from None


def parse_time(value: Json) -> str:
    """Parse a time of day."""
    match = _match(value, _TIME)
    moment = _parse_iso(time.fromisoformat, match).isoformat()
    return dump_json(moment.rstrip("0") if "." in moment else moment)


def _match(value: Json, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str):
        raise NotOfType
    found = value.strip(whitespace)
    if not pattern.fullmatch(found):
        _raise_unknown_notation(found)
    return found


def _raise_unknown_notation(text: str) -> Never:
    if len(text) > _MAX_TEXT_LENGTH:
        raise NotOfType
    dump_json_as_sent(text)
    raise UnknownNotation(text)


def _parse_iso(parse: Callable[[str], DateOrTime], text: str) -> DateOrTime:
    try:
        return parse(text)
    except ValueError:
        _raise_unknown_notation(text)  # PostgreSQL parses 24:00, for example


def _format_timestamp(moment: datetime) -> str:
    exact = moment.microsecond % 1000 != 0
    return moment.isoformat(timespec="microseconds" if exact else "milliseconds")


# Lists --------------------------------------------------------------------------------------------


def parse_array(value: Json, *, of: Callable[[Json], str]) -> str:
    """Parse a list of values of a type; ``of`` parses one element."""
    if isinstance(value, str):
        _raise_unknown_notation(value)
    if not isinstance(value, Sequence) or any(isinstance(each, list | Mapping) for each in value):
        raise NotOfType
    try:
        texts = ["null" if each is None else of(each) for each in value]
    except UnknownNotation:
        raise NotOfType from None
    expansion = _Expansion()
    for text in texts:
        if "e" in text and text[-1].isdigit():  # a double, not a text or boolean
            expansion.dump_number(Decimal(text))
    return expansion.check(f"[{','.join(texts)}]")


# Guesses ------------------------------------------------------------------------------------------

#: The notations that have no other meaning: ``007`` is text.
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_PLAIN_FRACTION = re.compile(r"-?(0|[1-9][0-9]{0,30})\.[0-9]{1,30}")


def holds_decimal(value: Json) -> bool:
    """Return whether a value is a number, also as text."""
    return _is_number(value, _PLAIN_INTEGER, _PLAIN_FRACTION)


def holds_integer(value: Json, *, parse: Callable[[Json], str]) -> bool:
    """Return whether a value is a whole number, also as text, that ``parse`` does not refuse."""
    return _is_number(value, _PLAIN_INTEGER) and _is_kept(value, parse)


def holds_double(value: Json) -> bool:
    """Return whether a value is a number of which a double has all digits."""
    return _is_number(value) and _is_kept(value, parse_float8)


def holds_moment(value: Json, *, parse: Callable[[Json], str]) -> bool:
    """Return whether a value is a text that ``parse`` reads without PostgreSQL."""
    return isinstance(value, str) and _try_parse(value, parse) is not None


def _is_number(value: Json, *notations: re.Pattern[str]) -> bool:
    if isinstance(value, str):
        return any(each.fullmatch(value) for each in notations)
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_kept(value: Json, parse: Callable[[Json], str]) -> bool:
    text = _try_parse(value, parse)
    return text is not None and Decimal(text) == Decimal(str(value))


def _try_parse(value: Json, parse: Callable[[Json], str]) -> str | None:
    try:
        return parse(value)
    except (NotOfType, UnknownNotation):
        return None
