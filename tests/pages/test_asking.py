"""The question in a page's address: operators, typed values, chips, and the API's own links."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import translation

from datastore_search.contrib.pages.question import (
    MAX_CONDITIONS,
    MAX_QUESTION_LENGTH,
    clean_parameters,
    parse_field_condition,
)
from datastore_search.contrib.pages.values import format_value, parse_typed_value
from datastore_search.field_types import field_types
from datastore_search.filters import Comparison, Condition, FiltersParser, In, TypedFields
from datastore_search.models import Field, Resource

from ..builders import make_resource
from .parsing import extract_text, parse_table


def open_page(client: Client, resource: Resource, query: Any, locale: str = "en") -> Any:
    return client.get(f"/{locale}/datastore/{resource.pk}/", query, follow=True)


def list_found_ids(response: Any) -> list[int]:
    assert response.status_code == 200, extract_text(response)
    if "<table" not in response.content.decode():
        return []
    return [int(row[0]) for row in parse_table(response)[1:]]


def list_chips(response: Any) -> dict[str, list[tuple[str, str]]]:
    """Return what the button that removes each chip sets, by the chip's text."""
    pattern = r'<li><bdi>(.*?)</bdi><button form=ask name=set value="([^"]*)"'
    return {
        html.unescape(text): parse_qsl(html.unescape(change), keep_blank_values=True)
        for text, change in re.findall(pattern, response.content.decode())
    }


# Operators ----------------------------------------------------------------------------------------


OPERATORS: list[tuple[dict[str, Any], list[int]]] = [
    ({"field.stage": "ACTIVE"}, [1, 2, 4, 6]),
    ({"field.subject": ["Watershed", "AIR"]}, [1, 3, 4]),
    ({"field.code": ["001", "006"]}, [1, 6]),
    ({"field.amount": ["7", "9.0"]}, [5, 6]),
    ({"not.subject": "Watershed"}, [2, 4, 5, 6]),
    ({"not.subject": ["watershed", "survey"]}, [4, 6]),
    ({"not.amount": "7"}, [1, 2, 3, 4, 6]),
    ({"contains.title": "MỰC NƯỚC"}, [3]),
    ({"contains.title": ["river", "bridge"]}, [1]),
    ({"without.title": "RIVER"}, [2, 3, 4, 5, 6]),
    ({"without.subject": "water"}, [2, 4, 5, 6]),
    ({"starts.title": "river"}, [1]),
    ({"above.amount": "9"}, [1, 2]),
    ({"below.amount": "9"}, [3, 5]),
    ({"above.seen": "2020-02-29"}, [3, 4, 6]),
    ({"from.amount": "9", "to.amount": "10.5"}, [1, 6]),
    ({"from.seen": "2020-02-29", "to.seen": "12/31/2020"}, [2, 3]),
    ({"from.code": "005"}, [5, 6]),
    ({"empty.subject": "yes"}, [6]),
    ({"empty.subject": "yes", "field.subject": ["air", "survey"]}, [2, 4, 5, 6]),
    ({"empty.subject": "no", "field.subject": "air"}, [4]),
    ({"empty.seen": "no"}, [1, 2, 3, 4, 6]),
    ({"field": "seen", "op": "empty", "value": ""}, [5]),
    ({"field": "seen", "op": "filled"}, [1, 2, 3, 4, 6]),
    ({"field": "title", "op": "contains", "value": "water"}, [5]),
    ({"field": "amount", "op": "from", "value": "10"}, [1, 2]),
    ({"field": "amount", "op": "between", "value": "9", "end": "10.5"}, [1, 6]),
    ({"field": "amount", "op": "between", "value": "", "end": "10.5"}, [1, 3, 5, 6]),
    (
        {"field": ["seen", "", "title"], "op": ["filled", "field", "contains"]}
        | {"value": ["", "", "level"], "end": ["", "", ""]},
        [1],
    ),
    ({"field": "stage", "op": "nope", "value": ""}, [1, 2, 3, 4, 5, 6]),
]


def test_every_operator_has_a_parameter(client: Client, resource: Resource) -> None:
    for query, ids in OPERATORS:
        assert (query, list_found_ids(open_page(client, resource, query))) == (query, ids)


