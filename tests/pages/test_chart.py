"""The chart of a question: what it shows, its drawing and figures, its files and limits."""

from __future__ import annotations

import csv
import html
import io
import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.test import Client

from datastore_search.contrib.analysis.groups import GroupBy
from datastore_search.contrib.pages.charts import data as chart_data
from datastore_search.contrib.pages.charts.chart import STYLES, Drawing, draw_chart
from datastore_search.contrib.pages.charts.data import ChartData, Group, Point, Value
from datastore_search.contrib.pages.charts.query import ChartQuery, Grouping
from datastore_search.contrib.pages.columns import Column
from datastore_search.contrib.pages.svg import measure_text
from datastore_search.field_types import field_types
from datastore_search.models import Resource

from ..builders import make_writer_token
from ..core.writing.tables import Table
from ..files.builders import make_loaded_resource
from ..shared import ModuleTransaction
from .parsing import SVG, extract_text, parse_drawing, parse_table

#: Sixty records of five years: two kinds, three stages, some without a stage.
ROWS = "".join(
    f"{'river' if n % 3 else 'lake'},{('open', 'closed', '')[n % 3]},{n},{n * 10}.5,"
    f"{2016 + n % 5}-0{n % 6 + 1}-01,{str(n % 4 == 0).lower()},title {n}\n"
    for n in range(60)
)


@pytest.fixture(scope="module")
def _records(module_transaction: ModuleTransaction) -> Resource:
    return make_loaded_resource(f"kind,stage,n,budget,day,open,title\n{ROWS}", title="Survey")


@pytest.fixture
def survey(_records: Resource, db: None) -> Resource:
    return _records


def open_chart(client: Client, resource: Resource, query: Any = None, locale: str = "en") -> Any:
    return client.get(f"/{locale}/datastore/{resource.pk}/chart/", query or {})


def list_bars(response: Any) -> list[str]:
    """Return what the bars of a drawing say."""
    return [each.findtext(f"{SVG}title", "") for each in parse_drawing(response).iter(f"{SVG}rect")]


def find_texts(response: Any) -> set[str]:
    """Return the texts of a drawing, with the mark before and after each."""
    return set(re.findall(">[^<]*</text>", response.content.decode()))


@pytest.mark.parametrize(
    ("page", "title"), [("chart/?by=kind&", "{} · 1"), ("map/?", "{} · 10.5; 106.25")]
)
def test_a_control_character_is_replaced_in_drawings(
    client: Client, db: None, page: str, title: str
) -> None:
    rows = "a\u0001b,10.5,106.25\nc\ufffe,10.5,106.25\n"
    resource = make_loaded_resource(f"kind,lat,lon\n{rows}", title="All\u0001 of them")
    path = f"/en/datastore/{resource.pk}/{page}format="

    svg, png = (client.get(f"{path}{kind}") for kind in ("svg", "png"))

    assert (png["Content-Type"], png.content[:4]) == ("image/png", b"\x89PNG")
    shown = {
        each.text for each in ET.fromstring(svg.content).iter("{http://www.w3.org/2000/svg}title")
    }
    assert {title.format(each) for each in ("a\ufffdb", "c\ufffd")} <= shown
    assert not re.search("style|<script|on[a-z]+=|href", svg.content.decode())


def test_a_split_chart_of_nothing_but_zeros_is_drawn(client: Client, db: None) -> None:
    resource = make_loaded_resource("kind,side,n\na,x,0\nb,y,0\n")
    query = {"by": "kind", "split": "side", "show": "sum", "of": "n"}

    for form in ("stacked", "shares", "grouped"):
        response = open_chart(client, resource, {**query, "as": form})

        assert response.status_code == 200
        assert parse_table(response)[1][1:] == ["0", "–", "1"]


# What is shown ------------------------------------------------------------------------------------


def test_records_are_counted_by_a_text_with_the_largest_first(
    client: Client, survey: Resource
) -> None:
    response = open_chart(client, survey, {"by": "kind"})

    assert parse_table(response) == [["kind", "number of records"], ["river", "40"], ["lake", "20"]]
    assert list_bars(response) == ["river · 40", "lake · 20"]
    assert "<h2><bdi>Number of records by kind</bdi></h2>" in response.content.decode()
    assert "The highest is 40 (river), the lowest 20 (lake)." in extract_text(response)


