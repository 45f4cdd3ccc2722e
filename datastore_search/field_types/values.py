"""
What a JSON value means to a type.

A type takes values twice: to be stored, where nothing may be lost, and as the operand of a filter,
where a number that does not fit merely equals nothing.  Both give the canonical JSON text.  A text
in a form that is not read here (``1 March 2021``, ``{a,b}``) is ``Unread``: PostgreSQL reads it.

Source: PostgreSQL's input syntax; CKAN ``datastore_search``, sections 5 and 6 of its semantics.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import MAX_PREC, ROUND_UP, Context, Decimal
from typing import Never, TypeVar

Moment = TypeVar("Moment", date, datetime, time)

#: A value as the parser of JSON gives it; fractions are exact.
Json = str | int | Decimal | bool | None | Sequence["Json"] | Mapping[str, "Json"]

#: What PostgreSQL's ``numeric``, and so its JSON, holds before and after the point.
_NUMERIC_DIGITS_BEFORE, _NUMERIC_DIGITS_AFTER = 131_072, 16_383

#: Rounds nothing.
_EXACT = Context(prec=MAX_PREC)

#: The smallest number that PostgreSQL keeps.
_FINEST = Decimal((0, (1,), -_NUMERIC_DIGITS_AFTER))

#: A longer text is no number.
_NUMBER_LETTERS = 200_000

#: Digits of a number that is sent with an exponent, when it is written out without it.
MAX_NUMBER_DIGITS = 1_000

#: Digits that the exponents of a value stand for together, where that is more than
#: ``_MAX_EXPANSION`` times its length.
_MAX_ADDED_DIGITS = 100_000
_MAX_EXPANSION = 10


class NotOfType(ValueError):
    """A value cannot be of a type."""


class TooManyDigits(NotOfType):
    """The numbers of a value are too long when they are written out."""


class Unread(Exception):
    """A text may be of the type, but only PostgreSQL can tell."""

    def __init__(self, text: str) -> None:
        """Keep the text."""
        super().__init__(text)
        self.text = text


# JSON ---------------------------------------------------------------------------------------------


def as_json(value: Json) -> str:
    """
    Write a value as JSON text that PostgreSQL stores: letters and all digits as they are.

    Raises: ``NotOfType`` for what it cannot store: NUL, lone surrogates, numbers beyond
    ``numeric``, and nesting beyond Python's.
    """
    try:
        return _written(value, _number)
    except RecursionError:
        raise NotOfType from None


def as_sent(value: Json) -> str:
    """
    Write a value as JSON text, whatever its numbers.

    Raises: ``NotOfType`` for texts that are none.
    """
    return _written(value, str)


def _written(value: Json, number: Callable[[Decimal], str]) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Decimal):
        return number(value)
    if isinstance(value, Mapping):
        members = [f"{_text(name)}:{_written(each, number)}" for name, each in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join([_written(each, number) for each in value]) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return number(Decimal(value))
    return json.dumps(value)


def _text(text: str) -> str:
    if not is_storable(text):
        raise NotOfType
    return json.dumps(text, ensure_ascii=False)


def is_storable(text: str) -> bool:
    """Tell whether a text is without NUL and lone surrogates."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _number(number: Decimal) -> str:
    if number.as_tuple().exponent < -_NUMERIC_DIGITS_AFTER:  # type: ignore[operator] # finite
        number = _EXACT.normalize(number)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_NUMERIC_DIGITS_AFTER:
        raise NotOfType
    if number.adjusted() >= _NUMERIC_DIGITS_BEFORE:
        raise NotOfType
    return str(number)


