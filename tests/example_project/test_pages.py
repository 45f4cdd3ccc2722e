"""The portal's own pages: the first one, and that of an unknown address."""

from __future__ import annotations

import pytest
from django.test import Client


@pytest.mark.django_db
def test_the_first_page_asks_in_its_language(client: Client) -> None:
    page = client.get("/de/").content.decode()

    assert 'placeholder="Titel, Einträge durchsuchen"' in page


def test_an_unknown_address_is_answered_in_its_language(client: Client) -> None:
    response = client.get("/vi/nowhere/")

    assert response.status_code == 404
    assert "<h1>Không tìm thấy</h1>" in response.content.decode()
    assert 'href="/vi/"' in response.content.decode()