FIGURES: list[tuple[dict[str, str], list[list[str]]]] = [
    ({"show": "sum", "of": "budget"}, [["river", "12,020.0", "40"], ["lake", "5,710.0", "20"]]),
    ({"show": "avg", "of": "budget"}, [["river", "300.5", "40"], ["lake", "285.5", "20"]]),
    ({"show": "min", "of": "budget"}, [["river", "10.5", "40"], ["lake", "0.5", "20"]]),
    ({"show": "max", "of": "budget"}, [["river", "590.5", "40"], ["lake", "570.5", "20"]]),
    ({"show": "median", "of": "budget"}, [["river", "300.5", "40"], ["lake", "285.5", "20"]]),
    ({"split": "stage"}, [["river", "–", "20", "20"], ["lake", "20", "–", "–"]]),
    ({"split": "day", "per": "year", "field.open": "true"}, [
        ["river", "2", "2", "2", "2", "2"], ["lake", "1", "1", "1", "1", "1"],
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "rows"), FIGURES)
def test_every_figure_is_shown(
    client: Client, survey: Resource, query: dict[str, str], rows: list[list[str]]
) -> None:
    assert parse_table(open_chart(client, survey, {"by": "kind", **query}))[1:] == rows


@pytest.mark.parametrize(
    ("step", "labels"),
    [
        ("year", ["2016", "2017", "2018", "2019", "2020"]),
        ("quarter", ["Q1 2016", "Q2 2016", "Q3 2016", "Q4 2016", "Q1 2017"]),
        ("month", ["Jan 2016", "Feb 2016", "Mar 2016", "Apr 2016", "May 2016"]),
        ("week", ["Dec 28, 2015", "Jan 4, 2016", "Jan 11, 2016", "Jan 18, 2016", "Jan 25, 2016"]),
    ],
)
def test_periods_have_no_gaps(
    client: Client, survey: Resource, step: str, labels: list[str]
) -> None:
    rows = parse_table(open_chart(client, survey, {"by": "day", "per": step}))[1:]

    assert [row[0] for row in rows[:5]] == labels
    assert sum(int(row[1]) for row in rows if row[1] != "–") == 60


@pytest.mark.parametrize(
    ("language", "step", "labels"),
    [
        ("de", "quarter", ["Q1 2016", "Q2 2016"]),
        ("fr", "month", ["janv. 2016", "févr. 2016"]),
        ("vi", "month", ["thg 1 2016", "thg 2 2016"]),
        ("ar", "month", ["يناير 2016", "فبراير 2016"]),
        ("es", "week", ["28 dic 2015", "4 ene 2016"]),
    ],
)
def test_periods_are_written_as_the_language_does(
    client: Client, survey: Resource, language: str, step: str, labels: list[str]
) -> None:
    response = open_chart(client, survey, {"by": "day", "per": step}, language)

    assert [row[0] for row in parse_table(response)[1:3]] == labels
    assert next(bar.partition(" · ")[0] for bar in list_bars(response)) == labels[0]
    # A file has them in a form that sorts.
    query = {"by": "kind", "split": "day", "per": "quarter", "format": "csv"}
    file = open_chart(client, survey, query, language).content.decode()
    assert {"2017-Q2", "2018-Q1"} <= {*re.findall("20[^,]*", file)}


@pytest.mark.parametrize(
    ("kind", "clock"), [("date", ""), ("timestamp", ""), ("timestamptz", "T00:00:00Z")]
)
def test_decades_begin_with_a_zero(client: Client, db: None, kind: str, clock: str) -> None:
    days = [f"{day}{clock}" for day in ("0005-03-01", "0010-01-01", "0019-12-31", "0030-05-05")]
    resource = make_loaded_resource("\n".join(["t", *days]), types={"t": kind})
    query = {"by": "t", "per": "decade"}

    rows = parse_table(open_chart(client, resource, query))[1:]
    assert [(label.split()[0], count) for label, count in rows] == [
        ("1–9", "1"), ("10–19", "2"), ("20–29", "–"), ("30–39", "1"),
    ]  # fmt: skip
    file = open_chart(client, resource, {**query, "format": "csv"}).content.decode()
    assert re.findall("(?m)^[0-9]{4}", file) == ["0001", "0010", "0020", "0030"]
    page = open_chart(client, resource, query).content.decode()
    assert '<a href="../?from.t=0001-01-01&amp;to.t=0009-12-31">' in page


@pytest.mark.parametrize(("kind", "zone"), [("timestamp", ""), ("timestamptz", "Z")])
def test_hours_have_no_gaps(client: Client, db: None, kind: str, zone: str) -> None:
    rows = f"2020-02-29T22:10:00{zone}\n2020-03-01T01:59:00{zone}\n"
    resource = make_loaded_resource(f"t\n{rows}", types={"t": kind})

    response = open_chart(client, resource, {"by": "t", "per": "hour"})

    assert parse_table(response)[1:] == [
        ["Feb 29, 2020 22:00", "1"],
        ["Feb 29, 2020 23:00", "–"],
        ["Mar 1, 2020 00:00", "–"],
        ["Mar 1, 2020 01:00", "1"],
    ]


@pytest.mark.parametrize(
    ("days", "count", "label"),
    [
        (1, 40, "Jan 2, 2020"),
        (20, 40, "Jan 2020"),
        (100, 40, "Q1 2020"),
        (700, 40, "2020"),
        (15, 2, "Jan 2, 2020"),
        (31, 2, "Jan 2020"),
        (30.4, 60, "Jan 2020"),
        (91.3, 20, "Q1 2020"),
        (730.5, 7, "2020"),
    ],
)
def test_a_step_is_chosen_by_the_span_and_the_number_of_the_dates(
    client: Client, db: None, days: float, count: int, label: str
) -> None:
    """A mark every two years would be lost among quarters."""
    dates = [date(2020, 1, 2) + timedelta(days=int(days * number)) for number in range(count)]
    resource = make_loaded_resource("\n".join(["d", *map(str, dates)]))

    assert parse_table(open_chart(client, resource))[1][0] == label


def test_numbers_are_counted_in_ranges_without_gaps(client: Client, db: None) -> None:
    resource = make_loaded_resource(
        "n\n" + "".join(f"{n / 2}\n" for n in [*range(-30, 20), 300, 300])
    )

    response = open_chart(client, resource, {"by": "n", "show": "sum", "of": "n"})
    rows = parse_table(response)[1:]

    assert rows[:3] == [
        ["-20–-10", "-127.5", "10"],
        ["-10–0", "-105.0", "20"],
        ["0–10", "95.0", "20"],
    ]
    assert rows[3] == ["10–20", "–", "0"]
    assert rows[-1] == ["150–160", "300.0", "2"]


def test_a_whole_number_with_few_values_has_each_of_them(client: Client, db: None) -> None:
    resource = make_loaded_resource("year\n" + "2021\n" * 3 + "2019\n" * 5)

    rows = parse_table(open_chart(client, resource, {"by": "year"}))[1:]
    assert rows == [["2019", "5"], ["2021", "3"]]


def test_a_count_is_grouped_and_a_year_is_not(client: Client, db: None) -> None:
    resource = make_loaded_resource("kind,year\n" + "a,2021\n" * 1200 + "b,1999\n")

    counts = open_chart(client, resource, {"by": "kind"})
    years = open_chart(client, resource, {"by": "kind", "show": "max", "of": "year"})

    assert parse_table(counts)[1:] == [["a", "1,200"], ["b", "1"]]
    assert {">1,000</text>", ">\u20021,200</text>"} <= find_texts(counts)
    assert parse_table(years)[1:] == [["a", "2021", "1,200"], ["b", "1999", "1"]]
    assert {">2000</text>", ">\u20022021</text>"} <= find_texts(years)


def test_records_without_a_value_have_a_bar_after_the_axis(client: Client, db: None) -> None:
    resource = make_loaded_resource("d,k\n2020-01-01,a\n,b\n,c\n2020-01-02,d\n")

    response = open_chart(client, resource, {"by": "d"})

    assert parse_table(response)[1:] == [["Jan 1, 2020", "1"], ["Jan 2, 2020", "1"], ["empty", "2"]]
    assert list_bars(response) == ["Jan 1, 2020 · 1", "Jan 2, 2020 · 1", "empty · 2"]
    assert ">empty</text>" in response.content.decode()
    assert '<a href="../?empty.d=yes">' in response.content.decode()


def test_a_chart_is_proposed(client: Client, survey: Resource) -> None:
    """Each day has two records: to count them would say nothing."""
    response = open_chart(client, survey)

    assert parse_table(response)[0] == ["day", "empty", "closed", "open", "Records"]
    proposals = re.findall(
        '<li><a href="([^"]*)"><bdi>(.*?)</bdi></a></li>',
        response.content.decode().partition('id="proposals"')[2],
    )
    assert [title for _link, title in proposals] == [
        "Mean of budget by stage, split by day, per year",
        "Mean of budget by stage",
        "Mean of budget by day, per month",
        "Number of records by budget",
        "Number of records by stage",
        "Sum of budget by day, per month",
    ]
    for link, _title in proposals:
        path = f"/en/datastore/{survey.pk}/chart/{html.unescape(link)}"
        assert client.get(path).status_code == 200


def make_table(header: str, *columns: Any, count: int = 60) -> Resource:
    """Load records whose values are written by functions of their numbers."""
    rows = (",".join(str(column(n)) for column in columns) for n in range(count))
    return make_loaded_resource("\n".join([header, *rows]))


def write_day(n: int) -> str:
    """Write a day that more and more records have."""
    return f"{2024 - (int((60 - n) ** 0.5) % 8)}-0{n % 9 + 1}-1{n % 7}"


@pytest.mark.parametrize(
    ("header", "columns", "title"),
    [
        ("n,city,cost", [str, lambda n: f"city {n}", lambda n: n * n], "Number of records by cost"),
        (
            "town,note,day",
            [lambda n: f"t{n % 4}", lambda n: "" if n % 8 else f"note {n % 3}", write_day],
            "Number of records by day, per quarter, split by town",
        ),
        (
            "paid,town,code,size",
            [lambda n: str(n % 2 == 0), lambda n: f"t{n % 7 // 2}", lambda n: f"c{n % 30}", str],
            "Number of records by town",
        ),
        (
            "day,station,lat,heat",
            [
                lambda n: f"2024-{n // 3 % 10 + 1:02}-01", lambda n: f"s{n % 3}",
                lambda n: 40 + n / 9, lambda n: n % 17 - 3.5,
            ],
            "Mean of heat by day, per month, split by station",
        ),
        ("year,people", [lambda n: 1950 + n, lambda n: 900 + n * n], "Mean of people by year"),
        (
            "term,id,seats",
            [lambda n: f"{2010 + n % 6}/{11 + n % 6}", lambda n: 900 - 3 * n, lambda n: n * n],
            "Mean of seats by term",
        ),
        (
            "quarter,index",
            [lambda n: f"{1974 + n // 4}Q{n % 4 + 1}", lambda n: 100 + n * n % 7 / 10],
            "Mean of index by quarter",
        ),
        (
            "title,genre,price",
            [lambda n: 1984 + n if n < 12 else f"word {n}", lambda n: f"g{n % 4}",
             lambda n: n * n],
            "Mean of price by genre",
        ),
        # 30 persons, and the states of a panel of which some begin later.
        (
            "mode,person,cost",
            [lambda n: f"m{n % 4}", lambda n: n % 30 + 1, lambda n: n * n],
            "Mean of cost by mode",
        ),
        (
            "year,state,deaths",
            [lambda n: 1990 + n // 4 if n < 40 else 1960 + n, lambda n: f"s{n % 4 * (n < 40)}",
             lambda n: n * n],
            "Mean of deaths by year, split by state",
        ),
        # Of the same four species, and of a year long ago.
        (
            "speciesID,species,share",
            [lambda n: f"58fa{n % 7 // 2}", lambda n: f"s{n % 7 // 2}", lambda n: n / 7],
            "Number of records by species",
        ),
        (
            "Year,king,coins",
            [lambda n: 1066 + n, lambda n: f"k{n // 20}", lambda n: n * n],
            "Mean of coins by Year, split by king",
        ),
    ],
)  # fmt: skip
def test_the_proposed_chart_says_something(
    client: Client, db: None, header: str, columns: Any, title: str
) -> None:
    """It is by time or a category, not by a key or a text of which each record has its own."""
    response = open_chart(client, make_table(header, *columns))

    assert f"<h2><bdi>{title}</bdi></h2>" in response.content.decode()
    assert len(parse_table(response)) > 1


def test_a_mean_is_offered_beside_a_sum(client: Client, db: None) -> None:
    """A sum of ages says nothing, a mean of amounts says something."""
    rank, age = (lambda n: f"r{n // 5 % 7 // 3}"), (lambda n: 20 + n * n % 41)
    page = open_chart(client, make_table("rank,age", rank, age)).content.decode()

    assert "<h2><bdi>Number of records by rank</bdi></h2>" in page
    assert re.findall("<bdi>([^<]* of age by rank)</bdi>", page.partition('id="proposals"')[2]) == [
        "Mean of age by rank",
        "Sum of age by rank",
    ]


def test_no_chart_is_proposed_by_a_key(client: Client, db: None) -> None:
    resource = make_table("id,name", lambda n: n, lambda n: f"name {n}")

    assert "No field suits a chart." in extract_text(open_chart(client, resource))
    assert parse_table(open_chart(client, resource, {"by": "name"}))[1:]
    numbered = make_table("id,kind", lambda n: 1900 + n, lambda n: f"k{n % 3}")
    assert "Number of records by kind" in extract_text(open_chart(client, numbered))


def test_what_was_proposed_goes_when_the_question_changes(client: Client, db: None) -> None:
    town, kind = (lambda n: f"t{n % 3}"), (lambda n: f"k{(n + n // 7) % 5}")
    resource = make_table("town,kind,day", town, kind, write_day)
    page = open_chart(client, resource).content.decode()
    asked = open_chart(client, resource, {"field.town": "t1", "from.day": "2024-02-01"})

    assert "by day, per quarter, split by town</bdi></h2>" in page
    for form in ('id="ask"', 'class="datastore-search"', 'class="datastore-facets"'):
        sent = page.partition(form)[2].partition("</form>")[0]
        assert not re.findall('name="(?:by|per|split|show|as)"', sent)
    assert "by day, per day, split by kind</bdi></h2>" not in page
    assert re.search("by day, per (month|day), split by kind</bdi></h2>", asked.content.decode())


def test_the_years_that_are_the_key_of_the_records_are_an_axis(client: Client, db: None) -> None:
    rows = "".join(f"{1950 + n},{n * 37 % 41}\n" for n in range(40))
    resource = make_loaded_resource(f"year,amount\n{rows}")
    Resource.objects.filter(pk=resource.pk).update(primary_key=["year"])

    assert "<h2><bdi>Mean of amount by year</bdi></h2>" in open_chart(client, resource).text


def test_the_series_of_years_are_in_their_order(client: Client, db: None) -> None:
    resource = make_table("kind,year", lambda n: f"k{n % 2}", lambda n: 2020 + n * 7 % 10 // 3)

    assert parse_table(open_chart(client, resource, {"by": "kind", "split": "year"}))[0] == [
        "kind", "2020", "2021", "2022", "2023",
    ]  # fmt: skip


def test_the_question_holds(client: Client, survey: Resource) -> None:
    query = {"by": "kind", "field.stage": "OPEN", "q": "title", "sort": "n", "limit": "50"}

    response = open_chart(client, survey, query)
    page = response.content.decode()

    assert parse_table(response)[1:] == [["lake", "20"]]
    form = page.partition("datastore-chart-form")[2].partition("</form>")[0]
    hidden = re.findall('type="hidden" name="([^"]*)" value="([^"]*)"', form)
    assert hidden == [("field.stage", "OPEN"), ("q", "title")]
    assert 'href="../?field.stage=OPEN&amp;q=title&amp;field.kind=lake" tabindex="-1"><rect' in page
    assert '<a href="../?field.stage=OPEN&amp;q=title&amp;field.kind=lake">' in page
    path = f"/en/datastore/{survey.pk}/"
    asked = "?by=kind&field.stage=OPEN&q=title&sort=n&limit=50"
    tabs = re.findall('<li><a href="([^"]*)"(?: aria-current="page")?>(Table|Chart)</a>', page)
    assert [(html.unescape(link), label) for link, label in tabs] == [
        (f"{path}{asked.replace('by=kind&', '')}", "Table"),
        (f"{path}chart/?field.stage=OPEN&q=title", "Chart"),
    ]
    assert '<bdi>stage: OPEN</bdi><button form=ask name=set value="-field.stage=OPEN"' in page
    asking = page.partition('id="ask"')[2].partition("</form>")[0]
    assert dict(re.findall('name="([^"]*)" value="([^"]*)"', asking)) == {
        **dict(hidden), "by": "kind",
    }  # fmt: skip


# Files --------------------------------------------------------------------------------------------


# What cannot be shown -----------------------------------------------------------------------------


def test_names_and_values_are_never_markup(client: Client, db: None) -> None:
    resource = make_loaded_resource('"<i>""",b\n' + '"<b onclick=""x()"">",1\n' * 4 + "],2\n")

    response = open_chart(client, resource, {"by": '<i>"'})

    assert "<b onclick" not in response.content.decode()
    assert parse_table(response)[1] == ['<b onclick="x()">', "4"]
    parse_drawing(response)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            {"by": "nope"},
            "cannot have by=nope. Possible: kind, stage, n, budget, day, open, title.",
        ),
        ({"show": "sum", "of": "x", "by": "kind"}, "cannot have of=x. Possible: n, budget."),
        ({"by": "kind", "split": "x"}, "cannot have split=x. Possible: kind, stage"),
        (
            {"show": "sum", "of": "kind", "by": "kind"},
            "Field “kind” has type text, which does not support “sum”.",
        ),
        ({"show": "mean"}, "cannot have show=mean. Possible: count, sum, avg, min, max, median."),
        (
            {"by": "day", "per": "fortnight"},
            "cannot have per=fortnight. Possible: decade, year, quarter, month, week, day, each.",
        ),
        ({"by": "day", "per": "hour"}, "cannot have per=hour."),
        ({"by": "kind", "per": "month"}, "cannot have per=month. Possible: each."),
        ({"by": "n", "per": "year"}, "cannot have per=year. Possible: ranges, each."),
        ({"by": "kind", "as": "shares"}, "cannot have as=shares. Possible: map."),
        ({"by": "kind", "as": "lines", "split": "stage"}, "Possible: stacked, shares, grouped."),
        (
            {"show": "avg", "of": "n", "by": "day", "split": "kind", "as": "stacked"},
            "cannot have as=stacked. Possible: grouped, lines.",
        ),
        ({"by": "kind", "split": "kind"}, "cannot have split=kind. Possible: stage, n, budget"),
        ({"by": "day", "as": "pie"}, "cannot have as=pie. Possible: lines."),
        ({"by": "kind", "format": "gif"}, "format: Value must be one of svg, "),
        ({"by": "kind", "from.n": "x"}, "“x” is not a whole number, or is too large."),
        ({"by": "kind", "filters": "{"}, "The parameter “filters” is not valid JSON."),
    ],
)
def test_an_error_is_said_in_words(
    client: Client, survey: Resource, query: Any, message: str
) -> None:
    response = open_chart(client, survey, query)

    assert response.status_code == 400
    assert message in extract_text(response)
    assert 'class="datastore-chart"' not in response.content.decode()


