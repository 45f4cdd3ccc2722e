"""Write the cells of a sheet as texts: numbers without loss, dates as ISO has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

_ODS_DURATION = re.compile(
    r"(-?)PT(?=[0-9])(?:([0-9]{1,15})H)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15})(?:[.,]([0-9]+))?S)?"
)
#: As which calamine reads the number 60, which Excel shows as a day that 1900 did not have.
_DAY_BEFORE_DAY_60 = (1900, 2, 28)
#: A double holds each integer below this.
_MAX_EXACT_INTEGER = 2**53
#: Numbers outside of these are written with an exponent.
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-20, 1e21


def format_number(number: float) -> str:
    """Write a number with its digits; Excel has no more than 15 to 17 of them."""
    if number.is_integer() and abs(number) < _MAX_EXACT_INTEGER:
        return str(int(number))
    text = repr(number).removesuffix(".0")
    if "e" in text and _SMALLEST_PLAIN < abs(number) < _LARGEST_PLAIN:
        return format(Decimal(text), "f")
    return text


def _format_time(moment: time) -> str:
    text = moment.isoformat()
    return text.rstrip("0") if moment.microsecond else text


def _format_duration(duration: timedelta) -> str:
    """Write a duration as sheets do, in hours: 30:00:00."""
    seconds = abs(duration).total_seconds()
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    sign = "-" if duration < timedelta() else ""
    fraction = f"{rest % 1:.6f}"[1:].rstrip("0").rstrip(".")
    return f"{sign}{int(hours):02}:{int(minutes):02}:{int(rest):02}{fraction}"


FORMATTERS: Mapping[type, Callable[[Any], str]] = {
    bool: lambda truth: "true" if truth else "false",
    int: str,
    float: format_number,
    date: date.isoformat,
    datetime: lambda moment: moment.isoformat(" "),
    time: _format_time,
    timedelta: _format_duration,
}


def format_ods_text(text: str) -> str:
    """Write a duration as the others, where calamine leaves it as ODS has it."""
    match = _ODS_DURATION.fullmatch(text) if text.startswith(("PT", "-PT")) else None
    if not match:
        return text
    sign, *parts, decimals = match.groups(default="")
    hours, minutes, seconds = (int(part or 0) for part in parts)
    minutes, seconds = minutes + seconds // 60, seconds % 60
    hours, minutes = hours + minutes // 60, minutes % 60
    fraction = f".{decimals}".rstrip("0").rstrip(".")
    return f"{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"


def find_declared_type(kinds: set[type]) -> str | None:
    """Return the type of cells of some kinds, None where there are no cells."""
    if not kinds:
        return None
    if kinds <= {date, datetime}:
        return "date" if kinds == {date} else "timestamp"
    if kinds == {bool}:
        return "bool"
    return "time" if kinds == {time} else "text"


#: The types of what a sheet shows as dates and times.
DATES = frozenset({date, datetime, time})


def may_lack_date(cell: object) -> bool:
    """Return whether the number of a cell that shows a date or time may be none, as -1.5."""
    if isinstance(cell, date):
        return (cell.year, cell.month, cell.day) == _DAY_BEFORE_DAY_60
    return isinstance(cell, time)
