"""The fields on the data page, and the figures of their values."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.contrib.pages import columns
from datastore_search.contrib.pages.columns import Column
from datastore_search.field_types import field_types, label_type
from datastore_search.models import Resource

from ..builders import make_writer_token
from ..core.writing.tables import Table
from ..files.builders import load_new_resource, load_text
from .parsing import extract_text


def get_fields_text(resource: Resource, client: Client | None = None) -> str:
    """Return the section of the fields as text, with single blanks."""
    response = (client or Client()).get(f"/en/datastore/{resource.pk}/about/")
    assert response.status_code == 200
    page = response.content.decode()
    (section,) = re.findall(r'<section class="datastore-fields".*?</section>', page, re.DOTALL)
    response.content = section.encode()
    return extract_text(response).strip()


def test_a_field_is_described_and_its_values_are_counted(db: None) -> None:
    resource = load_new_resource("kind,day\n" + "river,2024-01-01\n" * 1_200 + "lake,\n" * 300)
    resource.fields.filter(name="kind").update(label="What it is", notes="By law")

    assert get_fields_text(resource) == (
        "Fields Figures of all records"
        " What it is kind · text By law 2 values 4 to 5 characters river 1,200 lake 300"
        " day date 20% empty 1 value Jan 1, 2024 to Jan 1, 2024 Jan 1, 2024 1,200 empty 300"
    )


def test_the_unit_of_a_field_is_beside_its_type(client: Client, db: None) -> None:
    resource = load_new_resource("price,rate,name\n1,2,a\n")
    resource.fields.filter(name="price").update(extra_info={"unit": "<€>" + "x" * 50})
    resource.fields.filter(name="rate").update(extra_info={"unit": ["%"]})  # not a text

    assert f"price whole number · <€>{'x' * 36}… 1 value" in get_fields_text(resource)
    assert "rate whole number 1 value" in get_fields_text(resource)
    unit = f"<bdi>&lt;€&gt;{'x' * 36}…</bdi>"
    table = client.get(f"/en/datastore/{resource.pk}/").content.decode()
    menu = f"<details name=menu><summary>more</summary><ul><li><small>whole number · {unit}"
    assert f"</button> <small>{unit}</small>{menu}</small>" in table
    record = client.get(f"/en/datastore/{resource.pk}/r/1/").content.decode()
    assert f"<small>whole number · {unit}</small>" in record


def test_a_number_of_many_digits_is_written_with_an_exponent() -> None:
    column = Column("n", "n", "", field_types["float8"], "number")

    with translation.override("en"):
        assert columns._format_profiled(column, 1.5 * 10**308) == "1.5e+308"
        assert columns._format_profiled(column, "9" * 309) == "1e+309"
        assert columns._format_profiled(column, 123456.5) == "123,456.5"
        assert columns._format_profiled(column, "NaN") == "NaN"


def test_every_type_has_words() -> None:
    with translation.override("vi"):
        labels = {name: label_type(name) for name in field_types}

    assert len(labels) > 15
    assert [name for name, label in labels.items() if label == name] == []
    assert label_type("int2") == label_type("int4") == "whole number"
    assert label_type("timestamptz") == "date and time in UTC"


def test_tables_of_the_api_and_changed_ones_have_figures(db: None) -> None:
    table = Table(make_writer_token())
    table.run("create", fields=[{"id": "a", "type": "int4", "info": {"notes": "of it"}}])
    changed = load_new_resource("a\n1\n2\n")
    load_text(changed, "a\n3\n", mode="append")

    assert get_fields_text(table.resource) == "Fields a whole number of it"
    assert get_fields_text(changed) == (
        "Fields Figures of all records a whole number 3 values 1 to 3 mean 2 1 4"
    )


def test_a_common_value_leads_to_its_records(db: None) -> None:
    rows = "12345.5,2020-05-06,true,R&D\n" * 3 + f"1,2020-05-07,,{'x' * 101}\n" * 2
    resource = load_new_resource(f"n,d,b,t\n{rows}")

    page = Client().get(f"/vi/datastore/{resource.pk}/about/").content.decode()
    links = dict(re.findall('<li><a dir=auto href="([^"]*)"><bdi>(.*?)</bdi></a><i', page))

    of_empty = links.pop("../?empty.b=yes")
    assert of_empty == "trống"
    assert links == {"../?field.t=R%26D": "R&amp;D", "../?field.b=true": "có"}
    for link in links:
        found = Client().get(f"/en/datastore/{resource.pk}/{html.unescape(link)[3:]}", follow=True)
        assert "1–3 of 3" in extract_text(found)


def test_common_values_of_another_case_and_empty_ones_lead_to_their_own_records(db: None) -> None:
    rows = "lake,\n" * 7 + "Lake,1\n" * 5 + '"",1\n' * 3 + ",1\n" * 8
    resource = load_new_resource(f"kind,n\n{rows}")

    page = Client().get(f"/en/datastore/{resource.pk}/about/").content.decode()

    found = re.findall(r'href="\.\./(\?[^"]*)"><bdi>(.*?)</bdi></a><i.*?<span>(\d+)<', page)
    shown = ["lake", "Lake", "&quot;&quot;", "empty"]
    assert [label for _link, label, _count in found][:4] == shown
    for link, _label, count in found[:4]:
        response = Client().get(f"/en/datastore/{resource.pk}/{html.unescape(link)}", follow=True)
        assert f"of {count} " in extract_text(response)
    assert "35% empty" in extract_text(Client().get(f"/en/datastore/{resource.pk}/about/"))


def test_a_heading_has_a_histogram_and_leads_to_the_statistics(db: None) -> None:
    resource = load_new_resource("a,n\n" + "".join(f"x,{n}\n" for n in range(40)))

    page = Client().get(f"/en/datastore/{resource.pk}/").content.decode()

    (heading,) = re.findall("<th scope=col class=n><button.*?</svg>", page)
    assert '<svg viewBox="0 0 20 100" preserveAspectRatio="none" aria-hidden="true">' in heading
    assert '<button form=ask formaction="about/#about-2">Statistics</button>' in heading
    for query in ({"q": "x"}, {"from.n": "39"}, {"filters": '{"n": 3}'}):  # it is of all records
        found = Client().get(f"/en/datastore/{resource.pk}/", query).content.decode()
        assert not re.findall("<th scope=col class=n><button.*?</svg>", found)
        assert ">Statistics</button>" in found
    page = Client().get(f"/en/datastore/{resource.pk}/about/").content.decode()
    (card,) = re.findall('<li id="about-2">.*?</figure>', page, re.DOTALL)
    assert "0 to 39" in card
    assert get_fields_text(resource).endswith("n whole number 40 values 0 to 39 mean 19.5 0 40")


def test_bars_are_to_scale(db: None) -> None:
    rows = "a,1\n" * 753 + "b,1\n" * 256 + "c,1\n" * 1_000 + ",1\n" * 500
    resource = load_new_resource(f"t,n\n{rows}")

    page = Client().get(f"/en/datastore/{resource.pk}/about/").content.decode()

    (card, _other) = re.findall('<li id="about-.*?</ol>', page, re.DOTALL)
    widths = re.findall('<svg width="([0-9.]+)%"', card)
    assert [float(each) for each in widths] == pytest.approx([39.86, 30.01, 10.2, 19.93], abs=0.05)
    assert '<a dir=auto href="../?empty.t=yes"><bdi>empty</bdi></a>' in card


def test_empty_has_a_bar_beside_a_histogram(db: None) -> None:
    numbers = "".join(f"{n % 40},x\n" for n in range(80))
    resource = load_new_resource(f"n,t\n{numbers}" + ",x\n" * 20)

    page = Client().get(f"/en/datastore/{resource.pk}/about/").content.decode()

    (card,) = re.findall('<li id="about-1">.*?</ol>', page, re.DOTALL)
    assert "</figure>" in card
    assert re.findall('<svg width="([0-9.]+)%"', card) == ["20"]
    assert '<a dir=auto href="../?empty.n=yes"><bdi>empty</bdi></a>' in card
