"""Facets and aggregates for a portal's own Python code."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from datastore_search.interface import AccessDenied, InvalidParameters, run_action
from datastore_search.models import Resource

from ..builders import SURVEY, make_resource

ANYONE = AnonymousUser()


@pytest.mark.django_db
def test_values_are_counted_and_computed() -> None:
    survey = make_resource(SURVEY)

    facets = [{"field": "amount", "limit": 1}]
    parameters: dict[str, Any] = {"resource_id": survey.pk, "sort": "stage"}
    (facet,) = run_action(ANYONE, "datastore_facets", resource_id=survey.pk, facets=facets)[
        "facets"
    ]
    assert facet["values"] == [{"value": 0, "count": 1}]
    metrics = [{"metric": "avg", "field": "amount", "as": "mean"}]
    found = run_action(
        ANYONE, "datastore_aggregate", group_by="stage", metrics=metrics, **parameters
    )
    assert found["records"][0] == {"stage": "active", "mean": Decimal("13.25")}


def test_what_a_user_may_not_read_is_refused(hidden: Resource) -> None:
    with pytest.raises(AccessDenied):
        run_action(ANYONE, "datastore_facets", resource_id=hidden.pk, facets="code")
    with pytest.raises(AccessDenied):
        run_action(ANYONE, "datastore_aggregate", resource_id=hidden.pk, metrics="count")
    facets = [{"field": "code", "bins": 2, "limit": 2}]
    with pytest.raises(InvalidParameters, match="combined"):
        run_action(ANYONE, "datastore_facets", resource_id=hidden.pk, facets=facets)
