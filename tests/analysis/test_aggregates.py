"""Aggregates compute what PostgreSQL computes over a typed table; their parameters."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, strategies as st

from datastore_search.models import Resource

from ..builders import act, check_error, make_resource, make_writer_token
from ..typed import CELLS, get_column_name
from .tables import DAYS, NUMBERS, QUESTIONS, call, canonical, exact, fetch, quickly, refuse

pytestmark = pytest.mark.django_db

ORDERED = [*NUMBERS, *DAYS, "time", "text"]
GROUPS = ["text", "bool", "int4", "numeric", "float8", "date", "timestamptz", "time", "_int4"]


def list_metrics() -> list[tuple[Any, str, str]]:
    """List each metric of each type that it fits, as SQL over its column and with its type."""
    found: list[tuple[Any, str, str]] = [("count", "count(*)", "int8")]
    for kind in CELLS:
        name = get_column_name(kind)
        found += [
            (f"count({kind})", f"count({name})", "int8"),
            (f"count_distinct({kind})", f"count(DISTINCT {name})", "int8"),
        ]
        if kind in ORDERED:
            found += [(f"{each}({kind})", f"{each}({name})", kind) for each in ("min", "max")]
        if kind in NUMBERS:
            result = "float8" if kind == "float8" else "numeric"
            number = f"{name}::{result}"
            found += [(f"{each}({kind})", f"{each}({number})", result) for each in ("sum", "avg")]
            found.append((f"stddev({kind})", f"stddev_samp({number})", result))
    return found


METRICS = list_metrics()


def read_groups(resource: Resource, **sent: Any) -> list[list[Any]]:
    """Read the groups as lists, with exact numbers."""
    found: list[list[Any]] = call(
        "datastore_aggregate", resource, records_format="lists", limit=32_000, **sent
    )["records"]
    return found


def is_close(found: Any, expected: Any) -> bool:
    """Compare what float8 gives in another order of the same additions."""
    if isinstance(found, Decimal | int) and isinstance(expected, Decimal | int):
        return float(found) == pytest.approx(float(expected))
    return bool(found == expected)


# Metrics ------------------------------------------------------------------------------------------


@quickly
@given(
    metrics=st.lists(st.sampled_from(METRICS), min_size=1, max_size=5, unique_by=lambda m: m[0]),
    groups=st.lists(st.sampled_from(GROUPS), max_size=3, unique=True),
    question=st.sampled_from(QUESTIONS),
)
def test_metrics_are_those_of_a_typed_table(
    repeated: Resource,
    metrics: list[tuple[Any, str, str]],
    groups: list[str],
    question: tuple[dict[str, Any], str],
) -> None:
    filters, where = question
    names = [get_column_name(kind) for kind in groups]
    by = f"GROUP BY {', '.join(names)} ORDER BY {', '.join(names)}" if names else ""
    columns = [
        *(canonical(kind, name) for kind, name in zip(groups, names, strict=True)),
        *(canonical(kind, f"({figure})") for _metric, figure, kind in metrics),
    ]
    expected = fetch(f"SELECT {', '.join(columns)} FROM repeated WHERE {where} {by}")

    found = read_groups(
        repeated, group_by=groups, metrics=[metric for metric, *_sql in metrics], filters=filters
    )

    assert len(found) == len(expected)
    kinds = [*groups, *(kind for *_metric, kind in metrics)]
    for group, texts in zip(found, expected, strict=True):
        for kind, value, text in zip(kinds, group, texts, strict=True):
            wanted = exact(text)
            is_rounded = kind in {"float8", "numeric"}
            assert value == wanted or (is_rounded and is_close(value, wanted)), kind


@quickly
@given(
    kind=st.sampled_from(["int2", "int4"]),
    percentile=st.one_of(st.integers(0, 100), st.sampled_from([0.5, 33.3, 99.9])),
    question=st.sampled_from(QUESTIONS),
)
def test_percentiles_interpolate_as_percentile_cont_does(
    repeated: Resource, kind: str, percentile: float, question: tuple[dict[str, Any], str]
) -> None:
    filters, where = question
    metric = {"metric": "percentile", "field": kind, "percentile": percentile}
    expected = fetch(
        f"SELECT percentile_cont({percentile / 100}) WITHIN GROUP (ORDER BY"
        f" {get_column_name(kind)}) FROM repeated WHERE {where} GROUP BY c0 ORDER BY c0"
    )

    found = read_groups(repeated, group_by="text", metrics=[metric], filters=filters)

    for (_text, value), (wanted,) in zip(found, expected, strict=True):
        assert is_close(value, None if wanted is None else Decimal(wanted))


@pytest.mark.parametrize("percentile", [0, 12.5, 50, 99, 100])
def test_percentiles_of_large_integers_are_exact(repeated: Resource, percentile: float) -> None:
    """PostgreSQL's percentile_cont rounds them: half of the extremes of int8 is 0, not -0.5."""
    metric = {"metric": "percentile", "field": "int8", "percentile": percentile}
    name = get_column_name("int8")
    ((numbers,),) = fetch(
        f"SELECT array_agg({name} ORDER BY {name}) FROM repeated WHERE {name} > 9"
    )
    place = Decimal(str(percentile)) / 100 * (len(numbers) - 1)
    low, high = numbers[int(place)], numbers[min(int(place) + 1, len(numbers) - 1)]

    found = read_groups(repeated, metrics=[metric], filters={"int8": {"gt": 9}})

    assert found == [[low + (high - low) * (place % 1)]]