def test_the_form_keeps_what_was_asked_in_vain(client: Client, survey: Resource) -> None:
    page = open_chart(client, survey, {"show": "sum", "of": "x", "by": "stage"}).content.decode()

    chosen = re.findall(r'<option value="(\w+)"[^>]* selected', page)
    assert [name for name in chosen if name in {"sum", "stage"}] == ["sum", "stage"]


def test_a_nested_field_makes_no_groups(client: Client, db: None) -> None:
    table = Table(make_writer_token())
    table.run("create", fields=[{"id": "j", "type": "json"}, {"id": "n", "type": "int4"}])

    for name in ("by", "split"):
        response = open_chart(client, table.resource, {"by": "n", name: "j"})

        assert response.status_code == 400
        assert "Field “j” has type nested data. Records cannot be grouped" in extract_text(response)


def test_every_chart_that_a_page_offers_is_one(client: Client, survey: Resource) -> None:
    """A form sends what was proposed only if the address has it; links name what suits."""
    pages, seen = [f"/en/datastore/{survey.pk}/chart/"], set[str]()
    while pages:
        address = pages.pop()
        seen.add(address)
        response = client.get(address)
        assert response.status_code == 200, address
        text = html.unescape(response.content.decode())
        links = re.findall(r'href="((?:/en/datastore/[^"]*/chart/)?\?[^"#]*)"', text)
        charts = {
            each if each.startswith("/") else address.partition("?")[0] + each for each in links
        }
        pages += [
            each for each in sorted(charts - seen) if "format=" not in each and len(seen) < 15
        ]
        selected = dict(
            re.findall(
                r'<select[^>]* name="(per|as)".*?<option value="([^"]*)" selected', text, re.DOTALL
            )
        )
        sent = address.partition("?")[2]
        assert all(f"{name}=" in sent for name, value in selected.items() if value)


