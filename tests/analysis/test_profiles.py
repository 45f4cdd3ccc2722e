"""Profiles of fields, for all types: what the values of the present records are like."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.analysis import profiles
from datastore_search.contrib.analysis.engine.process import EngineUnavailable
from datastore_search.contrib.analysis.engine.source import Source
from datastore_search.models import Resource, TableVersion

from ..builders import act, make_writer_token
from ..core.writing.tables import Table
from ..files.builders import load_new_resource, load_text, make_loaded_table

pytestmark = pytest.mark.needs("files")


def read_profile(resource: Resource, name: str) -> dict[str, Any]:
    answer = act(Client(), "datastore_info", {"id": str(resource.pk)}).json()
    fields = {field["id"]: field for field in answer["result"]["fields"]}
    profile: dict[str, Any] = fields[name]["profile"]
    return profile


def profile_text(text: str, name: str = "a", **options: Any) -> dict[str, Any]:
    return read_profile(load_new_resource(text, **options), name)


#: Files with a field ``a``, the options of their loads, and what its profile has.
PROFILES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "texts": (
        'a,b\nx,1\n"",1\n,1\nđường,1\nx,1\n',
        {},
        {"count": 4, "nulls": 1, "empty": 1, "distinct": 3, "shortest": 0, "longest": 5}
        | {"top": [{"value": "x", "count": 2}]},
    ),
    "no values": (
        "a,b\n,x\n,y\n",
        {},
        {"count": 0, "nulls": 2, "empty": 0, "distinct": 0, "shortest": 0, "longest": 0},
    ),
    "long values": (
        f"a\n{'x' * 500}\n{'x' * 500}\n",
        {},
        {"count": 2, "nulls": 0, "empty": 0, "distinct": 1, "shortest": 500, "longest": 500}
        | {"top": [{"value": "x" * 100, "count": 2}]},
    ),
    "whole numbers": (
        "a,b\n-3,x\n0,x\n5,x\n5,x\n12,x\n,x\n",
        {},
        {"count": 5, "nulls": 1, "distinct": 4, "min": -3, "max": 12, "mean": 3.8}
        | {"top": [{"value": 5, "count": 2}]},
    ),
    "long whole numbers": (
        "a\n9007199254740993\n9223372036854775807\n",
        {},
        {"count": 2, "nulls": 0, "distinct": 2, "mean": pytest.approx(4.616189618e18)}
        | {"min": 9007199254740993, "max": 9223372036854775807},
    ),
    "long decimals": (
        "a\n0.12345678901234567890123\n1.50\n",
        {},
        {"count": 2, "nulls": 0, "distinct": 2, "mean": pytest.approx(0.8117283945)}
        | {"min": "0.12345678901234567890123", "max": 1.5},
    ),
    "bad rows": (
        "a\n1\nmany\n",
        {"types": {"a": "int4"}, "bad_rows": "skip"},
        {"count": 1, "nulls": 0, "distinct": 1, "min": 1, "max": 1, "mean": 1},
    ),
}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_counts_and_measures(db: None, name: str) -> None:
    text, options, expected = PROFILES[name]

    profile = profile_text(text, **options)

    histogram = profile.pop("histogram", None)
    assert profile == expected
    if name == "whole numbers":
        counts = [1, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1]
        assert histogram == {"bounds": list(range(-3, 14)), "counts": counts}


def test_decimals_at_a_bound_are_in_the_bin_that_begins_there(db: None) -> None:
    profile = profile_text("a\n0.1\n0.2\n0.3\n0.7\n")

    assert profile["histogram"] == {
        "bounds": pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
                                 0.7, 0.75]),
        "counts": [1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
    }  # fmt: skip


def test_special_numbers_are_not_in_the_histogram(db: None) -> None:
    profile = profile_text("a\n1.5\nNaN\nInfinity\n2.5\n", types={"a": "float8"})

    assert (profile["min"], profile["max"], profile["mean"]) == (1.5, 2.5, 2)
    assert sum(profile["histogram"]["counts"]) == 2


@pytest.mark.parametrize(
    "values", [("1e308", "1.5e308"), ("-1.7e308", "-1e308"), ("1.7e308", "-1e308", "1.6e308")]
)
def test_a_mean_that_a_double_cannot_hold_is_left_out(db: None, values: tuple[str, ...]) -> None:
    numbers = [float(value) for value in values]
    resource = load_new_resource("\n".join(["a", *values, ""]), types={"a": "float8"})

    profile = read_profile(resource, "a")

    assert (profile["count"], profile["distinct"]) == (len(values), len(values))
    assert (float(profile["min"]), float(profile["max"])) == (min(numbers), max(numbers))
    assert sum(profile["histogram"]["counts"]) == len(values)
    assert "mean" not in profile
    assert Client().get(f"/en/datastore/{resource.pk}/").status_code == 200


@pytest.mark.parametrize(
    ("kind", "values", "bounds", "counts"),
    [
        ("date", ["2024-01-01", "2024-01-03"], ["2024-01-01", "2024-01-02", "2024-01-03"], [1, 1]),
        (
            "timestamp",
            ["2024-01-01T00:00:00", "2024-01-01T00:19:59", "2024-01-01T00:20:00"],
            [f"2024-01-01T00:{minute:02}:00.000" for minute in range(21)],
            [1, *[0] * 18, 2],
        ),
    ],
)
def test_moments_have_the_bins_of_facets(
    db: None, kind: str, values: list[str], bounds: list[str], counts: list[int]
) -> None:
    resource = load_new_resource("\n".join(["a", *values, ""]), types={"a": kind})

    asked = {"resource_id": str(resource.pk), "facets": [{"field": "a", "bins": 20}]}
    (facet,) = act(Client(), "datastore_facets", asked).json()["result"]["facets"]

    assert read_profile(resource, "a")["histogram"] == {"bounds": bounds, "counts": counts}
    assert [each["from"] for each in facet["bins"]] == bounds[:-1]
    assert [each["count"] for each in facet["bins"]] == counts


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("bool", ["true", "1", "no"], {"distinct": 2, "top": [{"value": True, "count": 2}]}),
        ("int4", ["5", "+5", "05"], {"distinct": 1, "top": [{"value": 5, "count": 3}]}),
        ("time", ["01:00:00", "23:00:00"], {"distinct": 2, "min": "01:00:00", "max": "23:00:00"}),
        (
            "timestamptz",
            ["2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00Z"],
            {
                "distinct": 1,
                "top": [{"value": "2024-01-01T00:00:00.000+00:00", "count": 2}],
                "min": "2024-01-01T00:00:00.000+00:00",
                "max": "2024-01-01T00:00:00.000+00:00",
            },
        ),
        (
            "json",
            ['"{""a"": 1.5}"', '"{""a"": 1.5}"'],
            {"distinct": 1, "top": [{"value": {"a": 1.5}, "count": 2}]},
        ),
        (
            "json",
            ['"""NaN"""', '"""NaN"""', '"""[x"""', '"""[x"""'],
            {"distinct": 2, "top": [{"value": "NaN", "count": 2}, {"value": "[x", "count": 2}]},
        ),
        ("_int4", ['"[1, 2]"', '"[1,2]"'], {"distinct": 1, "top": [{"value": [1, 2], "count": 2}]}),
    ],
)
def test_every_type_has_a_profile(
    db: None, kind: str, values: list[str], expected: dict[str, Any]
) -> None:
    profile = profile_text("a,b\n" + "".join(f"{value},x\n" for value in values), types={"a": kind})

    profile.pop("histogram", None)
    profile.pop("mean", None)
    if kind == "int4":
        expected |= {"min": 5, "max": 5}
    assert profile == {"count": len(values), "nulls": 0, **expected}


def test_the_ten_most_common_values_are_sorted_by_count(db: None) -> None:
    rows = [f"v{number:02}" for number in range(12) for _time in range(number + 1)]

    profile = profile_text("a\n" + "\n".join(rows) + "\n")

    assert profile["distinct"] == 12
    assert [(entry["value"], entry["count"]) for entry in profile["top"]] == [
        (f"v{number:02}", number + 1) for number in range(11, 1, -1)
    ]


def test_many_different_values_are_estimated(db: None) -> None:
    profile = profile_text("a\n" + "".join(f"v{number}\n" for number in range(5_000)))

    assert profile["distinct_is_estimated"] is True
    assert profile["distinct"] == pytest.approx(5_000, rel=0.1)
    assert "top" not in profile


@pytest.mark.parametrize("span", ["1E-9", "0.3", "1", "19", "20", "21", "12345", "1E+15", "1E+300"])
def test_a_histogram_has_at_most_twenty_bins_around_all_values(span: str) -> None:
    for low in map(Decimal, ("-100000", "-0.3", "0", "3.7")):
        bounds = profiles.compute_number_bounds(low, high := low + Decimal(span), whole=False)
        if low != high and bounds:
            assert 2 <= len(bounds) <= profiles.MAX_BINS + 1
            assert bounds[0] <= low <= high <= bounds[-1]


def test_infinite_moments_are_counted(db: None) -> None:
    table = Table(make_writer_token())
    records: list[Any] = [{"a": value} for value in ("infinity", "-infinity", "2024-02-29")]
    table.run("create", fields=[{"id": "a", "type": "date"}], records=records)

    profile = read_profile(table.resource, "a")

    expected = {"count": 3, "nulls": 0, "distinct": 3, "min": "2024-02-29", "max": "2024-02-29"}
    assert profile == expected


# Of the present version ---------------------------------------------------------------------------


@pytest.fixture
def table(transactional_db: None) -> Table:
    return make_loaded_table("a,b\n1,x\n2,y\n", key=("a",))


def read_ends(table: Table) -> list[Any]:
    (field, *_others) = table.run("info")["fields"]
    return [field["profile"].get(name) for name in ("count", "min", "max")]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            lambda table: table.run("upsert", records=[{"a": 3}], method="insert", force=True),
            [1, 3],
        ),
        (lambda table: table.run("records_delete", filters={"a": 2}, force=True), [1, 1]),
        (lambda table: table.run("records_delete", filters={}, force=True), [None, None]),
        (lambda table: load_text(table.resource, "a,b\n5,z\n", mode="append"), [1, 5]),
        (lambda table: load_text(table.resource, "a,b\n7,z\n"), [7, 7]),
    ],
    ids=["insert", "delete", "delete all", "append", "replace"],
)
def test_profiles_are_of_the_present_records(
    table: Table, write: Callable[[Table], object], expected: list[int]
) -> None:
    assert read_ends(table) == [2, 1, 2]

    write(table)

    count = TableVersion.objects.get(resource=table.resource).record_count
    assert read_ends(table) == [count, *expected]


def test_profiles_are_kept_for_a_version(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_ends(table)

    def fail(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Source, "fetch", fail)

    assert read_ends(table) == before


def test_what_the_engine_cannot_count_now_is_left_out_and_in_no_cache(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise EngineUnavailable

    monkeypatch.setattr(Source, "fetch", fail)
    info = Client().get("/api/3/action/datastore_info", {"id": str(table.resource.pk)})
    pages = [Client().get(f"/en/datastore/{table.resource.pk}/{view}") for view in ("", "about/")]

    assert all("profile" not in field for field in info.json()["result"]["fields"])
    assert [each.status_code for each in (info, *pages)] == [200] * 3
    assert not any("ETag" in each for each in (info, *pages))
    monkeypatch.undo()
    for path in ("", "about/"):
        assert "ETag" in Client().get(f"/en/datastore/{table.resource.pk}/{path}")


def test_the_first_hundred_fields_have_profiles(transactional_db: None) -> None:
    names = [f"f{number}" for number in range(103)]
    resource = load_new_resource(f"{','.join(names)}\n" + ",".join("1" * 103) + "\n")

    answer = act(Client(), "datastore_info", {"id": str(resource.pk)}).json()["result"]["fields"]

    assert [field["id"] for field in answer if "profile" in field] == names[:100]
    assert Client().get(f"/en/datastore/{resource.pk}/").status_code == 200


def test_a_large_table_without_a_snapshot_is_not_waited_for(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[float]()
    module = "datastore_search.contrib.analysis.engine.source"
    monkeypatch.setattr(f"{module}.MAX_SMALL_CELLS", 1)
    monkeypatch.setattr(f"{module}.prepare", lambda _read, seconds: asked.append(seconds))

    fields = table.run("info")["fields"]

    assert (asked, ["profile" in field for field in fields]) == ([0], [False, False])


@pytest.mark.parametrize(
    ("sent", "has_meta", "has_profiles"),
    [
        ({}, True, True),
        ({"include_meta": False}, False, True),
        ({"include_fields_schema": False}, True, False),
        ({"include_fields_schema": "no", "include_meta": "no"}, False, False),
        ({"include_fields_schema": None, "include_meta": ""}, True, True),
    ],
)
def test_info_has_profiles_with_the_schemas_of_the_fields(
    resource: Resource, sent: dict[str, Any], has_meta: bool, has_profiles: bool
) -> None:
    given = {"resource_id": str(resource.pk), **sent}

    result = act(Client(), "datastore_info", given).json()["result"]

    expected = {"id", "type", "schema", "profile"} if has_profiles else {"id", "type"}
    assert all(set(each) == expected for each in result["fields"])
    assert ("meta" in result) is has_meta
