"""``filters`` of the API in the addresses of pages: what the API answers, every page shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from datastore_search.filters import Comparison
from datastore_search.filters.grammar import OPERATORS
from datastore_search.html.chips import build_chips
from datastore_search.html.page_query import PageQuery
from datastore_search.html.query_string import QueryString
from datastore_search.models import Resource

from ..api.typed import CELLS, make_resource_of_every_type
from ..builders import ask
from ..shared import ModuleTransaction

#: The pages of a question, and what they show of the fields of every type.
PAGES = {
    "": {},
    "chart/": {"by": "text"},
    "map/": {"lat": "float8", "lon": "numeric"},
}

#: Operands beside a value of the field's type.
OPERANDS: list[Any] = [None, True, 7, "7", [7], {"k": 1}]


@pytest.fixture(scope="module")
def _every_type(module_transaction: ModuleTransaction) -> Resource:
    return make_resource_of_every_type()


@pytest.fixture
def typed(_every_type: Resource, db: None) -> Resource:
    """A resource with a field of each type."""
    return _every_type


def find_answered_operand(client: Client, resource: Resource, kind: str, operator: str) -> Any:
    """Find an operand with which the API answers; None if there is none."""
    (own, _syntax), *_others = CELLS[kind]
    candidates = [own, *OPERANDS] if operator != "in" else [[own], [None]]
    for operand in candidates:
        filters = {kind: {operator: operand}}
        response = ask(client, {"resource_id": str(resource.pk), "filters": filters, "limit": 1})
        assert response.status_code in (200, 409)
        if response.status_code == 200 and operand is not None:
            return operand
    return None


def open_page(client: Client, resource: Resource, page: str, filters: Any, **query: str) -> Any:
    query = {"filters": json.dumps(filters), **PAGES[page], **query}
    return client.get(f"/en/datastore/{resource.pk}/{page}", query)


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", CELLS)
def test_every_page_answers_each_filter_that_the_api_answers(
    client: Client, typed: Resource, kind: str, operator: str
) -> None:
    operand = find_answered_operand(client, typed, kind, operator)
    filters = {kind: {operator: operand}}
    answer = ask(client, {"resource_id": str(typed.pk), "filters": filters, "limit": 1})
    expected = 200 if answer.status_code == 200 else 400

    for page in PAGES:
        assert open_page(client, typed, page, filters).status_code == expected, page
        embedded = open_page(client, typed, page, filters, embed="1")
        assert embedded.status_code == expected, page


def test_an_operator_without_words_is_shown_as_it_is_sent(typed: Resource) -> None:
    query = PageQuery(QueryString(()), filters=(Comparison("text", "endswith", "<7"),))

    (chip,) = build_chips(query, ())

    assert chip.text.text == "text endswith <7"
    assert chip.text.html == "text endswith &lt;7"
