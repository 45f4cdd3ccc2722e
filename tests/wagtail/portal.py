"""Tests of Wagtail's admin; ``test_wagtail.py`` runs them with the settings of their portal."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.template import Context, Template
from django.test import Client, RequestFactory
from django.urls import reverse
from wagtail.models import Page

from datastore_search.contrib.wagtail.chooser import resource_chooser
from datastore_search.models import Resource
from tests.builders import create_resource, make_resource, make_user
from tests.wagtail.pages.models import SurveyPage

PAGE = "/en/admin/datastore_search/datastore/"


@pytest.fixture
def editor(client: Client, db: None) -> Client:
    """A user who may enter Wagtail's admin, and reads what everyone may read."""
    user = make_user("editor")
    user.user_permissions.add(Permission.objects.get(codename="access_admin"))
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def tables(db: None) -> dict[str, Resource]:
    return {
        "Rivers": make_resource(name="rivers", title="Rivers"),
        "Lakes": make_resource(name="lakes", title="Lakes"),
        "Secret": make_resource(name="secret", title="Secret", private=True),
        "Empty": create_resource(name="empty", title="Empty"),
    }


def choose(client: Client, view: str, *args: Any, **query: Any) -> Any:
    return client.get(reverse(f"datastore_search_chooser:{view}", args=args), query)


def read_menu(client: Client, language: str = "en") -> str:
    return client.get(f"/{language}/cms/").content.decode()


def test_the_menu_leads_to_the_page_of_the_admin(staff: Client) -> None:
    for language in ("en", "vi", "en"):
        assert f'"/{language}/admin/datastore_search/datastore/"' in read_menu(staff, language)


def test_the_menu_has_no_page_that_the_user_may_not_open(editor: Client) -> None:
    assert "datastore_search/datastore/" not in read_menu(editor)


def test_the_menu_has_no_page_without_the_admin(staff: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("datastore_search.contrib.wagtail.wagtail_hooks._PAGE", "admin:gone")

    assert "datastore_search/datastore/" not in read_menu(staff)


def list_titles(response: Any) -> list[str]:
    assert response.status_code == 200
    html = response.content.decode()
    html = json.loads(html)["html"] if html.startswith("{") else html
    found = re.findall(r"data-chooser-modal-choice[^>]*>\s*(.*?)\s*<", html)
    return [each for each in found if each]


def test_the_chooser_offers_what_the_user_may_read(
    editor: Client, tables: dict[str, Resource]
) -> None:
    assert list_titles(choose(editor, "choose")) == ["Lakes", "Rivers"]
    assert list_titles(choose(editor, "choose_results")) == ["Lakes", "Rivers"]
    assert list_titles(choose(editor, "choose_results", q="riv")) == ["Rivers"]
    assert list_titles(choose(editor, "choose_results", q="secret")) == []


def test_superusers_choose_private_tables_too(staff: Client, tables: dict[str, Resource]) -> None:
    assert list_titles(choose(staff, "choose")) == ["Lakes", "Rivers", "Secret"]


def test_a_private_table_is_not_chosen_by_its_id(
    editor: Client, tables: dict[str, Resource]
) -> None:
    ids = {name: str(each.pk) for name, each in tables.items()}

    chosen = choose(editor, "chosen", ids["Rivers"]).json()["result"]
    assert (chosen["id"], chosen["title"]) == (ids["Rivers"], "Rivers")
    assert choose(editor, "chosen", ids["Secret"]).status_code == 404
    assert choose(editor, "chosen", "nothing").status_code == 404
    several = choose(editor, "chosen_multiple", id=[*ids.values(), "nothing"]).json()["result"]
    assert [each["title"] for each in several] == ["Lakes", "Rivers"]


def test_the_chooser_is_closed_to_visitors(client: Client, tables: dict[str, Resource]) -> None:
    for view, arguments in (("choose", ()), ("chosen", (tables["Rivers"].pk,))):
        assert choose(client, view, *arguments).status_code == 302


def test_the_chooser_has_no_form_of_a_resource(staff: Client) -> None:
    assert staff.post(f"/en/cms/{resource_chooser.url_prefix}/create/").status_code == 404


def test_a_page_has_tables_in_a_field_and_in_its_body(
    staff: Client, tables: dict[str, Resource]
) -> None:
    rivers, lakes = tables["Rivers"], tables["Lakes"]
    root = Page.objects.get(depth=1)
    address = reverse("wagtailadmin_pages:add", args=["pages", "surveypage", root.pk])
    form = staff.get(address).content.decode()
    assert form.count("Choose a table") >= 2  # of the field, and of the block
    sent = {
        "title": "Water",
        "slug": "water",
        "table": str(rivers.pk),
        "body-count": "1",
        "body-0-deleted": "",
        "body-0-order": "0",
        "body-0-type": "table",
        "body-0-id": "",
        "body-0-value": str(lakes.pk),
        "comments-TOTAL_FORMS": "0",
        "comments-INITIAL_FORMS": "0",
        "comments-MIN_NUM_FORMS": "0",
        "comments-MAX_NUM_FORMS": "",
        "action-publish": "1",
    }
    assert staff.post(address, sent).status_code == 302

    page = SurveyPage.objects.get()
    assert page.table == rivers
    assert [block.value for block in page.body] == [lakes]
    edit = staff.get(reverse("wagtailadmin_pages:edit", args=[page.pk])).content.decode()
    assert "Rivers" in edit
    text = "{% load datastore %}{% datastore_table page.body.0.value.pk %}"
    request = RequestFactory().get("/en/")
    request.user = make_user()
    shown = Template(text).render(Context({"page": page, "request": request}))
    assert 'aria-label="Lakes"' in shown
