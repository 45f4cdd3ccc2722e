"""The locale in the path: which are understood, and what follows it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import ask, check_error, get_ids

ACTION = "api/action/datastore_search"


@pytest.mark.parametrize(
    "spelling",
    ["vi", "en_GB", "en-gb", "en-GB", "EN_gb", "ar", "pt_BR", "zh_Hans_CN", "sr_Latn", "uk_UA"],
)
def test_any_spelling_answers_by_get_and_post(
    client: Client, resource: Resource, spelling: str
) -> None:
    path = f"/{spelling}/{ACTION}"

    by_get = client.get(f"{path}?resource_id={resource.pk}&limit=1")
    by_post = ask(client, {"resource_id": str(resource.pk), "limit": 1}, path=path)

    assert get_ids(by_get) == get_ids(by_post) == [1]
    assert by_get.json()["help"] == (
        f"http://testserver/{spelling}/api/3/action/help_show?name=datastore_search"
    )
    assert by_get.json()["result"]["_links"]["start"].startswith(f"/{ACTION}?")


@pytest.mark.parametrize(
    "spelling", ["xx", "en_XX", "xx_GB", "english", "e", "en_", "en__GB", "vi/vi", "en GB", "ĐĐ"]
)
def test_a_wrong_locale_is_404(client: Client, resource: Resource, spelling: str) -> None:
    path = f"/{spelling}/{ACTION}"

    assert client.get(f"{path}?resource_id={resource.pk}").status_code == 404
    assert ask(client, {"resource_id": str(resource.pk)}, path=path).status_code == 404


def test_a_language_that_is_not_enabled_is_404(client: Client, db: None, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("vi", "Tiếng Việt")]

    assert client.get(f"/de/{ACTION}").status_code == 404
    assert client.get(f"/vi/{ACTION}").status_code == 409


@pytest.mark.parametrize(
    ("locale", "message"),
    [
        ("en", "Missing value"),
        ("vi", "Thiếu giá trị"),
        ("fr", "Valeur manquante"),
        ("de", "Wert fehlt"),
        ("es", "Falta el valor"),
        ("pt_BR", "Valor ausente"),
        ("ar", "قيمة مفقودة"),
    ],
)
def test_messages_come_in_the_language_of_the_path(
    client: Client, db: None, locale: str, message: str
) -> None:
    response = client.post(f"/{locale}/{ACTION}", headers={"Accept-Language": "ja"})

    assert check_error(response, 409) == {"resource_id": [message]}


def test_the_admin_is_found_under_any_spelling(client: Client, db: None) -> None:
    assert client.get("/en_GB/admin/login/").status_code == 200
