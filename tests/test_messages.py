"""The catalogues, one for each app: nothing missing, nothing stale, nothing broken."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import product
from pathlib import Path

import polib
import pytest
from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

import datastore_search

PACKAGE = Path(datastore_search.__file__).parent
CONTRIB = PACKAGE / "contrib"
#: The folders of the apps by name.
ALL_APPS = {
    "core": PACKAGE,
    **{path.parent.name: path.parent for path in sorted(CONTRIB.glob("*/__init__.py"))},
}
#: Those that have messages.
APPS = {name: folder for name, folder in ALL_APPS.items() if (folder / "locale").exists()}
LOCALES = ("ar", "de", "es", "fr", "pt_BR", "vi")
CATALOGUES = list(product(APPS, LOCALES))
KEYWORDS = dict.fromkeys(
    (
        *("_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"),
        *("pgettext", "pgettext_lazy"),
    )
)
#: Functions whose first argument is the context of a message.
_WITH_CONTEXT = {"pgettext", "pgettext_lazy"}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}")


def read_catalogue(app: str, locale: str) -> polib.POFile:
    return polib.pofile(str(APPS[app] / "locale" / locale / "LC_MESSAGES" / "django.po"))


def read_compiled(app: str, locale: str) -> polib.MOFile:
    return polib.mofile(str(APPS[app] / "locale" / locale / "LC_MESSAGES" / "django.mo"))


def list_files(app: str, pattern: str) -> list[Path]:
    """List the files of an app; the core has none of the contrib apps."""
    files = ALL_APPS[app].rglob(pattern)
    return [path for path in files if app != "core" or CONTRIB not in path.parents]


def collect_messages(app: str) -> set[str]:
    texts = [path.read_text() for path in list_files(app, "*.py")]
    texts += [templatize(path.read_text()) for path in list_files(app, "*.html")]
    texts_found = set()
    for text in texts:
        for _, function, message, _ in extract_python(BytesIO(text.encode()), KEYWORDS, [], {}):
            parts = list(message) if isinstance(message, tuple) else [message]
            found = parts[1] if function in _WITH_CONTEXT else parts[0]
            if found is not None:  # else a variable, of Django's own messages
                texts_found.add(str(found))
    return texts_found


@pytest.fixture(scope="session")
def messages() -> dict[str, set[str]]:
    return {app: collect_messages(app) for app in APPS}


def test_the_source_has_messages(messages: dict[str, set[str]]) -> None:
    assert "Missing value" in messages["core"]
    assert len(messages["core"]) > 100
    assert all(messages.values())
    assert [name for name in ALL_APPS.keys() - APPS.keys() if collect_messages(name)] == []


def test_every_app_has_the_same_languages() -> None:
    assert len(APPS) == 9
    for folder in APPS.values():
        assert sorted(path.name for path in (folder / "locale").iterdir()) == list(LOCALES)
    assert len(list(PACKAGE.rglob("*.po"))) == len(CATALOGUES)


@pytest.mark.parametrize(("app", "locale"), CATALOGUES)
def test_no_message_of_a_catalogue_is_missing_stale_or_doubtful(
    app: str, locale: str, messages: dict[str, set[str]]
) -> None:
    entries = read_catalogue(app, locale)

    assert messages[app] - {entry.msgid for entry in entries if entry.translated()} == set()
    assert {entry.msgid for entry in entries} - messages[app] == set()
    assert [entry.msgid for entry in entries if entry.fuzzy or entry.obsolete] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_no_message_has_two_translations(locale: str) -> None:
    """Django merges the catalogues, so the translation of the app that comes first is shown."""
    found: dict[tuple[str | None, str], set[str]] = {}
    for app in APPS:
        for entry in read_catalogue(app, locale):
            text = repr((entry.msgid_plural, entry.msgstr, sorted(entry.msgstr_plural.items())))
            found.setdefault((entry.msgctxt, entry.msgid), set()).add(text)

    assert [key for key, texts in found.items() if len(texts) > 1] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_every_catalogue_of_a_language_has_the_same_plural_forms(locale: str) -> None:
    forms = {read_catalogue(app, locale).metadata["Plural-Forms"] for app in APPS}

    assert len(forms) == 1


@pytest.mark.parametrize(("app", "locale"), CATALOGUES)
def test_the_compiled_catalogue_is_fresh(app: str, locale: str) -> None:
    def texts(entries: polib.POFile | polib.MOFile) -> dict[object, object]:
        return {(e.msgctxt, e.msgid): e.msgstr_plural or e.msgstr for e in entries if e.msgid}

    assert texts(read_compiled(app, locale)) == texts(read_catalogue(app, locale))


@pytest.mark.parametrize(("app", "locale"), CATALOGUES)
def test_placeholders_are_those_of_the_message(app: str, locale: str) -> None:
    for entry in read_catalogue(app, locale):
        wanted = set(PLACEHOLDER.findall(entry.msgid))
        for text in entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]:
            assert set(PLACEHOLDER.findall(text)) <= wanted, entry.msgid
        if not entry.msgid_plural:
            assert set(PLACEHOLDER.findall(entry.msgstr)) == wanted, entry.msgid
