"""
Values as people type and read them, in the page's language (``31/12/2020``), or in ISO's way.

Of texts, every one whose language is not the page's has ``lang``, on its own element or on one
around it.  A text of the portal is in the language of its resource, of a translation, or in an
unknown one, which is empty.  In a sentence of the page only the text is marked: the sentence is a
``Phrase``.  An attribute and the title of a drawing cannot mark a part: they have the language of
the first text in them, and are in the page's if words of the page are around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from functools import lru_cache, partial
from typing import NamedTuple
from unicodedata import bidirectional

import babel.dates
import babel.numbers
from django.utils.formats import get_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import (
    get_language,
    get_language_bidi,
    gettext as _,
    gettext_lazy,
    pgettext,
    to_locale,
)

from ...field_types import FieldType, dump_json, field_types
from ...filters import MAX_SHOWN_LENGTH
from ...messages import render_message
from ...messages.texts import format_count, shorten
from ...web.languages import write_attributes

#: Spaces within numbers, and marks of the direction within dates, as Django's formats have them.
_SPACES = " \u00a0\u202f"
_DIRECTION_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u061c"))

_DAY_OR_YEAR = "([0-9]{1,2}|[0-9]{4})"
_DATE = re.compile(rf"{_DAY_OR_YEAR}[./ -]([0-9]{{1,2}})[./ -]{_DAY_OR_YEAR}(?:[T ]+(.+))?")
_SPELLED_DATE = re.compile(r"(.*?)(?:[T ,]+([0-9]{1,2}:[0-9]{2}.*))?", re.DOTALL)
_YEAR_DIGITS = 4
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLOCK = re.compile(r"([0-9]{1,2})(:[0-9]{2}.*)")
_ZONE = re.compile(r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)$", re.IGNORECASE)


def parse_typed_value(kind: FieldType, text: str) -> str:
    """
    Write a value in ISO's notation, if the page's language can read it as the type.

    Other texts are returned unchanged: they may be of the type in another notation.
    """
    if not kind.has_range or not text:
        return text
    plain = _use_ascii_digits(text)
    if not kind.is_number:
        return _parse_date(kind, plain) if kind.has_day else plain.strip()
    separators = re.escape(get_format("THOUSAND_SEPARATOR") + _SPACES)
    decimal = re.escape(get_format("DECIMAL_SEPARATOR"))
    grouped = rf"[0-9]{{1,3}}(?:[{separators}][0-9]{{2,3}})*[{separators}][0-9]{{3}}"
    pattern = rf"([+−-]?)({grouped}|[0-9]+)(?:{decimal}([0-9]+))?"
    found = re.fullmatch(pattern, plain.strip())
    if not found:
        return plain
    sign, whole, fraction = found.groups()
    digits = "".join(filter(str.isdecimal, whole))
    return sign.replace("−", "-") + digits + (f".{fraction}" if fraction else "")


def write_value(value: object) -> str:
    """Write a value as a parameter has it, the same in every language."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def has_variants(values: Collection[object]) -> bool:
    """Return whether some texts, each of which is listed once, differ only in their case."""
    return len({str(value).casefold() for value in values}) < len(values)


def _use_ascii_digits(text: str) -> str:
    """Replace the digits of other scripts, such as ``٣``."""
    if text.isascii():
        return text
    digits = (str(unicodedata.decimal(letter, letter)) for letter in text)
    return "".join(digits).translate(_DIRECTION_MARKS)


def _parse_date(kind: FieldType, text: str) -> str:
    found = _DATE.fullmatch(text.strip()) or _DATE.fullmatch(_number_months(text.strip()))
    if not found:
        return text
    *parts, clock = found.groups()
    order = "Ymd"
    if len(parts[0]) != _YEAR_DIGITS:  # as in the page's language
        letters = get_format("SHORT_DATE_FORMAT").replace("j", "d").replace("n", "m")
        order = "".join(letter for letter in letters if letter in "dmY")
        order = order if sorted(order) == sorted("dmY") else "dmY"
    numbers = dict(zip(order, parts, strict=True))
    if len(numbers["Y"]) != _YEAR_DIGITS:  # one of two digits may be of any century
        return text
    day = f"{numbers['Y']}-{numbers['m']:0>2}-{numbers['d']:0>2}"
    if not kind.is_timestamp:
        return text if clock else day
    if clock:
        clock = _CLOCK.sub(lambda match: f"{match[1]:0>2}{match[2]}", clock)
    if kind.has_zone and not (clock and _ZONE.search(clock)):
        clock = f"{clock or '00:00'}+00:00"
    return f"{day} {clock}" if clock else day


def _number_months(text: str) -> str:
    """Write a date with a word in digits, as the page writes it: ``Jan 8, 1990``."""
    found_date = _SPELLED_DATE.fullmatch(text)
    day, clock = found_date.groups() if found_date else (text, None)
    months = find_locale().months
    names = {
        name.casefold().strip("."): f"{number}"
        for use in ("format", "stand-alone")
        for form in ("wide", "abbreviated")
        for number, name in months[use][form].items()
    }
    numbers, words = re.findall("[0-9]+", day), re.findall(r"[^\W\d_]+", day.casefold())
    found = [names[word] for word in words if word in names]
    if found and sorted(map(len, numbers))[-1:] == [_YEAR_DIGITS] and not numbers[2:]:
        numbers = [max(numbers, key=len), found[0], min(numbers, key=len)]
    elif not words or len(numbers) != len("dmY"):
        return text
    return f"{'-'.join(numbers)} {clock or ''}".strip()


