"""The page of a record: its address, its fields, and the records beside it."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from datastore_search.messages.availability import ServerFull
from datastore_search.models import Field, Resource
from datastore_search.search.reads import profiler

from ..builders import get_ids, make_resource, make_writer_token
from ..core.writing.tables import Table
from .parsing import extract_text

KEYS = ["a/b", "50%", "a,b", "~", "", "..", "đ 1", "a~2Fb", "_id:5", '"?#&']


def open_record(client: Client, resource: Resource, key: str, query: Any = None) -> Any:
    return client.get(f"/en/datastore/{resource.pk}/r/{key}/", query or {})


def list_links(response: Any) -> dict[str, str]:
    links = re.findall(r'<a rel="(prev|next)" href="([^"]*)"', response.content.decode())
    return {rel: html.unescape(link) for rel, link in links}


# Names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("csv", "name"),
    [
        ("code,name\nb,Huế\na,Đà Lạt\n", "Huế"),
        ("kind,code,n\nsea,b,1\nsea,a,2\n", "b"),
        ("n,kind,long\n1,sea,{0}a\n2,sea,{0}b\n".format("x" * 200), "Record 1"),
        ("code,kind\nb,sea\n,sea\n", "Record 1"),
        ("site\nhttps://a.example/\nhttps://b.example/\n", "Record 1"),
        ("n\n7\n8\n", "Record 1"),
    ],
)
def test_a_record_is_called_by_a_text_that_no_other_record_has(
    client: Client, db: None, csv: str, name: str
) -> None:
    resource = make_resource(csv, title="Places")

    page = open_record(client, resource, "1").content.decode()

    assert f"<h1>{name}</h1>" in page
    assert f"<title>{name} – Places – Datastore</title>" in page
    assert f'property="og:title" content="{name}"' in page
    assert f'<li aria-current="page">{name}</li>' in page


def test_the_data_dictionary_chooses_the_name_of_a_record(client: Client, db: None) -> None:
    resource = make_resource("name,number,label\na,12000,<i>\nb,3,\n")
    resource.fields.filter(name="number").update(extra_info={"is_name": True})
    assert "<h1>12,000</h1>" in open_record(client, resource, "1").content.decode()

    resource.fields.filter(name="number").update(extra_info={"is_name": "yes"})
    assert "<h1>a</h1>" in open_record(client, resource, "1").content.decode()

    resource.fields.filter(name="label").update(extra_info={"is_name": True})
    assert "<h1>&lt;i&gt;</h1>" in open_record(client, resource, "1").content.decode()
    assert "<h1>Record 2</h1>" in open_record(client, resource, "2").content.decode()


def test_a_name_of_invisible_characters_is_none(client: Client, db: None) -> None:
    resource = make_resource("name\n \u200b\u2060 \nb\n")

    assert "<h1>Record 1</h1>" in open_record(client, resource, "1").content.decode()
    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()
    assert re.findall(r'<a href="r/\d/[^>]*>(.*?)</a>', page) == ["1", "b"]


def test_a_large_table_has_names_by_the_estimate_of_different_values(
    client: Client, db: None
) -> None:
    rows = "".join(f"{'ab'[n % 2]},place {n}\n" for n in range(1_200))

    page = open_record(client, make_resource(f"kind,place\n{rows}"), "7").content.decode()

    assert "<h1>place 6</h1>" in page


def test_a_record_has_no_name_while_values_cannot_be_counted(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_asked: Any) -> None:
        raise ServerFull

    monkeypatch.setattr(profiler, "entry", refuse)

    response = open_record(client, make_resource("name\na\nb\n"), "1")

    assert "<h1>Record 1</h1>" in response.content.decode()
    assert "ETag" not in response


# Fields -------------------------------------------------------------------------------------------


def test_a_record_has_all_its_fields(client: Client, db: None) -> None:
    text = "word " * 1_000 + "end"
    resource = make_resource(f"long,n,site,none\n{text},12345.50,https://a.example/,\n")
    Field.objects.filter(resource=resource, name="n").update(label="Budget", notes="in euros")

    page = open_record(client, resource, "1").content.decode()

    assert f"<dd><bdi>{text}</bdi></dd>" in page
    assert "<bdi>Budget</bdi><small><code><bdi>n</bdi></code> · number</small>" in page
    assert "<small><bdi>in euros</bdi></small>" in page
    assert "<bdi>12,345.50</bdi>" in page
    assert '<a href="https://a.example/" rel="nofollow noopener">' in page
    assert '<span class="datastore-null">empty</span>' in page


def test_a_record_is_found_by_its_primary_key(client: Client, db: None) -> None:
    table = Table(make_writer_token())
    fields = [{"id": "a", "type": "text"}, {"id": "n", "type": "int"}]
    records = [{"a": key, "n": number} for number, key in enumerate(KEYS)] + [{"a": None, "n": 99}]
    table.run("create", fields=fields, primary_key=["a", "n"], records=records)
    resource = table.resource
    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()

    links = re.findall(r'<th scope=row><a href="([^"]*)">(\d+)</a>', page)

    assert len(links) == len(KEYS) + 1
    for link, number in links:
        response = client.get(f"/en/datastore/{resource.pk}/{html.unescape(link)}")
        assert response.status_code == 200
        assert f"<h1>Record {number}</h1>" in response.content.decode()


@pytest.mark.parametrize("key", ["7", "x", "0", "9" * 19, "9" * 40, "_id:1", "1,2", "~"])
def test_a_record_that_is_not_there_is_404(client: Client, resource: Resource, key: str) -> None:
    response = open_record(client, resource, key)

    assert response.status_code == 404
    assert "There is no such record." in extract_text(response)


def test_the_records_beside_it_are_those_of_the_question(
    client: Client, resource: Resource
) -> None:
    query = {"field.stage": "active", "sort": "amount desc"}
    page = client.get(f"/en/datastore/{resource.pk}/", query).content.decode()
    rows = re.findall(r'<a href="(r/[^"]*)">', page)
    assert [re.match(r"r/(\d)/", row)[1] for row in rows] == ["4", "2", "1", "6"]  # type: ignore[index]

    second = client.get(f"/en/datastore/{resource.pk}/{html.unescape(rows[1])}")

    question = "field.stage=active&sort=amount+desc"
    assert list_links(second) == {
        "prev": f"../4/?{question}&at=1",
        "next": f"../1/?{question}&at=3",
    }
    path = f"/en/datastore/{resource.pk}/?{question}".replace("&", "&amp;")
    assert f'<a href="{path}">' in second.content.decode()
    first = open_record(client, resource, "4", {**query, "at": "1"})
    assert list(list_links(first)) == ["next"]
    last = open_record(client, resource, "6", {**query, "at": "4"})
    assert list(list_links(last)) == ["prev"]


@pytest.mark.parametrize("query", [{"at": "3"}, {"at": "x"}, {"at": "9" * 30}, {"field.no": "1"}])
def test_a_record_is_shown_without_its_place_and_links_to_itself_in_the_api(
    client: Client, resource: Resource, query: dict[str, str]
) -> None:
    response = open_record(client, resource, "1", query)

    assert response.status_code == 200
    assert list_links(response) == {}
    link = re.search(r'<a href="([^"]*)">This record as JSON</a>', response.content.decode())
    assert link
    assert get_ids(client.get(html.unescape(link[1]))) == [1]


def test_a_record_with_a_place_has_a_map_of_it_alone(client: Client, db: None) -> None:
    sites = make_resource("name,lat,lon\nHuế,16.4,107.5\nHà Nội,21,105.8\nnowhere,,\n")

    pages = [open_record(client, sites, key).content.decode() for key in ("1", "2", "3")]

    places = [re.findall('<circle class="s1".*?<title>(.*?)</title>', page) for page in pages]
    assert places == [["Huế · 16.4; 107.5"], ["Hà Nội · 21; 105.8"], []]
    # Its surroundings are in sight, not only some metres around it.
    assert ">200 km<" in pages[0]
