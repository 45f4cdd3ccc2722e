"""The middlewares by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import translation

from datastore_search.middleware import DatabaseErrorMiddleware, LocaleMiddleware
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


def test_the_path_keeps_its_spelling_and_is_resolved_under_djangos() -> None:
    request = RequestFactory().get("/en_GB/admin//x/")

    LocaleMiddleware(lambda _request: HttpResponse()).process_request(request)

    assert (request.path, request.path_info) == ("/en_GB/admin//x/", "/en-gb/admin//x/")
    assert translation.get_language() == "en-gb"


def test_an_enabled_language_without_a_catalogue_is_a_language_all_the_same(settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("tlh", "tlhIngan Hol")]
    request = RequestFactory().get("/TLH/admin/")

    LocaleMiddleware(lambda _request: HttpResponse()).process_request(request)

    assert request.path_info == "/tlh/admin/"
    assert translation.get_language() == "tlh"


def test_a_portal_without_languages_in_its_paths_is_left_alone(settings: Any) -> None:
    settings.ROOT_URLCONF = "datastore_search.urls"
    request = RequestFactory().get("/en_GB/x")

    LocaleMiddleware(lambda _request: HttpResponse()).process_request(request)

    assert request.path_info == "/en_GB/x"


def test_a_path_that_is_too_long_for_a_language_is_not_cached() -> None:
    before = find_language.cache_info().currsize

    for number in range(20):
        assert find_path_language(f"/en{'-abcdefgh' * 200}-{number:02}/api/3") is None

    assert find_language.cache_info().currsize == before


def answer_error(*statements: str) -> HttpResponse | None:
    """Let the middleware answer the error that the last of some statements raises in a view."""
    request = RequestFactory().get("/vi/about/")
    request.user, request.resolver_match = AnonymousUser(), None
    *preparing, failing = statements
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in preparing:
            cursor.execute(statement)
        with pytest.raises(DatabaseError) as error, transaction.atomic():
            cursor.execute(failing)
        transaction.set_rollback(True)
    with translation.override("vi"):
        return DatabaseErrorMiddleware(lambda _request: HttpResponse()).process_exception(
            request, error.value
        )


@pytest.mark.django_db
def test_a_page_of_the_portal_that_writes_to_a_read_only_database_is_503() -> None:
    page = answer_error(
        "SET LOCAL transaction_read_only = on", "DELETE FROM datastore_search_resource"
    )

    assert page is not None
    assert (page.status_code, page["Retry-After"]) == (503, "60")
    assert '<html lang="vi">' in page.content.decode()
    assert "Hiện chỉ có thể đọc cơ sở dữ liệu" in page.content.decode()
    assert "DELETE" not in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statements",
    [
        ("SELECT nonsense",),
        ("SELECT 1 / 0",),
        ("SET LOCAL statement_timeout = 1", "SELECT pg_sleep(1)"),
    ],
)
def test_any_other_database_error_of_a_page_is_djangos(statements: tuple[str, ...]) -> None:
    assert answer_error(*statements) is None