def test_a_list_is_asked_for_an_element(client: Client, db: None) -> None:
    resource = make_resource(
        'list,n\n"[""x"", ""y""]","[1, 2]"\n"[""z""]","[3]"\n',
        types={"list": "_text", "n": "_int4"},
    )

    assert list_found_ids(open_page(client, resource, {"contains.list": "y"})) == [1]
    assert list_found_ids(open_page(client, resource, {"contains.n": "3"})) == [2]


def test_up_to_a_day_is_up_to_its_end(client: Client, db: None) -> None:
    rows = "2020-05-06T23:30:00,2020-05-06T23:30:00Z\n2020-05-07T00:00:00,2020-05-07T00:00:00Z\n"
    resource = make_resource(f"a,b\n{rows}", types={"a": "timestamp", "b": "timestamptz"})

    for name in "ab":
        assert list_found_ids(open_page(client, resource, {f"to.{name}": "05/06/2020"})) == [1]
        at = {f"from.{name}": "05/07/2020 0:00"}
        assert list_found_ids(open_page(client, resource, at)) == [2]
        exact = {f"field.{name}": "05/06/2020 23:30"}
        assert list_found_ids(open_page(client, resource, exact)) == [1]


# Typed values -------------------------------------------------------------------------------------


TYPED_VALUES: list[tuple[str, str, str, str]] = [
    ("en", "numeric", "10,000.5", "10000.5"),
    ("en", "numeric", "10000.5", "10000.5"),
    ("en", "numeric", "10,5", "10,5"),
    ("en", "numeric", "−7", "-7"),
    ("en", "int4", "1,234,567", "1234567"),
    ("en", "int4", "12,34,567", "1234567"),
    ("en", "int4", "abc", "abc"),
    ("vi", "numeric", "10.000,5", "10000.5"),
    ("vi", "numeric", "10.5", "10.5"),
    ("vi", "numeric", "10.500", "10500"),
    ("vi", "numeric", "0,5", "0.5"),
    ("fr", "float8", "10\u202f000,5", "10000.5"),
    ("fr", "float8", "10\u00a0000", "10000"),
    ("ar", "int8", "١٢٣", "123"),
    ("vi", "date", "31/12/2020", "2020-12-31"),
    ("en", "date", "January 8, 1990", "1990-01-08"),
    ("en", "date", "8 Jan 1990", "1990-01-08"),
    ("en", "date", "8 jam 1990", "8 jam 1990"),
    ("de", "timestamp", "8. März 1990 7:05", "1990-03-08 07:05"),
    ("vi", "date", "3-4-2020", "2020-04-03"),
    ("en", "date", "3/4/2020", "2020-03-04"),
    ("en-gb", "date", "3/4/2020", "2020-04-03"),
    ("de", "date", "3.4.2020", "2020-04-03"),
    ("ar", "date", "٣\u200f/٤\u200f/٢٠٢٠", "2020-04-03"),
    ("de", "date", "2020-04-03", "2020-04-03"),
    ("de", "date", "3.4.20", "3.4.20"),
    ("vi", "timestamp", "31/12/2020 7:05", "2020-12-31 07:05"),
    ("vi", "timestamp", "2020-12-31T07:05:09", "2020-12-31 07:05:09"),
    ("vi", "timestamp", "31/12/2020", "2020-12-31"),
    ("vi", "timestamptz", "31/12/2020", "2020-12-31 00:00+00:00"),
    ("vi", "timestamptz", "31/12/2020 7:05", "2020-12-31 07:05+00:00"),
    ("vi", "timestamptz", "2020-12-31 07:05+07:00", "2020-12-31 07:05+07:00"),
    ("en", "time", " 07:05 ", "07:05"),
    ("vi", "text", "10.000,5", "10.000,5"),
]


def test_values_are_read_in_the_language_of_the_page() -> None:
    for language, kind, typed, value in TYPED_VALUES:
        with translation.override(language):
            assert parse_typed_value(field_types[kind], typed) == value


