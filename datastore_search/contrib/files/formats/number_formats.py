"""What the number format of a cell makes of its number: a date, or a text with leading zeros."""

from __future__ import annotations

import operator
import re
from datetime import time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from xlrd import xldate_as_datetime

from .cell_values import LARGEST_PLAIN, BadCell, format_number

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
    if abs(number) >= LARGEST_PLAIN or number != number.to_integral_value():
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