def test_the_figures_are_sent_as_csv_whose_texts_are_no_formulas(client: Client, db: None) -> None:
    rows = "=1+1,@x,-1\n+2,=2,5\n-3,a,7\n"
    resource = make_loaded_resource(f"=k,-s,n\n{rows}", types={"=k": "text"})

    query = {"by": "=k", "split": "-s", "show": "sum", "of": "n", "format": "csv"}
    response = open_chart(client, resource, query, locale="vi")

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="chart.csv"'
    header, *lines = csv.reader(io.StringIO(response.content.decode()))
    assert header == ["'=k", "'-s", "sum_n"]
    assert {line[0] for line in lines} == {"'=1+1", "'+2", "'-3"}
    assert {line[1] for line in lines} == {"'@x", "'=2", "a"}
    assert "-1" in {line[2] for line in lines}
    response = open_chart(client, resource, {"by": "n", "per": "each", "format": "csv"})
    assert response.content.decode().splitlines()[1] == "-1,1"


def test_truth_values_of_a_file_are_as_in_json(client: Client, db: None) -> None:
    resource = make_loaded_resource("open\n" + "true\n" * 3 + "false\n" * 2)

    file = open_chart(client, resource, {"by": "open", "format": "csv"}).content.decode()

    assert sorted(file.split()) == ["false,2", "open,count", "true,3"]


