"""Spellings of values, written independently of the formats that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write values: the name of its format, and a function of a stored value."""

    format_name: str
    write: Callable[[Any], str]


def _pad_number(number: int, *, pad: bool) -> str:
    return f"{number:02}" if pad else str(number)


def _build_date_writer(order: str, sign: str, pads: tuple[bool, bool]) -> Callable[[date], str]:
    def write(day: date) -> str:
        parts = {
            "d": _pad_number(day.day, pad=pads[0]),
            "m": _pad_number(day.month, pad=pads[1]),
            "y": f"{day.year:04}",
        }
        return sign.join(parts[part] for part in order)

    return write


def _build_time_writer(pad: bool, seconds: bool, half: str) -> Callable[[datetime], str]:
    def write(moment: datetime) -> str:
        hour = (moment.hour % 12 or 12) if half else moment.hour
        tail = f":{moment.second:02}" if seconds else ""
        halves = half.split("/") if half else ["", ""]
        return f"{_pad_number(hour, pad=pad)}:{moment.minute:02}{tail}{halves[moment.hour >= 12]}"

    return write


_BOOLEANS = (False, True)
_HALVES = ("", " AM/ PM", " am/ pm", "AM/PM", "am/pm")


def list_date_spellings() -> Iterator[Spelling]:
    """List the spellings of days."""
    for order, sign, *pads in product(("dmy", "mdy", "ymd"), "/-.", _BOOLEANS, _BOOLEANS):
        write = _build_date_writer(order, sign, (pads[0], pads[1]))
        is_iso = order == "ymd" and sign == "-" and all(pads)
        yield Spelling("date" if is_iso else f"date:{order}", write)


def list_moment_spellings() -> Iterator[Spelling]:
    """List the spellings of moments."""
    for day, between, pad, seconds, half in product(
        list_date_spellings(), " T", _BOOLEANS, _BOOLEANS, _HALVES
    ):
        clock = _build_time_writer(pad, seconds, half)
        is_iso = day.format_name == "date" and pad and not half
        format_name = "timestamp" if is_iso else day.format_name.replace("date:", "timestamp:")
        format_name = "timestamp:ymd" if format_name == "date" else format_name
        yield Spelling(format_name, partial(_join_date_and_time, day.write, between, clock))


def _join_date_and_time(
    day: Callable[[date], str], between: str, clock: Callable[[datetime], str], at: datetime
) -> str:
    return day(at) + between + clock(at)


def _build_number_writer(sign: str, point: str) -> Callable[[Decimal], str]:
    def write(number: Decimal) -> str:
        whole, _, fraction = f"{number:,f}".partition(".")
        return whole.replace(",", sign) + (point + fraction if fraction else "")

    return write


def list_decimal_spellings() -> Iterator[Spelling]:
    """List the spellings of numbers with decimals."""
    signs = ("", " ", "\u00a0", "\u202f", "'", "\u2019")
    for sign in (*signs, ","):
        yield Spelling("numeric:point" if sign else "numeric", _build_number_writer(sign, "."))
    for sign in (*signs, "."):
        yield Spelling("numeric:comma", _build_number_writer(sign, ","))


def list_iso_spellings() -> Iterator[Callable[[datetime], str]]:
    """List the spellings of moments in ISO's format, beside those without fractions."""
    for between, list_decimal_spellings in product(" T", range(1, 7)):
        yield partial(_write_decimals, between, list_decimal_spellings)
    for between in " T":
        yield partial(_write_trimmed, between)
        yield partial(_write_iso, between)


def _write_decimals(between: str, list_decimal_spellings: int, at: datetime) -> str:
    return at.isoformat(between, "microseconds")[: 20 + list_decimal_spellings]


def _write_trimmed(between: str, at: datetime) -> str:
    return _write_iso(between, at).rstrip("0") if at.microsecond else _write_iso(between, at)


def _write_iso(between: str, at: datetime) -> str:
    return at.isoformat(between)


def _build_float_writer(ending: str) -> Callable[[str], str]:
    return lambda text: text if "." in text or "e" in text else text + ending


#: Every spelling that a stored value of a type may have had, by the name of the type.
WRITERS: Mapping[str, list[Callable[[Any], str]]] = {
    "int4": [s.write for s in list_decimal_spellings()],
    "int8": [s.write for s in list_decimal_spellings()],
    "numeric": [s.write for s in list_decimal_spellings()],
    "float8": [_build_float_writer(""), _build_float_writer(".0")],
    "bool": [str, lambda truth: str(truth).lower(), lambda truth: str(truth).upper()],
    "date": [s.write for s in list_date_spellings()],
    "timestamp": [*(s.write for s in list_moment_spellings()), *list_iso_spellings()],
    "time": [str],
    "text": [str],
}

#: How to read what is stored.
PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "int4": Decimal,
    "int8": Decimal,
    "numeric": Decimal,
    "float8": str,
    "bool": bool,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "time": str,
    "text": str,
}
