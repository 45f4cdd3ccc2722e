"""Groups, facets and changes of five sample tables are those that pandas finds in their files."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from .tables import call

pytestmark = pytest.mark.django_db

_FOLDER = Path(__file__).parents[2] / "example_project" / "sample_data"


def load(name: str) -> tuple[Resource, pd.DataFrame]:
    path = _FOLDER / f"{name}.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    return make_loaded_resource(path.read_text()), frame


#: A table, a field by whose values records are grouped, and a field of numbers.
GROUPS = [
    ("capitals", "continent", "latitude"),
    ("debian_packages", "Section", "Size"),
    ("staff_training", "course", "cost"),
    ("tinh_thanh", "Vùng", "Dân số (2019)"),
    ("watershed_survey", "region", "budget"),
]
METRICS: dict[str, Callable[[Any], Any]] = {
    "count": lambda values: len(values.dropna()),
    "sum": lambda values: sum(values.dropna().map(Decimal)) if len(values.dropna()) else None,
    "min": lambda values: min(values.dropna().map(Decimal), default=None),
    "max": lambda values: max(values.dropna().map(Decimal), default=None),
    "median": lambda values: values.dropna().map(Decimal).astype(float).median(),
    "avg": lambda values: values.dropna().map(Decimal).astype(float).mean(),
    "count_distinct": lambda values: values.dropna().map(Decimal).nunique(),
    "first": lambda values: next(iter(values.dropna().map(Decimal)), None),
    "last": lambda values: next(iter(values.dropna().map(Decimal)[::-1]), None),
    "stddev": lambda values: values.dropna().astype(float).std(),
}


def is_same(found: Any, expected: Any) -> bool:
    if found is None or expected is None or pd.isna(expected):
        return found is None and (expected is None or pd.isna(expected))
    if isinstance(expected, float):
        return bool(float(found) == pytest.approx(expected, rel=1e-12))
    return bool(Decimal(str(found)) == expected)


@pytest.mark.parametrize(("name", "by", "number"), GROUPS, ids=[each[0] for each in GROUPS])
def test_groups(name: str, by: str, number: str) -> None:
    resource, frame = load(name)
    metrics = [{"metric": each, "field": number, "as": each} for each in METRICS]

    found = call("datastore_aggregate", resource, group_by=[by], metrics=metrics, limit=1000)

    records = {record[by]: record for record in found["records"]}
    groups = {None if pd.isna(key) else key: rows for key, rows in frame.groupby(by, dropna=False)}
    assert found["total"] == len(groups) >= 3
    assert records.keys() == groups.keys()
    for key, rows in groups.items():
        for metric, compute in METRICS.items():
            assert is_same(records[key][metric], compute(rows[number])), (key, metric)


@pytest.mark.parametrize(("name", "by", "number"), GROUPS, ids=[each[0] for each in GROUPS])
def test_facets_of_a_range(name: str, by: str, number: str) -> None:
    resource, frame = load(name)
    numbers = frame[number].map(lambda value: None if pd.isna(value) else Decimal(value))
    low = sorted(numbers.dropna())[len(numbers.dropna()) // 4]
    matches = frame[[value is not None and value >= low for value in numbers]]

    found = call(
        "datastore_facets", resource, facets=[by], filters={number: {"gte": str(low)}}, limit=5
    )

    (facet,) = found["facets"]
    counts = matches[by].value_counts()
    listed = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:5]
    assert found["total"] == len(matches)
    assert [(each["value"], each["count"]) for each in facet["values"]] == listed
    assert facet["distinct"] == len(counts)
    assert facet["nulls"] == matches[by].isna().sum()
    assert facet["others"] == counts.sum() - sum(count for _value, count in listed)


def test_change_between_two_years() -> None:
    resource, frame = load("watershed_survey")
    asked = {
        "group_by": ["region", {"field": "start_date", "interval": "year", "as": "year"}],
        "metrics": ["sum(budget)"],
        "compare": {"field": "year", "from": "2019", "to": "2020"},
    }

    found = call("datastore_aggregate", resource, **asked)

    years = frame["start_date"].str[:4]
    sums = {
        year: frame[years == year]
        .groupby("region", dropna=False)["budget"]
        .agg(lambda values: sum(values.dropna().map(Decimal)))
        for year in ("2019", "2020")
    }
    assert len(found["records"]) > 3
    for record in found["records"]:
        key = pd.NA if record["region"] is None else record["region"]
        before, after = (sums[year].get(key, Decimal()) for year in ("2019", "2020"))
        assert record["sum_budget_difference"] == after - before
        if before:
            change = float((after - before) / abs(before) * 100)
            assert float(record["sum_budget_change"]) == pytest.approx(change, abs=1e-6)
