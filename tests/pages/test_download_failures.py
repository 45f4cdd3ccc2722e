"""Downloads that fail: a page for browsers in their language, the envelope for programs."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import include, path

from datastore_search.contrib.files.downloads import workbook
from datastore_search.models import Resource
from datastore_search.urls import dump_urlpatterns

from ..builders import check_error, make_resource, make_user
from ..core.downloads.files import request_file
from .parsing import extract_text

#: What browsers send when a link is followed, and what programs send.
BROWSERS = {
    "Chrome": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
    "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
    "Firefox": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Lynx": "text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01",
}
PROGRAMS = {"curl": "*/*", "pandas": None, "json": "application/json", "csv": "text/csv, */*;q=0.5"}

#: A portal with nothing but downloads.
urlpatterns = [path("", include((dump_urlpatterns, "datastore_search")))]


def open_as(client: Client, address: str, accept: str | None, **query: str) -> Any:
    headers = {} if accept is None else {"Accept": accept}
    return client.get(address, query, headers=headers)


@pytest.fixture
def too_wide(resource: Resource, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a workbook that a sheet cannot hold."""
    monkeypatch.setattr(workbook, "MAX_COLUMNS", 2)
    return f"datastore/dump/{resource.pk}"


@pytest.mark.parametrize("browser", BROWSERS)
def test_a_browser_gets_a_page(client: Client, too_wide: str, browser: str) -> None:
    response = open_as(client, f"/en/{too_wide}", BROWSERS[browser], format="xlsx")

    assert response.status_code == 409
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert "no-store" in response["Cache-Control"]
    assert "Accept" in response["Vary"]
    assert "Content-Disposition" not in response
    text = extract_text(response)
    assert "This file cannot be downloaded" in text
    assert "An Excel sheet has at most 2 columns. Ask for fewer fields, or for CSV." in text
    assert "All resources" in text
    assert f"/de/{too_wide}?format=xlsx" in response.content.decode()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_gets_the_envelope(client: Client, too_wide: str, program: str) -> None:
    response = open_as(client, f"/en/{too_wide}", PROGRAMS[program], format="xlsx")

    error = check_error(response, 409, "Validation Error")
    assert error == {
        "format": ["An Excel sheet has at most 2 columns. Ask for fewer fields, or for CSV."]
    }
    assert "Accept" in response["Vary"]


def test_a_wrong_parameter_is_named(client: Client, resource: Resource) -> None:
    response = open_as(
        client, f"/en/datastore/dump/{resource.pk}", BROWSERS["Chrome"], limit="<b>", wrong="1"
    )

    assert response.status_code == 409
    assert "limit: Invalid integer<br>" in response.content.decode()
    assert "<b>" not in response.content.decode()


def test_a_private_resource_asks_to_sign_in(client: Client, db: None) -> None:
    resource = make_resource(private=True, title="Secret")
    address = f"/en/datastore/dump/{resource.pk}"

    visitor = open_as(client, address, BROWSERS["Chrome"])
    client.force_login(make_user())
    user = open_as(client, address, BROWSERS["Chrome"])

    assert (visitor.status_code, user.status_code) == (403, 403)
    assert "Sign in with an account that may read it." in extract_text(visitor)
    assert f"next=/en/datastore/dump/{resource.pk}" in visitor.content.decode().replace("%2F", "/")
    assert "your account may not read it" in extract_text(user)
    assert "Secret" not in visitor.content.decode() + user.content.decode()


@pytest.mark.urls(__name__)
def test_a_portal_without_pages_answers_with_the_envelope(client: Client, too_wide: str) -> None:
    response = open_as(client, f"/{too_wide}", BROWSERS["Chrome"], format="xlsx")

    assert response.status_code == 409
    assert response.json()["error"]["__type"] == "Validation Error"


def test_a_file_is_the_same_for_browsers(client: Client, resource: Resource) -> None:
    address = f"/en/datastore/dump/{resource.pk}"

    browser = open_as(client, address, BROWSERS["Chrome"])

    assert browser.getvalue() == request_file(client, resource, "csv").getvalue()
    assert "Accept" not in browser["Vary"]