def test_dates_are_read_as_the_table_writes_them() -> None:
    for language in ("ar", "de", "en", "en-gb", "es", "fr", "pt-br", "vi"):
        with translation.override(language):
            for day in ("1990-01-08", "2020-05-31", "1999-12-01"):
                for name, value in (("date", day), ("timestamp", f"{day} 07:05:09")):
                    kind = field_types[name]
                    assert parse_typed_value(kind, format_value(kind, value)) == value


# The form -----------------------------------------------------------------------------------------


def test_the_form_keeps_what_it_has_no_input_for(client: Client, resource: Resource) -> None:
    query = [
        ("contains.title", "river"),
        ("field.stage", "active"),
        ("field.stage", "closed"),
        ("sort", "amount desc"),
        ("filters", '{"code":"001"}'),
    ]

    page = open_page(client, resource, dict(query) | {"field.stage": ["active", "closed"]})

    (form,) = re.findall(
        '<form class="datastore-search".*?</form>', page.content.decode(), re.DOTALL
    )
    found = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)
    hidden = [(name, html.unescape(value)) for name, value in found]
    assert hidden == [pair for pair in query if pair != ("contains.title", "river")]
    assert 'name="contains.title" value="river"' in form


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("001", In("code", ("001",))),
        ("水", In("code", ("水",))),
        ("a1", Comparison("code", "ieq", "a1")),
        ("É", Comparison("code", "ieq", "É")),
    ],
)
def test_only_letters_of_two_cases_are_compared_ignoring_case(
    value: str, condition: Condition
) -> None:
    fields = TypedFields({"code": "text"}, lambda _kind, texts: list(texts))

    parsed = parse_field_condition(
        "field", Field(name="code", type="text"), [value], FiltersParser(), fields
    )

    assert parsed.condition == condition


# Chips --------------------------------------------------------------------------------------------


def test_each_condition_is_a_chip_whose_button_removes_it(
    client: Client, resource: Resource
) -> None:
    Field.objects.filter(resource=resource, name="amount").update(label="Budget")
    pairs = [
        ("q", "river"),
        ("field.subject", "Watershed"),
        ("field.subject", "survey"),
        ("from.amount", "10"),
        ("empty.seen", "no"),
        ("sort", "amount desc"),
    ]

    chips = list_chips(open_page(client, resource, pairs))

    assert list(chips) == [
        "Search: river",
        "subject: Watershed",
        "subject: survey",
        "Budget ≥ 10",
        "seen is not empty",
        "Sorted by Budget ↓",
    ]
    for position, change in enumerate(chips.values()):
        sent = urlencode([*pairs, ("set", urlencode(change))])
        address = client.get(f"/en/datastore/{resource.pk}/?{sent}")["Location"]
        kept = [pair for number, pair in enumerate(pairs) if number != position]
        assert sorted(parse_qsl(urlsplit(address).query)) == sorted(kept)


def test_a_chip_has_a_wrong_value_as_it_was_typed(client: Client, resource: Resource) -> None:
    response = open_page(client, resource, {"to.seen": "31.31.2020"}, "de")

    assert list(list_chips(response)) == ["seen ≤ 31.31.2020"]