class _Expansion:
    """
    Counts the digits that exponents stand for.

    PostgreSQL keeps 1E+1000 in a few bytes and writes a thousand digits whenever it is read.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._added = 0

    def number(self, number: Decimal) -> str:
        """Write a number that is stored."""
        if (text := str(number)).find("E") < 0:
            return _number(number)
        exponent = number.as_tuple().exponent
        digits = max(number.adjusted(), 0) + 1 + max(-int(exponent), 0)
        if digits > MAX_NUMBER_DIGITS:
            raise TooManyDigits
        self._added += max(digits - len(text), 0)
        return _number(number)

    def check(self, text: str) -> str:
        """Refuse the text of a value that becomes many times as long; otherwise give it back."""
        if self._added > max(_MAX_ADDED_DIGITS, _MAX_EXPANSION * len(text)):
            raise TooManyDigits
        return text


# Texts and JSON -----------------------------------------------------------------------------------


def document(value: Json) -> str:
    """
    Take any value, to be stored as JSON.

    Raises: ``TooManyDigits``; otherwise as ``as_json``.
    """
    expansion = _Expansion()
    try:
        return expansion.check(_written(value, expansion.number))
    except RecursionError:
        raise NotOfType from None


def text(value: Json) -> str:
    """Take any value: what is no text is stored as its JSON, as PostgreSQL would print it."""
    return as_json(value if isinstance(value, str) else as_json(value))


def text_operand(value: Json) -> str:
    """Compare with the text that Python prints, as CKAN does: ``True``, ``1000.0``."""
    if isinstance(value, list | Mapping):
        raise NotOfType
    return as_json(str(float(value) if isinstance(value, Decimal) else value))


def json_operand(value: Json) -> str | None:
    """Take any value; what PostgreSQL cannot store equals nothing."""
    try:
        return as_json(value)
    except NotOfType:
        return None


# Numbers ------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?", re.IGNORECASE)
_NOT_A_NUMBER = {
    "nan": "NaN",
    "infinity": "Infinity",
    "inf": "Infinity",
    "+infinity": "Infinity",
    "+inf": "Infinity",
    "-infinity": "-Infinity",
    "-inf": "-Infinity",
}


def integer(value: Json, *, bits: int) -> str:
    """Take whole numbers in range, also as text."""
    found = integer_operand(value, bits=bits)
    if found is None:
        raise NotOfType
    return found


def integer_operand(value: Json, *, bits: int) -> str | None:
    """Take numbers, also as text; one that is not whole or not in range equals nothing."""
    within = range(-(2 ** (bits - 1)), 2 ** (bits - 1))
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value.strip()) or int(value) not in within:
            raise NotOfType
        return str(int(value))
    number = _as_number(value)
    if number.adjusted() > bits or number != number.to_integral_value():
        return None
    return str(int(number)) if int(number) in within else None


def integer_bound(value: Json, *, bits: int) -> str:
    """Take any number to be compared with: also one that is not whole or not in range."""
    if isinstance(value, str):
        return integer(value, bits=bits)
    number = _as_number(value)
    if number.adjusted() > bits:
        return str(2**bits if number > 0 else -(2**bits))
    return as_json(_coarser(number))


def numeric(value: Json) -> str:
    """Take numbers with all their digits, also as text, and NaN and the infinities as text."""
    return document(_number_or_name(value))


def numeric_operand(value: Json) -> str | None:
    """Take numbers; one beyond PostgreSQL's equals nothing."""
    found = _number_or_name(value)
    try:
        return as_json(found)
    except NotOfType:
        return None


def numeric_bound(value: Json) -> str:
    """Take numbers to be compared with; one beyond PostgreSQL's is as good as infinite."""
    found = _number_or_name(value)
    if isinstance(found, Decimal) and found.adjusted() >= _NUMERIC_DIGITS_BEFORE:
        return _beyond(found)
    return as_json(_coarser(found) if isinstance(found, Decimal) else found)


def _coarser(number: Decimal) -> Decimal:
    """Round a number that has more decimals than PostgreSQL keeps, away from zero."""
    if number.as_tuple().exponent >= -_NUMERIC_DIGITS_AFTER:  # type: ignore[operator] # finite
        return number
    return number.quantize(_FINEST, rounding=ROUND_UP, context=_EXACT)


def float8(value: Json) -> str:
    """Take numbers within a double's range."""
    found = _number_or_name(value)
    if isinstance(found, str):
        return as_json(found)
    double = _double(found)
    if _is_out_of_range(double, found):
        raise NotOfType
    return _shortest(double)


def float8_operand(value: Json) -> str | None:
    """Take numbers; as PostgreSQL, refuse a text out of range, and a number equals nothing."""
    found = _number_or_name(value)
    if isinstance(found, str):
        return as_json(found)
    double = _double(found)
    if not _is_out_of_range(double, found):
        return _shortest(double)
    if isinstance(value, str):
        raise NotOfType
    return None


