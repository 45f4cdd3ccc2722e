"""Spellings of values, written independently of the formats that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

#: The widths of numbers with and without a zero before them, as ``format`` takes them.
_WIDTHS = ("", "02")
_HALVES = ("", " AM/ PM", " am/ pm", "AM/PM", "am/pm")
_GROUP_SIGNS = ("", " ", "\u00a0", "\u202f", "'", "\u2019")


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write values: the name of its format, and a function of a stored value."""

    format_name: str
    write: Callable[[Any], str]


def _write_day(order: str, sign: str, widths: tuple[str, str], day: date) -> str:
    texts = {"d": f"{day.day:{widths[0]}}", "m": f"{day.month:{widths[1]}}", "y": f"{day.year:04}"}
    return sign.join(texts[part] for part in order)


def list_date_spellings() -> Iterator[Spelling]:
    for order, sign, *widths in product(("dmy", "mdy", "ymd"), "/-.", _WIDTHS, _WIDTHS):
        is_iso = order == "ymd" and sign == "-" and all(widths)
        write = partial(_write_day, order, sign, (widths[0], widths[1]))
        yield Spelling("date" if is_iso else f"date:{order}", write)


def _write_moment(
    write_day: Callable[[date], str], between: str, clock: tuple[str, str, str], at: datetime
) -> str:
    width, seconds, half = clock
    hour = (at.hour % 12 or 12) if half else at.hour
    halves = half.split("/") if half else ["", ""]
    time = f"{hour:{width}}:{at.minute:02}{at.strftime(seconds)}{halves[at.hour >= 12]}"
    return write_day(at) + between + time


def list_moment_spellings() -> Iterator[Spelling]:
    for day, between, width, seconds, half in product(
        list_date_spellings(), " T", _WIDTHS, ("", ":%S"), _HALVES
    ):
        is_iso = day.format_name == "date" and width and not half
        name = "timestamp:ymd" if day.format_name == "date" else day.format_name
        write = partial(_write_moment, day.write, between, (width, seconds, half))
        yield Spelling("timestamp" if is_iso else name.replace("date:", "timestamp:"), write)


def _write_decimal(sign: str, point: str, number: Decimal) -> str:
    whole, _, fraction = f"{number:,f}".partition(".")
    return whole.replace(",", sign) + (point + fraction if fraction else "")


def list_decimal_spellings() -> Iterator[Spelling]:
    for sign in (*_GROUP_SIGNS, ","):
        yield Spelling("numeric:point" if sign else "numeric", partial(_write_decimal, sign, "."))
    for sign in (*_GROUP_SIGNS, "."):
        yield Spelling("numeric:comma", partial(_write_decimal, sign, ","))


def _write_iso(between: str, decimals: int | None, at: datetime) -> str:
    """Write ISO's format with so many decimals; without trailing zeros if that is None."""
    if decimals is None:
        return at.isoformat(between).rstrip("0") if at.microsecond else at.isoformat(between)
    return at.isoformat(between, "microseconds")[: 20 + decimals]


def list_iso_spellings() -> Iterator[Callable[[datetime], str]]:
    """List the spellings of moments in ISO's format, beside those without fractions."""
    for between in " T":
        yield from (partial(_write_iso, between, decimals) for decimals in (None, *range(1, 7)))
        yield partial(datetime.isoformat, sep=between)


def _write_float(ending: str, text: str) -> str:
    return text if "." in text or "e" in text else text + ending


_DECIMALS = [spelling.write for spelling in list_decimal_spellings()]

#: Every spelling that a stored value of a type may have had, by the name of the type.
WRITERS: Mapping[str, list[Callable[[Any], str]]] = {
    **dict.fromkeys(("int4", "int8", "numeric"), _DECIMALS),
    "float8": [partial(_write_float, ""), partial(_write_float, ".0")],
    "bool": [str, lambda truth: str(truth).lower(), lambda truth: str(truth).upper()],
    "date": [spelling.write for spelling in list_date_spellings()],
    "timestamp": [*(each.write for each in list_moment_spellings()), *list_iso_spellings()],
    "time": [str],
    "text": [str],
}

#: How to read what is stored.
PARSERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("int4", "int8", "numeric"), Decimal),
    **dict.fromkeys(("float8", "time", "text"), str),
    "bool": bool,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}
