"""Charts are true: their numbers and sentences are those of plain Python over the rows."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from statistics import mean, median
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.contrib.pages.charts import data as chart_data
from datastore_search.contrib.pages.charts.periods import FilledPeriod, TextPeriods, find_incomplete
from datastore_search.contrib.pages.svg import wrap_text
from datastore_search.contrib.pages.values import format_compact, format_percent
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from ..shared import ModuleTransaction
from .parsing import extract_text, parse_drawing, parse_table
from .test_chart import open_chart

Row = Mapping[str, Any]


def make_strikes() -> list[Row]:
    """Make records of some days each week, of 51 states, which begin and end within a year."""
    chance, day, rows = random.Random(47), date(2019, 2, 10), []
    while day <= date(2024, 5, 17):
        state = f"state {min(50, int(chance.expovariate(0.09)))}"
        species = chance.choice(["gull", "dove", "hawk", "owl", "crow", "duck", "goose", "swan"])
        species = chance.choice([species, "lark", "kestrel"])
        cost = chance.choice([0, chance.randint(-300, 9_000), 10 ** chance.randint(1, 6)])
        rows.append(
            {"day": day, "state": state, "species": species, "cost": cost, "height": day.day * 10}
        )
        day += timedelta(days=chance.randint(1, 4))
    return rows + [{**rows[-1], "state": f"state {n}", "cost": -n} for n in range(51)]


def make_budget() -> list[Row]:
    """Make the sums of departments by months, which are texts, without one of these."""
    chance = random.Random(48)
    return [
        {"month": f"{year}-{month:02}", "fy": f"{year}/{year + 1 - 2000}", "dep": f"dep {dep}",
         "amount": Decimal(chance.randint(-20_000, 900_000)) / 100}
        for year in range(2020, 2024)
        for month in range(1, 13)
        if (year, month) != (2021, 7)
        for dep in range(chance.randint(9, 12))
    ]  # fmt: skip


STRIKES, BUDGET = make_strikes(), make_budget()


def write(rows: list[Row]) -> str:
    lines = [",".join(map(str, row.values())) for row in rows]
    return "\n".join([",".join(rows[0]), *lines]) + "\n"


@pytest.fixture(scope="module")
def tables(module_transaction: ModuleTransaction) -> dict[str, Resource]:
    return {
        "strikes": make_loaded_resource(write(STRIKES), title="Strikes"),
        "budget": make_loaded_resource(write(BUDGET), title="Budget", types={"month": "text"}),
    }


def group(rows: Iterable[Row], *keys: Callable[[Row], object] | str) -> dict[Any, list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        key = tuple(row[each] if isinstance(each, str) else each(row) for each in keys)
        groups[key if len(key) > 1 else key[0]].append(row)
    return dict(groups)


def show(number: Decimal | float) -> str:
    """Write a count or a sum as an English page does."""
    return f"{Decimal(str(number)):,}"


def total(rows: Iterable[Row], name: str) -> Any:
    return sum(row[name] for row in rows)


def get_year(row: Row) -> int:
    return int(row["day"].year)


# Numbers of two tables ----------------------------------------------------------------------------


@pytest.fixture
def open_table(client: Client, tables: dict[str, Resource], db: None) -> Callable[..., Any]:
    return lambda name, **query: open_chart(client, tables[name], query)


@pytest.mark.parametrize("page", [10, 1_000])
def test_counts_of_51_groups_and_what_is_said_of_them(
    open_table: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(chart_data, "_PAGE_FIGURES", page)
    counts = sorted(map(len, group(STRIKES, "state").values()), reverse=True)

    response = open_table("strikes", by="state")

    assert [int(row[1]) for row in parse_table(response)[1:]] == counts[:50]
    text = extract_text(response)
    assert f"The highest is {counts[0]} (state 0), the lowest {counts[-1]} (" in text
    assert "50 of 51 groups are shown. The figures of the others lie between " in text
    assert f"lie between {counts[-1]} and {counts[-1]}." in text


def test_sums_with_a_negative_one_that_is_not_shown(open_table: Callable[..., Any]) -> None:
    sums = {key: total(rows, "cost") for key, rows in group(STRIKES, "state").items()}
    lowest, highest = min(sums.values()), max(sums.values())

    response = open_table("strikes", show="sum", of="cost", by="state")

    text = extract_text(response)
    assert lowest < 0
    assert f"The highest is {show(highest)} (state " in text
    assert f"the lowest {show(lowest)} (state " in text
    assert f"lie between {show(lowest)} and {show(lowest)}." in text
    assert str(lowest) not in [row[1] for row in parse_table(response)]
    response = open_table("strikes", show="sum", of="cost", by="state", format="csv")
    assert {row[0]: int(row[1]) for row in read_csv(response)} == sums


FIGURES: dict[str, Callable[[list[int]], float]] = {
    "avg": mean, "min": min, "max": max, "median": median
}  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_that_do_not_add_up(open_table: Callable[..., Any], figure: str) -> None:
    expected = {
        key: FIGURES[figure]([row["height"] for row in rows])
        for key, rows in group(STRIKES, "species").items()
    }

    response = open_table("strikes", show=figure, of="height", by="species")

    shown = {row[0]: float(row[1]) for row in parse_table(response)[1:]}
    assert shown == pytest.approx(expected, rel=1e-5)


def test_years_that_the_data_do_not_fill(open_table: Callable[..., Any]) -> None:
    counts = {str(key): len(rows) for key, rows in group(STRIKES, get_year).items()}

    response = open_table("strikes", by="day", per="year")

    labels = {"2019": "2019 incomplete", "2024": "2024 incomplete"}
    assert [tuple(row) for row in parse_table(response)[1:]] == [
        (labels.get(key, key), str(count)) for key, count in counts.items()
    ]
    text = extract_text(response)
    assert "2019 is incomplete: the data begin on February 10, 2019." in text
    assert "2024 is incomplete: the data end on May 14, 2024." in text
    lowest = min(counts, key=counts.__getitem__)
    assert f"the lowest {counts[lowest]} ({lowest}" in text
    svg = response.content.decode()
    assert svg.count('class="hatch"') == 2
    assert f"<title>2024 · {counts['2024']} · incomplete</title>" in svg


@pytest.mark.parametrize("figure", ["count", "sum"])
def test_series_are_the_largest_and_the_others_are_the_rest(
    open_table: Callable[..., Any], figure: str
) -> None:
    size = len if figure == "count" else lambda rows: total(rows, "height")
    pairs = {key: size(rows) for key, rows in group(STRIKES, get_year, "species").items()}
    sums = {key: size(rows) for key, rows in group(STRIKES, "species").items()}
    largest = sorted(sums, key=sums.__getitem__, reverse=True)[:7]
    others = [pair for (_year, key), pair in pairs.items() if key not in largest]

    query = {"show": figure, "of": "height", "by": "day", "per": "year", "split": "species"}
    response = open_table("strikes", **query)

    (_day, *names), *rows = parse_table(response)
    assert names[:8] == [*largest, "others"]
    for row in rows:
        year = int(row[0][:4])
        expected = [pairs[year, key] for key in largest]
        rest = sum(pair for (each, _key), pair in pairs.items() if each == year) - sum(expected)
        assert row[1:9] == [show(each) for each in [*expected, rest]]
    text = extract_text(response)
    assert f"The highest single value is {show(max(pairs.values()))} (" in text
    assert f"the lowest {show(min(pairs.values()))} (" in text
    low, high = show(min(others)), show(max(others))
    said = f"are shown. The figures of the others lie between {low} and {high}."
    assert f"7 of 10 values of species {said}" in text


def read_csv(response: Any) -> list[list[str]]:
    assert response["Content-Type"].startswith("text/csv"), extract_text(response)
    return list(csv.reader(io.StringIO(response.content.decode())))[1:]


def test_shares_are_of_the_whole_group(open_table: Callable[..., Any]) -> None:
    pairs = {key: len(rows) for key, rows in group(STRIKES, get_year, "species").items()}
    years = {key: len(rows) for key, rows in group(STRIKES, get_year).items()}
    query = {"by": "day", "per": "year", "split": "species", "as": "shares"}

    rows = read_csv(open_table("strikes", **query, format="csv"))

    for year, whole in years.items():
        own = [row for row in rows if row[0] == f"{year}-01-01"]
        assert sum(int(row[2]) for row in own) == whole
        assert sum(Decimal(row[3]) for row in own) == pytest.approx(
            Decimal(100), abs=Decimal("0.00001")
        )
        for _day, species, count, percent in own[:-1]:
            assert int(count) == pairs[year, species]
            assert float(percent) == pytest.approx(100 * int(count) / whole, abs=1e-6)
    page = open_table("strikes", **query)
    day, species, count, percent = rows[0]
    text = f"{count} ({round(float(percent), 1):g}%)"
    assert parse_table(page)[1][1] == text
    assert f"<title>{day[:4]} · {species} · {text} · incomplete</title>" in page.content.decode()


def test_months_as_texts_are_a_line_with_gaps(open_table: Callable[..., Any]) -> None:
    sums = {key: total(rows, "amount") for key, rows in group(BUDGET, "month").items()}

    response = open_table("budget", by="month", show="sum", of="amount", **{"as": "lines"})

    months = [f"{year}-{month:02}" for year in range(2020, 2024) for month in range(1, 13)]
    shown = {row[0]: row[1] for row in parse_table(response)[1:]}
    assert list(shown) == months
    assert shown == {key: show(sums[key]) if key in sums else "–" for key in months}
    lowest, highest = (end(sums, key=sums.__getitem__) for end in (min, max))
    text = extract_text(response)
    assert f"The highest is {show(sums[highest])} ({highest})" in text
    assert f"the lowest {show(sums[lowest])} ({lowest})." in text
    assert "1 of 48 steps have no records: 2021-07." in text
    (path,) = re.findall(' d="([^"]*)"', response.content.decode().partition("<path fill")[2])[:1]
    assert path.count("M") == 2
    assert "<title>2021-07 · no records</title>" in response.content.decode()


def test_financial_years_are_in_order_and_others_add_up(open_table: Callable[..., Any]) -> None:
    pairs = {key: total(rows, "amount") for key, rows in group(BUDGET, "fy", "dep").items()}
    years = {key: total(rows, "amount") for key, rows in group(BUDGET, "fy").items()}

    response = open_table("budget", by="fy", show="sum", of="amount", split="dep")

    (_fy, *names, _records), *rows = parse_table(response)
    assert [row[0] for row in rows] == list(years)
    for label, *cells, _records in rows:
        numbers = [Decimal(cell.replace(",", "")) for cell in cells]
        assert numbers[:-1] == [pairs[label, name] for name in names[:-1]]
        assert sum(numbers) == years[label]


# Texts that sort like time ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "unit", "between"),
    [
        (["1999", "2001"], "year", ["2000"]),
        (["2023/24", "2025/26"], "financial year", ["2024/25"]),
        (["2009-10", "2011-12"], "financial year", ["2010-11"]),
        (["1999/2000", "2001/2002"], "financial year", ["2000/2001"]),
        (["2024-H1", "2025-H1"], "half", ["2024-H2"]),
        (["2024-Q4", "2025-Q2"], "quarter", ["2025-Q1"]),
        (["2024 Q1", "2024 Q3"], "quarter", ["2024 Q2"]),
        (["2024-12", "2025-02"], "month", ["2025-01"]),
        (["2020-W52", "2021-W01"], "week", ["2020-W53"]),
        (["2024-02-28", "2024-03-01"], "day", ["2024-02-29"]),
        (["2024/02/28", "2024/03/01"], "day", ["2024/02/29"]),
        (["2024-02", "2024-Q1"], "", []),
        (["2024-13", "2024-11"], "", []),
        (["2023-02-29"], "", []),
        (["1010", "8010"], "", []),
        (["2024-01", "n/a"], "", []),
        (["", None], "", []),
    ],
)
def test_texts_sort_like_time(texts: list[str], unit: str, between: list[str]) -> None:
    periods = TextPeriods.find(texts)

    assert (periods.unit if periods else "") == unit
    if periods:
        assert list(periods.list_steps(reversed(texts), 400)) == [texts[0], *between, texts[1]]


def test_the_last_periods_of_a_text_are_shown(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_data, "MAX_STEPS", 5)
    months = [f"2020-{month:02}" for month in range(1, 11)]
    lines = "".join(f"{month},{n}\n" for n, month in enumerate(months)) + ",3\n"
    resource = make_loaded_resource(f"month,n\n{lines}", types={"month": "text"})

    response = open_chart(client, resource, {"by": "month", "show": "sum", "of": "n"})

    assert [row[0] for row in parse_table(response)[1:]] == [*months[-5:], "empty"]
    text = extract_text(response)
    assert "The highest is 9 (2020-10), the lowest 0 (2020-01)." in text
    assert "6 of 11 groups are shown. The figures of the others lie between 0 and 4." in text


def test_a_text_without_order_has_no_lines(client: Client, db: None) -> None:
    resource = make_loaded_resource("k,n\na,1\nb,2\n")

    response = open_chart(client, resource, {"by": "k", "as": "lines"})

    assert response.status_code == 400
    assert "cannot have as=lines. Possible: map." in extract_text(response)


# Periods that the data do not fill ----------------------------------------------------------------


def fill(first: str, last: str, step: int, per: str) -> list[FilledPeriod]:
    """Fill periods with days, a number of days apart, or the first days of months."""
    day, end, found = date.fromisoformat(first), date.fromisoformat(last), defaultdict(list)
    while day <= end:
        found[day.year if per == "year" else (day.year, day.month)].append(day)
        following = day + timedelta(days=step or 32)
        day = following if step else following.replace(day=1)
    periods = []
    for days in found.values():
        low = days[0].replace(day=1, **({"month": 1} if per == "year" else {}))
        high = (low + timedelta(days=366 if per == "year" else 31)).replace(day=1)
        begin, end_of, earliest, latest = (
            datetime.combine(each, time()) for each in (low, high, days[0], days[-1])
        )
        periods.append((begin, end_of, earliest, latest))
    return periods


@pytest.mark.parametrize(
    ("first", "last", "step", "per", "incomplete"),
    [
        ("2019-01-01", "2022-12-31", 1, "year", [None, None]),
        ("2019-06-20", "2022-03-14", 1, "year", ["2019-06-20", "2022-03-14"]),
        ("2019-01-05", "2022-12-27", 7, "year", [None, None]),
        ("2019-01-01", "2022-12-01", 0, "year", [None, None]),
        ("2019-01-01", "2022-10-01", 0, "year", [None, "2022-10-01"]),
        ("2019-01-01", "2022-01-01", 366, "year", [None, None]),
        ("2022-01-01", "2022-12-01", 0, "year", [None, None]),
        ("2022-01-01", "2022-01-01", 0, "year", [None, None]),
        ("2022-02-20", "2022-06-12", 1, "month", ["2022-02-20", "2022-06-12"]),
        ("2022-01-01", "2022-06-01", 0, "month", [None, None]),
    ],
    ids=str,
)
def test_periods_are_complete_if_their_data_reach_as_far_as_those_beside(
    first: str, last: str, step: int, per: str, incomplete: list[str | None]
) -> None:
    found = find_incomplete(fill(first, last, step, per))

    assert [each and f"{each:%Y-%m-%d}" for each in found] == incomplete


# What is refused, and texts of one's own ----------------------------------------------------------


@pytest.mark.parametrize("kind", ["", "svg", "png", "csv"])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"show": "mean"}, "Possible: count, sum, avg, min, max, median."),
        ({"by": "day", "per": "fortnight"}, "decade, year, quarter, month, week, day, each."),
        ({"by": "state", "as": "shares"}, "Possible: map."),
        ({"by": "x"}, "Possible: day, state, species, cost, height."),
        ({"by": "state", "unit": "x" * 21}, "The unit of a chart has at most 20 characters."),
        (
            {"by": "state", "split": "species", "show": "sum", "of": "cost", "as": "shares"},
            "cannot have as=shares: a figure is negative. Possible: stacked, grouped.",
        ),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_refused_with_the_possible_ones(
    open_table: Callable[..., Any], query: dict[str, str], message: str, kind: str
) -> None:
    response = open_table("strikes", **query, format=kind)

    assert response.status_code == 400
    assert message in extract_text(response)
    assert "Other charts of these records Number of records by day" in extract_text(response)


def test_title_unit_and_note_are_shown_and_stay(open_table: Callable[..., Any]) -> None:
    own = {"title": "<b>All</b>  strikes", "unit": "k&", "note": "No\u202e birds"}
    query = {"by": "species", "show": "sum", "of": "height", **own}

    response = open_table("strikes", **query)
    svg = open_table("strikes", **query, format="svg").content.decode()

    page, text = response.content.decode(), extract_text(response)
    assert "<h2><bdi>&lt;b&gt;All&lt;/b&gt; strikes</bdi></h2>" in page
    assert " k&amp; (" in page.partition("The highest is ")[2][:40]
    assert "No‹U+202E› birds" in text
    assert "unit=k%26" in page
    parse_drawing(response)
    texts = re.findall("<text[^>]*>(.*?)</text>", svg)
    assert texts[0] == "&lt;b&gt;All&lt;/b&gt; strikes"
    assert "No‹U+202E› birds" in texts
    assert "Source: Strikes, Datastore" in texts
    day = re.compile(r"Last changed on [A-Z][a-z]+ [0-9]{1,2}, [0-9]{4}")
    assert any(map(day.fullmatch, texts))
    assert any(each.startswith("http://testserver/en/datastore/") for each in texts)


def test_too_many_groups_of_a_text_are_true_but_have_no_csv(
    open_table: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_data, "MAX_FIGURES", 50)
    monkeypatch.setattr(chart_data, "_PAGE_FIGURES", 50)
    counts = sorted(map(len, group(STRIKES, "state").values()))

    response = open_table("strikes", by="state")

    text = extract_text(response)
    assert f"The highest is {counts[-1]} (state 0), the lowest {counts[0]} (" in text
    assert "50 of 51 groups are shown." in text
    assert "format=csv" not in response.content.decode()
    response = open_table("strikes", by="state", format="csv")
    assert response.status_code == 400
    assert "There are too many groups for a chart." in extract_text(response)


# Numbers and labels -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "number", "percent"),
    [
        ("en", "5B", "33.3%"), ("de", "5 Mrd.", "33,3 %"), ("fr", "5 Md", "33,3 %"),
        ("es", "5000 M", "33,3 %"), ("pt-br", "5 bi", "33,3%"), ("vi", "5 T", "33,3%"),
        ("ar", "5 مليار", "33,3%"), ("tlh", "5B", "33.3%"),
    ],
)  # fmt: skip
def test_numbers_are_in_the_short_form_of_the_language(
    settings: Any, language: str, number: str, percent: str
) -> None:
    with translation.override(language):
        texts = format_compact("5000000000"), format_percent(Decimal("33.3333"))

    assert [re.sub(r"[\u00a0\u202f]", " ", each).replace("\u200e", "") for each in texts] == [
        number,
        percent,
    ]


def test_a_long_label_is_wrapped_and_not_cut() -> None:
    text = "The ministry of all waters, their banks, springs and wells " + "x" * 90

    lines = wrap_text(text, 320)

    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert len(lines) > 2
