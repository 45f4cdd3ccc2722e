"""Facets count what PostgreSQL counts in a typed table; their parameters."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, strategies as st

from datastore_search.models import Resource

from ..builders import act, get_result, make_writer_token
from ..files.builders import make_loaded_resource
from ..typed import CELLS, get_column_name
from .tables import DAYS, NUMBERS, QUESTIONS, call, canonical, exact, fetch, quickly, refuse

pytestmark = pytest.mark.django_db

SCALARS = [kind for kind in CELLS if kind != "json" and not kind.startswith("_")]
LISTS = [kind for kind in CELLS if kind.startswith("_")]


@pytest.fixture
def resource(loaded: Resource) -> Resource:
    """The survey with what its load has found out about the values."""
    return loaded


def read_facet(resource: Resource, facet: Any, **more: Any) -> dict[str, Any]:
    """Read one facet, which is complete."""
    (found,) = call("datastore_facets", resource, facets=[facet], **more)["facets"]
    assert found.pop("complete") is True
    result: dict[str, Any] = found
    return result


def list_counts(facet: dict[str, Any]) -> list[tuple[Any, int]]:
    return [(each["value"], each["count"]) for each in facet["values"]]


# Values -------------------------------------------------------------------------------------------


@quickly
@given(
    kind=st.sampled_from(SCALARS),
    question=st.sampled_from(QUESTIONS),
    options=st.fixed_dictionaries(
        {
            "limit": st.integers(0, 7),
            "min_count": st.integers(0, 20),
            "sort": st.sampled_from(["count", "count asc", "value", "value desc"]),
        }
    ),
)
def test_values_are_counted_as_in_a_typed_table(
    repeated: Resource, kind: str, question: tuple[dict[str, Any], str], options: dict[str, Any]
) -> None:
    filters, where = question
    tie = 'key COLLATE "C"' if kind == "text" else "key"
    order = {
        "count": f"number DESC, {tie}",
        "count asc": f"number, {tie}",
        "value": "key",
        "value desc": "key DESC",
    }[options["sort"]]
    groups = fetch(
        f"SELECT key IS NULL, {canonical(kind, 'key')}, number"
        f" FROM (SELECT {get_column_name(kind)} AS key, count(*) AS number FROM repeated"
        f" WHERE {where} GROUP BY 1) AS each ORDER BY {order}"
    )
    values = [(exact(text), number) for is_null, text, number in groups if not is_null]
    listed = [each for each in values if each[1] >= options["min_count"]]
    listed = listed[: options["limit"]]

    found = read_facet(repeated, {"field": kind, **options}, filters=filters, exclude_own=False)

    assert (found["field"], found["type"], list_counts(found)) == (kind, kind, listed)
    assert found["distinct"] == len(values)
    assert found["nulls"] == sum(number for is_null, _text, number in groups if is_null)
    assert found["others"] == sum(n for _, n in values) - sum(n for _, n in listed)


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("limit", [1, 10])
def test_lists_are_counted_by_element_each_once_a_record(
    repeated: Resource, kind: str, limit: int
) -> None:
    name = get_column_name(kind)
    elements = f"(SELECT DISTINCT element FROM unnest({name}) AS element) AS each"
    groups = fetch(
        f"SELECT to_jsonb(element)::text, count(*) FROM repeated, LATERAL {elements}"
        " WHERE element IS NOT NULL GROUP BY element ORDER BY 2 DESC, to_jsonb(element)"
    )
    listed = groups[:limit]
    names = ", ".join(f"'{text}'" for text, _number in listed)
    ((nulls, others),) = fetch(
        f"SELECT count(*) FILTER (WHERE {name} IS NULL), count(*) FILTER (WHERE EXISTS"
        f" (SELECT FROM unnest({name}) AS element WHERE to_jsonb(element)::text NOT IN"
        f" ({names}))) FROM repeated"
    )

    found = read_facet(repeated, {"field": kind, "limit": limit})

    assert list_counts(found) == [(exact(text), number) for text, number in listed]
    assert (found["nulls"], found["others"], found["distinct"]) == (nulls, others, len(groups))


def test_a_facet_leaves_out_the_conditions_on_its_own_field(resource: Resource) -> None:
    filters = {"stage": "active", "subject": ["survey", "air"]}

    found = call("datastore_facets", resource, facets="stage,subject", filters=filters)

    stages, subjects = found["facets"]
    assert found["total"] == 2
    assert list_counts(stages) == [("active", 2), ("planned", 1)]
    assert list_counts(subjects) == [("air", 1), ("survey", 1), ("watershed", 1)]
    kept = call(
        "datastore_facets", resource, facets="stage,subject", filters=filters, exclude_own=False
    )
    assert [list_counts(each) for each in kept["facets"]] == [
        [("active", 2)],
        [("air", 1), ("survey", 1)],
    ]


def test_a_facet_leaves_out_the_query_over_its_own_field(resource: Resource) -> None:
    found = call(
        "datastore_facets", resource, facets="stage,title", q={"title": "river", "stage": "active"}
    )

    stages, titles = found["facets"]
    assert found["total"] == 1
    assert list_counts(stages) == [("active", 1)]
    assert titles["distinct"] == 4


def test_a_list_with_operators_is_a_condition_on_its_own_field(resource: Resource) -> None:
    filters = {"stage": ["closed", {"startswith": "pl"}], "subject": ["survey", "watershed"]}

    found = read_facet(resource, "stage", filters=filters)

    assert list_counts(found) == [("active", 2), ("closed", 1), ("planned", 1)]


def test_the_field_of_a_condition_may_begin_with_a_dollar(db: None) -> None:
    resource = make_loaded_resource("$a,b\n1,x\n2,x\n")

    assert read_facet(resource, "$a", filters={"$$a": 1})["distinct"] == 2
    assert read_facet(resource, "b", filters={"$$a": 1})["values"] == [{"value": "x", "count": 1}]


# Bins ---------------------------------------------------------------------------------------------


@quickly
@given(
    kind=st.sampled_from(NUMBERS + DAYS),
    bins=st.integers(1, 7),
    question=st.sampled_from(QUESTIONS),
)
def test_bins_count_what_lies_between_their_bounds(
    repeated: Resource, kind: str, bins: int, question: tuple[dict[str, Any], str]
) -> None:
    filters, where = question
    name = get_column_name(kind)
    infinite = "'infinity', '-infinity'" + (", 'NaN'" if kind in {"numeric", "float8"} else "")
    number = f"{name}::numeric" if kind.startswith("int") else name
    is_finite = "true" if kind.startswith("int") else f"{name} NOT IN ({infinite})"
    ((low, high, nulls, others),) = fetch(
        f"SELECT {canonical(kind, f'min({name}) FILTER (WHERE {is_finite})')},"
        f" {canonical(kind, f'max({name}) FILTER (WHERE {is_finite})')},"
        f" count(*) FILTER (WHERE {name} IS NULL), count(*) FILTER (WHERE NOT {is_finite})"
        f" FROM repeated WHERE {where}"
    )

    found = read_facet(repeated, {"field": kind, "bins": bins}, filters=filters, exclude_own=False)

    assert (found["min"], found["max"]) == (exact(low), exact(high))
    assert (found["nulls"], found["others"]) == (nulls, others)
    assert len(found["bins"]) <= bins
    assert [each["from"] for each in found["bins"][1:]] == [
        each["to"] for each in found["bins"][:-1]
    ]
    if found["bins"]:
        assert (found["bins"][0]["from"], found["bins"][-1]["to"]) == (exact(low), exact(high))
    for each in found["bins"]:
        end = "<=" if each is found["bins"][-1] else "<"
        ((count,),) = fetch(
            f"SELECT count(*) FROM repeated WHERE ({where}) AND {is_finite}"
            f" AND {number} >= '{each['from']}' AND {number} {end} '{each['to']}'"
        )
        assert each["count"] == count, each


def test_bins_have_equal_widths_and_exact_bounds(db: None) -> None:
    resource = make_loaded_resource("n,d\n0.1,2024-01-01\n0.7,2024-01-11\n0.4,2024-01-06\n")

    numbers = read_facet(resource, {"field": "n", "bins": 3})
    days = read_facet(resource, {"field": "d", "bins": 4})

    assert [(each["from"], each["to"], each["count"]) for each in numbers["bins"]] == [
        (Decimal("0.1"), Decimal("0.3"), 1),
        (Decimal("0.3"), Decimal("0.5"), 1),
        (Decimal("0.5"), Decimal("0.7"), 1),
    ]
    assert [(each["from"], each["count"]) for each in days["bins"]] == [
        ("2024-01-01", 1),
        ("2024-01-03", 0),
        ("2024-01-06", 1),
        ("2024-01-08", 1),
    ]


# Periods ------------------------------------------------------------------------------------------


@quickly
@given(
    kind=st.sampled_from(DAYS),
    interval=st.sampled_from(["decade", "year", "quarter", "month", "week", "day", "hour"]),
    zone=st.sampled_from(["", "UTC", "Asia/Kolkata", "america/new_york"]),
)
def test_periods_begin_where_postgresql_truncates(
    repeated: Resource, kind: str, interval: str, zone: str
) -> None:
    facet = {"field": kind, "interval": interval, "sort": "value"}
    moment = f"{get_column_name(kind)}::timestamp"
    if kind == "timestamptz":
        moment = get_column_name(kind)
        facet["time_zone"] = zone
    arguments = f", '{zone or 'UTC'}'" if kind == "timestamptz" else ""
    back = "::date" if kind == "date" else ""
    groups = fetch(
        f"SELECT {canonical(kind, f'key{back}')}, number FROM (SELECT"
        f" CASE WHEN isfinite({moment})"
        f" THEN greatest(date_trunc('{interval}', {moment}{arguments}), '0001-01-01 00:00+00')"
        f" ELSE {moment} END AS key, count(*) AS number FROM repeated WHERE {moment} IS NOT NULL"
        " GROUP BY 1) AS each ORDER BY key"
    )

    found = read_facet(repeated, facet)

    assert list_counts(found) == [(exact(text), number) for text, number in groups]
    assert found["type"] == kind


# What is stored -----------------------------------------------------------------------------------


def test_facets_of_changed_records_are_those_of_the_present(resource: Resource) -> None:
    assert list_counts(read_facet(resource, "stage"))[0] == ("active", 4)
    sent = {
        "resource_id": str(resource.pk),
        "force": True,
        "method": "insert",
        "records": [{"stage": "active"}],
    }
    assert act(Client(), "datastore_upsert", sent, make_writer_token()).status_code == 200

    assert list_counts(read_facet(resource, "stage"))[0] == ("active", 5)


def test_an_empty_table_has_facets(db: None) -> None:
    resource = make_loaded_resource("a,b\n1,x\n")

    for filters in ({"b": "y"}, {"_id": -1}):
        found = call(
            "datastore_facets",
            resource,
            facets=["b", {"field": "a", "bins": 3}],
            filters=filters,
            exclude_own=False,
        )
        values, bins = found["facets"]
        assert found["total"] == 0
        assert (values["values"], values["distinct"], values["nulls"]) == ([], 0, 0)
        assert (bins["bins"], bins["min"], bins["max"]) == ([], None, None)


# Parameters ---------------------------------------------------------------------------------------


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
    expected = call("datastore_facets", resource, facets=["stage", "subject"])

    assert call("datastore_facets", resource, facets=facets) == expected
    assert [facet["field"] for facet in expected["facets"]] == ["stage", "subject"]


def test_get_answers_like_post(client: Client, resource: Resource) -> None:
    sent = {
        "facets": [{"field": "seen", "interval": "year"}, "stage"],
        "filters": {"stage": "active"},
        "exclude_own": False,
        "limit": 2,
    }
    expected = call("datastore_facets", resource, **sent)
    written = {name: json.dumps(value) for name, value in sent.items()}

    assert (
        get_result(
            client.get("/en/api/3/action/datastore_facets", {"id": str(resource.pk), **written})
        )
        == expected
    )
    repeated = client.get(
        f"/en/api/3/action/datastore_facets?id={resource.pk}&facets=stage&facets=subject"
    ).json()
    assert len(repeated["result"]["facets"]) == 2


def test_the_limit_of_a_facet_goes_before_that_of_all(resource: Resource) -> None:
    found = call(
        "datastore_facets", resource, facets=["subject", {"field": "stage", "limit": 1}], limit=2
    )

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
        *(
            (
                [{"field": "amount", "bins": bins}],
                "amount, bins: Must be a whole number from 1 to 100.",
            )
            for bins in (0, 2.5, 1e50, True)
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
            [{"field": "seen", "interval": "century"}],
            "seen, interval: Value must be one of decade, year, quarter, month, week, day, hour",
        ),
    ],
)
def test_facets_that_cannot_be_used_are_refused_by_name(
    resource: Resource, facets: Any, message: str
) -> None:
    assert refuse("datastore_facets", resource, facets=facets) == {"facets": [message]}


def test_a_field_of_json_has_no_facets(typed: Resource) -> None:
    assert refuse("datastore_facets", typed, facets=["json"]) == {
        "facets": ["Field “json” has type json. Records cannot be grouped by it."]
    }


@pytest.mark.parametrize("zone", ["Mars/Olympus", "UTC+3", "'; --", "x" * 150])
def test_an_unknown_time_zone_is_refused(typed: Resource, zone: str) -> None:
    facet = {"field": "timestamptz", "interval": "day", "time_zone": zone}

    assert refuse("datastore_facets", typed, facets=[facet]) == {
        "facets": [f"PostgreSQL has no time zone “{zone[:100]}”."]
    }


def test_all_that_is_wrong_is_said_together(resource: Resource) -> None:
    fault = refuse(
        "datastore_facets",
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

    fault = refuse("datastore_facets", resource, facets="title", q="river")

    assert fault["limit"][0].startswith("The answer would have more than 20 bytes.")
