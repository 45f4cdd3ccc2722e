"""Cells of workbooks: errors, numbers with all of their digits, and number formats."""

from __future__ import annotations

import operator
import re
from datetime import time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from ..messages import BadRow

#: The digits that a double always holds, and those that tell it from all others.
_DOUBLE_DIGITS, _MAX_DOUBLE_DIGITS = 15, 17
#: A double holds each integer below this.
_MAX_EXACT_INTEGER = 2**53
#: Numbers outside of these are written with an exponent.
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-20, 1e21


class BadCell(str):
    """The name of the error in a cell, or the number of a date that does not exist."""

    __slots__ = ()

    @property
    def row_error(self) -> BadRow:
        is_number = self.startswith(tuple("-0123456789"))
        return BadRow("row.no_date" if is_number else "row.error_cell", error=str(self))


def format_number(number: float) -> str:
    """Write a number with its digits; Excel has no more than 15 to 17 of them."""
    if number.is_integer() and abs(number) < _MAX_EXACT_INTEGER:
        return str(int(number))
    text = repr(number).removesuffix(".0")
    if "e" in text and _SMALLEST_PLAIN < abs(number) < _LARGEST_PLAIN:
        return format(Decimal(text), "f")
    return text


def may_be_rounded(number: float) -> bool:
    """Return whether a double may stand for whole numbers with other last digits."""
    is_long = _MAX_EXACT_INTEGER <= abs(number) < _LARGEST_PLAIN
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
    return len("".join(map(str, number.as_tuple().digits)).strip("0"))


# Number formats -----------------------------------------------------------------------------------

#: What a number format shows as it is (in a group), and what it does not show.
_LITERAL = r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].'
_LITERALS, _PARTS = re.compile(_LITERAL), re.compile(rf"{_LITERAL}|([-+ ():])|([0#])|(.)")
#: The numbers of the last two groups.
_DIGIT, _OTHER = 5, 6
_CONDITION = re.compile(r"\[([<>=]+)(-?[0-9]+)\]")
_COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
#: Hours, minutes or seconds in a format that does not begin again with each day.
_DURATION = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
#: The day that Excel counts after 28 February 1900, as Lotus 1-2-3 did.
_NO_DAY, _NO_DAY_NAME = 60, "1900-02-29"


@cache
def has_day(number_format: str) -> bool | None:
    """Return whether a format shows a day, and not a time alone; None if it shows neither."""
    plain = re.sub(r"s\.0+", "s", _LITERALS.sub("", number_format).lower())
    if _DURATION.search(number_format) or re.search("[#?0]", plain):
        return None
    if re.search("[dy]", plain):
        return True
    return False if re.search("[hs]", plain) else "m" in plain or None


def read_date(number: float, number_format: str, datemode: Literal[0, 1]) -> Any:
    """Read a number that is shown as a date, a time or a duration; days begin in 1900 or 1904."""
    from xlrd import xldate_as_datetime  # noqa: PLC0415 - the readers of places do not need it

    try:
        if _DURATION.search(number_format):
            return timedelta(days=number)
        is_time = has_day(number_format) is False
        if 0 <= number < 1 and (is_time or (number and not datemode and "h" in number_format)):
            return xldate_as_datetime(number, 0).time()
        if not datemode and _NO_DAY <= number < _NO_DAY + 1:
            clock = xldate_as_datetime(number + 1, 0).time()
            return f"{_NO_DAY_NAME} {clock}" if clock != time() else _NO_DAY_NAME
        if number < 1 - datemode:
            return BadCell(format_number(number))
        moment = xldate_as_datetime(number, datemode)
    except (OverflowError, ValueError):
        return BadCell(format_number(number))
    return moment.date() if moment.time() == time() else moment


def format_padded(number: Decimal, number_format: str) -> str | None:
    """Write a number by a format with leading zeros, as ``000-00-0000``; None for other formats."""
    if abs(number) >= _LARGEST_PLAIN or number != number.to_integral_value():
        return None
    sections = number_format.split(";")
    defaults = (number > 0 or (not number and len(sections) < len("+-0")), number < 0, True)
    for section, is_chosen in zip(sections, defaults, strict=False):
        condition = _CONDITION.search(section)
        compare = _COMPARISONS.get(condition[1]) if condition else None
        if compare(number, int(condition[2])) if condition and compare else is_chosen:
            break
    parts = _parse_padded(section)
    marks = [mark for kind, mark in parts if kind == _DIGIT]
    if not parts:
        return None
    digits = str(abs(int(number))).rjust(len(marks))
    text = "-" if number < 0 and section is sections[0] else ""
    for kind, part in parts:
        if kind == _DIGIT:
            end = len(digits) - len(marks) + 1
            text += digits[:end].replace(" ", "0" if part == "0" else "")
            digits, marks = digits[end:], marks[1:]
        elif kind:
            text += part
    return text


@cache
def _parse_padded(section: str) -> list[tuple[int | None, str]]:
    """Parse a section of a format with leading zeros; nothing for another one."""
    parts = [(part.lastindex, part[part.lastindex or 0]) for part in _PARTS.finditer(section)]
    is_padded = parts.count((_DIGIT, "0")) > 1 and all(kind != _OTHER for kind, _ in parts)
    return parts if is_padded else []
