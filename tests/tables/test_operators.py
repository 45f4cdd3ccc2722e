"""Each operator of ``filters`` is known wherever conditions are asked for or described."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from typing import Any, cast

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.contrib.pages.table.conditions import OPERATORS
from datastore_search.filters.operators import Operand, operators
from datastore_search.models import Resource

from ..builders import act, get_result, make_writer_token
from ..test_docs import SEARCH, read_text

#: An operand of each kind that fits the field ``title``.
OPERANDS = {
    Operand.VALUE: "River level at the old bridge",
    Operand.LIST: ["River level at the old bridge"],
    Operand.TEXT: "River level at the old bridge",
    Operand.BOOLEAN: False,
}


@pytest.fixture(params=operators)
def name(request: pytest.FixtureRequest) -> str:
    """The name of an operator."""
    return str(request.param)


@pytest.fixture
def filters(name: str) -> dict[str, Any]:
    """A condition with the operator that is true of some records or of none."""
    return {"title": {name: OPERANDS[operators[name].operand]}}


def test_the_actions_and_the_dump_find_the_same_records(
    client: Client, resource: Resource, filters: dict[str, Any]
) -> None:
    asked = {"resource_id": str(resource.pk), "filters": filters}
    total = get_result(act(client, "datastore_search", asked))["total"]
    facets = act(client, "datastore_facets", {**asked, "facets": "code"})
    groups = act(client, "datastore_aggregate", asked)
    dump = client.get(f"/en/datastore/dump/{resource.pk}", {"filters": json.dumps(filters)})

    assert get_result(facets, "datastore_facets")["total"] == total
    assert get_result(groups, "datastore_aggregate")["records"] == [{"count": total}]
    assert b"".join(dump).count(b"\n") == total + 1


def test_records_are_deleted_by_it(
    client: Client, resource: Resource, filters: dict[str, Any]
) -> None:
    asked = {"resource_id": str(resource.pk), "filters": filters}
    total = get_result(act(client, "datastore_search", asked))["total"]
    deleted = act(
        client,
        "datastore_records_delete",
        {**asked, "include_deleted_records": True, "force": True},
        make_writer_token(),
    )

    result = get_result(deleted, "datastore_records_delete")
    assert len(result["deleted_records"]) == total
    assert get_result(act(client, "datastore_search", asked))["total"] == 0


def test_the_page_says_it_in_words(
    client: Client, resource: Resource, filters: dict[str, Any]
) -> None:
    page = client.get(f"/en/datastore/{resource.pk}/", {"filters": json.dumps(filters)})
    chips = unescape(page.content.decode()).partition('class="datastore-chips"')[2]

    assert page.status_code == 200
    assert "title" in chips.partition("</ul>")[0]


@pytest.mark.parametrize("name", OPERATORS)
def test_the_form_of_a_page_offers_those_with_a_label(
    client: Client, resource: Resource, name: str
) -> None:
    asked = {f"{name}.title": "yes" if name == "empty" else "River"}
    page = client.get(f"/en/datastore/{resource.pk}/", asked)

    assert page.status_code == 200
    label = str(OPERATORS[name].label)
    assert f'<option value="{name}">{label}</option>' in unescape(page.content.decode())


@pytest.mark.parametrize(
    ("like", "asked"), [("lt", {"new.amount": "7,5"}), ("startswith", {"new.title": "Fox"})]
)
def test_a_new_operator_is_in_the_form_by_its_entry(
    client: Client,
    resource: Resource,
    monkeypatch: pytest.MonkeyPatch,
    like: str,
    asked: dict[str, str],
) -> None:
    entry = replace(operators[like], name="new", label="neu")
    for table in (OPERATORS, operators):
        monkeypatch.setitem(cast("dict[str, Any]", table), "new", entry)

    page = client.get(f"/de/datastore/{resource.pk}/", asked).content.decode()
    rows = page.partition("<tbody")[2].partition("</tbody>")[0]

    assert '<option value="new">neu</option>' in page
    assert "Foxes" in rows or "Running" in rows
    assert "No subject" not in rows


def test_it_is_described(
    name: str, document: dict[str, Any], tools: dict[str, dict[str, Any]]
) -> None:
    properties = document["components"]["schemas"]["DatastoreOperators"]["properties"]

    assert properties[name]["description"] == str(operators[name].help)
    assert f" {name}" in tools["search_records"]["filters"]["description"].replace(",", " ")
    assert f"`{name}`" in read_text(SEARCH)


@pytest.mark.parametrize("language", ["ar", "de", "es", "fr", "pt-br", "vi"])
def test_it_has_words_in_each_language(name: str, language: str) -> None:
    english = str(operators[name].help)
    with translation.override(language):
        assert str(operators[name].help) != english
        assert str(operators[name].words)
