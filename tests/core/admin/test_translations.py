"""The texts of a resource in one more language, in the admin."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from datastore_search.models import Resource
from datastore_search.web.languages import get_own_name

from ...builders import make_resource
from .test_resources import LIST

STATIONS = "station,level\nOld bridge,1.5\n"


def make_stations() -> Resource:
    resource = make_resource(STATIONS, title="Rivers", content_language="en")
    resource.fields.filter(name="station").update(
        label="Station", translations={"vi": {"label": "Trạm"}}
    )
    return resource


def build_texts(resource: Resource, **texts: str) -> dict[str, str]:
    """Build what the form sends; the texts of a field have its name: ``label__station``."""
    keys = dict(resource.fields.values_list("name", "pk"))
    split = ((name.partition("__"), text) for name, text in texts.items())
    return {f"{text}-{keys[of]}" if of else text: value for (text, _, of), value in split}


def test_the_texts_in_a_language_are_saved_beside_those_in_others(staff: Client) -> None:
    resource = make_stations()
    version = resource.version

    response = staff.post(
        f"{LIST}{resource.pk}/texts/fr/",
        build_texts(resource, title="Rivières", label__station="Gare", notes__level="En mètres"),
    )

    assert response.headers["Location"] == f"{LIST}{resource.pk}/change/"
    resource.refresh_from_db()
    assert resource.translations == {"fr": {"title": "Rivières"}}
    assert dict(resource.fields.values_list("name", "translations")) == {
        "station": {"vi": {"label": "Trạm"}, "fr": {"label": "Gare"}},
        "level": {"fr": {"notes": "En mètres"}},
    }
    assert resource.version > version
    assert LogEntry.objects.get().get_change_message() == "Changed translations."


@pytest.mark.parametrize(
    ("sent", "translations"),
    [
        ({"label__station": ""}, {}),
        ({"notes__station": "Ở đâu"}, {"vi": {"label": "Trạm", "notes": "Ở đâu"}}),
    ],
)
def test_an_empty_text_removes_a_translation_and_one_that_was_not_sent_stays(
    staff: Client, sent: dict[str, str], translations: dict[str, Any]
) -> None:
    resource = make_stations()

    staff.post(f"{LIST}{resource.pk}/texts/vi/", build_texts(resource, **sent))

    assert resource.fields.get(name="station").translations == translations


def test_a_text_that_is_too_long_is_refused(staff: Client) -> None:
    resource = make_stations()

    response = staff.post(f"{LIST}{resource.pk}/texts/fr/", {"title": "é" * 301})

    assert "at most 300 characters" in response.content.decode()
    resource.refresh_from_db()
    assert resource.translations == {}


def test_the_page_of_a_resource_links_the_languages_and_counts_their_texts(staff: Client) -> None:
    resource = make_stations()

    page = staff.get(f"{LIST}{resource.pk}/change/").content.decode()

    links = re.findall(r'<li><a href="([^"]*/texts/[^"]*)">(.*?)</a>', page)
    # Those that have texts come first.
    assert links[0] == (
        f"{LIST}{resource.pk}/texts/vi/", f'<bdi lang="vi">{get_own_name("vi")}</bdi> (1 text)'
    )  # fmt: skip
    assert (f"{LIST}{resource.pk}/texts/fr/", '<bdi lang="fr">français</bdi>') in links


def test_of_a_hundred_languages_those_of_the_pages_and_of_texts_are_linked(staff: Client) -> None:
    resource = make_stations()
    Resource.objects.filter(pk=resource.pk).update(translations={"ja": {"title": "川"}})

    page = staff.get(f"{LIST}{resource.pk}/change/").content.decode()

    linked = re.findall(rf'href="{LIST}{resource.pk}/texts/([^/]+)/"', page)
    assert sorted(linked) == ["ar", "de", "en", "es", "fr", "ja", "pt-br", "vi"]


def test_every_input_has_a_name_and_the_language(staff: Client) -> None:
    resource = make_stations()

    page = staff.get(f"{LIST}{resource.pk}/texts/ar/").content.decode()

    inputs = re.findall(r'<(?:input type="text"|textarea)[^>]*>', page)
    names = [re.findall(r'aria-label="([^"]*)"', each)[0] for each in inputs]
    assert names == [
        "title", "description", "Label of station", "Notes of station",
        "Label of level", "Notes of level",
    ]  # fmt: skip
    assert all('lang="ar"' in each and 'dir="rtl"' in each for each in inputs)


@pytest.mark.parametrize("language", ["xx", "fr_FR", "FR"])
def test_a_language_that_is_not_enabled_has_no_page(staff: Client, language: str) -> None:
    resource = make_stations()

    assert staff.get(f"{LIST}{resource.pk}/texts/{language}/").status_code == 404