def test_only_the_largest_groups_are_shown(
    client: Client, survey: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_data, "MAX_CATEGORIES", 5)
    monkeypatch.setattr(chart_data, "MAX_SERIES", 3)

    response = open_chart(client, survey, {"by": "title"})
    assert len(parse_table(response)) == 6
    assert "The highest is 1 (title 0), the lowest 1 (title 0)." in extract_text(response)
    text = "5 of 60 groups are shown. The figures of the others lie between 1 and 1."
    assert text in extract_text(response)

    query = {"show": "max", "of": "n", "by": "kind", "split": "title"}
    response = open_chart(client, survey, query)
    assert len(parse_table(response)[0]) == 5
    assert "others" not in parse_table(response)[0]
    assert "3 of 60 values of title are shown." in extract_text(response)

    # The others are one series; what is highest is one of the values.
    response = open_chart(client, survey, {**query, "show": "sum"})
    (_kind, *names, _records), *rows = parse_table(response)
    figures = [float(cell.replace(",", "")) for row in rows for cell in row[1:-1] if cell != "–"]
    assert names == ["title 59", "title 58", "others"]
    assert sum(figures) == sum(range(60))
    text = extract_text(response)
    assert "The highest single value is 59 (river, title 59), the lowest 0 (lake, title 0)." in text
    text_of_others = (
        "2 of 60 values of title are shown. The figures of the others lie between 0 and 57."
    )
    assert text_of_others in text