def parse_end_of_day(kind: FieldType, text: str) -> str | None:
    """Return the day after a timestamp's day that is typed without a time; otherwise None."""
    if not kind.is_timestamp:
        return None
    day = _parse_date(field_types["date"], _use_ascii_digits(text))
    if not _ISO_DATE.fullmatch(day):
        return None
    try:
        following = date.fromisoformat(day) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return f"{following} 00:00+00:00" if kind.has_zone else f"{following}"


def describe_type_error(kind: FieldType, value: str) -> str:
    """Describe in plain words that a value is not of a type, and what one looks like."""
    example = _format_day("2026-12-31", get_language())
    values = {"value": shorten(value, MAX_SHOWN_LENGTH), "example": example}
    return render_message(_TYPE_ERRORS.get(kind.table_schema_type, _OTHER), values)


_OTHER = gettext_lazy("“%(value)s” is not a valid value for this field.")
#: By the type in a Table Schema.
_TYPE_ERRORS = {
    "number": gettext_lazy("“%(value)s” is not a number."),
    "integer": gettext_lazy("“%(value)s” is not a whole number, or is too large."),
    "datetime": gettext_lazy(
        "“%(value)s” is not a date and time. Write it like %(example)s 23:59."
    ),
    "date": gettext_lazy("“%(value)s” is not a date. Write it like %(example)s."),
    "time": gettext_lazy("“%(value)s” is not a time of day. Write it like 23:59."),
    "boolean": gettext_lazy("“%(value)s” is neither yes nor no."),
}


# As people read them ------------------------------------------------------------------------------

#: Whole numbers of fewer digits are not grouped by themselves: most of four digits are years.
_MIN_GROUPED_DIGITS = 5

#: Decimals up to which all numbers of a column have as many as one of them.
_MAX_PADDED_DECIMALS = 6

#: Digits of a number in a figure, as at the end of a range; the table shows all.
_MAX_DIGITS = 25

#: Numbers of an axis that are written in a short form.
_COMPACT = range(10**6, 10**15)

_PLAIN_NUMBER = re.compile(r"(-?)([0-9]{1,300})(?:\.([0-9]+))?")


class Digits(str):
    __slots__ = ()


class NumberStyle(NamedTuple):
    """How numbers are written: with so many decimals at least, and in groups; keys are bare."""

    decimals: int = 0
    is_grouped: bool = False
    is_bare: bool = False


PLAIN, BARE = NumberStyle(), NumberStyle(is_bare=True)


def choose_number_style(kind: FieldType, values: Iterable[object]) -> NumberStyle:
    """Choose one style for numbers that stand below each other, by the longest of them."""
    written = (
        repr(float(str(value))).removesuffix(".0") if kind.is_double else str(value)
        for value in values
        if value is not None
    )
    found = [each for each in map(_PLAIN_NUMBER.fullmatch, written) if each]
    decimals = max((len(each[3] or "") for each in found), default=0)
    is_grouped = any(each[3] or len(each[2]) >= _MIN_GROUPED_DIGITS for each in found)
    return NumberStyle(decimals if decimals <= _MAX_PADDED_DECIMALS else 0, is_grouped)


def format_value(kind: FieldType, value: object, style: NumberStyle = PLAIN) -> str:
    if kind.has_day:
        # The time after a blank, not ``T``; a filter takes it in this form.
        day, _separator, clock = str(value).partition("T")
        clock = clock.removesuffix("+00:00").removesuffix(".000")
        day = _format_day(day, get_language()) if _ISO_DATE.fullmatch(day) else day
        return f"{day} {clock}" if clock else day
    if kind.is_nested and not kind.is_list:
        return _format_json(value)
    if isinstance(value, Digits):
        # A double in its shortest form; JSONB writes up to 300 zeros.
        digits = repr(float(value)).removesuffix(".0") if kind.is_double else value
        return format_number(digits, style)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value) if isinstance(value, str) else _format_json(value)


def format_number(digits: str, style: NumberStyle = PLAIN) -> str:
    """
    Write a number with the separators of the page's language, and all its digits.

    A whole number of four digits, which may be a year, is grouped only where its column is.
    """
    found = _PLAIN_NUMBER.fullmatch(digits)
    if not found:
        return digits
    sign, whole, fraction = found.groups("")
    if style.is_bare:
        fraction = fraction if fraction.strip("0") else ""
    elif style.is_grouped or fraction or len(whole) >= _MIN_GROUPED_DIGITS:
        whole = format_count(whole)
    fraction = fraction.ljust(style.decimals, "0")
    return f"{sign}{whole}{get_format('DECIMAL_SEPARATOR')}{fraction}" if fraction else sign + whole


