"""Profiles of the values of fields, for all types, and who may read them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.publishing import profiles
from datastore_search.models import Resource, TableVersion, read_profiles

from ...builders import act, make_writer_token
from ...core.writing.tables import Table
from ..builders import make_loaded_table
from ..files import load_new_resource, load_text


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
    ("values", "bounds", "counts"),
    [
        (
            ["2024-01-31", "2024-02-01", "2024-03-15"],
            ["2024-01-29", "2024-02-05", "2024-02-12", "2024-02-19", "2024-02-26", "2024-03-04",
             "2024-03-11", "2024-03-18"],
            [2, 0, 0, 0, 0, 0, 1],
        ),
        (["2023-12-31", "2024-01-01"], ["2023-12-31", "2024-01-01", "2024-01-02"], [1, 1]),
        (
            ["0001-01-01", "9999-12-31"],
            [f"{year:04}-01-01" for year in (1, *range(500, 9_501, 500))] + ["9999-12-31"],
            [1, *[0] * 18, 1],
        ),
        (
            ["2024-01-01T00:00:00", "2024-01-01T02:59:59.5"],
            [f"2024-01-01T{minutes // 60:02}:{minutes % 60:02}:00.000"
             for minutes in range(0, 195, 15)],
            [1, *[0] * 10, 1],
        ),
    ],
)  # fmt: skip
def test_days_are_in_bins_of_the_calendar(
    db: None, values: list[str], bounds: list[str], counts: list[int]
) -> None:
    kind = "timestamp" if "T" in values[0] else "date"

    profile = profile_text("a\n" + "\n".join(values) + "\n", types={"a": kind})

    assert profile["histogram"] == {"bounds": bounds, "counts": counts}


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


def test_a_histogram_has_at_most_twenty_bins() -> None:
    for span in (1e-9, 0.3, 1, 7, 19, 20, 21, 99, 12_345, 1e15, 1e300):
        for low in (-1e5, -0.3, 0, 3.7):
            bounds = profiles.compute_number_bounds(low, low + span, whole=False)
            if low + span == low:
                continue
            assert 2 <= len(bounds) <= profiles.MAX_BINS + 1
            assert float(bounds[0]) <= low <= low + span <= float(bounds[-1])


def test_bins_of_days_hold_all_from_a_second_to_ten_thousand_years() -> None:
    low = datetime(2019, 12, 31, 23, 59, 59, tzinfo=UTC)
    for high in (
        datetime(2020, 1, 1, tzinfo=UTC),
        datetime(2020, 1, 1, 7, tzinfo=UTC),
        datetime(2020, 2, 29, tzinfo=UTC),
        datetime(2031, 5, 1, tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ):
        bounds = profiles.compute_date_bounds(low, high, whole_days=False)
        assert 2 <= len(bounds) <= profiles.MAX_BINS + 1
        assert bounds[0] <= low
        assert bounds == sorted(set(bounds))
        assert high <= bounds[-1]


# Kept with the table ------------------------------------------------------------------------------


@pytest.fixture
def table(db: None) -> Table:
    return make_loaded_table("a,b\n1,x\n2,y\n", key=("a",))


def count_profiled(table: Table) -> int | None:
    profiles = read_profiles(table.resource.table_version_id, using="default")
    return profiles.record_count if profiles else None


@pytest.mark.parametrize(
    "write",
    [
        lambda table: table.run("upsert", records=[{"a": 2, "b": "z"}], force=True),
        lambda table: table.run("upsert", records=[{"a": 3}], method="insert", force=True),
        lambda table: table.run("records_delete", filters={"a": 2}, force=True),
        lambda table: table.run("delete", filters={"a": 9}, force=True),
        lambda table: table.run("create", fields=[{"id": "c", "type": "text"}], force=True),
        lambda table: load_text(table.resource, "a,b\n3,z\n", mode="append"),
        lambda table: load_text(table.resource, "a,b\n2,z\n", mode="upsert"),
    ],
    ids=["update", "insert", "delete", "delete nothing", "add a field", "append", "merge"],
)
def test_profiles_are_deleted_when_records_change(
    table: Table, write: Callable[[Table], object]
) -> None:
    assert count_profiled(table) == 2

    write(table)

    assert count_profiled(table) is None
    assert not TableVersion.objects.get().profiles


def test_profiles_that_an_older_version_has_kept_are_not_read(table: Table) -> None:
    TableVersion.objects.update(fingerprint="")

    assert count_profiled(table) is None
    assert "profiled" not in table.run("info")["meta"]


def test_the_api_tells_that_profiles_are_current(table: Table) -> None:
    profile = table.run("info")["meta"]["profiled"]

    assert (profile["records"], profile["current"]) == (2, True)
    assert datetime.fromisoformat(profile["made"]).tzinfo is not None


def test_a_table_of_the_api_has_no_profiles(db: None) -> None:
    table = Table(make_writer_token())
    table.run("create", records=[{"a": 1}])

    info = table.run("info")

    assert "profiled" not in info["meta"]
    assert all("profile" not in field for field in info["fields"])


def test_a_search_does_not_read_profiles(table: Table) -> None:
    described = Resource.objects.described(table.resource.pk)

    assert described.table_version is not None
    assert {
        "profiles",
        "field_formats",
        "fingerprint",
    } <= described.table_version.get_deferred_fields()


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
    if has_meta:
        assert result["meta"]["profiled"]["records"] == 6