@pytest.mark.parametrize("most", [2, 3])
@pytest.mark.parametrize(
    "query",
    [
        {"by": "day", "per": "month"},
        {"by": "day", "per": "each"},
        {"by": "n", "split": "stage"},
        {"by": "budget", "per": "ranges"},
        {"by": "open", "split": "kind"},
        {"by": "kind", "split": "stage"},
        {
            "by": "kind",
            "split": "title",
            "field.title": ["title 1", "title 2", "title 3", "title 4"],
        },
        {"by": "kind", "split": "day", "per": "year"},
        {"by": "open", "split": "budget", "per": "ranges"},
    ],
)
def test_every_bar_leads_to_as_many_records_as_it_says(
    client: Client, survey: Resource, monkeypatch: pytest.MonkeyPatch, query: Any, most: int
) -> None:
    monkeypatch.setattr(chart_data, "MAX_SERIES", most)

    page = html.unescape(open_chart(client, survey, query).content.decode())

    marks = re.findall(r'<a href="\.\./([^"]*)" tabindex="-1"><rect.*?<title>(.*?)</title>', page)
    assert len(marks) == page.count("<rect x=") > 0
    for link, text in marks:
        found = extract_text(client.get(f"/en/datastore/{survey.pk}/{link}"))
        count = text.rpartition(" · ")[2]
        assert f"of {count} " in found or count == "0", (link, text)