def format_percent(share: Decimal) -> str:
    """Write a share of 100 with one decimal, as the page's language does."""
    sign = babel.numbers.format_percent(0, locale=find_locale())
    return sign.replace("0", format_number(f"{round(share, 1).normalize():f}"))


def format_compact(digits: str, style: NumberStyle = PLAIN) -> str:
    """Write a number of an axis: one of many digits in the language's short form, ``5 bn``."""
    number = Decimal(digits)
    if style.is_bare or not _COMPACT.start <= abs(number) < _COMPACT.stop:
        return format_number(digits, style)
    text = babel.numbers.format_compact_decimal(number, fraction_digits=2, locale=find_locale())
    # Babel's decimal separator is not Django's in Arabic.
    return re.sub(r"(?<=[0-9])[.,](?=[0-9])", get_format("DECIMAL_SEPARATOR"), text)


def find_locale() -> babel.Locale:
    """Find Babel's locale of the page's language; English for a language that it lacks."""
    return _find_locale(get_language() or "en")


@lru_cache
def _find_locale(language: str) -> babel.Locale:
    for name in (to_locale(language), language.partition("-")[0], "en"):
        with suppress(babel.UnknownLocaleError, ValueError):
            return babel.Locale.parse(name)
    raise babel.UnknownLocaleError(language)


def shorten_number(digits: str) -> str:
    """Write a number of many digits with six figures and an exponent."""
    if len(digits) <= _MAX_DIGITS:
        return digits
    try:
        return str(Context(prec=6).create_decimal(digits).normalize()).lower()
    except ArithmeticError:
        return digits


@lru_cache(maxsize=4096)
def _format_day(text: str, _language: str | None, form: str = "medium") -> str:
    """Write an ISO day in a form of a language, which must be the active one."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return str(babel.dates.format_date(day, form, find_locale()))


def format_day(day: date, form: str = "long") -> str:
    """Write a day with its month in words, or in the ``medium`` form where room is short."""
    return _format_day(day.isoformat()[:10], get_language(), form)


#: How Babel writes periods that are longer than a week.
_PERIODS = {"year": "y", "quarter": "yQQQ", "month": "yMMM"}


@lru_cache(maxsize=4096)
def _format_skeleton(skeleton: str, begin: datetime, _language: str | None) -> str:
    """Write a period in the active language; a chart writes each several times."""
    return str(babel.dates.format_skeleton(skeleton, begin, locale=find_locale()))


def format_period(begin: datetime, step: str) -> str:
    if step == "decade":
        last = begin.replace(year=begin.year // 10 * 10 + 9)
        return "–".join(format_period(each, "year") for each in (begin, last))
    if step in _PERIODS:
        return _format_skeleton(_PERIODS[step], begin, get_language())
    return format_day(begin, "medium") + (f" {begin:%H:%M}" if step == "hour" else "")


def _format_json(value: object) -> str:
    """Write JSON with the digits of its numbers unchanged."""
    if isinstance(value, Digits):
        return str(value)
    if isinstance(value, Mapping):
        members = ", ".join(f"{dump_json(key)}: {_format_json(value[key])}" for key in value)
        return f"{{{members}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_json, value))}]"
    return dump_json(value)  # type: ignore[arg-type] # it was parsed from JSON


# Texts in other languages -------------------------------------------------------------------------

#: The classes of letters that run from the right to the left.
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text as a whole, and as HTML whose parts in other languages say so."""

    text: str
    html: SafeString

    def __str__(self) -> str:
        return self.text


def mark_text(text: str, language: str = "") -> Phrase:
    """
    Mark a text that is in another language than the page.

    A text that may run in another direction than the page is isolated from what is beside it.
    """
    attributes = write_attributes(language)
    if attributes or get_language_bidi() or not _RIGHT_TO_LEFT.isdisjoint(map(bidirectional, text)):
        return Phrase(text, format_html("<bdi{}>{}</bdi>", attributes, text))
    return Phrase(text, conditional_escape(text))


def compose_phrase(template: str, **parts: Phrase | str) -> Phrase:
    """Put parts into a translated text with placeholders (``%(name)s``)."""
    texts = {name: str(part) for name, part in parts.items()}
    html = {
        name: part.html if isinstance(part, Phrase) else conditional_escape(part)
        for name, part in parts.items()
    }
    return Phrase(template % texts, SafeString(conditional_escape(template) % html))


def join_list(phrases: Sequence[Phrase]) -> Phrase:
    """Join phrases by the comma of the page's language."""
    return join_phrases(pgettext("list", ", "), phrases)


def join_phrases(separator: str, phrases: Sequence[Phrase]) -> Phrase:
    html = format_html_join(separator, "{}", ((each.html,) for each in phrases))
    return Phrase(separator.join(each.text for each in phrases), html)


def capitalize_phrase(phrase: Phrase) -> Phrase:
    """Begin a phrase with a capital letter, unless it begins with a marked text."""
    if phrase.html.startswith("<"):
        return phrase
    return Phrase(capfirst(phrase.text), SafeString(capfirst(phrase.html)))


#: Writes ``lang`` alone, for the elements of tables and drawings, which have a direction.
write_language = partial(write_attributes, has_direction=False)
