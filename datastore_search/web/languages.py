"""The portal's languages; a text in another one than the page says so by ``lang`` and ``dir``."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, get_language_bidi, get_language_info, to_language

#: A portal with more languages hardly has texts in all of them: pages then link only to the
#: languages that this app is translated into.
MAX_LISTED_LANGUAGES = 20


def choose_language_codes(present: str) -> list[str]:
    """Choose the languages of the portal that pages link to, in its order."""
    codes = [code for code, _name in settings.LANGUAGES]
    if len(codes) <= MAX_LISTED_LANGUAGES:
        return codes
    return [code for code in codes if code in {present, *_list_own_languages()}]


@cache
def _list_own_languages() -> frozenset[str]:
    folders = (Path(__file__).parent.parent / "locale").iterdir()
    return frozenset({"en", *(to_language(folder.name) for folder in folders)})


def find_direction(language: str) -> str:
    """Find the direction of a language; empty for one of the portal that Django does not know."""
    try:
        return "rtl" if get_language_info(language)["bidi"] else "ltr"
    except KeyError:
        return ""


def get_own_name(language: str) -> str:
    try:
        return str(get_language_info(language)["name_local"])
    except KeyError:  # one that Django does not know
        return str(dict(settings.LANGUAGES).get(language, language))


def write_attributes(language: str, *, has_direction: bool = True) -> SafeString:
    """Write ``lang`` of another language than the page's, and ``dir`` if wanted and another."""
    page = get_language() or ""  # perhaps a variant of the language
    if not language or language == page or page.startswith(f"{language}-"):
        return SafeString("")
    around = "rtl" if get_language_bidi() else "ltr"
    return _write_attributes(language, around if has_direction else "")


@lru_cache(1_000)
def _write_attributes(language: str, around: str) -> SafeString:
    direction = find_direction(language) if around else ""
    written = format_html(' dir="{}"', direction) if direction not in {"", around} else ""
    return format_html(' lang="{}"{}', language, written)