def float8_bound(value: Json) -> str:
    """Take numbers to be compared with; one out of range is as good as infinite, or nothing."""
    found = _number_or_name(value)
    if isinstance(found, str):
        return as_json(found)
    double = _double(found)
    if isinstance(value, str) and _is_out_of_range(double, found):
        raise NotOfType
    return _beyond(found) if math.isinf(double) else _shortest(double)


def _is_out_of_range(double: float, number: Decimal) -> bool:
    return math.isinf(double) or (double == 0 and number != 0)


def _shortest(double: float) -> str:
    return repr(double).removesuffix(".0")


def _as_number(value: Json) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise NotOfType
    return Decimal(value)


def _number_or_name(value: Json) -> Decimal | str:
    """Read a number as PostgreSQL does: its value, or the name of what is none."""
    if not isinstance(value, str):
        return _as_number(value)
    text = value.strip()
    if text.lower() in _NOT_A_NUMBER:
        return _NOT_A_NUMBER[text.lower()]
    if len(text) > _NUMBER_LETTERS or not _NUMBER.fullmatch(text):
        raise NotOfType
    return Decimal(text)


def _double(number: Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _beyond(number: Decimal | str) -> str:
    return as_json("-Infinity" if Decimal(number) < 0 else "Infinity")


# Truth values -------------------------------------------------------------------------------------

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def truth(value: Json) -> str:
    """Take truth values, and PostgreSQL's words for them."""
    if isinstance(value, bool):
        return as_json(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _TRUE | _FALSE:
        raise NotOfType
    return as_json(word in _TRUE)


# Moments ------------------------------------------------------------------------------------------

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_TIMESTAMP = re.compile(rf"{_DATE.pattern}([T ]{_CLOCK})?")
_ZONED = re.compile(rf"({_DATE.pattern}[T ]{_CLOCK})(Z|[+-][0-9]{{2}}:?[0-9]{{2}})")
_TIME = re.compile(_CLOCK)

#: Longer texts are no moments and no lists in PostgreSQL's own notation.
_LETTERS_READ = 100_000


def day(value: Json) -> str:
    """Take dates; other forms than ISO's are ``Unread``."""
    found = _matching(value, _DATE)
    return as_json(_moment(date.fromisoformat, found).isoformat())


def timestamp(value: Json) -> str:
    """Take dates with a time of day: three decimals as CKAN's, six where three lose something."""
    found = _matching(value, _TIMESTAMP)
    return as_json(_iso(_moment(datetime.fromisoformat, found)))


def timestamptz(value: Json) -> str:
    """Take dates with a time of day and a zone; they are kept in UTC."""
    found = _matching(value, _ZONED)
    moment = _moment(datetime.fromisoformat, found)
    try:
        return as_json(_iso(moment.astimezone(UTC)))
    except OverflowError:
        raise NotOfType from None


def clock(value: Json) -> str:
    """Take times of day."""
    found = _matching(value, _TIME)
    moment = _moment(time.fromisoformat, found).isoformat()
    return as_json(moment.rstrip("0") if "." in moment else moment)


def _matching(value: Json, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str):
        raise NotOfType
    found = value.strip()
    if not pattern.fullmatch(found):
        _unread(found)
    return found


def _unread(text: str) -> Never:
    if len(text) > _LETTERS_READ:
        raise NotOfType
    _text(text)
    raise Unread(text)


def _moment(parse: Callable[[str], Moment], text: str) -> Moment:
    try:
        return parse(text)
    except ValueError:
        _unread(text)  # 24:00, for one, is PostgreSQL's to read


def _iso(moment: datetime) -> str:
    exact = moment.microsecond % 1000 != 0
    return moment.isoformat(timespec="microseconds" if exact else "milliseconds")


# Lists --------------------------------------------------------------------------------------------


def array(value: Json, *, of: Callable[[Json], str]) -> str:
    """Take lists of values of a type; in PostgreSQL's own notation they are ``Unread``."""
    if isinstance(value, str):
        _unread(value)
    if not isinstance(value, Sequence) or any(isinstance(each, list | Mapping) for each in value):
        raise NotOfType
    try:
        texts = ["null" if each is None else of(each) for each in value]
    except Unread:
        raise NotOfType from None
    expansion = _Expansion()
    for text in texts:
        if "e" in text and text[-1].isdigit():  # a double, and no text or truth value
            expansion.number(Decimal(text))
    return expansion.check(f"[{','.join(texts)}]")
