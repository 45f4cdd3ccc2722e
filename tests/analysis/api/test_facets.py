"""``datastore_facets``: its parameters, its refusals, and who may call it."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ...builders import get_result
from ..tables import call, refuse

pytestmark = pytest.mark.django_db

ADDRESS = "/en/api/3/action/datastore_facets"


read_facets = partial(call, "datastore_facets")
read_fault = partial(refuse, "datastore_facets")


@pytest.mark.parametrize(
    "facets",
    [
        ["stage", "subject"],
        "stage,subject",
        ' stage , "subject"',
        '["stage", "subject"]',
        [{"field": "stage"}, "subject"],
        '[{"field": "stage", "limit": "10"}, {"field": "subject"}]',
    ],
)
def test_facets_may_be_written_in_each_form(resource: Resource, facets: Any) -> None:
    expected = read_facets(resource, facets=["stage", "subject"])

    assert read_facets(resource, facets=facets) == expected
    assert [facet["field"] for facet in expected["facets"]] == ["stage", "subject"]


def test_get_answers_like_post(client: Client, resource: Resource) -> None:
    sent = {
        "facets": [{"field": "seen", "interval": "year"}, "stage"],
        "filters": {"stage": "active"},
        "exclude_own": False,
        "limit": 2,
    }
    expected = read_facets(resource, **sent)
    written = {name: json.dumps(value) for name, value in sent.items()}

    assert (
        get_result(client.get(ADDRESS, {"id": str(resource.pk), **written}), "datastore_facets")
        == expected
    )
    repeated = client.get(f"{ADDRESS}?id={resource.pk}&facets=stage&facets=subject").json()
    assert len(repeated["result"]["facets"]) == 2


def test_the_limit_of_a_facet_goes_before_that_of_all(resource: Resource) -> None:
    found = read_facets(resource, facets=["subject", {"field": "stage", "limit": 1}], limit=2)

    assert [len(facet["values"]) for facet in found["facets"]] == [2, 1]
    assert [facet["others"] for facet in found["facets"]] == [1, 2]


@pytest.mark.parametrize(
    ("facets", "message"),
    [
        (None, "Missing value"),
        ("", "Missing value"),
        ([], "Missing value"),
        (5, "Must be a list of names, or of objects with options."),
        ("[", "Cannot parse JSON"),
        ([5], "?: Must be a list of names, or of objects with options."),
        ({"stage": {}}, "Must be a list of names, or of objects with options."),
        ([{}], "?, field: Missing value"),
        (["x"] * 21, "There are more than 20 items."),
        (["nothing"], "Unknown field: “nothing”"),
        (["_id"], "Unknown field: “_id”"),
        ([{"field": "stage", "size": 5}], "stage: There is no parameter “size”."),
        ([{"field": "stage", "limit": -1}], "stage, limit: Must be a natural number"),
        ([{"field": "amount", "bins": 0}], "amount, bins: Must be a whole number from 1 to 100."),
        ([{"field": "amount", "bins": 2.5}], "amount, bins: Must be a whole number from 1 to 100."),
        (
            [{"field": "amount", "bins": 1e50}],
            "amount, bins: Must be a whole number from 1 to 100.",
        ),
        (
            [{"field": "amount", "bins": True}],
            "amount, bins: Must be a whole number from 1 to 100.",
        ),
        (
            [{"field": "amount", "bins": 3, "limit": 5}],
            "amount: “bins” and “limit” cannot be combined.",
        ),
        (
            [{"field": "stage", "bins": 3}],
            "Field “stage” has type text, which does not support “bins”.",
        ),
        (
            [{"field": "amount", "interval": "year"}],
            "Field “amount” has type numeric, which does not support “interval”.",
        ),
        (
            [{"field": "seen", "interval": "year", "time_zone": "UTC"}],
            "Field “seen” has type date, which does not support “time_zone”.",
        ),
        (
            [{"field": "seen", "interval": "decade"}],
            "seen, interval: Value must be one of year, quarter, month, week, day, hour",
        ),
    ],
)
def test_facets_that_cannot_be_used_are_refused_by_name(
    resource: Resource, facets: Any, message: str
) -> None:
    assert read_fault(resource, facets=facets) == {"facets": [message]}


def test_a_field_of_json_has_no_facets(typed: Resource) -> None:
    assert read_fault(typed, facets=["json"]) == {
        "facets": ["Field “json” has type json. Records cannot be grouped by it."]
    }


@pytest.mark.parametrize("zone", ["Mars/Olympus", "UTC+3", "'; --", "x" * 150])
def test_an_unknown_time_zone_is_refused(typed: Resource, zone: str) -> None:
    facet = {"field": "timestamptz", "interval": "day", "time_zone": zone}

    assert read_fault(typed, facets=[facet]) == {
        "facets": [f"PostgreSQL has no time zone “{zone[:100]}”."]
    }


def test_all_that_is_wrong_is_said_together(resource: Resource) -> None:
    fault = read_fault(
        resource,
        facets=["nothing", {"field": "title", "bins": 2}],
        filters={"nowhere": 1},
        q="river",
        language="klingon",
    )

    assert {name: len(messages) for name, messages in fault.items()} == {
        "facets": 2,
        "filters": 1,
        "language": 1,
    }


def test_values_that_are_too_large_together_are_refused(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.contrib.analysis.facets.MAX_MEMORY_BYTES", 20)

    fault = read_fault(resource, facets="title", q="river")

    assert fault["limit"][0].startswith("The answer would have more than 20 bytes.")