def test_medians_of_numerics_keep_every_digit(db: None) -> None:
    resource = make_resource(
        "g,n\na,0.1\na,0.2\nb,12345678901234567.123456789\nb,12345678901234567.123456791\nc,\n"
    )

    found = read_groups(resource, group_by="g", metrics="median(n),sum(n),count(n)")

    assert [[str(value) for value in group] for group in found] == [
        ["a", "0.15", "0.3", "2"],
        ["b", "12345678901234567.12345679", "24691357802469134.246913580", "2"],
        ["c", "None", "None", "0"],
    ]


def test_deviations_of_long_numbers_have_all_digits_of_a_double(db: None) -> None:
    first = 9007199254740992
    numbers = "".join(f"{first + n},{first + n}.0001,\n" for n in range(3))
    resource = make_resource(f"n,d,text\n{numbers},,\n")
    sent = [{"metric": "stddev", "field": each} for each in ("n", "d")]

    ((whole, decimals),) = read_groups(resource, metrics=sent)

    assert (float(whole), float(decimals)) == (1.0, 1.0)


def test_without_groups_there_is_one_row_even_of_nothing(resource: Resource) -> None:
    assert read_groups(resource, metrics="count,sum(amount),max(seen)", filters={"_id": -1}) == [
        [0, None, None]
    ]
    assert read_groups(resource, group_by="stage", filters={"_id": -1}) == []


def test_sums_beyond_a_double_are_refused_by_name(client: Any, db: None) -> None:
    resource = Resource.objects.create(name="large")
    sent = {
        "resource_id": str(resource.pk),
        "fields": [{"id": "n", "type": "float8"}],
        "records": [{"n": 1e308}, {"n": 1.5e308}],
    }
    assert act(Client(), "datastore_create", sent, make_writer_token()).status_code == 200
    response = act(client, "datastore_aggregate", {"id": str(resource.pk), "metrics": "sum(n)"})

    assert check_error(response, 409) == {
        "metrics": ["The numbers are too large to calculate with."]
    }


# Groups -------------------------------------------------------------------------------------------


def test_ranges_begin_at_multiples_of_their_width(repeated: Resource) -> None:
    for kind, width in product(NUMBERS, ("1", "0.3", "7", "1000")):
        name = f"{get_column_name(kind)}::text::numeric"
        expected = fetch(
            f"SELECT to_jsonb(key)::text, number FROM (SELECT CASE WHEN {name} IN ('NaN',"
            f" 'Infinity', '-Infinity') THEN {name} ELSE {name}"
            f" - mod(mod({name}, {width}) + {width}, {width}) END AS key,"
            f" count(*) AS number FROM repeated WHERE {get_column_name('float8')} IS DISTINCT FROM"
            " '1e21' GROUP BY 1) AS each ORDER BY key"
        )

        group_by = [{"field": kind, "width": width}]
        found = read_groups(repeated, group_by=group_by, filters={"float8": {"ne": "1e21"}})

        assert found == [[exact(text), number] for text, number in expected]


def test_numbers_that_have_too_many_ranges_are_refused(repeated: Resource) -> None:
    group_by = [{"field": "float8", "width": 1}]

    assert refuse("datastore_aggregate", repeated, group_by=group_by) == {
        "metrics": ["The numbers are too large to calculate with."]
    }


def test_numbers_that_are_no_decimals_are_computed_as_doubles(db: None) -> None:
    long = "1234567890123456789012345678901234567890.5"
    resource = make_resource(f"g,n\na,{long}\na,NaN\nb,0.1\nb,0.2\n", types={"n": "numeric"})

    found = read_groups(resource, group_by="g", metrics="sum(n),max(n),count_distinct(n)")

    assert found == [["a", "NaN", "NaN", 2], ["b", Decimal("0.3"), Decimal("0.2"), 2]]
    assert read_groups(resource, group_by="n")[-1:] == [["NaN", 1]]
    assert read_groups(resource, group_by="n")[2][0] == Decimal(long)


