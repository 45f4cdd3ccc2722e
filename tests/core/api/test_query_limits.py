"""Limits of one query."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.filters.operators import TEXT_OPERATORS
from datastore_search.models import Resource

from ...builders import ask, check_error, get_ids, make_resource, search

WORDS = [f"w{number}" for number in range(101)]
NAMES = [f"f{number}" for number in range(101)]
TOO_MANY_WORDS = {"q": ["The full-text query has more than 100 words."]}


def search_refused(client: Client, resource: Resource, **sent: Any) -> dict[str, Any]:
    """Check that a search is refused without a read of the records, and return the error."""
    with CaptureQueriesContext(connection) as captured:
        response = search(client, resource, **sent)
    assert not [query for query in captured if "datastore_search_record_" in query["sql"]]
    return check_error(response, 409)


@pytest.fixture
def wide(db: None) -> Resource:
    return make_resource(f"{','.join(NAMES)}\n{','.join('1' * len(NAMES))}\n")


@pytest.mark.parametrize(
    "sent",
    [
        {"q": " ".join(WORDS)},
        {"q": {"title": " ".join(WORDS[:60]), "stage": " ".join(WORDS[60:])}},
        {"q": {"title": " ".join(WORDS[:60])}, "full_text": " ".join(WORDS[60:])},
        {"q": " | ".join(f"{word}:*" for word in WORDS), "plain": False},
        {"q": " | ".join(["w:*"] * 101), "plain": False},
    ],
)
def test_a_full_text_query_has_at_most_a_hundred_words(
    client: Client, resource: Resource, sent: dict[str, Any]
) -> None:
    assert search_refused(client, resource, **sent) == TOO_MANY_WORDS


@pytest.mark.parametrize(
    ("sent", "ids"),
    [
        ({"q": " ".join(WORDS[1:])}, []),
        ({"q": "river " * 200}, [1]),
        ({"q": " | ".join(["river:*", *WORDS[2:]]), "plain": False}, [1]),
        ({"q": " ".join(WORDS), "full_text": "river"}, [1]),  # q is then ignored
    ],
)
def test_a_full_text_query_of_a_hundred_words_is_answered(
    client: Client, resource: Resource, sent: dict[str, Any], ids: list[int]
) -> None:
    assert get_ids(search(client, resource, **sent)) == ids


@pytest.mark.needs("pages")
def test_a_page_has_the_same_limit(client: Client, resource: Resource) -> None:
    response = client.get(f"/en/datastore/{resource.pk}/", {"q": " ".join(WORDS)})

    assert response.status_code == 400
    assert TOO_MANY_WORDS["q"][0] in response.content.decode()
    assert client.get(f"/en/datastore/{resource.pk}/", {"q": "w " * 400}).status_code == 200


@pytest.mark.needs("catalogue")
def test_the_catalogue_is_searched_for_ten_words(client: Client, resource: Resource) -> None:
    response = client.get("/en/datastore/", {"q": " ".join(WORDS[:11])})

    assert response.status_code == 400
    assert "The full-text query has more than 10 words." in response.content.decode()
    assert client.get("/en/datastore/", {"q": " ".join(WORDS[:10])}).status_code == 200


def test_a_full_text_query_names_at_most_five_fields(client: Client, wide: Resource) -> None:
    six = dict.fromkeys(NAMES[:6], "1")

    assert search_refused(client, wide, q=six) == {
        "q": ["The full-text query names more than 5 fields."]
    }
    del six["f5"]
    assert get_ids(search(client, wide, q=six)) == [1]


@pytest.mark.parametrize("operator", TEXT_OPERATORS)
def test_filters_have_at_most_ten_conditions_without_an_index(
    client: Client, resource: Resource, operator: str
) -> None:
    conditions = [{"title": {operator: f"River{number}"}} for number in range(11)]
    error = (
        "Filters have more than 10 conditions with the operators contains, icontains, ncontains,"
        " nicontains, ucontains, startswith, istartswith, ustartswith."
    )

    assert search_refused(client, resource, filters={"$or": conditions}) == {"filters": [error]}
    sent = {"resource_id": str(resource.pk), "filters": {"$or": conditions[1:]}}
    assert get_ids(ask(client, sent)) == ([1, 2, 3, 4, 5, 6] if operator[0] == "n" else [])


@pytest.mark.usefixtures("large_bodies")
def test_filters_have_at_most_ten_thousand_values(client: Client, resource: Resource) -> None:
    values = [f"{number:03}" for number in range(5_000)]
    error = {"filters": ["The lists of filters have more than 10000 values in all."]}

    for more in ([*values, "x"], {"in": [*values, "x"]}, {"eq": [*values, "x"]}):
        assert search_refused(client, resource, filters={"code": values, "title": more}) == error
    sent = {"resource_id": str(resource.pk), "filters": {"code": values, "stage": values}}
    assert get_ids(ask(client, sent)) == []


def test_records_are_sorted_by_at_most_a_hundred_fields(client: Client, wide: Resource) -> None:
    error = {"sort": ["There are more than 100 fields to sort by."]}

    assert search_refused(client, wide, sort=NAMES) == error
    assert search_refused(client, wide, sort=",".join(NAMES)) == error
    assert get_ids(search(client, wide, sort=NAMES[1:] * 2)) == [1]


def test_at_most_twenty_invalid_keys_are_named(client: Client, resource: Resource) -> None:
    keys = ["", *(f"{' ' * number}asc nulls first" for number in range(30)), *[","] * 30]

    assert len(search_refused(client, resource, sort=["", *[""] * 4_000])["sort"]) <= 20
    assert len(search_refused(client, resource, sort=keys)["sort"]) <= 20


@pytest.mark.parametrize("name", ["language", "name"])
def test_the_length_of_a_name_is_limited(client: Client, resource: Resource, name: str) -> None:
    action = "help_show" if name == "name" else "datastore_search"
    response = ask(client, {name: "x" * 201}, path=f"/en/api/3/action/{action}")

    error = check_error(response, 409)

    assert error[name] == ["The text is longer than 200 characters."]


def test_a_full_text_query_has_at_most_ten_thousand_characters(
    client: Client, resource: Resource
) -> None:
    text = "x" * 9_994 + " river"

    assert search_refused(client, resource, q=text[:-5] + "rivers") == {
        "q": ["The full-text query is longer than 10000 characters."]
    }
    assert search(client, resource, q=text).status_code == 200
