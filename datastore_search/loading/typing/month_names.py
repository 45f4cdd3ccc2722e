"""Names of months, and words between the parts of a date, from Django's own translations."""

from __future__ import annotations

import gettext
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import django.conf
from django.conf.locale import LANG_INFO
from django.utils.translation import to_locale

_CATALOGUES = Path(django.conf.__file__).parent / "locale"

#: Django's messages of the months: the names and, with a context, the usual abbreviations.
_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ABBREVIATIONS = (
    *("Jan.", "Feb.", "March", "April", "May", "June"),
    *("July", "Aug.", "Sept.", "Oct.", "Nov.", "Dec."),
)

#: In Thai files these names stand in years of the Buddhist calendar, which are 543 more.
_WITH_OTHER_YEARS = frozenset({"th"})

#: The letters of a name that an abbreviation has at least.
_MIN_ABBREVIATION = 3

#: What follows the number of a day, beside the words of Django's formats.
_ORDINALS: Mapping[str, tuple[str, ...]] = {"en": ("st", "nd", "rd", "th"), "fr": ("er",)}


@dataclass(frozen=True, slots=True)
class MonthNames:
    """
    The names of a language, folded by ``fold``.

    ``months`` maps names to the number of the month; ``words`` stand beside the parts of a date,
    as ``de`` and ``năm``.
    """

    months: Mapping[str, int]
    words: tuple[str, ...]


def fold(text: str) -> str:
    """Fold case as ``written_dates`` does in SQL; the Turkish i and the final sigma too."""
    return (
        unicodedata.normalize("NFC", text)
        .replace("İ", "i")
        .lower()
        .replace("ς", "σ")
        .replace("ı", "i")
    )


@cache
def list_month_languages() -> Mapping[str, str]:
    """List the languages whose months have names here, by code, with their own names."""
    return {
        code: str(info["name_local"])
        for code, info in sorted(LANG_INFO.items())
        if "name_local" in info and find_month_names(code)
    }


@cache
def find_month_names(language: str) -> MonthNames | None:
    """Find the names of a language, given by Django's code (``fr``, ``pt-br``), if it has any."""
    locale = to_locale(language)
    base = locale.partition("_")[0]
    if language not in LANG_INFO or base in _WITH_OTHER_YEARS:
        return None
    try:
        # Django's own translations would fall back to the language of the portal.
        catalogue = gettext.translation("django", _CATALOGUES, [locale, base])
    except FileNotFoundError:
        return None
    if base != "en" and all(catalogue.gettext(name) == name for name in _NAMES):
        return None
    words, numbered = _read_date_format(locale, base)
    months: dict[str, set[int]] = defaultdict(set)
    for month, name in _list_names(catalogue):
        months[fold(name)].add(month)
    for month in range(1, 13) if numbered else ():
        months[fold(numbered.format(month))].add(month)
    for name in [name for name in months if re.search(r"(?<!\d)\d(?!\d)", name)]:
        months[re.sub(r"(\d)", r"0\1", name)] |= months[name]
    known = _list_beginnings(months) | months
    return MonthNames(
        {name: min(found) for name, found in known.items() if len(found) == 1},
        (*words, *_ORDINALS.get(base, ())),
    )


def _list_beginnings(months: Mapping[str, set[int]]) -> dict[str, set[int]]:
    """List the months of each beginning of a name: ``févr`` abbreviates ``février`` as ``fév``."""
    beginnings: dict[str, set[int]] = defaultdict(set)
    for name, found in months.items():
        if name.isalpha():
            for length in range(_MIN_ABBREVIATION, len(name)):
                beginnings[name[:length]] |= found
    return beginnings


def _list_names(catalogue: gettext.NullTranslations) -> Iterator[tuple[int, str]]:
    for month, (name, abbreviation) in enumerate(zip(_NAMES, _ABBREVIATIONS, strict=True), 1):
        yield month, catalogue.gettext(name)
        yield month, catalogue.pgettext("alt. month", name)
        yield month, catalogue.gettext(name[:3].lower())
        yield month, catalogue.pgettext("abbrev. month", abbreviation)


def _read_date_format(*locales: str) -> tuple[tuple[str, ...], str]:
    r"""
    Read the words of Django's format of dates, and how it names a month by its number.

    ``\N\gà\y d \t\há\n\g n \nă\m Y`` has ``ngày`` and ``năm``, and ``tháng {}`` for a month.
    """
    for locale in locales:
        try:
            pattern = str(import_module(f"django.conf.locale.{locale}.formats").DATE_FORMAT)
        except (ModuleNotFoundError, AttributeError):
            continue
        # An escaped or foreign letter stands for itself; a plain one is a part of the date.
        literal = re.sub(r"\\(.)|([a-zA-Z])", lambda found: found[1] or f"\0{found[2]}\0", pattern)
        numbered = re.search(r"(\w+ )?\0[nm]\0(\w*)", literal)
        words = set(re.findall(r"\w+", re.sub(r"\0.\0", " ", literal)))
        if numbered is None or not any(numbered.groups()):
            return tuple(sorted(map(fold, words))), ""
        before, after = "" if numbered[2] else numbered[1], numbered[2]
        words -= {before.strip(), after}
        return tuple(sorted(map(fold, words))), f"{before}{{}}{after}"
    return (), ""