def test_a_number_at_the_end_of_a_range_is_never_rounded_into_the_next(db: None) -> None:
    resource = make_resource("n\n0.99999999999999999999999999999999999999\n3\n-0.1\n")

    found = read_groups(resource, group_by=[{"field": "n", "width": 3}])

    assert found == [[-3, 1], [0, 1], [3, 1]]


@pytest.mark.parametrize("kind", [*NUMBERS, *DAYS])
def test_bins_are_those_of_facets(repeated: Resource, kind: str) -> None:
    (facet,) = call("datastore_facets", repeated, facets=[{"field": kind, "bins": 4}])["facets"]
    expected = [[each["from"], each["count"]] for each in facet["bins"] if each["count"]]

    found = read_groups(repeated, group_by=[{"field": kind, "bins": 4}])

    assert [group for group in found if group in expected] == expected
    others = [group for group in found if group not in expected]
    assert sum(count for _value, count in others) == facet["nulls"] + facet["others"]


# Conditions on groups, order, pages ---------------------------------------------------------------


def test_having_keeps_the_groups_that_meet_it(resource: Resource) -> None:
    def read(having: Any) -> list[Any]:
        found = read_groups(
            resource,
            group_by="subject",
            metrics=["count", {"metric": "max", "field": "seen", "as": "last"}],
            having=having,
        )
        return [group[0] for group in found]

    assert read({"count": {"gte": 2}}) == ["survey", "watershed"]
    assert read({"count": 1, "subject": {"isnull": False}}) == ["air"]
    assert read({"subject": None}) == [None]
    assert read({"last": {"gt": "2020-12-31"}}) == ["air", None]
    assert read([{"subject": "air"}, {"last": "2020-02-29"}]) == ["air", "survey"]
    assert read({"subject": {"contains": "shed"}}) == ["watershed"]


def test_groups_are_sorted_by_names_of_columns(resource: Resource) -> None:
    def read(sort: Any) -> list[Any]:
        return [group[0] for group in read_groups(resource, group_by="subject", sort=sort)]

    assert read("count desc") == ["survey", "watershed", "air", None]
    assert read("count, subject desc") == [None, "air", "watershed", "survey"]
    assert read(["count desc", "subject desc nulls last"]) == ["watershed", "survey", "air", None]


@pytest.mark.parametrize("records_format", ["lists", "csv"])
def test_pages_put_together_are_the_whole(resource: Resource, records_format: str) -> None:
    sent = {"group_by": "subject,stage", "metrics": "sum(amount)", "records_format": records_format}
    pages = [
        call("datastore_aggregate", resource, **sent, limit=2, offset=offset)
        for offset in range(0, 6, 2)
    ]
    whole = call("datastore_aggregate", resource, **sent)

    assert {page["total"] for page in pages} == {whole["total"]} == {6}
    joined = pages[0]["records"]
    for page in pages[1:]:
        joined += page["records"]
    assert joined == whole["records"]


def test_each_format_has_the_same_groups(resource: Resource) -> None:
    def read(records_format: str) -> Any:
        return call(
            "datastore_aggregate",
            resource,
            group_by="stage",
            metrics="sum(amount)",
            records_format=records_format,
        )["records"]

    assert read("objects") == [
        {"stage": "active", "sum_amount": Decimal("39.75")},
        {"stage": "closed", "sum_amount": Decimal("0.00")},
        {"stage": "planned", "sum_amount": Decimal("7.00")},
    ]
    assert read("lists")[1] == ["closed", Decimal("0.00")]
    assert read("csv") == "active,39.75\nclosed,0.00\nplanned,7.00\n"
    assert read("tsv") == "active\t39.75\nclosed\t0.00\nplanned\t7.00\n"


def test_a_limit_of_nothing_gives_the_number_of_groups(resource: Resource) -> None:
    found = call("datastore_aggregate", resource, group_by="subject", limit=0)
    beyond = call("datastore_aggregate", resource, group_by="subject", offset=100)
    uncounted = call("datastore_aggregate", resource, group_by="subject", include_total=False)

    assert (found["total"], found["records"]) == (4, [])
    assert (beyond["total"], beyond["records"]) == (4, [])
    assert "total" not in uncounted
    assert len(uncounted["records"]) == 4


