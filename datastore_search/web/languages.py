"""
The language of a request, which is that of its path in any spelling, and the portal's languages.

A text in another language than the page says so by ``lang`` and ``dir``.
"""

from __future__ import annotations

import locale
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import (
    get_language,
    get_language_info,
    get_supported_language_variant,
    to_language,
)
from django.utils.translation.trans_real import get_languages

#: A language with up to three subtags; longer names are not languages, and are not cached.
TAG: Final = re.compile(r"/([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3})(?:/.*)?", re.DOTALL)

#: A portal that enables more languages has hardly texts in all: those of this app are listed.
MAX_LISTED_LANGUAGES = 20


#: Languages whose attributes are kept.
_MAX_KEPT_ATTRIBUTES = 1_000


def find_path_language(path: str) -> str | None:
    """Find the language at the start of a path, in Django's spelling."""
    match = TAG.fullmatch(path)
    return find_language(match[1], tuple(get_languages())) if match else None


@lru_cache(maxsize=1000)
def find_language(tag: str, codes: tuple[str, ...]) -> str | None:
    """
    Find the enabled language of a locale's name, in Django's spelling; None if there is none.

    ``en_GB`` is ``en-gb``; ``ko_KR``, a language with one of its territories, is ``ko``; ``en_XX``
    is None.
    """
    plain = tag.replace("_", "-").lower()
    by_lower = {code.lower(): code for code in codes}
    if plain in by_lower:
        return by_lower[plain]
    language, *_, territory = plain.split("-") if "-" in plain else (plain, "")
    if f"{language}_{territory}" not in locale.locale_alias:
        return None
    try:
        variant = get_supported_language_variant(plain)
    except LookupError:
        return None
    # Django maps pt-pt to pt-br; its own names, such as zh-cn, it maps correctly.
    return variant if plain.startswith(variant) or plain in LANG_INFO else None


def choose_language_codes(present: str) -> list[str]:
    """Choose the languages of the portal that pages link to, in its order."""
    codes = [code for code, _name in settings.LANGUAGES]
    if len(codes) <= MAX_LISTED_LANGUAGES:
        return codes
    return [code for code in codes if code in {present, *_list_own_languages()}]


@cache
def _list_own_languages() -> frozenset[str]:
    """List the languages in which this app has texts."""
    folders = (Path(__file__).parent.parent / "locale").iterdir()
    return frozenset({"en", *(to_language(folder.name) for folder in folders)})


def is_foreign(language: str) -> bool:
    """Return whether a language is another than the page's, which may be a variant of it."""
    if not language:
        return False
    page = get_language() or ""
    return language != page and not page.startswith(f"{language}-")


def find_direction(language: str) -> str:
    """Find the direction of a language; empty for one of the portal that Django does not know."""
    try:
        return "rtl" if get_language_info(language)["bidi"] else "ltr"
    except KeyError:
        return ""


def write_attributes(language: str) -> SafeString:
    """Write ``lang`` and ``dir``; nothing in the page's language, or an unknown one."""
    return _write_attributes(language) if is_foreign(language) else SafeString("")


@lru_cache(_MAX_KEPT_ATTRIBUTES)
def _write_attributes(language: str) -> SafeString:
    direction = find_direction(language)
    written = format_html(' dir="{}"', direction) if direction else ""
    return format_html(' lang="{}"{}', language, written)
