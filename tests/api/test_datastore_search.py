"""The basic rules of ``datastore_search``."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from datastore_search.models import Field, Resource

from ..builders import ask, check_error, get_ids, get_result, make_resource, make_slow, make_token

PATH = "/en/api/action/datastore_search"


def search(client: Client, resource: Resource, **parameters: Any) -> Any:
    return ask(client, {"resource_id": str(resource.pk), **parameters})


def test_a_list_means_or(client: Client, resource: Resource) -> None:
    assert get_ids(search(client, resource, filters={"subject": ["watershed", "air"]})) == [1, 3, 4]


def test_an_empty_list_matches_nothing(client: Client, resource: Resource) -> None:
    assert get_ids(search(client, resource, filters={"subject": []})) == []


def test_several_fields_mean_and(client: Client, resource: Resource) -> None:
    filters = {"subject": ["watershed", "survey"], "stage": "active"}

    assert get_ids(search(client, resource, filters=filters)) == [1, 2]


def test_a_single_value_means_equality(client: Client, resource: Resource) -> None:
    assert get_ids(search(client, resource, filters={"code": "003"})) == [3]
    assert get_ids(search(client, resource, filters={"code": "3"})) == []
    assert get_ids(search(client, resource, filters={"subject": "Watershed"})) == []


def test_a_value_meets_the_type_of_its_field(client: Client, resource: Resource) -> None:
    assert get_ids(search(client, resource, filters={"amount": 10.5})) == [1]
    assert get_ids(search(client, resource, filters={"amount": "10.500"})) == [1]
    assert get_ids(search(client, resource, filters={"seen": "2020-02-29"})) == [2]
    assert get_ids(search(client, resource, filters={"_id": ["2", 4]})) == [2, 4]


def test_null_finds_empty_cells(client: Client, resource: Resource) -> None:
    assert get_ids(search(client, resource, filters={"subject": None})) == [6]
    assert get_ids(search(client, resource, filters={"subject": [None, "air"]})) == [4, 6]


@pytest.mark.parametrize("count", [10, 11, 500])
def test_a_list_of_any_length_means_or(client: Client, resource: Resource, count: int) -> None:
    amounts = [10.5, "20.25", *range(1000, 1000 + count)]

    assert get_ids(search(client, resource, filters={"amount": amounts})) == [1, 2]
    assert get_ids(search(client, resource, filters={"code": ["006"] * count})) == [6]


@pytest.mark.parametrize(
    ("q", "ids"),
    [
        ("river", [1]),
        ("RIVER bridge", [1]),
        ("riv", [1]),
        ("bridge watershed", [1]),
        ("river mammals", []),
        ("fox", [2]),
        ("foxes", [2]),
        ("run", [5]),
        ("runs", [5]),
        ("Hà Nội", [4]),
        ("ha noi", [4, 5]),
        ("Hà", [4]),
        ("song hong", [3]),
        ("at all", [6]),
        ("the", [1]),
        ("no", [6]),
        ("10.50", [1]),
        ("2019-01-02", [1]),
        ("003", [3]),
        ("(bridge)", [1]),
        ("100%", []),
        ("o'brien", []),
        ("river & | ! :* <-> '", [1]),
        ("&", []),
        ("Ha\u0300 No\u0323\u0302i", [4]),
    ],
)
def test_q_searches_words_of_all_fields(
    client: Client, resource: Resource, q: str, ids: list[int]
) -> None:
    assert sorted(get_ids(search(client, resource, q=q))) == ids


def test_the_best_match_comes_first_with_its_rank(client: Client, db: None) -> None:
    resource = make_resource("a,b\nwater,air\nwater,water water\nair,air\nwater,air\n")

    result = get_result(search(client, resource, q="water"))

    assert [record["_id"] for record in result["records"]] == [2, 1, 4]
    assert list(result["records"][0]) == ["_id", "a", "b", "rank"]
    assert result["fields"][-1] == {"id": "rank", "type": "float"}
    assert result["total"] == 3


def test_a_field_called_rank_hides_the_rank(client: Client, db: None) -> None:
    resource = make_resource("rank,a\n5,water\n")

    result = get_result(search(client, resource, q="water"))

    assert result["records"] == [{"_id": 1, "rank": 5, "a": "water"}]
    assert [field["id"] for field in result["fields"]] == ["_id", "rank", "a"]


def test_q_and_filters_both_hold(client: Client, resource: Resource) -> None:
    assert get_ids(search(client, resource, q="ha noi", filters={"stage": "planned"})) == [5]


def test_at_most_limit_records_come_in_the_order_of_the_file(
    client: Client, resource: Resource
) -> None:
    result = get_result(search(client, resource, limit=2, offset=1))

    assert [record["_id"] for record in result["records"]] == [2, 3]
    assert result["total"] == 6
    assert result["limit"] == 2
    assert result["offset"] == 1


@pytest.mark.parametrize(
    ("limit", "in_force"),
    [(None, 100), ("", 100), ("3", 3), (0, 0), (40_000, 32_000), (5.0, 5), (1e28, 32_000)],
)
def test_the_effective_limit_is_in_the_answer(
    client: Client, resource: Resource, limit: object, in_force: int
) -> None:
    result = get_result(search(client, resource, limit=limit))

    assert result["limit"] == in_force
    assert len(result["records"]) == min(6, in_force)


def test_the_maximum_limit_is_a_setting(client: Client, resource: Resource, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_LIMIT = 3

    assert len(get_ids(search(client, resource))) == 3
    assert len(get_ids(search(client, resource, limit=5))) == 3


def test_an_offset_behind_the_end_gives_no_records(client: Client, resource: Resource) -> None:
    for parameters in ({}, {"q": "river"}, {"filters": {"stage": "active"}}):
        for offset in (6, 2**63, 10**30):
            result = get_result(search(client, resource, offset=offset, **parameters))
            assert result["records"] == []


def test_a_record_has_its_fields_in_order_with_nulls(client: Client, resource: Resource) -> None:
    response = search(client, resource, filters={"_id": 6})

    assert (
        '"records": [{"_id":6,"code":"006","subject":null,"stage":"active",'
        '"title":"No subject at all","amount":9.00,"seen":"2023-09-09"}]'
    ) in response.content.decode()


def test_the_fields_are_described(client: Client, resource: Resource) -> None:
    Field.objects.filter(resource=resource, name="seen").update(label="Day", notes="of the visit")

    assert get_result(search(client, resource, limit=0))["fields"] == [
        {"id": "_id", "type": "int"},
        {"id": "code", "type": "text"},
        {"id": "subject", "type": "text"},
        {"id": "stage", "type": "text"},
        {"id": "title", "type": "text"},
        {"id": "amount", "type": "numeric"},
        {"id": "seen", "type": "date", "info": {"label": "Day", "notes": "of the visit"}},
    ]


def test_parameters_are_echoed(client: Client, resource: Resource) -> None:
    filters = {"amount": 10.5, "subject": ["watershed", None]}

    result = get_result(search(client, resource, q="river", filters=filters, include_total=False))

    assert result["q"] == "river"
    assert result["filters"] == filters
    assert result["resource_id"] == str(resource.pk)
    assert result["include_total"] is False
    assert "total" not in result
    assert "offset" not in result


def test_get_and_post_answer_alike(client: Client, resource: Resource) -> None:
    parameters = {"resource_id": str(resource.pk), "limit": 2, "q": "ha noi"}
    filters = {"stage": ["active", "planned"]}

    by_post = ask(client, {**parameters, "filters": filters})
    by_get = client.get(f"{PATH}?{urlencode({**parameters, 'filters': json.dumps(filters)})}")
    by_form = client.post(PATH, {**parameters, "filters": json.dumps(filters)})
    by_query = client.post(f"{PATH}?{urlencode({**parameters, 'filters': json.dumps(filters)})}")

    assert get_ids(by_post) == [5, 4] or get_ids(by_post) == [4, 5]
    assert get_result(by_post) == get_result(by_get) == get_result(by_form) == get_result(by_query)


def test_head_answers_like_get_without_a_body(client: Client, resource: Resource) -> None:
    address = f"{PATH}?resource_id={resource.pk}"

    response = client.head(address)

    assert response.status_code == 200
    assert response.content == b""
    assert int(response["Content-Length"]) == len(client.get(address).content)


def test_options_names_the_methods(client: Client) -> None:
    response = client.options(PATH)

    assert response.status_code == 200
    assert response["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_links_lead_to_the_other_pages(client: Client, resource: Resource) -> None:
    base, path = "/en_GB", "/api/3/action/datastore_search"
    first = get_result(
        ask(
            client,
            {"resource_id": str(resource.pk), "limit": 2, "filters": {"stage": ["active"]}},
            path=base + path,
        )
    )

    second = get_result(client.get(base + first["_links"]["next"]))
    again = get_result(client.get(base + second["_links"]["prev"]))

    assert first["_links"]["next"].startswith(path)
    assert "prev" not in first["_links"]
    assert [record["_id"] for record in second["records"]] == [4, 6]
    assert again["records"] == first["records"]
    assert get_result(client.get(base + second["_links"]["start"]))["records"] == first["records"]


def test_both_versions_of_the_address_answer(client: Client, resource: Resource) -> None:
    for path in ("/en/api/action/", "/en/api/3/action/", "/api/action/", "/api/3/action/"):
        response = client.get(f"{path}datastore_search?resource_id={resource.pk}&limit=1")
        assert get_ids(response) == [1]


def test_the_answer_may_be_cached_only_by_those_who_may_read_it(
    client: Client, resource: Resource
) -> None:
    hidden = make_resource(private=True)

    public = search(client, resource)
    private = ask(client, {"resource_id": str(hidden.pk)}, Authorization=make_token())

    assert public["Cache-Control"] == "max-age=0, must-revalidate, public"
    assert private["Cache-Control"] == "max-age=0, must-revalidate, private"
    assert "Authorization" in private["Vary"]


# Failures -----------------------------------------------------------------------------------------


def test_an_unknown_resource_is_404(client: Client, db: None) -> None:
    for unknown in ("b1e00f9c-5551-4d39-ac98-de198a7980bd", "no-id", 5, ["x"], {"a": 1}, True):
        error = check_error(ask(client, {"resource_id": unknown}), 404, "Not Found Error")
        assert set(error) == {"message"}


def test_a_resource_that_was_never_loaded_is_404(client: Client, db: None) -> None:
    empty = Resource.objects.create(name="empty")

    check_error(search(client, empty), 404, "Not Found Error")


@pytest.mark.parametrize("sent", [{}, {"resource_id": None}, {"resource_id": ""}, {"limit": 5}])
def test_a_missing_resource_id_is_409(client: Client, db: None, sent: dict[str, Any]) -> None:
    assert check_error(ask(client, sent), 409, "Validation Error") == {
        "resource_id": ["Missing value"]
    }


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[1]",
        '"text"',
        "5",
        "null",
        '{"a": NaN}',
        "\ud800".encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00",
        '{"a":' * 5000,
        '{"limit": ' + "9" * 5000 + "}",
    ],
)
def test_a_body_that_is_no_json_object_is_400(client: Client, db: None, body: str | bytes) -> None:
    check_error(ask(client, body), 400, "Bad Request")


@pytest.mark.parametrize("value", [-1, "-1"])
def test_a_negative_limit_is_refused(client: Client, resource: Resource, value: object) -> None:
    for name in ("limit", "offset"):
        error = check_error(search(client, resource, **{name: value}), 409, "Validation Error")
        assert error == {name: ["Must be a natural number"]}


@pytest.mark.parametrize("value", ["abc", 1.5, "5.0", "1e3", " ", [], [5], {"a": 1}, "٣x"])
def test_a_limit_that_is_no_integer_is_refused(
    client: Client, resource: Resource, value: object
) -> None:
    error = check_error(search(client, resource, limit=value), 409, "Validation Error")
    assert error == {"limit": ["Invalid integer"]}


def test_a_huge_number_is_refused_or_capped(client: Client, resource: Resource) -> None:
    body = f'{{"resource_id": "{resource.pk}", "limit": 1e400}}'

    check_error(ask(client, body), 409, "Validation Error")


def test_a_parameter_given_twice_is_refused(client: Client, resource: Resource) -> None:
    response = client.get(f"{PATH}?resource_id={resource.pk}&limit=1&limit=2")

    assert check_error(response, 409, "Validation Error") == {"limit": ["Invalid integer"]}


def test_several_errors_are_reported_together(client: Client, resource: Resource) -> None:
    error = check_error(
        search(client, resource, limit="x", offset=-1, filters="{", nonsense=1),
        409,
        "Validation Error",
    )

    assert error == {
        "limit": ["Invalid integer"],
        "offset": ["Must be a natural number"],
        "filters": ["Cannot parse JSON"],
        "__extras": ["There is no parameter “nonsense”."],
    }


@pytest.mark.parametrize(
    ("filters", "part"),
    [
        ({"nope": 1}, "nope"),
        ({"rank": 1}, "rank"),
        ({"search": 1}, "search"),
        ({"amount": "much"}, '"much"'),
        ({"amount": True}, "true"),
        ({"amount": {"above": 5}}, "amount"),
        ({"amount": [[5]]}, "amount"),
        ({"seen": "2023-02-30"}, "2023-02-30"),
        ({"seen": 5}, "seen"),
        ({"_id": "x"}, "_id"),
        ([5], "object"),
        ("5", "object"),
    ],
)
def test_filters_that_do_not_fit_are_refused_by_name(
    client: Client, resource: Resource, filters: object, part: str
) -> None:
    error = check_error(search(client, resource, filters=filters), 409, "Validation Error")

    assert set(error) == {"filters"}
    assert part in error["filters"][0]


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
@pytest.mark.parametrize("name", ["q", "filters", "resource_id", "id"])
def test_texts_that_postgresql_cannot_store_are_refused(
    client: Client, resource: Resource, name: str, text: str
) -> None:
    value: object = {"subject": ["x", text]} if name == "filters" else text
    error = check_error(search(client, resource, **{name: value}), 409, "Validation Error")

    assert set(error) == {name}


def test_sql_in_any_place_is_only_text(client: Client, resource: Resource) -> None:
    evil = "'; DROP TABLE auth_user; -- %s {} \\"

    assert get_ids(search(client, resource, q=evil)) == []
    assert get_ids(search(client, resource, filters={"subject": [evil] * 12})) == []
    assert get_ids(search(client, resource, filters={"subject": evil})) == []
    check_error(search(client, resource, filters={evil: 1}), 409, "Validation Error")
    check_error(search(client, resource, **{evil: 1}), 409, "Validation Error")


def test_a_very_long_q_is_refused(client: Client, resource: Resource) -> None:
    error = check_error(search(client, resource, q="w " * 6000), 409, "Validation Error")

    assert set(error) == {"q"}


def test_a_slow_search_is_ended(client: Client, resource: Resource, settings: Any) -> None:
    make_slow(resource)
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(milliseconds=50)

    error = check_error(search(client, resource), 409, "Validation Error")

    assert error == {"query": ["Search took too long"]}


def test_an_unknown_action_is_400(client: Client, db: None) -> None:
    error = check_error(client.get("/en/api/action/datastore_dance"), 400, "Bad Request")

    assert "datastore_dance" in error["message"]


def test_a_longer_address_is_404(client: Client, db: None) -> None:
    check_error(client.get("/en/api/action/datastore_search/"), 404, "Not Found Error")
    check_error(client.post("/en/api/3/action/datastore_search/x"), 404, "Not Found Error")


def test_other_methods_are_405(client: Client, db: None) -> None:
    for method in ("put", "patch", "delete"):
        response = getattr(client, method)(PATH)
        check_error(response, 405, "Method Not Allowed")
        assert response["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_another_content_type_is_415(client: Client, resource: Resource) -> None:
    response = client.post(PATH, "{}", content_type="application/xml")

    check_error(response, 415, "Unsupported Media Type")


def test_a_body_that_is_too_large_is_413(client: Client, resource: Resource, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    check_error(search(client, resource, q="x" * 200), 413, "Request Too Large")


def test_an_unexpected_error_discloses_nothing(
    client: Client, resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(*_args: object) -> None:
        raise RuntimeError("SELECT secret FROM django")

    monkeypatch.setattr("datastore_search.api.actions.search.read_page", raise_error)

    error = check_error(search(client, resource), 500, "Internal Server Error")

    assert error == {"message": "Internal server error"}
