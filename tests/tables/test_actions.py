"""Each action and each of its parameters is in every entrance, as its entry says."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.api.actions import actions
from datastore_search.api.actions.search import SearchParameters
from datastore_search.contrib.agents.tools import get_tools
from datastore_search.downloads.parameters import DumpParameters
from datastore_search.models import Resource

from ..builders import act, get_result
from ..test_docs import REFERENCE, find_table, get_page_path, list_documented_parameters, read_text

#: A value of each parameter of a search beside the id, other than the one that it has without.
SEARCH: dict[str, Any] = {
    "filters": {"stage": "active"},
    "geo": {"latitude": 9, "longitude": 9, "kilometers": 900, "fields": ["amount", "amount"]},
    "q": "river",
    "full_text": "river",
    "plain": False,
    "websearch": False,
    "substrings": True,
    "language": "english",
    "limit": 2,
    "offset": 1,
    "fields": ["title"],
    "sort": "title",
    "distinct": True,
    "include_total": False,
    "records_format": "lists",
    "include_next_page": True,
    "highlight": True,
    "total_estimation_threshold": 5,
}


def test_each_parameter_of_a_search_has_a_value_here() -> None:
    assert SearchParameters.get_declared().keys() == SEARCH.keys() | {"resource_id", "id"}


@pytest.mark.parametrize("name", sorted(SEARCH.keys() - {"substrings"}))
def test_a_search_repeats_and_links_what_was_sent(
    client: Client, resource: Resource, name: str
) -> None:
    field = SearchParameters.get_declared()[name]
    found = get_result(
        act(client, "datastore_search", {"resource_id": str(resource.pk), name: SEARCH[name]})
    )
    link = dict(parse_qsl(urlsplit(found["_links"]["next"]).query))

    assert (name in link) == (name != "total_estimation_threshold")
    if name == "fields":
        assert [each["id"] for each in found["fields"]] == SEARCH[name]
    elif field.is_repeated:
        assert found[name] == SEARCH[name]
    if field.answers:
        assert field.answers.name in found


@pytest.mark.parametrize("action", actions)
def test_a_parameter_is_described(
    action: str, document: dict[str, Any], tools: dict[str, dict[str, Any]]
) -> None:
    declared = actions[action].parameters.get_declared()
    name = "".join(word.capitalize() for word in action.split("_")).removeprefix("Datastore")
    body = document["components"]["schemas"][f"Datastore{name}Parameters"]["properties"]

    assert body.keys() == declared.keys()
    assert {*list_documented_parameters(action)} == declared.keys()
    for each, field in declared.items():
        assert str(field.help_text) in body[each]["description"]


def test_the_tools_of_agents_take_parameters_of_their_actions(
    tools: dict[str, dict[str, Any]],
) -> None:
    for name, tool in get_tools().items():
        assert tools[name].keys() == {*tool.names}
        assert tools[name].keys() <= tool.parameters.get_declared().keys()


def test_what_answers_a_parameter_is_described(document: dict[str, Any]) -> None:
    page = document["components"]["schemas"]["DatastorePageOfObjects"]["properties"]

    for name, field in SearchParameters.get_declared().items():
        if field.answers:
            assert page[field.answers.name] == field.answers.schema
            assert f"`{field.answers.name}`" in read_text(REFERENCE / "datastore_search.md")
        elif field.is_repeated:
            assert name in page


def test_sort_keys_are_described_as_they_are_repeated(document: dict[str, Any]) -> None:
    for name in ("DatastorePageOfObjects", "DatastoreAggregate"):
        answered = document["components"]["schemas"][name]["properties"]["sort"]
        assert [each["type"] for each in answered["oneOf"]] == ["string", "array"]


def test_the_parameters_of_the_dump_are_described() -> None:
    table = find_table(read_text(REFERENCE / "dump.md"), "Name", "Meaning")
    assert {*table.names} == DumpParameters.get_declared().keys()


@pytest.mark.parametrize("name", actions)
def test_an_action_is_in_every_entrance(client: Client, db: None, name: str) -> None:
    action, path = actions[name], f"/en/api/3/action/{name}"
    unknown = act(client, name, {"no_such_parameter": 1})
    by_get = client.get(path, {"no_such_parameter": 1})

    shown: Any = get_result(act(client, "help_show", {"name": name}))

    assert shown == str(action.help)
    assert unknown.status_code in {403, 404, 409} or action.parameters.accepts_others
    assert by_get.status_code == (400 if action.is_writing else unknown.status_code)
    assert f"`{name}`" in read_text(get_page_path(name))
    assert json.loads(by_get.content)["help"].endswith(f"name={name}")
    with translation.override("de"):
        german = str(action.help)
    assert german != str(action.help)
