"""``datastore_aggregate``: its parameters, its refusals, and who may call it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from datastore_search.models import Resource

from ..tables import call, refuse

pytestmark = pytest.mark.django_db


aggregate = partial(call, "datastore_aggregate")
read_fault = partial(refuse, "datastore_aggregate")


@pytest.mark.parametrize(
    ("group_by", "metrics"),
    [
        ("stage", "count,sum(amount)"),
        (["stage"], ["count", "sum(amount)"]),
        ('["stage"]', '["count", {"metric": "sum", "field": "amount"}]'),
        ([{"field": "stage"}], [{"metric": "count"}, ' sum ( "amount" ) ']),
    ],
)
def test_groups_and_metrics_may_be_written_in_each_form(
    resource: Resource, group_by: Any, metrics: Any
) -> None:
    found = aggregate(resource, group_by=group_by, metrics=metrics)

    assert found["fields"] == [
        {"id": "stage", "type": "text"},
        {"id": "count", "type": "int8"},
        {"id": "sum_amount", "type": "numeric"},
    ]
    assert found["records"][0] == {"stage": "active", "count": 4, "sum_amount": 39.75}
    assert found["group_by"] == [{"field": "stage"}]
    assert found["metrics"] == [{"metric": "count"}, {"metric": "sum", "field": "amount"}]


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"group_by": "nothing"}, {"group_by": ["Unknown field: “nothing”"]}),
        ({"group_by": ["stage"] * 5}, {"group_by": ["There are more than 4 items."]}),
        (
            {"group_by": "stage,stage"},
            {
                "group_by": [
                    "Two columns have the name “stage”. Give one of them another name with “as”."
                ]
            },
        ),
        (
            {"group_by": "stage", "metrics": [{"metric": "count", "as": "stage"}]},
            {
                "metrics": [
                    "Two columns have the name “stage”. Give one of them another name with “as”."
                ]
            },
        ),
        (
            {"metrics": [{"metric": "count", "as": "_id"}]},
            {"metrics": ["“_id” is the key of records, and no other column can have this name."]},
        ),
        (
            {"group_by": [{"field": "amount", "bins": 3, "width": 2}]},
            {"group_by": ["amount: “width” and “bins” cannot be combined."]},
        ),
        (
            {"group_by": [{"field": "amount", "width": 0}]},
            {"group_by": ["amount, width: Must be a number from 1E-30 to 1E+30."]},
        ),
        (
            {"group_by": [{"field": "stage", "width": 1}]},
            {"group_by": ["Field “stage” has type text, which does not support “width”."]},
        ),
        (
            {"group_by": [{"field": "seen", "time_zone": "UTC"}]},
            {"group_by": ["seen, interval: Missing value"]},
        ),
        ({"metrics": "count,nothing(amount)"}, None),
        ({"metrics": ["count"] * 21}, {"metrics": ["There are more than 20 items."]}),
        ({"metrics": "sum"}, {"metrics": ["sum, field: Missing value"]}),
        (
            {"metrics": "percentile(amount)"},
            {"metrics": ["percentile(amount), percentile: Missing value"]},
        ),
        (
            {"metrics": [{"metric": "percentile", "field": "amount", "percentile": 101}]},
            {"metrics": ["percentile, percentile: Must be a number from 0 to 100."]},
        ),
        (
            {"metrics": [{"metric": "sum", "field": "amount", "percentile": 1}]},
            {"metrics": ["sum: “sum” and “percentile” cannot be combined."]},
        ),
        (
            {"metrics": "sum(stage)"},
            {"metrics": ["Field “stage” has type text, which does not support “sum”."]},
        ),
        ({"metrics": "sum(nothing)"}, {"metrics": ["Unknown field: “nothing”"]}),
        (
            {"metrics": "x y(z"},
            {"metrics": ["x y(z: Must be a list of names, or of objects with options."]},
        ),
        ({"sort": "amount"}, {"sort": ["Unknown field: “amount”"]}),
        ({"having": {"amount": 1}}, {"having": ["Unknown field: “amount”"]}),
        (
            {"having": {"count": "many"}},
            {"having": ['Field “count” has type int8 and cannot equal "many".']},
        ),
        ({"having": {"$nor": []}}, None),
        ({"filters": {"nothing": 1}}, {"filters": ["Unknown field: “nothing”"]}),
        ({"limit": -1}, {"limit": ["Must be a natural number"]}),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    resource: Resource, sent: dict[str, Any], fault: dict[str, Any] | None
) -> None:
    found = read_fault(resource, **sent)

    assert found == fault or (fault is None and list(found) == [*sent][-1:])


@pytest.mark.parametrize("width", [1e30, "1e-30", 0.1, "1E+30", 7])
def test_ranges_may_be_very_wide_or_narrow(resource: Resource, width: Any) -> None:
    found = aggregate(resource, group_by=[{"field": "amount", "width": width}])

    assert sum(group["count"] for group in found["records"]) == 6


def test_a_column_has_the_entry_of_its_field(resource: Resource) -> None:
    resource.fields.filter(name="stage").update(label="Stage")

    found = aggregate(resource, group_by=[{"field": "stage", "as": "s"}])

    assert found["fields"][0] == {"id": "s", "type": "text", "info": {"label": "Stage"}}
