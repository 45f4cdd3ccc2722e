"""Facets and aggregates for a portal's own Python code."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from datastore_search.api.parameters import ActionParameters
from datastore_search.contrib.analysis import interface
from datastore_search.contrib.analysis.interface import compute_aggregates, compute_facets
from datastore_search.contrib.analysis.parameters import AggregateParameters, FacetsParameters
from datastore_search.interface import AccessDenied, InvalidParameters
from datastore_search.models import Resource

from ..builders import SURVEY, make_resource

ANYONE = AnonymousUser()


@pytest.mark.parametrize(
    ("options", "declared", "others"),
    [
        (interface.FacetsOptions, FacetsParameters, {"id", "resource_id", "facets"}),
        (interface.AggregateOptions, AggregateParameters, {"id", "resource_id", "records_format"}),
    ],
)
def test_the_options_are_the_parameters_of_the_api(
    options: Any, declared: type[ActionParameters], others: set[str]
) -> None:
    assert {*declared.get_declared()} - others == {*options.__annotations__}


@pytest.mark.django_db
def test_values_are_counted_and_computed() -> None:
    survey = make_resource(SURVEY)

    (facet,) = compute_facets(ANYONE, survey.pk, [{"field": "amount", "limit": 1}])["facets"]
    assert facet["values"] == [{"value": 0, "count": 1}]
    metrics = [{"metric": "avg", "field": "amount", "as": "mean"}]
    found = compute_aggregates(ANYONE, survey.pk, group_by="stage", metrics=metrics, sort="stage")
    assert found["records"][0] == {"stage": "active", "mean": Decimal("13.25")}


def test_what_a_user_may_not_read_is_refused(hidden: Resource) -> None:
    with pytest.raises(AccessDenied):
        compute_facets(ANYONE, hidden.pk, "code")
    with pytest.raises(AccessDenied):
        compute_aggregates(ANYONE, hidden.pk, metrics="count")
    with pytest.raises(InvalidParameters, match="combined"):
        compute_facets(ANYONE, hidden.pk, [{"field": "code", "bins": 2, "limit": 2}])