@pytest.mark.parametrize("name", ["100%s", 'a"b', "{}", "data", "g0"])
def test_columns_may_have_any_name(db: None, name: str) -> None:
    quoted = name.replace('"', '""')
    resource = make_resource(f'"{quoted}"\n1\n2\n')
    metric = {"metric": "sum", "field": name, "as": f"{name}!"}

    for records_format in ("objects", "csv"):
        found = call(
            "datastore_aggregate",
            resource,
            group_by=[name],
            metrics=[metric],
            having={f"{name}!": {"gt": 1}},
            sort=[f'"{name}!" desc'.replace(name, quoted)],
            records_format=records_format,
        )
        records = found["records"]
        assert records == ([{name: 2, f"{name}!": 2}] if records_format == "objects" else "2,2\n")


# Parameters ---------------------------------------------------------------------------------------


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
    found = call("datastore_aggregate", resource, group_by=group_by, metrics=metrics)

    assert found["fields"] == [
        {"id": "stage", "type": "text"},
        {"id": "count", "type": "int8"},
        {"id": "sum_amount", "type": "numeric"},
    ]
    assert found["records"][0] == {"stage": "active", "count": 4, "sum_amount": 39.75}
    assert found["group_by"] == [{"field": "stage"}]
    assert found["metrics"] == [{"metric": "count"}, {"metric": "sum", "field": "amount"}]


TAKEN = "Two columns have the name “stage”. Give one of them another name with “as”."


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"group_by": "nothing"}, "Unknown field: “nothing”"),
        ({"group_by": ["stage"] * 5}, "There are more than 4 items."),
        ({"group_by": "stage,stage"}, TAKEN),
        ({"group_by": "stage", "metrics": [{"metric": "count", "as": "stage"}]}, TAKEN),
        (
            {"metrics": [{"metric": "count", "as": "_id"}]},
            "“_id” is the key of records, and no other column can have this name.",
        ),
        (
            {"group_by": [{"field": "amount", "bins": 3, "width": 2}]},
            "amount: “width” and “bins” cannot be combined.",
        ),
        (
            {"group_by": [{"field": "amount", "width": 0}]},
            "amount, width: Must be a number from 1E-30 to 1E+30.",
        ),
        (
            {"group_by": [{"field": "stage", "width": 1}]},
            "Field “stage” has type text, which does not support “width”.",
        ),
        ({"group_by": [{"field": "seen", "time_zone": "UTC"}]}, "seen, interval: Missing value"),
        ({"metrics": "count,nothing(amount)"}, None),
        ({"metrics": ["count"] * 21}, "There are more than 20 items."),
        ({"metrics": "sum"}, "sum, field: Missing value"),
        ({"metrics": "percentile(amount)"}, "percentile(amount), percentile: Missing value"),
        (
            {"metrics": [{"metric": "percentile", "field": "amount", "percentile": 101}]},
            "percentile, percentile: Must be a number from 0 to 100.",
        ),
        (
            {"metrics": [{"metric": "sum", "field": "amount", "percentile": 1}]},
            "sum: “sum” and “percentile” cannot be combined.",
        ),
        ({"metrics": "sum(stage)"}, "Field “stage” has type text, which does not support “sum”."),
        ({"metrics": "sum(nothing)"}, "Unknown field: “nothing”"),
        ({"metrics": "x y(z"}, "x y(z: Must be a list of names, or of objects with options."),
        ({"sort": "amount"}, "Unknown field: “amount”"),
        ({"having": {"amount": 1}}, "Unknown field: “amount”"),
        ({"having": {"count": "many"}}, 'Field “count” has type int8 and cannot equal "many".'),
        ({"having": {"$nor": []}}, None),
        ({"filters": {"nothing": 1}}, "Unknown field: “nothing”"),
        ({"limit": -1}, "Must be a natural number"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    resource: Resource, sent: dict[str, Any], fault: str | None
) -> None:
    ((name, messages),) = refuse("datastore_aggregate", resource, **sent).items()

    assert name == [*sent][-1]
    assert fault is None or messages == [fault]


@pytest.mark.parametrize("width", [1e30, "1e-12", 0.1, "1E+30", 7])
def test_ranges_may_be_very_wide_or_narrow(resource: Resource, width: Any) -> None:
    found = call("datastore_aggregate", resource, group_by=[{"field": "amount", "width": width}])

    assert sum(group["count"] for group in found["records"]) == 6


def test_a_column_has_the_entry_of_its_field(resource: Resource) -> None:
    resource.fields.filter(name="stage").update(label="Stage")

    found = call("datastore_aggregate", resource, group_by=[{"field": "stage", "as": "s"}])

    assert found["fields"][0] == {"id": "s", "type": "text", "info": {"label": "Stage"}}
