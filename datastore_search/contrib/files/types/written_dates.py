"""
Dates that are read by choice only: with names of months in the languages, or short years.

A format is an order, and a language if months have names: ``date:dmy,fr`` reads ``12 mars 2024``,
``date:mdyy,en`` reads ``Mar 3, 99``, and ``date:dmyy`` reads ``3/12/99``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from django.conf.locale import LANG_INFO

from ....field_types import field_types
from ..formats.duckdb_sql import quote_literal
from .field_formats import CLOCK, DAY_ORDERS, STRPTIME_FORMATS, FieldFormat, FormatGroup

#: The orders in which years may have two digits, and the plain order of each.
SHORT_YEAR_ORDERS = {"dmyy": "dmy", "mdyy": "mdy", "yymd": "ymd"}

#: The first of the years of two digits: 69 is 1969 and 68 is 2068, as in POSIX.
FIRST_SHORT_YEAR = 69

_BLANKS = " \u00a0\u202f"
_IGNORED = quote_literal(f".{_BLANKS}")
_SIGNS = re.escape("-/.,'\u2019،") + _BLANKS
_FOLDED = "lower(nfc_normalize({v}))"
_GUARD = "length({v}) BETWEEN 5 AND 80 AND regexp_matches({v}, '[0-9]')"


def get_day_order(order: str) -> str:
    """Return an order without the choice of years of two digits."""
    return SHORT_YEAR_ORDERS.get(order, order)


@cache
def find_written_format(type_name: str, format_name: str) -> FieldFormat | None:
    """Find a format of dates or timestamps by its name; None if there is no such format."""
    order, _comma, language = format_name.partition(",")
    if type_name not in {"date", "timestamp"} or get_day_order(order) not in DAY_ORDERS:
        return None
    if not language:
        return _build_format(type_name, order, None, "") if order in SHORT_YEAR_ORDERS else None
    names = find_month_names(language)
    return _build_format(type_name, order, names, language) if names else None


def list_written_groups(order: str, language: str) -> Iterator[FormatGroup]:
    """List the groups to infer from where an order of dates or a language is chosen for a load."""
    if language:
        chosen = get_day_order(order)
        orders = [order if each == chosen else each for each in DAY_ORDERS]
        names = [f"{each},{language}" for each in orders]
    else:
        names = [order] if order in SHORT_YEAR_ORDERS else []
    for type_name in ("date", "timestamp") if names else ():
        formats = (find_written_format(type_name, name) for name in names)
        yield FormatGroup(_GUARD, tuple((each,) for each in formats if each))


def _build_format(
    type_name: str, order: str, names: MonthNames | None, language: str
) -> FieldFormat:
    """Build a format that reads the parts of a date by one pattern, and checks that it exists."""
    is_timestamp = type_name == "timestamp"
    clock = f"(?:{CLOCK.lower()})?" if is_timestamp else ""
    pattern = quote_literal(f"^{_build_pattern(order, names)}({clock})$")
    parts = [*get_day_order(order), "clock"]
    found = f"regexp_extract({_FOLDED}, {pattern}, {parts})"
    year, month, day, time = (f"struct_extract({found}, '{part}')" for part in [*"ymd", "clock"])
    century = f"CASE WHEN {year} < '{FIRST_SHORT_YEAR}' THEN '20' ELSE '19' END"
    if order in SHORT_YEAR_ORDERS:
        year = f"CASE length({year}) WHEN 2 THEN ({century}) || {year} ELSE {year} END"
    day_text = f"({year}) || '-' || ({_number_month(month, names)}) || '-' || lpad({day}, 2, '0')"
    exists = f"try_cast({day_text} AS DATE) IS NOT NULL"
    moment = f"try_strptime(replace({day_text} || {time}, 't', ' '), [{STRPTIME_FORMATS}])"
    return FieldFormat(
        field_type=field_types[type_name],
        format=f"{order},{language}" if language else order,
        inference_conditions=((exists,), (f"{time} <> ''",)) if is_timestamp else ((exists,),),
        condition=exists,
        json_expression=f"strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.000\"')"
        if is_timestamp
        else f"CAST(to_json(CAST({day_text} AS DATE)) AS VARCHAR)",
        title_code="format.short_years" if order in SHORT_YEAR_ORDERS else "format.month_names",
    )


def _number_month(month: str, names: MonthNames | None) -> str:
    """Write the number of a month, whose blanks and points do not matter, with two digits."""
    if names is None:
        return f"lpad({month}, 2, '0')"
    numbers = {name.replace(" ", ""): f"{number:02}" for name, number in names.months.items()}
    position = f"list_position({_build_list(numbers)}, translate({month}, {_IGNORED}, ''))"
    return f"list_extract({_build_list(numbers.values())}, {position})"


def _build_list(texts: Iterable[str]) -> str:
    return f"[{', '.join(str(quote_literal(text)) for text in texts)}]"


def _build_pattern(order: str, names: MonthNames | None) -> str:
    """Build the pattern of a folded date; the digits of two parts do not touch."""
    has_short_years = order in SHORT_YEAR_ORDERS
    parts = {
        "d": "(0?[1-9]|[12][0-9]|3[01])",
        "m": f"({_match_months(names)})",
        "y": "([0-9]{4}|[0-9]{2})" if has_short_years else "([0-9]{4})",
    }
    words = sorted(names.words, key=len, reverse=True) if names else []
    blank = f"[{_BLANKS}]*"
    between = "|".join([f"[{_SIGNS}]", *map(re.escape, words)]) if names else "[-/.]"
    beside = "|".join(map(re.escape, words))
    before = f"(?:(?:{beside}){blank})*" if words else ""
    after = f"(?:{blank}(?:{beside})\\.?)*\\.?" if words else ""
    ends_with_digit = any(name[-1].isdecimal() for name in names.months) if names else True
    pattern, day_order = before, get_day_order(order)
    for position, part in enumerate(day_order):
        if position:
            is_split = part == "m" and names is not None
            is_split |= day_order[position - 1] == "m" and not ends_with_digit
            pattern += f"(?:{between}){'*' if is_split else '+' if names else ''}"
        pattern += parts[part]
    return pattern + after


def _match_months(names: MonthNames | None) -> str:
    if names is None:
        return "0?[1-9]|1[0-2]"
    blank = f"[{_BLANKS}]*"
    return "|".join(
        blank.join(map(re.escape, name.split())) + r"\.?"
        for name in sorted(names.months, key=len, reverse=True)
    )


#: The names of the months; those of Vietnamese follow a word for month.
_NAMES: Mapping[str, str] = {
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "en": "january february march april may june july august september october november december",
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    ),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "pt-br": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
    ),
    "vi": "một hai ba tư năm sáu bảy tám chín mười mười_một mười_hai",
}
_VIETNAMESE_MONTH = "tháng"

#: Names and abbreviations that are neither those names nor their beginnings.
_OTHER_NAMES: Mapping[str, Mapping[str, int]] = {"ar": {"إبريل": 4}, "fr": {"jui": 6, "jul": 7}}

#: The words that stand beside the parts of a date, in ``12 de marzo de 2024`` and the like.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "en": ("st", "nd", "rd", "th"),
    "es": ("de",),
    "fr": ("er",),
    "pt-br": ("de",),
    "vi": ("ngày", "năm"),
}

#: The letters of a name that an abbreviation has at least.
_MIN_ABBREVIATION = 3


@dataclass(frozen=True, slots=True)
class MonthNames:
    """The names of a language in small letters, with the number of each month, and the words."""

    months: Mapping[str, int]
    words: tuple[str, ...]


def list_month_languages() -> dict[str, str]:
    """List the languages whose months have names here, by code, with their own names."""
    return {code: str(LANG_INFO[code]["name_local"]) for code in _NAMES}


@cache
def find_month_names(language: str) -> MonthNames | None:
    """Find the names of a language, given by Django's code (``fr``, ``pt-br``), if it has any."""
    if language not in _NAMES:
        return None
    months = dict(_OTHER_NAMES.get(language, {}))
    beginnings: dict[str, set[int]] = defaultdict(set)
    for month, listed in enumerate(_NAMES[language].split(), 1):
        name = unicodedata.normalize("NFC", listed.replace("_", " "))
        if language == "vi":
            for written in (name, f"{month}", f"{month:02}"):
                months[f"{_VIETNAMESE_MONTH} {written}"] = month
            continue
        months[name] = month
        for length in range(_MIN_ABBREVIATION, len(name)):
            beginnings[name[:length]].add(month)
    clear = {name: min(found) for name, found in beginnings.items() if len(found) == 1}
    return MonthNames(clear | months, _WORDS.get(language, ()))
