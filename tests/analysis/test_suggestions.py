"""Values of a field by their beginnings: which are found, and how often they occur."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from datastore_search.models import Resource

from ..builders import act
from ..files.builders import make_loaded_resource
from .tables import call, refuse

pytestmark = pytest.mark.django_db

PLACES = """\
name,code,height,opened,note
Hà Nội,HN-1,12.50,2020-01-02T10:00:00,ha
Hà Nội,HN-2,12.5,2020-01-02T11:00:00,
Hà Đông,hn-3,-12.75,2020-11-30T00:00:00,
ha long,HN1,120,2021-02-28T09:30:00,x_y
Harz,%,0,,100%
HARZ,\\,7,2020-01-02T10:00:00,100
New York,NY,1,2020-01-03T00:00:00,
Đường Láng,DL,9999999999999999.25,,
"""


@pytest.fixture
def resource(loaded: Resource) -> Resource:
    """The survey with what its load has found out about the values."""
    return loaded


@pytest.fixture(scope="module")
def places(module_transaction: Any) -> Resource:
    """Eight places, whose names and codes begin alike."""
    return make_loaded_resource(PLACES, types={"height": "numeric", "opened": "timestamp"})


def suggest(resource: Resource, field: str, prefix: str = "", **more: Any) -> dict[Any, int]:
    """Ask for values, which must be all there are, and map them to their counts."""
    found = call("datastore_suggest", resource, field=field, prefix=prefix, **more)
    assert found["complete"] is True
    return {each["value"]: each["count"] for each in found["values"]}


PLACES_BY_BEGINNING: list[tuple[str, dict[str, int]]] = [
    ("Hà Nội", {"Hà Nội": 2}),
    ("hà n", {"Hà Nội": 2}),
    ("ha", {"Hà Nội": 2, "HARZ": 1, "Harz": 1, "ha long": 1, "Hà Đông": 1}),
    ("HA N", {"Hà Nội": 2}),
    ("hà", {"Hà Nội": 2, "Hà Đông": 1}),
    ("harz", {"HARZ": 1, "Harz": 1}),
    ("h", {"Hà Nội": 2, "HARZ": 1, "Harz": 1, "ha long": 1, "Hà Đông": 1}),
    ("duong", {"Đường Láng": 1}),
    ("đường l", {"Đường Láng": 1}),
    ("New York", {"New York": 1}),
    ("new yorker", {}),
    ("york", {}),
    ("%", {}),
    ("' OR true --", {}),
]


def test_values_are_found_by_their_beginning_in_any_case_with_diacritics_or_without(
    places: Resource,
) -> None:
    for prefix, expected in PLACES_BY_BEGINNING:
        found = suggest(places, "name", prefix)

        assert found == expected
        assert list(found.values()) == sorted(found.values(), reverse=True)


VALUES_BY_BEGINNING: list[tuple[str, str, list[str]]] = [
    ("code", "hn-", ["HN-1", "HN-2", "hn-3"]),
    ("code", "hn1", ["HN1"]),
    ("code", "%", ["%"]),
    ("code", "\\", ["\\\\"]),
    ("note", "x_", ["x_y"]),
    ("note", "100", ["100", "100%"]),
    ("height", "12", ["12.5", "12.50", "120"]),
    ("height", "12.5", ["12.5", "12.50"]),
    ("height", "-12", ["-12.75"]),
    ("height", "9999999999999999.2", ["9999999999999999.25"]),
    (
        "opened",
        "2020",
        [
            "2020-01-02T10:00:00.000",
            "2020-01-02T11:00:00.000",
            "2020-01-03T00:00:00.000",
            "2020-11-30T00:00:00.000",
        ],
    ),
    ("opened", "2020-01-02T1", ["2020-01-02T10:00:00.000", "2020-01-02T11:00:00.000"]),
    ("opened", "x", []),
]


def test_values_begin_as_an_answer_writes_them(places: Resource) -> None:
    for field, prefix, expected in VALUES_BY_BEGINNING:
        sent = {"resource_id": str(places.pk), "field": field, "prefix": prefix}
        answer = act(Client(), "datastore_suggest", sent).content.decode()

        assert re.findall(r'"value": "?(.*?)"?, "count": \d+}', answer) == expected


#: Values of many scripts, each with a beginning that ends within a word.
SCRIPTS = {
    "東京都庁前": "東京都",
    "王小明": "王小",
    "カタカナ": "カタカ",
    "กรุงเทพมหานคร": "กรุงเท",
    "ភ្នំពេញ": "ភ្នំ",
    "서울특별시": "서울특",
    "नई दिल्ली": "नई दिल",
    "القاهرة الجديدة": "القاهرة ال",
    "ירושלים": "ירוש",
    "Санкт-Петербург": "санкт-пет",
    "Αθήνα": "αθή",
    "Straße 7": "straß",
    "iPhone手机": "iphone手",
    "2020年度": "2020年",
    "x½y": "x½",
    "e\u0301tage": "e\u0301ta",
}


@pytest.fixture(scope="module")
def scripts(module_transaction: Any) -> Resource:
    return make_loaded_resource("name\n" + "".join(f"{value}\n" for value in SCRIPTS))


def test_a_value_of_any_script_is_found_by_its_beginning(scripts: Resource) -> None:
    for value, beginning in SCRIPTS.items():
        assert suggest(scripts, "name", beginning) == {value: 1}


def test_without_a_beginning_the_most_common_values_are_suggested(resource: Resource) -> None:
    assert suggest(resource, "stage", limit=2) == {"active": 4, "closed": 1}
    assert suggest(resource, "subject") == {"survey": 2, "watershed": 2, "air": 1}


def test_values_are_those_of_the_question(resource: Resource) -> None:
    question: dict[str, Any] = {"q": "river", "filters": {"code": ["001", "002"]}}

    assert suggest(resource, "subject", "w", filters={"stage": "closed"}) == {"watershed": 1}
    assert suggest(resource, "subject", "w", **question) == {"watershed": 1}
    assert suggest(resource, "subject", "s", **question) == {}
    assert suggest(resource, "stage", **question) == {"active": 1}


# Large tables -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    """A table that takes more than a millisecond to count."""
    with django_db_blocker.unblock():
        resource = make_loaded_resource(
            "kind,text\n"
            + "".join(f"{'Ab'[n % 2]}x,{'Tall' if n % 2 else 'tall'} {n}\n" for n in range(20_000))
            + "c,TALL 1\nc,tAll 2\n"
        )
        yield resource
        resource.delete()


def test_values_of_a_large_table_are_counted_exactly(large: Resource) -> None:
    found = call("datastore_suggest", large, field="text", prefix="ta", limit=100)

    assert found["complete"] is True
    assert len(found["values"]) == 100
    assert suggest(large, "text", "tall 19999") == {"Tall 19999": 1}
    assert suggest(large, "text", "tall 200", limit=2) == {"Tall 2001": 1, "Tall 2003": 1}
    assert suggest(large, "text", "tALL 2 ") == {}
    assert "tAll 2" in suggest(large, "text", "tALL 2", limit=100, filters={"kind": "c"})


# Parameters ---------------------------------------------------------------------------------------


def test_an_answer_has_values_words_and_queries(resource: Resource) -> None:
    assert call("datastore_suggest", resource, q="rivr", field="stage") == {
        "resource_id": str(resource.pk),
        "values": [],
        "words": [{"word": "rivr", "suggestions": [{"word": "river", "distance": 1, "count": 1}]}],
        "queries": [{"q": "river", "total": 1}],
        "complete": True,
    }


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        *(
            (sent, {"field": ["Give a field, or a full-text query."]})
            for sent in ({}, {"prefix": "x"}, {"q": ""})
        ),
        ({"field": "nothing"}, {"field": ["Unknown field: “nothing”"]}),
        ({"field": "_id"}, {"field": ["Unknown field: “_id”"]}),
        ({"field": ["stage"]}, {"field": ["Must be text."]}),
        ({"field": "stage", "prefix": ["x"]}, {"prefix": ["Must be text."]}),
        ({"field": "stage", "limit": -1}, {"limit": ["Must be a natural number"]}),
        ({"field": "stage", "offset": 1}, {"__extras": ["There is no parameter “offset”."]}),
        (
            {"field": "nothing", "q": "x", "language": "klingon", "filters": {"nowhere": 1}},
            {
                "field": ["Unknown field: “nothing”"],
                "filters": ["Unknown field: “nowhere”"],
                "language": ["PostgreSQL has no text search configuration “klingon”."],
            },
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    resource: Resource, sent: dict[str, Any], fault: dict[str, Any]
) -> None:
    assert refuse("datastore_suggest", resource, **sent) == fault


@pytest.mark.parametrize("kind", ["bool", "json", "_text", "_int4", "_bool"])
def test_values_without_a_beginning_are_refused(typed: Resource, kind: str) -> None:
    assert refuse("datastore_suggest", typed, field=kind, prefix="x") == {
        "field": [f"Field “{kind}” has type {kind}. Its values cannot be found by their beginning."]
    }


def test_words_of_another_resource_are_not_suggested(resource: Resource, typed: Resource) -> None:
    assert call("datastore_suggest", resource, q="mamals")["queries"]
    assert call("datastore_suggest", typed, q="mamals")["words"] == [
        {"word": "mamals", "suggestions": []}
    ]


def test_an_answer_has_an_etag_of_its_question(client: Client, resource: Resource) -> None:
    address = f"/en/api/3/action/datastore_suggest?id={resource.pk}&field=stage"
    etag = client.get(address)["ETag"]

    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    assert client.get(f"{address}&prefix=a")["ETag"] != etag


def test_values_that_are_too_large_together_are_refused(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.contrib.analysis.facets.MAX_MEMORY_BYTES", 20)

    fault = refuse("datastore_suggest", resource, field="title", prefix="r", q="river")

    assert fault["limit"][0].startswith("The answer would have more than 20 bytes.")
