"""Where the words of a full-text query are found in records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, given, settings, strategies as st
from psycopg import sql

from datastore_search.contrib.analysis.highlighting import HIGHLIGHTS, FieldText, find_matches
from datastore_search.database.statements import fetch_value
from datastore_search.filters import Clause, remove_operators
from datastore_search.messages.parameters import InvalidParameters
from datastore_search.models import Resource
from datastore_search.search import ConsistentRead, Query, Relation, open_snapshot, read_answer

from ..builders import check_error, fetch_page, get_result, make_resource, search
from ..shared import ModuleTransaction

#: A record for each kind of text, found by words that no other one has.
TEXTS = (
    "title,summary,amount,day\n"
    "Running waters of Ha Noi,a river runs <b>through</b> it,12.50,2020-02-29\n"
    "Mực nước sông Hồng,Chất lượng không khí Hà Nội,7,\n"
    "The old bridge,an old iron bridge & a new_bridge,1000,2021-01-01\n"
    "Cafe\u0301 and crème,e-mail: who@example.org,0,\n"
    "王小明住在北京,Straße in München,3,\n"
)


@pytest.fixture(scope="module")
def _texts(module_transaction: ModuleTransaction) -> Resource:
    return make_resource(TEXTS)


@pytest.fixture
def texts(_texts: Resource, db: None) -> Resource:
    return _texts


def read_highlights(resource: Resource, **query: Any) -> Any:
    return fetch_page(resource, Query(members=(HIGHLIGHTS,), **query)).members["highlights"]


def list_marked(resource: Resource, **query: Any) -> list[dict[str, list[str]]]:
    """Return what is marked in each record of a page, by field."""
    page = fetch_page(resource, Query(limit=100, members=(HIGHLIGHTS,), **query))
    records = [json.loads(text, parse_int=str, parse_float=str) for text in page.texts]
    return [
        {name: [record[name][slice(*match)] for match in marked] for name, marked in each.items()}
        for record, each in zip(records, page.members["highlights"], strict=True)
    ]


@pytest.mark.parametrize(
    ("q", "marked"),
    [
        ("waters", [{"title": ["waters"]}]),
        ("WAT", [{"title": ["waters"]}]),
        ("run", [{"title": ["Running"], "summary": ["runs"]}]),
        ("ha noi", [{"title": ["Ha", "Noi"]}, {"summary": ["Hà", "Nội"]}]),
        ("nước hồng", [{"title": ["nước", "Hồng"]}]),
        ("nuoc hong", [{"title": ["nước", "Hồng"]}]),
        ("Ha\u0300 No\u0323\u0302i", [{"summary": ["Hà", "Nội"]}]),
        ("café", [{"title": ["Cafe\u0301"]}]),
        ("creme", [{"title": ["crème"]}]),
        ("through b", [{"summary": ["b", "through", "b"]}]),
        ("new_bridge", [{"title": ["bridge"], "summary": ["bridge", "new", "bridge"]}]),
        ("who@example.org", [{"summary": ["who", "example", "org"]}]),
        ("12.50", [{"amount": ["12", "50"]}]),
        ("2020-02-29", [{"day": ["2020", "02", "29"]}]),
        ("1000", [{"amount": ["1000"]}]),
        ("王小明", [{"title": ["王小明"]}]),
        ("münch", [{"summary": ["München"]}]),
        ("nothing", []),
    ],
)
def test_the_words_that_match_are_marked(
    texts: Resource, q: str, marked: list[dict[str, list[str]]]
) -> None:
    assert list_marked(texts, q=q) == marked


@pytest.mark.parametrize(
    ("q", "marked"),
    [
        ("old <-> bridge", [{"title": ["old", "bridge"], "summary": ["old", "bridge", "bridge"]}]),
        ("bridge & !water", [{"title": ["bridge"], "summary": ["bridge", "bridge"]}]),
        ("wat:* | (iron & !river)", [{"title": ["waters"]}, {"summary": ["iron"]}]),
        ("!river & !bridge & !hong", None),
        ("'o''brien' | iron", [{"summary": ["iron"]}]),
    ],
)
def test_the_positive_words_of_a_query_with_operators_are_marked(
    texts: Resource, q: str, marked: list[dict[str, list[str]]] | None
) -> None:
    found = list_marked(texts, q=q, plain=False)

    assert found == (marked if marked is not None else [{}] * len(found))


def test_matches_that_overlap_are_one(texts: Resource) -> None:
    both = list_marked(texts, q="bridge", q_fields={"summary": "bridg"})

    assert both == [{"title": ["bridge"], "summary": ["bridge", "bridge"]}]


def test_a_query_over_a_field_is_marked_there_alone(texts: Resource) -> None:
    assert list_marked(texts, q_fields={"title": "old bridge"}) == [{"title": ["old", "bridge"]}]
    assert list_marked(texts, q="iron", q_fields={"summary": "old"}) == [
        {"summary": ["old", "iron"]}
    ]


def test_the_language_of_a_query_counts(texts: Resource) -> None:
    assert list_marked(texts, q="running", language="simple") == [{"title": ["Running"]}]
    assert list_marked(texts, q_fields={"summary": "run"}, language="simple") == [
        {"summary": ["runs"]}
    ]


def test_the_words_of_all_fields_are_stored_in_the_language_of_the_resource(db: None) -> None:
    resource = make_resource("title\nThe city\n")

    assert list_marked(resource, q="citi", language="simple") == [{"title": ["city"]}]
    assert list_marked(resource, q_fields={"title": "city"}, language="simple") == [
        {"title": ["city"]}
    ]


def test_records_without_a_query_have_no_matches(texts: Resource) -> None:
    assert list_marked(texts, fields=("title",)) == [{}] * 5
    assert fetch_page(texts, Query(limit=5)).members == {}
    assert read_highlights(texts, limit=0, q="old") == []


def test_fields_that_are_not_read_are_not_marked(texts: Resource) -> None:
    assert list_marked(texts, q="old", fields=("title",)) == [{"title": ["old"]}]
    assert list_marked(texts, q="old", fields=("amount",), distinct=True) == [{}]


def test_texts_within_values_are_marked_by_their_pointers(db: None) -> None:
    resource = make_resource(
        'tags,tree,flag\n"[""big river"",""lake"",null]",'
        '"{""a/b"":[{""river"":""a river""}],""n"":7}",true\n',
        types={"tags": "_text", "tree": "json", "flag": "bool"},
    )

    def mark(q: str) -> Any:
        return read_highlights(resource, limit=1, q=q)

    assert mark("river") == [
        {"tags": [[4, 9, "/0"]], "tree": [[0, 5, "/a~1b/0/river", "name"], [2, 7, "/a~1b/0/river"]]}
    ]
    assert mark("7 true") == [{"tree": [[0, 1, "/n"]], "flag": [[0, 4]]}]


def test_only_the_first_letters_of_a_record_are_looked_at(db: None) -> None:
    resource = make_resource(f"a,b\nriver {'x ' * 49_990}river river,river\n")

    (found,) = read_highlights(resource, limit=1, q="river")

    assert found == {"a": [[0, 5], [99_986, 99_991], [99_992, 99_997]]}


def test_records_that_are_too_large_are_refused(
    texts: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.search.records.MAX_MEMORY_BYTES", 10)

    with pytest.raises(InvalidParameters, match="more than 4194304 bytes"):
        fetch_page(texts, Query(limit=10, q="old", members=(HIGHLIGHTS,)))


# The parameter ------------------------------------------------------------------------------------

RIVER = {"title": [[0, 5]]}


def test_a_query_of_no_field_has_no_highlights(client: Client, resource: Resource) -> None:
    found = get_result(search(client, resource, q={}, highlight=True, limit=2))

    assert found["highlights"] == [{}, {}]


def test_each_record_has_its_matches(client: Client, resource: Resource) -> None:
    found = get_result(search(client, resource, q="ha noi", highlight=True, fields="code,title"))

    assert [record["title"] for record in found["records"]] == [
        "Running waters of Ha Noi",
        "Chất lượng không khí Hà Nội",
    ]
    assert found["highlights"] == [{"title": [[18, 20], [21, 24]]}, {"title": [[21, 23], [24, 27]]}]


@pytest.mark.parametrize("sent", [{}, {"highlight": False}, {"highlight": None}])
def test_nothing_is_added_unless_it_is_asked_for(
    client: Client, resource: Resource, sent: dict[str, Any]
) -> None:
    found = get_result(search(client, resource, q="river", **sent))

    assert "highlights" not in found
    assert "highlight" not in found


def test_lists_and_get_give_the_same_matches(client: Client, resource: Resource) -> None:
    found = get_result(search(client, resource, q="river", highlight=True))

    as_lists = search(client, resource, q="river", highlight=True, records_format="lists")
    by_get = client.get(
        "/en/api/action/datastore_search",
        {"resource_id": str(resource.pk), "q": "river", "highlight": "true"},
    )

    assert found["highlights"] == [RIVER]
    assert get_result(as_lists)["highlights"] == get_result(by_get)["highlights"] == [RIVER]
    assert "highlight=true" in get_result(by_get)["_links"]["next"]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"records_format": "csv"}, "Highlights need the “records_format” objects or lists."),
        ({"records_format": "tsv"}, "Highlights need the “records_format” objects or lists."),
        ({"limit": 1_001}, "Highlights are given for at most 1000 records. Lower the “limit”."),
    ],
)
def test_what_has_no_highlights_is_refused_by_name(
    client: Client, resource: Resource, sent: dict[str, Any], message: str
) -> None:
    answer = search(client, resource, q="river", highlight=True, **sent)

    assert check_error(answer, 409) == {"highlight": [message]}


# The same words as a search -----------------------------------------------------------------------

#: Words, and what may stand in them or between them.
PIECES = [
    "river", "Running", "Hà", "Nội", "noi", "đường", "cafe\u0301", "café", "don't", "e-mail", "a_b",
    "x86", "3.5", "007", "1e5", "Straße", "ﬁne", "İzmir", "Σίσυφος", "Ёлка", "שָׁלוֹם", "مُحَمَّد",
    "می\u200cروم", "हिन्दी", "ক্ষ", "ภาษาไทย", "น้ำ", "王小明", "東京タワー", "ｶﾞｲﾄﾞ", "한국어",
    "iPhone手机", "第3章", "10²", "№5", "ＡＢＣ", "2024-02-29T12:34:56", "50%", "C++", "AT&T",
    "<b>", "\u00ad",
]  # fmt: skip
SEPARATORS = [" ", " ", "\n", "-", "_", ".", ",", "/", "(", "'", "", "—", "、"]

some_texts = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(SEPARATORS)), min_size=1, max_size=5
).map(lambda parts: "".join(piece + separator for piece, separator in parts))


def has_several_words(q: str) -> bool:
    query = fetch_value(connection, "SELECT datastore_search_tsquery(%s, 'simple')::text", [q])
    return " & " in query or " <-> " in query


@contextmanager
def read_text(text: str, language: str) -> Iterator[ConsistentRead]:
    """Read a relation of one record with a text."""
    source = Clause(
        sql.SQL(
            "(SELECT 1 AS _id, data, datastore_search_vector(data, %s::regconfig) AS search"
            " FROM jsonb_build_object('a', %s::text) AS data) AS record"
        ),
        [language, text],
    )
    relation = Relation(source, {"a": "text"}, language, None, row_locator="_id")
    with open_snapshot() as session:
        yield ConsistentRead(session, relation)


@pytest.mark.parametrize("language", ["english", pytest.param("turkish", marks=pytest.mark.slow)])
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=some_texts, data=st.data())
def test_a_text_is_marked_where_a_search_finds_it(
    db: None, language: str, text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    for q in (text[start:end], data.draw(st.sampled_from(PIECES))):
        with read_text(text, language) as read:
            is_found = bool(read_answer(read, Query(limit=1, q=q)).total)
            (spans,) = find_matches(read, Query(limit=1, q=q), [FieldText("a", text)])

        # A query that only excludes words has none to mark.
        assert not is_found or spans or not remove_operators(q).strip(), (text, q)
        # One of several words may be there alone.
        assert is_found or not spans or has_several_words(q), (text, q, spans)
