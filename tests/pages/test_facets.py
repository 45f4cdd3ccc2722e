"""The facets beside the records: which fields have one, what they count, and what they send."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client

from datastore_search.contrib.analysis.engine.process import EngineUnavailable
from datastore_search.contrib.pages import facets
from datastore_search.filters import parse_filters
from datastore_search.models import Resource
from datastore_search.testing import create_resource
from datastore_search.writing import open_writer

from ..builders import make_writer_token
from ..core.writing.tables import Table
from ..files.builders import make_loaded_resource
from .parsing import extract_text, open_page

#: Forty records: three stages, two of them twice as common with rivers; ten codes; no two titles.
ROWS = "".join(
    f"{'river' if n % 2 else 'lake'},{('open', 'closed', 'open', '')[n % 4]},{n % 10},title {n},"
    f"{n * 1000.5},2020-01-{n % 28 + 1:02}\n"
    for n in range(40)
)
HEADER = "kind,stage,code,title,budget,day"


@dataclass
class ParsedFacet:
    """What a page shows of a facet: texts of checkboxes, names of inputs, notes."""

    boxes: dict[str, str] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    outline: str = ""
    ends: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@pytest.fixture
def survey(db: None) -> Resource:
    return make_loaded_resource(f"{HEADER}\n{ROWS}")


def get_form(page: str) -> str:
    return str(*re.findall('<form class="datastore-facets".*?</form>', page, re.DOTALL))


def parse_facets(page: str) -> dict[str, ParsedFacet]:
    """Return the facets of a page by their labels."""
    found: dict[str, ParsedFacet] = {}
    for part in re.findall("<fieldset>(.*?)</fieldset>", get_form(page), re.DOTALL):
        (label,) = re.findall("<legend><bdi>(.*?)</bdi>", part)
        facet = found[label] = ParsedFacet()
        for name, value, checked, shown, count in re.findall(
            r'type=checkbox name="(.*?)" value="(.*?)"( checked)?><(?:bdi|em)>(.*?)</(?:bdi|em)>'
            r"<i>(?:<svg[^>]*/>)?</i><b>(.*?)</b>",
            part,
        ):
            facet.boxes[html.unescape(f"{name}={value}")] = (
                f"{html.unescape(shown)} {count}".strip()
            )
            facet.checked += [html.unescape(value)] if checked else []
        inputs = r'<input id="facet-[^"]*" name="([^"]*)"(?: value="([^"]*)")?'
        facet.inputs = dict(re.findall(inputs, part))
        facet.outline = "".join(re.findall('<path d="(.*?)"', part))
        ends = re.findall('<p class="datastore-ends" dir="ltr">(.*?)</p>', part)
        facet.ends = re.findall("<bdi>(.*?)</bdi>", "".join(ends))
        facet.notes = re.findall('<p class="datastore-muted">(.*?)</p>', part)
    return found


def list_hidden(page: str) -> list[tuple[str, str]]:
    found = re.findall('type="hidden" name="([^"]*)" value="([^"]*)"', get_form(page))
    return [(html.unescape(name), html.unescape(value)) for name, value in found]


# Which fields -------------------------------------------------------------------------------------


def test_categories_come_before_ranges(client: Client, survey: Resource) -> None:
    found = parse_facets(open_page(client, survey))

    assert list(found) == ["stage", "kind", "code", "budget", "day"]
    assert found["kind"].boxes == {"field.kind=lake": "lake 20", "field.kind=river": "river 20"}
    assert found["budget"].inputs == {"from.budget": "", "to.budget": ""}


def test_texts_and_years_come_before_amounts(client: Client, db: None) -> None:
    """Of a table of medals, the country is asked for before their numbers."""
    names = "bronze,gold,lat,lon,magnitude,country,year"
    rows = "".join(
        f"{n % 3},{n % 4},{n / 8},{n / 9},{n / 7},c{n % 60},{2000 + n % 5}\n" for n in range(240)
    )

    found = list(parse_facets(open_page(client, make_loaded_resource(f"{names}\n{rows}"))))

    assert found == ["year", "country", "bronze", "gold", "lat", "lon"]


def test_a_key_is_not_proposed(client: Client, db: None) -> None:
    rows = "".join(f"{n},{n * 7},{n * 9},SR-{n},{n % 3}\n" for n in range(30))
    resource = make_loaded_resource(f'n,request_id,people,code,"kind"\n{rows}')

    page = open_page(client, resource)

    assert list(parse_facets(page)) == ["kind", "people"]
    for name in ("n", "request_id", "code"):
        assert f'value="facet={name}"><bdi>{name}</bdi></button>' in get_form(page)


def test_a_facet_that_the_address_names_is_shown(client: Client, db: None) -> None:
    names = [f"f{n}" for n in range(9)]
    resource = make_loaded_resource(
        f"{','.join(names)},tags,shape\n" + "x" + "," * 8 + ',"[""a""]","{}"\n',
        types={"tags": "_text", "shape": "json"},
    )

    found = parse_facets(open_page(client, resource, {"facet": [*names, "tags", "shape"]}))

    assert list(found) == [*names, "tags", "shape"]
    assert found["tags"].inputs == {"contains.tags": ""}


def test_a_category_of_many_values_opens_and_is_searched(client: Client, db: None) -> None:
    rows = "".join(f"District {n % 120},a\n" for n in range(300))
    resource = make_loaded_resource(f"district,b\n{rows}")

    closed = open_page(client, resource, {"field.district": "district 119"})
    found = parse_facets(closed)["district"]
    assert len(found.boxes) == 11
    assert found.checked == ["district 119"]
    assert found.notes[0].startswith("11 of 120 values · <a href=")
    assert "?field.district=district+119&amp;facet=district" in found.notes[0]

    opened = parse_facets(open_page(client, resource, {"facet": "district"}))["district"]
    assert len(opened.boxes) == 100
    assert opened.notes == ["100 of 120 values"]

    page = open_page(client, resource, {"facet": "district", "find": "11", "field.b": "a"})
    searched = parse_facets(page)["district"]
    assert len(searched.boxes) == 11
    assert list_hidden(page) == [("facet", "district")]
    assert 'name="find" value="11"' in page
    assert '<a href="?field.b=a" aria-label="Close “district”">×</a>' in get_form(page)
    assert '"chart/?field.b=a&amp;by=district" aria-label="Chart of “district”"' in page


@pytest.mark.parametrize("page", ["", "chart/", "compare/"])
def test_a_facet_links_to_its_chart(client: Client, survey: Resource, page: str) -> None:
    path = f"/en/datastore/{survey.pk}/{page}"

    links = re.findall(
        'href="([^"?]*)[^"]*" aria-label="Chart of', client.get(path).content.decode()
    )

    assert {urljoin(path, each) for each in links} == {f"/en/datastore/{survey.pk}/chart/"}


def test_a_page_shows_few_facets_and_links_to_the_others(client: Client, db: None) -> None:
    names = [f"f{n}" for n in range(12)]
    rows = "".join(",".join([str(n % 2 == 0)] * 12) + "\n" for n in range(8))
    resource = make_loaded_resource(f"{','.join(names)}\n{rows}")

    page = open_page(client, resource, {"field.f11": "true"})
    assert list(parse_facets(page)) == ["f0", "f1", "f2", "f3", "f4", "f11"]
    assert 'value="facet=f8"><bdi>f8</bdi></button>' in get_form(page)

    page = open_page(client, resource, {"facet": ["f8", "f9"]})
    assert list(parse_facets(page)) == ["f8", "f9", "f0", "f1", "f2", "f3"]
    assert '<a href="?facet=f9" aria-label="Close “f8”">×</a>' in get_form(page)


# Counts -------------------------------------------------------------------------------------------


def test_a_facet_counts_all_conditions_but_its_own(client: Client, survey: Resource) -> None:
    found = parse_facets(
        open_page(client, survey, {"field.kind": "River", "field.stage": "open", "q": "title"})
    )

    assert found["kind"].boxes == {"field.kind=lake": "lake 20", "field.kind=River": "River"}
    assert found["kind"].checked == ["River"]
    assert found["stage"].boxes == {
        "field.stage=closed": "closed 10",
        "field.stage=open": "open",
        "empty.stage=yes": "empty 10",
    }
    assert found["stage"].checked == ["open"]
    assert found["code"].boxes == {}


@pytest.mark.parametrize(
    "kept", [{"filters": '{"kind": "river"}'}, {"contains.kind": "iv"}], ids=["filters", "contains"]
)
def test_a_facet_counts_what_its_choices_leave_in_force(
    client: Client, survey: Resource, kept: dict[str, str]
) -> None:
    found = parse_facets(open_page(client, survey, kept))
    assert found["kind"].boxes == {"field.kind=river": "river 20"}

    found = parse_facets(open_page(client, survey, {**kept, "field.kind": "lake"}))
    assert found["kind"].boxes == {"field.kind=river": "river 20", "field.kind=lake": "lake"}

    # The box does not replace that records have a value.
    found = parse_facets(open_page(client, survey, {"empty.stage": "no"}))
    assert found["stage"].boxes == {
        "field.stage=open": "open 20",
        "field.stage=closed": "closed 10",
    }

    asked = {"facet": "stage", "find": "open", "empty.stage": "yes"}
    assert (
        parse_facets(open_page(client, survey, asked))["stage"].boxes["empty.stage=yes"] == "empty"
    )


def test_texts_that_differ_in_case_are_one_value(client: Client, db: None) -> None:
    resource = make_loaded_resource("a\n" + "Open\n" * 3 + "open\n" * 2 + "x\n" * 4)

    found = parse_facets(open_page(client, resource, {"field.a": "OPEN"}))["a"]

    assert found.boxes == {"field.a=x": "x 4", "field.a=Open": "Open 5"}
    assert found.checked == ["Open"]


def test_a_blank_value_is_seen(client: Client, db: None) -> None:
    resource = create_resource("blank", [{"a": each} for each in (" ", " ", "x", "x", "x")])

    page = open_page(client, resource, {"field.a": " "})

    assert parse_facets(page)["a"].boxes == {"field.a= ": '" " 2', "field.a=x": "x 3"}
    assert 'aria-label="Remove “a: &quot; &quot;”"' in page
    in_vain = open_page(client, resource, {"field.a": "  "})
    assert (
        '<input type=checkbox name="field.a" value="  " checked><bdi>&quot;  &quot;</bdi>'
        in in_vain
    )


def test_a_range_has_a_histogram_of_the_question(client: Client, survey: Resource) -> None:
    all_records = parse_facets(open_page(client, survey))["budget"]
    found = parse_facets(open_page(client, survey, {"field.code": ["0", "1"], "to.budget": "9"}))

    assert all_records.ends == ["0.0", "39,019.5"]
    assert found["budget"].ends == ["0.0", "31,015.5"]
    assert found["budget"].inputs == {"from.budget": "", "to.budget": "9"}
    assert found["budget"].outline != all_records.outline


def test_a_histogram_of_nearly_equal_numbers_is_logarithmic(client: Client, db: None) -> None:
    rows = "".join(f"{n % 50 / 10},{n % 2}\n" for n in range(400)) + "9000,1\n"
    resource = make_loaded_resource(f"n,b\n{rows}")

    found = parse_facets(open_page(client, resource, {"field.b": ["0", "1"]}))["n"]

    assert found.ends == ["0.0", "10,000"]
    assert found.outline.count("V100h1") == 12  # three below 0.1, nine from 5 to 5,000
    assert found.outline.count("h1") > 15
    assert found.notes == ["in logarithmic ranges"]


def test_a_value_is_sent_the_same_in_every_language(client: Client, db: None) -> None:
    resource = make_loaded_resource("n,b\n" + "12345,true\n" * 3 + "7,\n" * 3)

    found = parse_facets(open_page(client, resource, {"field.n": "12.345"}, locale="vi"))

    assert found["n"].boxes == {"field.n=7": "7 3", "field.n=12345": "12.345 3"}
    assert found["n"].checked == ["12345"]
    assert list(found["b"].boxes) == ["field.b=true", "field.b=false"]


# What the form sends ------------------------------------------------------------------------------


def test_the_form_keeps_the_rest_of_the_question(client: Client, survey: Resource) -> None:
    query = [
        ("q", "title"),
        ("field.kind", "RIVER"),
        ("empty.stage", "yes"),
        ("contains.title", "title"),
        ("contains.title", "1"),
        ("not.code", "3"),
        ("sort", "code"),
        ("facet", "code"),
    ]

    page = open_page(client, survey, query)

    assert list_hidden(page) == [
        ("q", "title"),
        ("contains.title", "1"),
        ("not.code", "3"),
        ("sort", "code"),
        ("facet", "code"),
    ]
    found = parse_facets(page)
    assert found["kind"].checked == ["river"]
    assert found["stage"].checked == ["yes"]
    assert found["title"].inputs == {"contains.title": "title", "field.title": ""}


def test_facets_stay_when_nothing_matches(client: Client, survey: Resource) -> None:
    page = open_page(client, survey, {"field.kind": "lake", "field.stage": "closed"})

    assert "No record matches." in page
    assert parse_facets(page)["stage"].boxes == {
        "field.stage=open": "open 20",
        "field.stage=closed": "closed",
    }
    assert parse_facets(page)["code"].notes == ["No values"]


# Bounds -------------------------------------------------------------------------------------------


def test_a_facet_of_many_values_shows_ten_of_them(client: Client, db: None) -> None:
    rows = "libs\n" * 60 + "".join(f"s{n:02}\n" * 2 for n in range(57))

    found = parse_facets(open_page(client, make_loaded_resource(f"section\n{rows}")))["section"]

    assert len(found.boxes) == 10
    assert next(iter(found.boxes.values())) == "libs 60"
    assert [note.split(" · ")[0] for note in found.notes] == ["10 of 58 values"]


def test_years_are_in_their_order(client: Client, db: None) -> None:
    rows = "".join(f"{2011 + n * n % 9},{2011 + n * n % 7}/{12 + n * n % 7}\n" for n in range(60))
    facets = parse_facets(open_page(client, make_loaded_resource(f"year,term\n{rows}")))

    years = [each.split()[0] for each in facets["year"].boxes.values()]
    terms = [each.split()[0] for each in facets["term"].boxes.values()]
    assert years == ["2011", "2012", "2015", "2018"]
    assert terms == ["2011/12", "2012/13", "2013/14", "2015/16"]


def test_bars_are_as_long_as_their_numbers_and_empty_has_one(client: Client, db: None) -> None:
    resource = make_loaded_resource("t,n\n" + "a,1\n" * 75 + "b,1\n" * 25 + ",1\n" * 50)

    form = get_form(open_page(client, resource, {"facet": "t"}))

    widths = re.findall('<svg width="([0-9]+)%"', form.partition("</fieldset>")[0])
    assert widths == ["100", "33", "67"]


def test_values_of_deleted_records_are_gone(client: Client, survey: Resource) -> None:
    assert "field.kind=lake" in parse_facets(open_page(client, survey))["kind"].boxes

    with open_writer(survey) as writer:
        writer.delete(parse_filters({"kind": "lake"}))

    assert "lake" not in extract_text(client.get(f"/en/datastore/{survey.pk}/"))


def test_a_page_without_its_facets_is_not_kept_by_caches(
    client: Client, survey: Resource, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"

    def fail(*_arguments: Any) -> None:
        raise EngineUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(facets, "read_facets", fail)
        response = client.get(f"/en/datastore/{survey.pk}/", {"field.kind": "lake"})

    assert "1–20 of 20" in extract_text(response)
    assert "ETag" not in response
    assert "ETag" in client.get(f"/en/datastore/{survey.pk}/")


def test_a_table_of_the_api_has_facets(client: Client, db: None) -> None:
    table = Table(make_writer_token())
    table.run(
        "create",
        fields=[{"id": "a", "type": "text"}, {"id": "b", "type": "text"}],
        records=[{"a": f"v{n % 2}", "b": f"w{n}"} for n in range(30)],
    )

    found = parse_facets(open_page(client, table.resource))

    assert found["a"].boxes == {"field.a=v0": "v0 15", "field.a=v1": "v1 15"}
    assert "b" not in found  # each record has another value
