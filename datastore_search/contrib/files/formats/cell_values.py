"""The values of cells that no type of Python has, and numbers with all of their digits."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from ..messages import BadRow

#: The digits that a double always holds, and those that tell it from all others.
_DOUBLE_DIGITS, _MAX_DOUBLE_DIGITS = 15, 17
#: A double holds each integer below this.
_MAX_EXACT_INTEGER = 2**53
#: Numbers outside of these are written with an exponent.
_SMALLEST_PLAIN, LARGEST_PLAIN = 1e-20, 1e21

_ISO_DURATION = re.compile(
    r"(-?)P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?"
)


class BadCell(str):
    """The name of the error in a cell, or the number of a date that does not exist."""

    __slots__ = ()

    @property
    def row_error(self) -> BadRow:
        """Why the row of the cell cannot be loaded."""
        is_number = self.startswith(tuple("-0123456789"))
        return BadRow("row.no_date" if is_number else "row.error_cell", error=str(self))


def format_number(number: float) -> str:
    """Write a number with its digits; Excel has no more than 15 to 17 of them."""
    if number.is_integer() and abs(number) < _MAX_EXACT_INTEGER:
        return str(int(number))
    text = repr(number).removesuffix(".0")
    if "e" in text and _SMALLEST_PLAIN < abs(number) < LARGEST_PLAIN:
        return format(Decimal(text), "f")
    return text


def may_be_rounded(number: float) -> bool:
    """Return whether a double may stand for whole numbers with other last digits."""
    is_long = _MAX_EXACT_INTEGER <= abs(number) < LARGEST_PLAIN
    return is_long and _count_digits(Decimal(repr(number))) > _DOUBLE_DIGITS


def has_lost_digits(text: str) -> bool:
    """
    Return whether a double changes the number that a text writes.

    Programs write doubles with 16 or 17 digits, such as 0.04 as ``4.0000000000000002E-2``.
    """
    double = float(text)
    if repr(double) == text or (exact := Decimal(text)) == Decimal(repr(double)):
        return False
    if text.lstrip("-").isdecimal() or _count_digits(exact) > _MAX_DOUBLE_DIGITS:
        return True
    if may_be_rounded(double) and exact == exact.to_integral_value():
        return True
    is_dump = exact in {Decimal(f"{double:.16g}"), Decimal(f"{double:.17g}")}
    return not is_dump and _count_digits(Decimal(repr(double))) > _DOUBLE_DIGITS


def _count_digits(number: Decimal) -> int:
    return len(number.normalize().as_tuple().digits)


def parse_duration(text: str) -> timedelta:
    """Parse a duration of OpenDocument, such as ``PT27H17M54S``."""
    match = _ISO_DURATION.fullmatch(text)
    if not match:
        raise ValueError(text)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups()[1:])
    duration = timedelta(days, seconds, minutes=minutes, hours=hours)
    return -duration if match[1] else duration
