"""Titles, descriptions, labels and notes in several languages."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import translation

from datastore_search.models import LocalText, Resource

from .builders import make_resource, make_writer_token
from .core.writing.tables import Table
from .shared import ModuleTransaction

STATIONS = "station,level\nOld bridge,1.5\n"


@pytest.fixture(scope="module")
def _translated(module_transaction: ModuleTransaction) -> Resource:
    resource = make_resource(
        STATIONS,
        title="Rivers",
        description="Their levels",
        content_language="en",
        translations={
            "fr": {"title": "Rivières", "description": "Leurs niveaux"},
            "pt": {"title": "Rios"},
        },
    )
    resource.fields.filter(name="station").update(
        label="Station",
        notes="Where",
        translations={"fr": {"label": "Gare"}, "ar": {"label": "محطة", "notes": "أين"}},
    )
    return resource


@pytest.fixture
def translated(_translated: Resource, db: None) -> Resource:
    """A resource with English texts, and some in French, Portuguese and Arabic."""
    return Resource.objects.get(pk=_translated.pk)


def get_infos(client: Client, resource: Resource, language: str) -> dict[str, Any]:
    """Return the entries of the data dictionary that ``datastore_info`` gives."""
    path = f"/{language}/api/action/datastore_info?resource_id={resource.pk}"
    result = client.get(path).json()["result"]
    return {field["id"]: field.get("info") for field in result["fields"]}


# Choosing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "plain_language", "language", "text"),
    [
        ("Rivers", "en", "en", LocalText("Rivers", "en")),
        ("Rivers", "en", "fr", LocalText("Rivières", "fr")),
        ("Rivers", "en", "pt-br", LocalText("Rios", "pt")),
        ("Rivers", "en", "vi", LocalText("Rivers", "en")),
        ("Rivers", "en", "en-gb", LocalText("Rivers", "en")),
        # The plain text wins over a translation that is further away.
        ("Rios daqui", "pt-br", "pt-br", LocalText("Rios daqui", "pt-br")),
        ("Rios daqui", "pt-br", "pt", LocalText("Rios", "pt")),
        ("", "vi", "vi", LocalText("name", "")),
    ],
)
def test_a_text_falls_back_to_the_language_without_variant_then_to_the_plain_text(
    title: str, plain_language: str, language: str, text: LocalText
) -> None:
    translations = {"fr": {"title": "Rivières"}, "pt": {"title": "Rios"}}
    described = {"title": title, "content_language": plain_language, "translations": translations}

    with translation.override(language):
        assert Resource(name="name", **described).local_title == text


# datastore_info and datastore_create --------------------------------------------------------------


def test_info_has_the_texts_of_the_language_of_the_path_and_all_translations(
    translated: Resource,
) -> None:
    client = Client()
    translations = {"label_ar": "محطة", "label_fr": "Gare", "notes_ar": "أين"}

    infos = {
        language: get_infos(client, translated, language)["station"]
        for language in ("en", "fr", "vi", "ar")
    }

    assert infos == {
        "en": {"label": "Station", "notes": "Where", **translations},
        "fr": {"label": "Gare", "notes": "Where", **translations},
        "vi": {"label": "Station", "notes": "Where", **translations},
        "ar": {"label": "محطة", "notes": "أين", **translations},
    }


def test_datastore_create_reads_translations_as_members_of_info(db: None) -> None:
    table = Table(make_writer_token())
    info = {
        "label": "Station",
        "label_fr": "Gare",
        "notes_pt_BR": "Onde",
        "label_zh-Hans": "站",
        "label_xx": "no language",
        "label_de": "",
        "notes_fr": 5,
        "unit": "m",
    }

    result = table.run("create", fields=[{"id": "station", "type": "text", "info": info}])

    assert result["fields"][0]["info"] == {
        "label_xx": "no language",
        "label_de": "",
        "notes_fr": 5,
        "unit": "m",
        "label": "Station",
        "label_fr": "Gare",
        "label_zh-hans": "站",
        "notes_pt-br": "Onde",
    }
    field = Resource.objects.get(pk=table.id).fields.get()
    assert field.translations == {
        "fr": {"label": "Gare"},
        "pt-br": {"notes": "Onde"},
        "zh-hans": {"label": "站"},
    }


def test_a_translated_label_that_is_too_long_is_kept_as_it_was_sent(db: None) -> None:
    table, info = Table(make_writer_token()), {"label_fr": "é" * 501}

    result = table.run("create", fields=[{"id": "station", "type": "text", "info": info}])

    assert result["fields"][0]["info"] == info
    assert Resource.objects.get(pk=table.id).fields.get().translations == {}


def test_datastore_create_reads_the_texts_of_a_new_resource(no_resource: None) -> None:
    table = Table(make_writer_token())
    described = {
        "name": "Rivers",
        "name_fr": "Rivières",
        "description_fr": "Leurs niveaux",
        "content_language": "pt_BR",
    }

    table.run("create", resource_id=None, resource=described, fields=[{"id": "a", "type": "text"}])

    added = Resource.objects.get()
    assert (added.title, added.content_language) == ("Rivers", "pt-br")
    assert added.translations == {"fr": {"title": "Rivières", "description": "Leurs niveaux"}}


# Table Schema -------------------------------------------------------------------------------------


def test_the_schema_has_the_plain_texts_and_all_translations(translated: Resource) -> None:

    schema = Client().get(f"/fr/datastore/{translated.pk}/schema.json").json()

    assert schema["fields"][1] == {
        "name": "station",
        "type": "string",
        "title": "Station",
        "description": "Where",
        "title@ar": "محطة",
        "title@fr": "Gare",
        "description@ar": "أين",
        "datastoreType": "text",
    }


# Pages --------------------------------------------------------------------------------------------


def test_pages_and_datasets_have_the_texts_of_the_language(translated: Resource) -> None:
    client = Client()

    page = client.get(f"/fr/datastore/{translated.pk}/").content.decode()
    catalogue = client.get("/fr/datastore/").content.decode()
    record = client.get(f"/vi/datastore/{translated.pk}/r/1/").content.decode()
    package = client.get(f"/fr/api/action/package_show?id={translated.pk}").json()["result"]

    assert "<h1><bdi>Rivières</bdi>" in page
    assert "<p>Leurs niveaux</p>" in page
    assert "<bdi>Gare</bdi>" in page
    assert "<bdi>Gare</bdi><small>contient</small><input" in page
    # The notes are English.
    about = client.get(f"/fr/datastore/{translated.pk}/about/").content.decode()
    assert '<bdi lang="en">Where</bdi>' in about
    assert "Station" not in page
    assert "<bdi>Rivières</bdi>" in catalogue
    assert " dir=auto><p>Leurs niveaux</p>" in catalogue
    assert '<bdi lang="en">Station</bdi>' in record
    assert (package["title"], package["notes"]) == ("Rivières", "Leurs niveaux")


# Caching ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["resource", "field"])
def test_a_changed_translation_changes_the_etag_and_the_answer(
    translated: Resource, changed: str
) -> None:
    client = Client()
    path = f"/fr/api/action/datastore_info?resource_id={translated.pk}"
    before = client.get(path)

    if changed == "resource":
        Resource.objects.filter(pk=translated.pk).update(translations={"fr": {"title": "Fleuves"}})
    else:
        translated.fields.filter(name="station").update(translations={"fr": {"label": "Arrêt"}})
    after = client.get(path, headers={"If-None-Match": before["ETag"]})

    assert after.status_code == 200
    assert after["ETag"] != before["ETag"]
    label = get_infos(client, translated, "fr")["station"]["label"]
    assert label == ("Gare" if changed == "resource" else "Arrêt")


# Validation ---------------------------------------------------------------------------------------


INVALID: list[tuple[Any, str]] = [
    ([], "Translations are texts by language."),
    ({"french": {"label": "x"}}, "This is not a language code, such as “vi” or “pt-br”."),
    ({"fr": "x"}, "The translations in “fr” are not texts by name."),
    ({"fr": {"title": "x"}}, "The translations in “fr” are not texts by name."),
    ({"fr": {"label": 5}}, "The translations in “fr” are not texts by name."),
    ({"fr": {"notes": ""}}, "The translations in “fr” are not texts by name."),
    ({"fr": {"notes": "a\0b"}}, "The translations in “fr” are not texts by name."),
    ({"fr": {"label": "x" * 501}}, "“label” in “fr” has more than 500 letters."),
]


def test_translations_of_a_field_are_checked(translated: Resource) -> None:
    field = translated.fields.get(name="station")
    field.full_clean()
    for translations, message in INVALID:
        field.translations = translations

        with pytest.raises(ValidationError) as caught:
            field.full_clean()

        assert caught.value.messages == [message]
