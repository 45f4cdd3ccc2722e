"""Write the cells of a sheet as texts: numbers without loss, dates as ISO has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

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
    str: str,
    bool: lambda truth: "true" if truth else "false",
    int: str,
    float: format_number,
    date: date.isoformat,
    datetime: lambda moment: moment.isoformat(" "),
    time: _format_time,
    timedelta: _format_duration,
}
