"""Each operator of ``filters`` is known wherever conditions are asked for or described."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from typing import Any, cast

import pytest
from django.test import Client
from psycopg import sql

from datastore_search.contrib.pages.question import OPERATORS
from datastore_search.database.statements import Clause, join_clauses
from datastore_search.field_types import Json
from datastore_search.filters import Comparison
from datastore_search.filters.operators import Comparing, Operand, Operator, operators
from datastore_search.models import Resource
from datastore_search.search import Relation
from datastore_search.search.plan import _has_index

from ..builders import act, get_result, make_writer_token
from ..test_docs import SEARCH, read_text

#: An operand of each kind that fits the field ``title``.
OPERANDS = {
    Operand.VALUE: "River level at the old bridge",
    Operand.LIST: ["River level at the old bridge"],
    Operand.TEXT: "River level at the old bridge",
    Operand.BOOLEAN: False,
}

#: The operand of a single operator, where that of its kind does not suit.
SAMPLES: dict[str, Any] = {}


def find_operand(name: str) -> Any:
    return SAMPLES.get(name, OPERANDS[operators[name].operand])


@pytest.fixture(params=operators)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def filters(name: str) -> dict[str, Any]:
    """A condition with the operator that is true of some records or of none."""
    return {"title": {name: find_operand(name)}}


def test_the_actions_and_the_dump_find_the_same_records(
    client: Client, resource: Resource, filters: dict[str, Any]
) -> None:
    asked = {"resource_id": str(resource.pk), "filters": filters}
    total = get_result(act(client, "datastore_search", asked))["total"]
    facets = act(client, "datastore_facets", {**asked, "facets": "code"})
    groups = act(client, "datastore_aggregate", asked)
    dump = client.get(f"/en/datastore/dump/{resource.pk}", {"filters": json.dumps(filters)})

    assert get_result(facets)["total"] == total
    assert get_result(groups)["records"] == [{"count": total}]
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

    result = get_result(deleted)
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
    operand = find_operand(OPERATORS[name].name)
    typed = "; ".join(operand) if isinstance(operand, list) else "River"
    typed = "yes" if isinstance(operand, bool) else typed
    asked = {f"{name}.title": typed}
    page = client.get(f"/en/datastore/{resource.pk}/", asked)

    assert page.status_code == 200
    label = str(OPERATORS[name].label)
    assert f'<option value="{name}">{label}<' in unescape(page.content.decode())


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

    assert '<option value="new">neu<' in page
    assert "Foxes" in rows or "Running" in rows
    assert "No subject" not in rows


def compile_between(asked: Comparing) -> Clause:
    clauses = map(asked.compile_order, (">=", "<="), cast("list[Json]", asked.operand))
    return join_clauses([clause for clause in clauses if clause], "AND")


def test_a_new_operator_of_two_values_has_words_an_input_and_the_key_by_its_entry(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "%(field)s: %(value1)s to %(value2)s"
    entry = Operator("new", "", words, compile_between, Operand.LIST, label="between")
    for table in (OPERATORS, operators):
        monkeypatch.setitem(cast("dict[str, Any]", table), "new", entry)
    asked = {"new.amount": "7,5; 20", "filters": '{"_id": {"new": [1, 2.5]}}'}

    page = client.get(f"/de/datastore/{resource.pk}/", asked).content.decode()
    chips = unescape(page.partition('class="datastore-chips"')[2].partition("</ul>")[0])
    rows = page.partition("<tbody")[2].partition("</tbody>")[0]

    assert "amount: 7,5 to 20" in chips
    assert "Nr.: 1 to 2.5" in chips
    assert rows.count("<tr") == 1

    page = client.get(f"/de/datastore/{resource.pk}/", {"new.amount": "7"}).content.decode()
    assert "amount: 7 to …" in unescape(page.partition('class="datastore-chips"')[2])


def test_a_new_operator_says_itself_that_no_index_finds_its_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = replace(operators["eq"], name="new", finds_others=True)
    monkeypatch.setitem(cast("dict[str, Any]", operators), "new", entry)
    types = {"code": "int8"}
    relation = Relation(Clause(sql.SQL("t")), types, "simple", None, "_id", has_value_index=True)
    found = {name: _has_index(Comparison("code", name, "1"), relation) for name in operators}

    assert found["eq"]
    assert not any(found[name] for name in ("new", "ne", "ine"))


def test_it_is_described(
    name: str, document: dict[str, Any], tools: dict[str, dict[str, Any]]
) -> None:
    properties = document["components"]["schemas"]["DatastoreOperators"]["properties"]

    assert properties[name]["description"] == str(operators[name].help)
    assert f" {name}" in tools["search_records"]["filters"]["description"].replace(",", " ")
    assert f"`{name}`" in read_text(SEARCH)
