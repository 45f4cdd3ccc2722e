"""The middlewares by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import translation

from datastore_search.middleware import LocaleMiddleware
from datastore_search.web.addresses import find_language, find_path_language

CODES = ("en", "en-gb", "vi", "pt-br", "zh-hans", "ko", "sr-latn")


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("en_GB", "en-gb"),
        ("EN-gb", "en-gb"),
        ("en_US", "en"),
        ("vi_VN", "vi"),
        ("zh_Hans_CN", "zh-hans"),
        ("zh-Hans", "zh-hans"),
        ("zh_CN", "zh-hans"),
        ("ko_KR", "ko"),
        ("sr_Latn", "sr-latn"),
        ("pt_PT", None),
        ("en_XX", None),
        ("xx", None),
        ("fr", None),
        ("api", None),
    ],
)
def test_a_locale_means_an_enabled_language_or_nothing(
    settings: Any, tag: str, code: str | None
) -> None:
    settings.LANGUAGES = [(code, code) for code in CODES]

    assert find_language(tag, CODES) == code
    assert find_path_language(f"/{tag}/x") == code


@pytest.mark.parametrize(
    ("changes", "path", "path_info", "language"),
    [
        ({}, "/en_GB/admin//x/", "/en-gb/admin//x/", "en-gb"),
        ({"LANGUAGES": [("tlh", "tlhIngan Hol")]}, "/TLH/admin/", "/tlh/admin/", "tlh"),
        ({"ROOT_URLCONF": "datastore_search.urls"}, "/en_GB/x", "/en_GB/x", "en"),
    ],
    ids=["in Django's spelling", "without a catalogue", "without languages in paths"],
)
def test_the_path_keeps_its_spelling_and_is_resolved_under_djangos(
    settings: Any, changes: dict[str, Any], path: str, path_info: str, language: str
) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)
    request = RequestFactory().get(path)

    LocaleMiddleware(lambda _request: HttpResponse()).process_request(request)

    assert (request.path, request.path_info) == (path, path_info)
    assert translation.get_language() == language


def test_only_addresses_of_the_app_are_not_redirected_as_django_does(client: Client) -> None:
    assert client.post("/admin/")["Location"] == "/en/admin/"
    assert client.post("/datastore/").status_code == 404


def test_a_path_that_is_too_long_for_a_language_is_not_cached() -> None:
    before = find_language.cache_info().currsize

    for number in range(20):
        assert find_path_language(f"/en{'-abcdefgh' * 200}-{number:02}/api/3") is None

    assert find_language.cache_info().currsize == before
