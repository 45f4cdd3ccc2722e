"""
Texts in several languages: the translations of plain texts, and which text a reader gets.

A resource has the texts title and description, a field has label and notes.
Each has a plain text, and translations by the codes of ``LANGUAGES``.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, gettext_lazy as _
from django.utils.translation.trans_real import get_languages

#: The lengths of the texts that have a limit, plain or translated.
MAX_TITLE_LENGTH = 300
MAX_LABEL_LENGTH = 500

MAX_LENGTHS = {"title": MAX_TITLE_LENGTH, "label": MAX_LABEL_LENGTH}

#: A language → the name of a text → the text.
Translations = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class LocalText:
    """A text and its language, which is empty where it is unknown."""

    text: str
    language: str = ""


def validate_content_language(language: str) -> None:
    if language not in LANG_INFO and language not in get_languages():
        raise ValidationError(_("This is not a language code, such as “vi” or “pt-br”."))


def validate_translations(translations: object, names: Container[str]) -> None:
    """Refuse all but short texts with these ``names``, by language, whether enabled or not."""
    if not isinstance(translations, dict):
        raise ValidationError(_("Translations are texts by language."))
    for language, texts in translations.items():
        validate_content_language(language)
        members = texts.items() if isinstance(texts, dict) else [("", texts)]
        if not all(
            name in names and isinstance(text, str) and text and "\0" not in text
            for name, text in members
        ):
            raise ValidationError(
                _("The translations in “%(language)s” are not texts by name."),
                params={"language": language},
            )
        for name, text in texts.items():
            if name in MAX_LENGTHS and len(text) > MAX_LENGTHS[name]:
                raise ValidationError(
                    _("“%(name)s” in “%(language)s” has more than %(most)s letters."),
                    params={"name": name, "language": language, "most": MAX_LENGTHS[name]},
                )


def choose_language(available: Container[str], plain_language: str) -> str:
    """
    Choose the language of a translation for the active language; empty is the plain text.

    A language that is a variant (``pt-br``) falls back to the one that it varies (``pt``).  The
    plain text wins over a translation that is further away.
    """
    fallbacks = iterate_fallbacks(get_language(), plain_language)
    return next((language for language in fallbacks if language in available), "")


def choose_text(
    name: str, plain: str, translations: Translations, plain_language: str
) -> LocalText:
    """Choose the text for the active language: a translation, or the plain text."""
    available = {language for language, texts in translations.items() if texts.get(name)}
    if available and (language := choose_language(available, plain_language)):
        return LocalText(translations[language][name], language)
    return LocalText(plain, plain_language if plain else "")


def iterate_fallbacks(language: str | None, plain_language: str = "") -> Iterator[str]:
    """Iterate over a language and those that it varies, up to the plain text's."""
    while language and language != plain_language:
        yield language
        language = language.rpartition("-")[0]


def split_translations(
    members: Mapping[str, Any], names: Mapping[str, str], separator: str
) -> tuple[dict[str, dict[str, str]], dict[str, Any]]:
    """
    Split members of an object into the translations and the others.

    ``names`` maps the members of the plain texts to the names of the texts.  A translation is the
    member, the separator and the code of an enabled language: ``label_fr``, ``title@pt-BR``.  A
    value that is not a text, is empty or is too long is not a translation.
    """
    codes = {code.lower(): code for code in get_languages()}
    translations: dict[str, dict[str, str]] = {}
    others: dict[str, Any] = {}
    for member, value in members.items():
        plain, _separator, tag = member.partition(separator)
        code, name = codes.get(tag.replace("_", "-").lower()), names.get(plain)
        is_text = isinstance(value, str) and value != ""
        if code and name and is_text and len(value) <= MAX_LENGTHS.get(name, len(value)):
            translations.setdefault(code, {})[name] = value
        else:
            others[member] = value
    return translations, others


def write_translations(
    translations: Translations, names: Mapping[str, str], separator: str
) -> dict[str, str]:
    """Write translations as members of an object, as ``split_translations`` reads them."""
    return {
        f"{member}{separator}{language}": texts[name]
        for member, name in names.items()
        for language, texts in sorted(translations.items())
        if texts.get(name)
    }