def test_a_bar_leads_to_texts_of_its_own_case_and_to_empty_ones(client: Client, db: None) -> None:
    rows = 'lake,x\nLake,x\nLAKE,y\nLake,X\n"",x\n"",\n'
    resource = make_loaded_resource(f"kind,stage\n{rows}")
    # What the question asks besides holds, of the same field, too.
    filters = '{"kind": ["lake", "Lake", "", "LAKE"]}'

    page = html.unescape(open_chart(client, resource, {"by": "kind"}).content.decode())
    query = {"by": "kind", "split": "stage", "filters": filters}
    split = html.unescape(open_chart(client, resource, query).content.decode())

    bars = r'<a href="\.\./([^"]*)" tabindex="-1"><rect.*?<title>(.*?)</title>'
    marks = re.findall(bars, page)
    assert {text for _link, text in marks} == {"Lake · 2", '"" · 2', "LAKE · 1", "lake · 1"}
    for link, text in [*marks, *re.findall(bars, split)]:
        found = extract_text(client.get(f"/en/datastore/{resource.pk}/{link}"))
        assert f"of {text.rpartition(' · ')[2]} " in found, (link, text)
    path = f"/en/datastore/{resource.pk}/compare/?by=kind&compare=stage&from=x&to=X"
    compared = html.unescape(client.get(path).content.decode())
    (link,) = re.findall(r'<th scope="row"><a href="\.\./([^"]*)"><bdi>Lake<', compared)
    assert "1–2 of 2" in extract_text(client.get(f"/en/datastore/{resource.pk}/{link}"))


@pytest.mark.parametrize(
    ("kind", "ends", "step"),
    [
        ("date", ("1450-03-01", "2000-03-01"), ", per decade"),
        # A day far away often stands for no end.
        ("date", ("2000-03-01", "9999-12-31"), ""),
        ("timestamp", ("2000-03-01 10:30", "9999-12-31 23:59"), ""),
    ],
)
def test_days_of_too_many_years_have_longer_steps_or_each_its_own(
    client: Client, db: None, kind: str, ends: tuple[str, str], step: str
) -> None:
    first, last = ends
    rows = "".join(f"{'ab'[n % 2]},{last if n % 3 else first}\n" for n in range(60))
    resource = make_loaded_resource(f"kind,built\n{rows}", types={"built": kind})

    for query in {"by": "built"}, {}:
        response = open_chart(client, resource, query)
        assert response.status_code == 200
        assert f"Number of records by built{step}" in extract_text(response)
    assert client.get(f"/en/datastore/{resource.pk}/compare/").status_code == 200


def test_longer_steps_are_drawn_where_there_are_too_many_or_they_are_refused(
    client: Client, survey: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_data, "MAX_STEPS", 55)
    for query in {"by": "day", "per": "week"}, {"by": "n", "per": "each"}:
        assert len(parse_table(open_chart(client, survey, query))) <= 56
    monkeypatch.setattr(chart_data, "MAX_FIGURES", 49)
    monkeypatch.setattr(chart_data, "_PAGE_FIGURES", 49)

    response = open_chart(client, survey, {"by": "title", "split": "n", "per": "each"})

    assert response.status_code == 400
    assert "There are too many groups for a chart." in extract_text(response)


@pytest.mark.parametrize("begin", [10**20, 10**30])
def test_large_numbers_that_are_near_each_other_are_drawn_in_ranges(
    client: Client, db: None, begin: int
) -> None:
    rows = "".join(f"{begin + at}\n" for at in range(250))
    resource = make_loaded_resource(f"n\n{rows}", types={"n": "numeric"})

    assert len(list_bars(open_chart(client, resource, {"by": "n"}))) == 20


