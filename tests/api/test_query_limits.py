"""What one query may ask of PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.models import Resource

from ..builders import ask, check_error, get_ids, make_resource

DUMP = "/en/datastore/dump/"
WORDS = [f"w{number}" for number in range(101)]
NAMES = [f"f{number}" for number in range(101)]
TOO_MANY_WORDS = {"q": ["The full-text query has more than 100 words."]}


def refusal(client: Client, resource: Resource, **sent: Any) -> dict[str, Any]:
    """Ask, and make sure that it is refused without a look at the records."""
    with CaptureQueriesContext(connection) as captured:
        response = ask(client, {"resource_id": str(resource.pk), **sent})
    assert not [query for query in captured if "datastore_search_record_" in query["sql"]]
    return check_error(response, 409, "Validation Error")


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
    assert refusal(client, resource, **sent) == TOO_MANY_WORDS


@pytest.mark.parametrize(
    ("sent", "ids"),
    [
        ({"q": " ".join(WORDS[1:])}, []),
        ({"q": "river " * 200}, [1]),
        ({"q": " | ".join(["river:*", *WORDS[2:]]), "plain": False}, [1]),
        ({"q": " ".join(WORDS), "full_text": "river"}, [1]),  # and then q counts for nothing
    ],
)
def test_a_full_text_query_of_a_hundred_words_is_answered(
    client: Client, resource: Resource, sent: dict[str, Any], ids: list[int]
) -> None:
    assert get_ids(ask(client, {"resource_id": str(resource.pk), **sent})) == ids


def test_a_dump_has_the_same_limit(client: Client, resource: Resource) -> None:
    response = client.get(f"{DUMP}{resource.pk}", {"q": " ".join(WORDS)})

    assert check_error(response, 409, "Validation Error") == TOO_MANY_WORDS


def test_a_page_has_the_same_limit(client: Client, resource: Resource) -> None:
    response = client.get(f"/en/datastore/{resource.pk}/", {"q": " ".join(WORDS)})

    assert response.status_code == 400
    assert TOO_MANY_WORDS["q"][0] in response.content.decode()
    assert client.get(f"/en/datastore/{resource.pk}/", {"q": "w " * 400}).status_code == 200


def test_the_catalogue_is_searched_for_ten_words(client: Client, resource: Resource) -> None:
    response = client.get("/en/datastore/", {"q": " ".join(WORDS[:11])})

    assert response.status_code == 400
    assert "The full-text query has more than 10 words." in response.content.decode()
    assert client.get("/en/datastore/", {"q": " ".join(WORDS[:10])}).status_code == 200


def test_a_full_text_query_names_at_most_five_fields(client: Client, wide: Resource) -> None:
    six = dict.fromkeys(NAMES[:6], "1")

    assert refusal(client, wide, q=six) == {"q": ["The full-text query names more than 5 fields."]}
    del six["f5"]
    assert get_ids(ask(client, {"resource_id": str(wide.pk), "q": six})) == [1]


@pytest.mark.parametrize("operator", ["contains", "icontains", "startswith"])
def test_filters_have_at_most_ten_conditions_that_no_index_answers(
    client: Client, resource: Resource, operator: str
) -> None:
    conditions = [{"title": {operator: f"River{number}"}} for number in range(11)]
    said = (
        "Filters have more than 10 conditions with the operators contains, icontains, startswith."
    )

    assert refusal(client, resource, filters={"$or": conditions}) == {"filters": [said]}
    sent = {"resource_id": str(resource.pk), "filters": {"$or": conditions[1:]}}
    assert get_ids(ask(client, sent)) == []


def test_filters_have_at_most_ten_thousand_values(client: Client, resource: Resource) -> None:
    values = [f"{number:03}" for number in range(5_000)]
    said = {"filters": ["The lists of filters have more than 10000 values in all."]}

    for more in ([*values, "x"], {"in": [*values, "x"]}, {"eq": [*values, "x"]}):
        assert refusal(client, resource, filters={"code": values, "title": more}) == said
    sent = {"resource_id": str(resource.pk), "filters": {"code": values, "stage": values}}
    assert get_ids(ask(client, sent)) == []


def test_records_are_sorted_by_at_most_a_hundred_fields(client: Client, wide: Resource) -> None:
    said = {"sort": ["There are more than 100 fields to sort by."]}

    assert refusal(client, wide, sort=NAMES) == said
    assert refusal(client, wide, sort=",".join(NAMES)) == said
    assert get_ids(ask(client, {"resource_id": str(wide.pk), "sort": NAMES[1:] * 2})) == [1]


def test_of_faulty_keys_twenty_are_named(client: Client, resource: Resource) -> None:
    keys = ["", *(f"{' ' * number}asc nulls first" for number in range(30)), *[","] * 30]

    assert len(refusal(client, resource, sort=["", *[""] * 4_000])["sort"]) <= 20
    assert len(refusal(client, resource, sort=keys)["sort"]) <= 20


@pytest.mark.parametrize("name", ["language", "name"])
def test_a_text_that_is_a_name_has_a_length(client: Client, resource: Resource, name: str) -> None:
    action = "help_show" if name == "name" else "datastore_search"
    response = ask(client, {name: "x" * 201}, path=f"/en/api/3/action/{action}")

    error = check_error(response, 409, "Validation Error")

    assert error[name] == ["The text is longer than 200 letters."]
