"""Names of months, and words between the parts of a date, in the languages of this app."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from django.conf.locale import LANG_INFO

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