def test_what_is_no_number_and_no_record_is_not_drawn(client: Client, db: None) -> None:
    resource = make_loaded_resource("k,n\na,NaN\nb,2\nb,Infinity\nc,1e308\n", types={"n": "float8"})

    for query in ({"by": "n"}, {"show": "max", "of": "n", "by": "k"}):
        assert open_chart(client, resource, query).status_code == 200
    nothing = open_chart(client, resource, {"by": "n", "field.k": "sea"})
    assert nothing.status_code == 200
    assert "There is nothing to draw." in extract_text(nothing)


def test_a_table_of_the_api_has_a_chart(client: Client, db: None) -> None:
    table = Table(make_writer_token())
    table.run(
        "create", fields=[{"id": "n", "type": "numeric"}], records=[{"n": n} for n in range(41)]
    )

    response = open_chart(client, table.resource)

    rows = parse_table(response)[1:]
    assert (len(rows), rows[0], rows[-1]) == (9, ["0–5", "5"], ["40–45", "1"])
    # The labels of ranges are below their beginnings, and counts are whole numbers.
    page = response.content.decode()
    labels = re.findall('<text x="([0-9.]+)%"[^>]*"middle"[^>]*>(.*?)<', page)
    assert labels[:3] == [("0", "0"), ("11.11", "5"), ("22.22", "10")]
    assert re.findall('anchor="end">(.*?)<', page) == ["0", "1", "2", "3", "4", "5"]


# The drawing --------------------------------------------------------------------------------------


def draw(*sizes: float, kind: str = "int4") -> Drawing:
    by = Grouping(Column("k", "k", "", field_types[kind], "text"), GroupBy("k"))
    groups = tuple(
        Group(Value(f"g{n}", f"g{n}"), (Point(Decimal(size)),), 1) for n, size in enumerate(sizes)
    )
    query = ChartQuery("sum", None, by)
    drawing = draw_chart(ChartData(query, groups, (Value(),), len(groups), 1))
    assert drawing
    return drawing


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ([93], ["0", "20", "40", "60", "80", "100"]),
        ([-3, 8], ["-5", "0", "5", "10"]),
        ([0.0004], ["0", "0.0001", "0.0002", "0.0003", "0.0004"]),
        ([0], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([-1e300, 1e300], ["-1e300", "-5e299", "0", "5e299", "1e300"]),
        ([5e-324], ["0", "1e-300"]),
    ],
)
def test_a_scale_has_round_numbers_and_zero(sizes: list[float], labels: list[str]) -> None:
    drawing = draw(*sizes)

    assert re.findall('anchor="end">(.*?)<', drawing.labels) == labels


def test_a_negative_figure_is_a_bar_on_the_other_side() -> None:
    marks = draw(-5, 10, kind="text").series[0].marks

    low, low_width, high, high_width = map(float, re.findall('(?:x|width)="(.*?)%"', marks))
    assert low + low_width == pytest.approx(high, abs=0.2)
    assert high_width == pytest.approx(2 * low_width, abs=0.2)


def test_every_series_has_a_colour_and_a_line_of_its_own() -> None:
    colours, _dashes = zip(*STYLES, strict=True)
    assert len(set(colours)) == len(STYLES) == chart_data.MAX_SERIES


@pytest.mark.parametrize(("size", "room"), [(10**6, 70), (3 * 10**9, 80), (-4 * 10**9, 80)])
@pytest.mark.parametrize("by", ["k", "n"])
def test_the_widest_label_has_room(client: Client, db: None, size: int, room: int, by: str) -> None:
    resource = make_loaded_resource(f"k,n,v\na,1,{size}\nb,2,{size // 3}\nc,3,{size // 7}\n")
    query = {"show": "sum", "of": "v", "by": by}

    drawing = ET.fromstring(open_chart(client, resource, {**query, "format": "svg"}).content)

    box = [int(each) for each in drawing.get("viewBox", "").split()]
    for inner in drawing:
        left = float(inner.get("x") or 0)
        for text in inner.iter("{http://www.w3.org/2000/svg}text"):
            at, width = text.get("x") or "0", measure_text(text.text or "")
            x = left + (float(at[:-1]) * 7.2 if at.endswith("%") else float(at))
            begin = x - {"end": width, "middle": width / 2}.get(text.get("text-anchor") or "", 0)
            assert begin >= 0, text.text
            assert begin + width <= box[2], text.text
    classes = parse_drawing(open_chart(client, resource, query)).get("class", "")
    assert ("narrow" in classes) == (abs(size) < 10**9 or by == "n")


def test_logarithmic_ranges_say_so(client: Client, db: None) -> None:
    rows = "".join(f"{n},{10 ** (n % 7)}\n" for n in range(70)) + "1,10000000\n" * 2
    resource = make_loaded_resource(f"a,n\n{rows}" + "2,3\n" * 900)

    response = open_chart(client, resource, {"by": "n", "per": "ranges"})

    assert "Number of records by n, in logarithmic ranges" in extract_text(response)