def test_links_of_the_api_work_and_become_chips(client: Client, resource: Resource) -> None:
    filters = {
        "stage": ["active", "planned"],
        "amount": {"gt": 7},
        "$or": [{"subject": "water"}, {"seen": None, "code": {"ne": "004"}}, {"code": "002"}],
    }
    query = {"q": "o", "filters": json.dumps(filters), "sort": "amount desc, _id", "offset": "0"}

    response = open_page(client, resource, {**query, "q": ""})

    assert list_found_ids(response) == [2]
    chips = list_chips(response)
    assert list(chips) == [
        "stage: active or planned",
        "amount > 7",
        "subject: water or (seen is empty and code is not 004) or code: 002",
        "Sorted by amount ↓, No. ↑",
    ]
    removed = dict(chips["amount > 7"])["filters"]
    assert json.loads(removed) == {
        "stage": ["active", "planned"],
        "$or": [
            {"subject": ["water"]},
            {"$and": [{"seen": [None]}, {"code": {"ne": "004"}}]},
            {"code": ["002"]},
        ],
    }


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        (
            {"$or": [{"code": "1"}, {"$and": [{"stage": "a"}, {"subject": ["b", "c"]}]}]},
            "code: 1 or (stage: a and (subject: b or c))",
        ),
        (
            {"$or": [{"$and": [{"$or": [{"stage": "a"}, {"code": "1"}]}]}, {"code": "2"}]},
            "(stage: a or code: 1) or code: 2",
        ),
        ({"$or": [{"$and": [{"code": "1"}]}, {"code": "2"}]}, "code: 1 or code: 2"),
        (
            {"$or": [{"code": str(number)} for number in range(11)]},
            " or ".join([f"code: {number}" for number in range(10)] + ["…"]),
        ),
    ],
)
def test_a_group_within_a_group_is_in_brackets(
    client: Client, resource: Resource, filters: Any, text: str
) -> None:
    chips = list_chips(open_page(client, resource, {"filters": json.dumps(filters)}))

    assert list(chips) == [text]


MESSAGES: list[tuple[str, str]] = [
    ('?filters={"amount":"much"}', "has type number and cannot equal"),
    ('?filters={"flag":{"contains":"1"}}', "has type yes or no, which does not support operator"),
    ('?filters={"seen":"never"}', "has type date and cannot equal"),
    ("?sort=doc", "has type nested data. Records cannot be sorted by it"),
    ("?from.at=never", "“never” is not a date and time."),
    ("?contains.flag=x", "This condition cannot be used with this field."),
    ('chart/?filters={"whole":"x"}', "has type whole number and cannot equal"),
    ('map/?filters={"flag":"x"}', "has type yes or no and cannot equal"),
]


def test_a_message_has_no_words_of_the_database(client: Client, db: None) -> None:
    types = {
        "amount": "numeric", "whole": "int8", "seen": "date", "at": "timestamptz", "flag": "bool",
        "doc": "json",
    }  # fmt: skip
    resource = make_resource(
        "amount,whole,seen,at,flag,doc\n1.5,2,2024-01-31,2024-01-31T01:02:03Z,true,{}\n",
        types=types,
    )

    for path, words in MESSAGES:
        response = client.get(f"/en/datastore/{resource.pk}/{path}")

        assert response.status_code == 400
        text = extract_text(response)
        assert words in text
        assert not re.search(r"numeric|int[248]|float8|timestamp|\bbool\b|json", text)


def test_an_address_is_cleaned() -> None:
    sent = QueryDict(
        "a=1&q=&limit=25&columns=1&columns=x&limit=7&page=1&field.a=1&field.a=1&sort=a"
    )

    assert clean_parameters(sent) == [("field.a", "1"), ("sort", "a")]


# Long questions, which are refused before their pages are drawn -----------------------------------

TOO_MANY = json.dumps({f"f{number}": "" for number in range(MAX_CONDITIONS + 1)})
LONGEST = "x" * (MAX_QUESTION_LENGTH - len("?field.code="))

LONG: list[tuple[dict[str, Any], int, str]] = [
    ({"not.code": list(range(MAX_CONDITIONS + 1))}, 400, "A page has at most 40 conditions."),
    ({"filters": TOO_MANY}, 400, "A page has at most 40 conditions."),
    (
        {"not.code": "1", "filters": TOO_MANY.replace('"f0": "", ', "")},
        400,
        "A page has at most 40 conditions.",
    ),
    ({"field.code": LONGEST}, 200, ""),
    ({"field.code": f"{LONGEST}x"}, 413, "Leave some conditions out"),
    ({"field.code": "x" * 70_000}, 413, "Leave some conditions out"),
]


@pytest.mark.parametrize("page", ["", "chart/", "map/", "api/", "r/1/"])
def test_a_question_that_is_too_long_is_refused(
    client: Client, resource: Resource, page: str
) -> None:
    for query, status, message in LONG:
        response = client.get(f"/en/datastore/{resource.pk}/{page}", query)

        assert response.status_code == status
        assert status == 200 or len(response.content) < 5_000
        assert message in extract_text(response)
