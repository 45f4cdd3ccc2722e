"""The page that compares two groups or periods: its table, sentence, drawings, file and choices."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import defaultdict
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.pages.charts import compare
from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from ..shared import ModuleTransaction
from .parsing import extract_text, parse_drawing, parse_table

pytestmark = pytest.mark.django_db


def make_rows() -> list[tuple[str, str, str]]:
    """Make payments: a new department, an old one, one of sum 0, one of no name, one of refunds."""
    random = Random(2)
    departments = ["Roads", "Parks", "Water", "Schools", "Police & fire", "Library", ""]
    rows = [
        (
            department,
            f"20{year}-{month:02}-{random.choice(['01', '28'])}",
            str(Decimal(random.randint(-50_000, 250_000)) / 100),
        )
        for department in departments
        for year in (18, 19, 20)
        for month in range(1, 13)
    ]
    rows += [("New", "2020-05-01", "12.50"), ("Old", "2019-12-31", "7.25")]
    rows += [("Zero", "2019-01-01", "-3.10"), ("Zero", "2019-01-02", "3.10")]
    rows += [("Zero", "2020-01-01", "5"), ("Refunds", "2019-02-02", "-20.5")]
    return [*rows, ("Refunds", "2020-02-02", "-30.75"), ("Unknown", "2019-03-03", "")]


ROWS = make_rows()


@pytest.fixture(scope="module")
def spending(module_transaction: ModuleTransaction) -> Resource:
    lines = "".join(f"{','.join(row)}\n" for row in ROWS)
    return make_loaded_resource(f"department,day,amount\n{lines}", title="Spending")


SUMS = {"show": "sum", "of": "amount", "by": "department", "compare": "day", "per": "year"}


def open_compare(client: Client, resource: Resource, query: Any = None, locale: str = "en") -> Any:
    return client.get(f"/{locale}/datastore/{resource.pk}/compare/", query or {})


def compute() -> dict[str, list[Decimal | None]]:
    """Compute sums of 2019 and 2020, the difference, and the change in per cent."""
    values: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for department, day, amount in ROWS:
        values[department, day[:4]] += [Decimal(amount)] if amount else []
    found: dict[str, list[Decimal | None]] = {}
    for department in {each for each, year in values if year in ("2019", "2020")}:
        start, end = (sum(values[department, year], Decimal()) for year in ("2019", "2020"))
        if department == "Unknown":  # it has records, but no figure
            found[department] = [None, Decimal(), None, None]
            continue
        change = round(100 * (end - start) / abs(start), 6) if start else None
        found[department] = [start, end, end - start, change]
    return found


def test_every_number_is_that_of_plain_python(client: Client, spending: Resource) -> None:
    query = {**SUMS, "from": "2019", "to": "2020"}
    text = open_compare(client, spending, {**query, "format": "csv"}).content.decode()
    names, *rows = csv.reader(io.StringIO(text))
    expected = compute()

    assert names == ["department", "2019", "2020", "difference", "change_percent"]
    found = {row[0]: [Decimal(each) if each else None for each in row[1:]] for row in rows}
    assert found == expected
    assert sum(len(row) for row in found.values()) >= 40
    # The largest difference is the first; those without one come last.
    sizes = [abs(Decimal(row[3])) if row[3] else Decimal(-1) for row in rows]
    assert sizes == sorted(sizes, reverse=True)

    response = open_compare(client, spending, query)
    table = parse_table(response)
    assert table[0] == ["department", "2019", "2020", "Difference", "Change in %"]
    assert ["Refunds", "-20.5", "-30.75", "-10.25", "-50%"] in table
    assert ["New", "0", "12.50", "+12.50", "–"] in table
    assert ["Old", "7.25", "0", "-7.25", "-100%"] in table
    assert ["Zero", "0.00", "5", "+5.00", "–"] in table
    assert ["Unknown", "–", "0", "–", "–"] in table
    assert len(table) == len(rows) + 1

    differences = {name: row[2] for name, row in expected.items() if row[2] is not None}
    most, least = (choose(differences, key=lambda n: differences[n]) for choose in (max, min))
    said = extract_text(response)
    for word, name in (("increase", most), ("decrease", least)):
        assert re.search(rf"The largest {word} is [^()]*\({re.escape(name) or 'empty'}\)", said)
    rising = sum(each > 0 for each in differences.values())
    falling = sum(each < 0 for each in differences.values())
    assert f"Of 12 groups, {rising} increased and {falling} decreased." in said
    assert "1 of them cannot be compared: a side has no figure." in said


@pytest.mark.parametrize("name", compare.COLUMNS)
def test_the_table_is_sorted_by_each_column(client: Client, spending: Resource, name: str) -> None:
    place = compare.COLUMNS.index(name)
    for order in (name, f"-{name}"):
        query = {**SUMS, "from": "2019", "to": "2020", "order": order, "format": "csv"}
        text = open_compare(client, spending, query).content.decode()
        cells = [row[place] for row in list(csv.reader(io.StringIO(text)))[1:]]
        known: list[Any] = [cell for cell in cells if cell]
        known = known if name == "group" else list(map(Decimal, known))

        assert known == sorted(known, reverse=order.startswith("-"))
        if name != "group":
            assert not any(cells[len(known) :])

    headings = open_compare(client, spending, {**SUMS, "order": f"-{name}"}).content.decode()
    assert headings.count('aria-sort="descending"') == 1


def test_signs_stay_at_the_left_of_numbers_among_arabic_words(
    client: Client, spending: Resource
) -> None:
    response = open_compare(client, spending, {**SUMS, "from": "2019", "to": "2020"}, "ar")

    table = parse_table(response)
    assert ["Refunds", "-20,5", "-30,75", "\u200e-10,25", "\u200e-50%"] in table
    assert ["New", "0", "12,50", "\u200e+12,50", "–"] in table


def test_the_last_complete_periods_are_proposed(client: Client, db: None) -> None:
    days = [f"{year}-{month:02}-15" for year in (2017, 2018, 2019) for month in range(1, 13)]
    days += ["2020-01-15", "2020-02-15"]
    resource = make_loaded_resource("kind,day\n" + "".join(f"a,{day}\n" for day in days))

    proposed = open_compare(client, resource, {"by": "kind"})
    chosen = open_compare(client, resource, {"by": "kind", "from": "2019", "to": "2020"})

    assert parse_table(proposed)[0][1:3] == ["2018", "2019"]
    assert parse_table(chosen)[1] == ["a", "12", "2", "-10", "-83.3%"]
    assert "2020 is incomplete: the data end on February 15, 2020." in extract_text(chosen)


def test_the_last_of_texts_that_sort_like_time_are_proposed(client: Client, db: None) -> None:
    periods = ["2021/22", "2022/23", "2023/24"]
    rows = [f"{kind},{period}\n" for kind in "ab" for period in [*periods, *periods[:2]]]
    resource = make_loaded_resource("kind,period\n" + "".join(rows) + "a,\n")

    response = open_compare(client, resource, {"by": "kind", "compare": "period"})

    choices = re.findall('<option value="([^"]*)"', response.content.decode().split('id="from"')[1])
    assert parse_table(response)[0][1:3] == periods[1:]
    assert choices[:4] == [*periods, "~"]


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ("year,state,rate\n" + "".join(
            f"{year},s{s},{year % 7}.{s}\n" for s in range(4)
            for year in range(2000, 2020)
         ), "Mean of rate by state: 2018 compared with 2019"),
        ("year,state,rate\n" + "".join(
            f"{year},s{s},{year % 7}.{s}\n" for s in range(4)
            for year in range(1990, 2020)
         ), "Mean of rate by state: 2018 compared with 2019"),
        ("town,region,size\n" + "".join(f"t{n},r{n % 4},{n * n}\n" for n in range(80)),
         "Number of records by town: r1 compared with r0"),
        ("n,paid,town\n" + "".join(f"{n},{n % 3 > 1},t{n % 3}\n" for n in range(60)),
         "Number of records by paid: t1 compared with t0"),
        ("n,paid,size\n" + "".join(f"{n},{n % 3 > 1},{n * n}\n" for n in range(60)),
         "Number of records by size: no compared with yes"),
        ("land,left,size\n" + "".join(f"l{n},{n * n},{n % 7}.5\n" for n in range(30)),
         "Number of records by land: 750–800 compared with 800–850"),
        ("lat,long,depth,mag\n" + "".join(
            f"{-n / 7:.2f},{165 + n / 9:.2f},{n * 7},{4 + n % 9 / 10}\n" for n in range(80)
         ), "Number of records by mag: 500–550 compared with 550–600"),
    ],
)  # fmt: skip
def test_the_proposed_comparison_says_something(client: Client, rows: str, title: str) -> None:
    """Where each period has as many records, it is of a mean; groups are not by a key."""
    response = open_compare(client, make_loaded_resource(rows))

    assert f"<h2><bdi>{title}</bdi></h2>" in response.content.decode()


def test_single_records_are_compared_by_their_number(client: Client, db: None) -> None:
    rows = "".join(f"t{n},r{n % 4},{n * n}\n" for n in range(80))
    resource = make_loaded_resource(f"town,region,size\n{rows}")

    page = open_compare(client, resource, {"compare": "town"}).content.decode()

    assert "<h2><bdi>Number of records by region: t" in page


def test_periods_without_records_are_not_proposed(client: Client, db: None) -> None:
    days = ["2019-01-03", "2021-01-03", "2023-01-03"]
    resource = make_loaded_resource("kind,day\n" + "".join(f"a,{day}\n" for day in days))
    query = {"by": "kind", "compare": "day", "per": "year"}

    proposed = open_compare(client, resource, query)
    refused = open_compare(client, resource, {**query, "from": "2020"})

    assert parse_table(proposed)[0][1:3] == ["2021", "2023"]
    assert "cannot have from=2020. Possible: 2019, 2021, 2023." in extract_text(refused)


VALUES = "group,side,n,flag,text,moment\n" + "".join(
    f"{'ab'[n % 2]},{n % 3},{n},{'true' if n % 4 else 'false'},{['x', '~', '', 'y z'][n % 4]},"
    f"2020-01-0{n % 3 + 1} 1{n % 2}:30\n"
    for n in range(60)
)

SIDES = [
    ({"compare": "side", "from": "0", "to": "2"}, ["0", "2"]),
    ({"compare": "flag", "from": "true", "to": "false"}, ["yes", "no"]),
    ({"compare": "text", "from": "y z", "to": "~"}, ["y z", "~"]),
    ({"compare": "text", "from": "~~", "to": "x"}, ["empty", "x"]),
    ({"compare": "n", "per": "ranges"}, None),
    ({"compare": "moment", "per": "day", "from": "2020-01-01"}, ["Jan 1, 2020", "Jan 3, 2020"]),
    (
        {"compare": "moment", "per": "hour", "from": "2020-01-01 10:00", "to": "2020-01-01 11:00"},
        ["Jan 1, 2020 10:00", "Jan 1, 2020 11:00"],
    ),
    (
        {"compare": "moment", "per": "quarter", "from": "2020-Q1", "to": "2020-Q1"},
        ["Q1 2020, incomplete"] * 2,
    ),
    (
        {"compare": "moment", "per": "decade", "from": "2020", "to": "2020"},
        ["2020–2029, incomplete"] * 2,
    ),
]


@pytest.mark.parametrize(("query", "labels"), SIDES)
def test_each_figure_links_to_its_records(
    client: Client, db: None, query: dict[str, str], labels: list[str] | None
) -> None:
    resource = make_loaded_resource(VALUES)
    response = open_compare(client, resource, {"by": "group", **query})
    (names, *rows), page = parse_table(response), response.content.decode()

    assert labels is None or names[1:3] == labels
    assert [row[0] for row in rows if row[0] in "ab"] == [row[0] for row in rows]
    links = re.findall(r'<td class="n"><a href="\.\./([^"]*)"><bdi>(\d+)</bdi></a>', page)
    assert len(links) == 2 * len(rows) > 0
    for link, count in links:
        path = f"/en/datastore/{resource.pk}/{html.unescape(link)}&format=json"
        shown = client.get(path.removesuffix("&format=json"), follow=True)
        found = re.search(r"of (\d+)\b|(\d+) of \d+", extract_text(shown))
        assert count == "0" or found is not None
        if int(count) > 0:
            assert f"of {count}" in extract_text(shown)


REFUSED = [
    ({"from": "2031"}, "This chart cannot have from=2031. Possible: 2018, 2019, 2020."),
    ({"to": "x"}, "This chart cannot have to=x. Possible: 2018, 2019, 2020."),
    ({"by": "x"}, "This chart cannot have by=x. Possible: department, day, amount."),
    ({"compare": "department"}, "cannot have compare=department. Possible: day, amount."),
    ({"per": "fortnight"}, "cannot have per=fortnight. Possible: decade, year, quarter, month"),
    ({"show": "mean"}, "cannot have show=mean. Possible: count, sum"),
    ({"as": "pie"}, "cannot have as=pie. Possible: bars, slope."),
    ({"order": "name"}, "cannot have order=name. Possible: group, from, to, difference, change"),
    ({"format": "pdf"}, "Value must be one of svg, png, csv"),
]


@pytest.mark.parametrize(("query", "message"), REFUSED)
def test_a_refused_parameter_names_the_choices(
    client: Client, spending: Resource, query: dict[str, str], message: str
) -> None:
    response = open_compare(client, spending, {"by": "department", "compare": "day", **query})

    assert response.status_code == 400
    assert message in extract_text(response)


def test_choices_that_the_form_has_offered_for_another_field_do_not_hold(
    client: Client, spending: Resource
) -> None:
    sent = {"by": "department", "per": "year", "from": "2019", "to": "2020", "offered": "1 year"}

    same = open_compare(client, spending, {**sent, "compare": "day"})
    other_step = open_compare(client, spending, {**sent, "compare": "day", "per": "quarter"})
    other_field = open_compare(client, spending, {**sent, "by": "day", "compare": "department"})

    assert parse_table(same)[0][1:3] == ["2019", "2020"]
    assert parse_table(other_step)[0][1:3] == ["Q3 2020", "Q4 2020"]
    assert parse_table(other_field)[0][0] == "day"


def test_bars_and_lines_have_the_largest_differences(client: Client, spending: Resource) -> None:
    query = {**SUMS, "from": "2019", "to": "2020"}
    bars = [each.text or "" for each in parse_drawing(open_compare(client, spending, query)).iter()]
    slope = open_compare(client, spending, {**query, "as": "slope"})

    assert "Refunds · -10.25" in bars
    assert "The 8 groups with the largest differences are drawn." in extract_text(slope)
    assert len(re.findall("<circle[^>]*><title>", slope.content.decode())) == 16
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        file = open_compare(client, spending, {**query, "format": kind})
        assert file.content.startswith(start)
        assert file["Content-Disposition"] == f'attachment; filename="compare.{kind}"'


def test_more_groups_than_a_page_are_said_sorted_and_in_the_file(client: Client, db: None) -> None:
    rows = "".join(f"g{n:03},{side},{n if side else 0}\n" for n in range(250) for side in (0, 1))
    resource = make_loaded_resource("name,side,n\n" + rows)
    query = {"show": "sum", "of": "n", "by": "name", "compare": "side", "from": "0", "to": "1"}

    first = open_compare(client, resource, query)
    last = open_compare(client, resource, {**query, "page": "3"})
    beyond = open_compare(client, resource, {**query, "page": "999999999"})
    file = open_compare(client, resource, {**query, "format": "csv"})

    assert len(parse_table(first)) == 101
    assert parse_table(first)[1] == ["g249", "0", "249", "+249", "–"]
    assert parse_table(last)[-1][0] == parse_table(beyond)[-1][0] == "g000"
    assert len(file.content.splitlines()) == 251
    assert "datastore-toolbar" not in first.content.decode()  # it is about records
    said = extract_text(first)
    assert (
        "The largest increase is +249 (g249). Of 250 groups, 249 increased and 0 decreased." in said
    )
    assert "The 30 groups with the largest differences are drawn." in said
    assert "1–100 of 250" in said


def test_more_groups_than_can_be_compared_are_refused(
    client: Client, spending: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "MAX_COMPARED", 5)

    response = open_compare(client, spending, SUMS)

    assert response.status_code == 400
    assert "There are too many groups for a chart." in extract_text(response)


def test_a_question_and_a_written_title_are_kept(client: Client, spending: Resource) -> None:
    query = {**SUMS, "field.department": "Roads", "title": "What changed", "embed": "1"}

    page, frame = (open_compare(client, spending, sent) for sent in ({**query, "embed": ""}, query))

    for response in (page, frame):
        assert len(parse_table(response)) == 2
        assert "What changed" in extract_text(response)
    assert b"<form" not in frame.content


@pytest.mark.parametrize(
    ("content", "query", "said"),
    [
        ("name\na\nb\n", {}, "A comparison needs two fields."),
        ("name,side\na,x\nb,x\n", {"compare": "side"}, "There is nothing to draw."),
    ],
)
def test_what_cannot_be_compared_is_said(
    client: Client, db: None, content: str, query: dict[str, str], said: str
) -> None:
    resource = make_loaded_resource(content)

    assert said in extract_text(open_compare(client, resource, query))
