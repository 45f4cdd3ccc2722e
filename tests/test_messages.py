"""The catalogues: nothing missing, nothing stale, nothing broken."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import polib
import pytest
from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

import datastore_search

PACKAGE = Path(datastore_search.__file__).parent
LOCALES = ("ar", "de", "es", "fr", "pt_BR", "vi")
KEYWORDS = dict.fromkeys(
    ("_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy")
)
#: Functions whose first argument is the context of a message.
_WITH_CONTEXT = {"pgettext", "pgettext_lazy"}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}")


def read_catalogue(locale: str) -> polib.POFile:
    return polib.pofile(str(PACKAGE / "locale" / locale / "LC_MESSAGES" / "django.po"))


def read_compiled(locale: str) -> polib.MOFile:
    return polib.mofile(str(PACKAGE / "locale" / locale / "LC_MESSAGES" / "django.mo"))


@pytest.fixture(scope="session")
def messages() -> set[str]:
    """Every message of the source, as gettext would collect them."""
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    texts += [templatize(path.read_text()) for path in PACKAGE.rglob("*.html")]
    texts_found = set()
    for text in texts:
        for _, function, message, _ in extract_python(BytesIO(text.encode()), KEYWORDS, [], {}):
            parts = list(message) if isinstance(message, tuple) else [message]
            found = parts[1] if function in _WITH_CONTEXT else parts[0]
            if found is not None:  # else a variable, of Django's own messages
                texts_found.add(str(found))
    return texts_found


def test_the_source_has_messages(messages: set[str]) -> None:
    assert "Missing value" in messages
    assert len(messages) > 100


@pytest.mark.parametrize("locale", LOCALES)
def test_no_message_is_missing_from_a_catalogue(locale: str, messages: set[str]) -> None:
    translated = {entry.msgid for entry in read_catalogue(locale) if entry.translated()}

    assert messages - translated == set()


@pytest.mark.parametrize("locale", LOCALES)
def test_no_message_of_a_catalogue_is_stale_or_doubtful(locale: str, messages: set[str]) -> None:
    entries = read_catalogue(locale)

    assert {entry.msgid for entry in entries} - messages == set()
    assert [entry.msgid for entry in entries if entry.fuzzy or entry.obsolete] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_the_compiled_catalogue_is_fresh(locale: str) -> None:
    def texts(entries: polib.POFile | polib.MOFile) -> dict[str, object]:
        return {e.msgid: e.msgstr_plural or e.msgstr for e in entries if e.msgid}

    assert texts(read_compiled(locale)) == texts(read_catalogue(locale))


@pytest.mark.parametrize("locale", LOCALES)
def test_placeholders_are_those_of_the_message(locale: str) -> None:
    for entry in read_catalogue(locale):
        wanted = set(PLACEHOLDER.findall(entry.msgid))
        for text in entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]:
            assert set(PLACEHOLDER.findall(text)) <= wanted, entry.msgid
        if not entry.msgid_plural:
            assert set(PLACEHOLDER.findall(entry.msgstr)) == wanted, entry.msgid
