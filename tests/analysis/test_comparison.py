"""Shares of a total, and two groups or periods side by side, beside plain Python."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from random import Random
from statistics import median
from typing import Any

import pytest

from datastore_search.models import Resource

from ..builders import make_resource
from ..shared import ModuleTransaction
from .tables import call, refuse

pytestmark = pytest.mark.django_db

DEPARTMENTS = ["Roads", "Parks", "Water", "Schools", "Health & care", ""]


def make_rows() -> list[tuple[str, str, str, str]]:
    """Make payments of three years: a new department, an old one, one of sum 0, one without."""
    random = Random(47)
    rows = [
        (
            random.choice(DEPARTMENTS),
            f"20{random.choice([18, 19, 20])}-{random.randint(1, 12):02}-0{random.randint(1, 9)}",
            str(random.choice([1, 2, 3])),
            random.choice(["", str(Decimal(random.randint(-99_999, 999_999)) / 100)]),
        )
        for _row in range(300)
    ]
    rows += [("New", "2020-05-01", "1", "12.50"), ("Old", "2019-12-31", "2", "7.25")]
    rows += [("Zero", "2019-01-01", "1", "-3.10"), ("Zero", "2019-01-02", "1", "3.10")]
    rows += [("Zero", "2020-01-01", "1", "5"), ("Unknown", "2019-03-03", "3", "")]
    return [*rows, ("Unknown", "2020-03-03", "3", "1"), ("Dateless", "", "1", "9")]


ROWS = make_rows()


@pytest.fixture(scope="module")
def spending(module_transaction: ModuleTransaction) -> Resource:
    lines = (f"{department},{day},{part},{amount}\n" for department, day, part, amount in ROWS)
    return make_resource("department,day,part,amount\n" + "".join(lines))


def name_period(day: str, interval: str) -> str:
    year, month = day[:4], day[5:7]
    if interval == "quarter":
        return f"{year}-Q{(int(month) + 2) // 3}"
    return {"year": year, "month": day[:7], "day": day}[interval]


#: Each metric in Python, of the values of a group and the number of its records.
FIGURES: dict[str, Any] = {
    "count": lambda _values, count: count,
    "count(amount)": lambda values, _count: len(values),
    "sum(amount)": lambda values, count: sum(values) if values or not count else None,
    "min(amount)": lambda values, _count: min(values, default=None),
    "max(amount)": lambda values, _count: max(values, default=None),
    "median(amount)": lambda values, _count: median(values) if values else None,
}


def change(start: Decimal | None, end: Decimal | None) -> list[Decimal | None]:
    if start is None or end is None:
        return [None, None]
    percent = round(Decimal(100 * (end - start)) / abs(start), 6) if start else None
    return [end - start, percent]


@pytest.mark.parametrize("metric", FIGURES)
@pytest.mark.parametrize(
    ("interval", "start", "end"),
    [
        ("year", "2019", "2020"),
        ("year", "2020", "2018"),
        ("quarter", "2019-Q4", "2020-Q1"),
        ("month", "2019-12", "2020-02"),
        ("day", "2019-12-31", "2020-05-01"),
    ],
)
def test_two_periods_are_those_of_plain_python(
    spending: Resource, metric: str, interval: str, start: str, end: str
) -> None:
    values: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for department, day, _part, amount in ROWS:
        if day:
            key = department, name_period(day, interval)
            counts[key] += 1
            values[key] += [Decimal(amount)] if amount else []
    expected = []
    for department in sorted({each for each, period in counts if period in (start, end)}):
        figures = [
            FIGURES[metric](values[department, period], counts[department, period])
            for period in (start, end)
        ]
        expected.append([department or None, *figures, *change(*figures)])
    expected.sort(key=lambda row: (row[0] is None, row[0]))

    found = call(
        "datastore_aggregate",
        spending,
        group_by=["department", {"field": "day", "interval": interval}],
        metrics=metric,
        compare={"field": "day", "from": start, "to": end},
        records_format="lists",
    )

    assert found["records"] == expected
    assert found["total"] == len(expected)
    name = metric.replace("(", "_").removesuffix(")")
    assert [field["id"] for field in found["fields"]] == [
        "department",
        *(f"{name}_{each}" for each in ("from", "to", "difference", "change")),
    ]


def test_the_group_that_changed_most_is_the_first(spending: Resource) -> None:
    sent = {
        "group_by": ["department", {"field": "day", "interval": "year", "as": "year"}],
        "metrics": [{"metric": "sum", "field": "amount", "as": "spent"}],
        "compare": {"field": "year", "from": 2019, "to": 2020},
    }
    whole = call("datastore_aggregate", spending, **sent)["records"]
    largest = max(whole, key=lambda row: row["spent_difference"] or 0)

    first = call(
        "datastore_aggregate", spending, **sent, sort="spent_difference desc nulls last", limit=1
    )
    rising = call(
        "datastore_aggregate", spending, **sent, having={"spent_change": {"gt": 0}}, limit=0
    )

    assert first["records"] == [largest]
    assert first["total"] == len(whole)
    assert rising["total"] == len([row for row in whole if (row["spent_change"] or 0) > 0]) > 0


SHARES = [["a", Decimal("33.333333")], ["b", Decimal(50)], ["c", Decimal("16.666667")]]


def test_a_share_is_a_percentage_of_all_groups(db: None) -> None:
    resource = make_resource("g,n\na,1\na,1\nb,3\nc,1\n")

    def read(**sent: Any) -> Any:
        sent = {"group_by": "g", "metrics": "share(n)", "records_format": "lists", **sent}
        return call("datastore_aggregate", resource, **sent)["records"]

    assert read() == SHARES
    assert read(having={"share_n": {"gte": 20}}, sort="share_n desc") == [SHARES[1], SHARES[0]]
    assert read(limit=1, offset=2) == [SHARES[2]]
    assert read(metrics="share") == [["a", 50], ["b", 25], ["c", 25]]
    assert read(group_by=[]) == [[100]]
    assert read(filters={"n": {"gt": 9}}, group_by=[], metrics="share,share(n)") == [[None, None]]
    assert read(records_format="csv") == "a,33.333333\nb,50\nc,16.666667\n"


def test_shares_of_a_total_of_0_and_of_doubles(db: None) -> None:
    resource = make_resource("g,n,x\na,-1,1\nb,1,3\n", types={"x": "float8"})

    found = call("datastore_aggregate", resource, group_by="g", metrics="share(n),share(x),sum(n)")

    assert found["records"] == [
        {"g": "a", "share_n": None, "share_x": 25, "sum_n": -1},
        {"g": "b", "share_n": None, "share_x": 75, "sum_n": 1},
    ]


def test_shares_are_compared_by_the_totals_of_their_sides(spending: Resource) -> None:
    found = call(
        "datastore_aggregate",
        spending,
        group_by="department,part",
        metrics="share",
        compare={"field": "part", "from": 1, "to": 2},
    )["records"]

    counts = {part: [row[0] for row in ROWS if row[2] == part] for part in ("1", "2")}
    for row in found:
        name = row["department"] or ""
        shares = [
            round(Decimal(100 * counts[part].count(name)) / len(counts[part]), 6)
            for part in ("1", "2")
        ]
        assert [row["share_from"], row["share_to"]] == shares
        assert row["share_difference"] == shares[1] - shares[0]


# Values that are compared -------------------------------------------------------------------------

KINDS = "t,n,x,flag,day,moment,zoned\n"


@pytest.fixture
def kinds(db: None) -> Resource:
    return make_resource(
        KINDS
        + "a,1,0.10,true,2020-01-31,2020-01-31 22:30,2020-01-31 22:30:00+00:00\n"
        + "A,2,0.1,false,2020-02-01,2020-02-01 00:00,2020-02-01 00:00:00+00:00\n"
        + ",,,,,,\n"
        + "2020-01,12,-5,true,9999-12-31,9999-12-31 23:59,9999-12-31 23:59:00+00:00\n"
        + "b,12,1e3,false,0001-01-01,0001-01-01 00:00,0001-01-01 00:00:00+00:00\n",
        types={"x": "numeric", "zoned": "timestamptz"},
    )


ZONE = {"field": "zoned", "time_zone": "Asia/Bangkok"}
SIDES: list[tuple[Any, Any, Any, list[int]]] = [
    ("t", "a", "A", [1, 1]),
    ("t", None, "b", [1, 1]),
    ("t", "2020-01", "nothing", [1, 0]),
    ("n", 12, 1, [2, 1]),
    ("n", None, "12", [1, 2]),
    ("x", 0.1, -5, [2, 1]),
    ("flag", True, False, [2, 2]),
    ("day", "2020-01-31", None, [1, 1]),
    ({"field": "n", "width": 10}, 0, 10, [2, 2]),
    ({"field": "n", "width": 10}, 3, None, [0, 1]),
    ({"field": "n", "bins": 2}, 1, 6.5, [2, 2]),
    ({"field": "day", "interval": "month"}, "2020-01", "2020-02-01", [1, 1]),
    ({"field": "day", "interval": "month"}, "2020-01-17", None, [1, 1]),
    ({"field": "day", "interval": "year"}, "9999", "0001", [1, 1]),
    ({"field": "day", "interval": "quarter"}, "2020-Q1", "2020Q2", [2, 0]),
    ({"field": "day", "interval": "week"}, "2020-W05", "2020-W06", [2, 0]),
    ({"field": "moment", "interval": "day"}, "2020-01-31", "2020-02-01", [1, 1]),
    ({"field": "moment", "interval": "hour"}, "2020-01-31T22", "9999-12-31 23:59", [1, 1]),
    ({"field": "moment", "interval": "year"}, "9999-01-01T00:00:00", "0001", [1, 1]),
    ({"field": "zoned", "interval": "day"}, "2020-01-31", "2020-02-01", [1, 1]),
    ({**ZONE, "interval": "day"}, "2020-01-31", "2020-02-01", [0, 2]),
    ({**ZONE, "interval": "month"}, "2020-01-31T17:00:00+00:00", "2020-01", [2, 0]),
    ({**ZONE, "interval": "year"}, "0001", "0001-01-01T00:00:00+00:00", [1, 1]),
    ({**ZONE, "interval": "hour"}, "2020-02-01T05", "2020-01-31 22:30+00:00", [1, 1]),
]


@pytest.mark.parametrize(("group", "start", "end", "counts"), SIDES)
def test_values_and_periods_are_found_as_people_write_them(
    kinds: Resource, group: Any, start: Any, end: Any, counts: list[int]
) -> None:
    field = group if isinstance(group, str) else group["field"]
    sent = {"group_by": [group], "compare": {"field": field, "from": start, "to": end}}

    (found,) = call("datastore_aggregate", kinds, **sent, records_format="lists")["records"]

    assert found[:2] == counts


def test_a_key_of_an_answer_is_a_side_of_the_next_question(kinds: Resource) -> None:
    for group in (each for each, *_others in SIDES if not isinstance(each, str)):
        asked = {"group_by": [{**group, "as": "k"}], "records_format": "lists"}
        for key, count in call("datastore_aggregate", kinds, **asked)["records"]:
            value = float(key) if isinstance(key, Decimal) else key
            compare = {"field": "k", "from": value, "to": value}

            ((*both, _difference, _change),) = call(
                "datastore_aggregate", kinds, **asked, compare=compare
            )["records"]

            assert both == [count, count], (group, key)


def test_doubles_stay_doubles_and_whole_numbers_do_not_overflow(db: None) -> None:
    resource = make_resource(
        "side,n,x\na,-2147483648,1e300\nb,2147483647,-1e300\n", types={"n": "int4", "x": "float8"}
    )
    found = call(
        "datastore_aggregate",
        resource,
        group_by="side",
        metrics="max(n),sum(x)",
        compare={"field": "side", "from": "a", "to": "b"},
    )

    assert found["records"][0]["max_n_difference"] == 4294967295
    assert float(found["records"][0]["sum_x_difference"]) == -2e300
    assert found["records"][0]["sum_x_change"] == -200


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"compare": "x"}, "Cannot parse JSON"),
        (
            {"compare": {"field": "t", "from": 1}},
            "Must be an object with “field”, “from” and “to”.",
        ),
        (
            {"compare": {"field": "day", "from": 1, "to": 2}},
            "“day” is not a column of “group_by”. Its columns: t, year.",
        ),
        (
            {"compare": {"field": "year", "from": "2020-01", "to": "2021"}},
            "“2020-01” is not a period of the interval “year”. Write it like 2020.",
        ),
        (
            {"compare": {"field": "year", "from": 2020, "to": "0000"}},
            "“0000” is not a period of the interval “year”. Write it like 2020.",
        ),
        (
            {"compare": {"field": "t", "from": [1], "to": "a"}},
            "Field “t” has type text and cannot equal [1].",
        ),
        (
            {"metrics": "max(day)", "compare": {"field": "t", "from": "a", "to": "b"}},
            "Field “max_day” has type date, which does not support “compare”.",
        ),
        ({"metrics": "count,count", "compare": {"field": "t", "from": "a", "to": "b"}}, None),
        ({"compare": {"field": "t", "from": "a", "to": "b"}, "sort": "count"}, None),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    kinds: Resource, sent: dict[str, Any], fault: str | None
) -> None:
    group_by = ["t", {"field": "day", "interval": "year", "as": "year"}]
    refused = refuse("datastore_aggregate", kinds, **{"group_by": group_by, **sent})

    if fault is not None:
        assert refused == {"compare": [fault]}
