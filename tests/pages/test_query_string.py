"""Long questions: pages stay small, as buttons of one form take the place of links."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from datastore_search.contrib.pages.table.page_query import MAX_CONDITIONS, clean_parameters
from datastore_search.contrib.pages.table.query_string import Pair, QueryString
from datastore_search.models import Resource

from ..builders import make_resource
from ..shared import ModuleTransaction
from .parsing import extract_text, parse_table

NAMES = [f"column_{number:02}" for number in range(20)]

#: A question of 20 conditions, in 1,400 bytes.
LONG = [(f"not.{NAMES[n % 5]}", f"giá trị dài {n // 5} của cột {n % 5}") for n in range(20)]

#: Each question that differs from it by one button, and the button's text or label.
CHANGES = [
    ("Sort ascending", [*LONG, ("sort", "column_00")]),
    ("Hide", [*LONG, ("hide", "column_00")]),
    ("Only empty values", [*LONG, ("empty.column_00", "yes")]),
    ("50", [*LONG, ("limit", "50")]),
]


@pytest.fixture(scope="module")
def _records(module_transaction: ModuleTransaction) -> Resource:
    rows = [
        ",".join(f"value {row % 7} {n}" if row % 9 else "" for n in range(20)) for row in range(100)
    ]
    return make_resource("\n".join([",".join(NAMES), *rows, ""]))


@pytest.fixture
def wide(_records: Resource, db: None) -> Resource:
    return _records


def build_query(pairs: list[Pair]) -> str:
    return QueryString(tuple(pairs)).query


def open_page(client: Client, resource: Resource, pairs: list[Pair], locale: str = "en") -> Any:
    return client.get(f"/{locale}/datastore/{resource.pk}/{build_query(pairs)}", follow=True)


def list_buttons(page: str) -> dict[str, tuple[str, str]]:
    """Return the name and value of the first button of the question with each text or label."""
    pattern = r'<button form="question" name="(\w+)" value="([^"]*)"([^>]*)>(.*?)</button>'
    buttons: dict[str, tuple[str, str]] = {}
    for name, value, attributes, content in re.findall(pattern, page):
        label = re.search(r'aria-label="([^"]*)"', attributes)
        text = html.unescape(label[1] if label else re.sub("<[^>]*>", "", content))
        buttons.setdefault(text, (name, html.unescape(value)))
    return buttons


def list_hidden(page: str, form: str) -> list[Pair]:
    """Return what a form of a page sends."""
    found = re.search(rf'<form id="{form}" method="get"[^>]*>(.*?)</form>', page)
    assert found
    pairs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', found[1])
    return [(html.unescape(name), html.unescape(value)) for name, value in pairs]


def press(client: Client, resource: Resource, page: str, label: str) -> Any:
    """Send the form of the question as a browser does for one of its buttons."""
    return open_page(client, resource, [*list_hidden(page, "question"), list_buttons(page)[label]])


def test_a_page_grows_with_its_question_and_not_with_its_square(
    client: Client, wide: Resource
) -> None:
    pairs = [(f"not.{NAMES[n % 5]}", f"{'x' * 100}{n}") for n in range(40)]

    small = len(open_page(client, wide, pairs[:20]).content)
    large = len(open_page(client, wide, pairs).content)

    assert large - small < 20 * len(build_query(pairs[:20]))


TOO_MANY_CONDITIONS: list[list[Pair]] = [
    [("not.code", f"{number}") for number in range(MAX_CONDITIONS + 1)],
    [("filters", json.dumps({f"f{number}": "" for number in range(MAX_CONDITIONS + 1)}))],
    [
        ("not.code", "1"),
        ("filters", json.dumps({f"f{number}": "" for number in range(MAX_CONDITIONS)})),
    ],
]


def test_more_conditions_than_a_page_shows_are_refused_before_it_is_drawn(
    client: Client, resource: Resource
) -> None:
    for pairs in TOO_MANY_CONDITIONS:
        for page in ("", "chart/", "map/", "api/", "r/1/"):
            response = client.get(f"/en/datastore/{resource.pk}/{page}{build_query(pairs)}")

            assert response.status_code == 400
            assert len(response.content) < 5_000
            assert "A page has at most 40 conditions." in extract_text(response)


@pytest.mark.parametrize(("label", "pairs"), CHANGES)
def test_a_button_changes_a_long_question(
    client: Client, wide: Resource, label: str, pairs: list[Pair]
) -> None:
    page = open_page(client, wide, LONG).content.decode()

    response = press(client, wide, page, label)

    assert response.status_code == 200
    ((address, status),) = response.redirect_chain  # the page has the address that a link would
    assert status == 302
    found, expected = QueryDict(address.partition("?")[2]), QueryDict(build_query(pairs)[1:])
    assert list(found.lists()) == list(expected.lists())


def test_the_button_of_a_chip_removes_its_condition(client: Client, wide: Resource) -> None:
    filters = {"column_05": {"ne": "a"}, "column_06": {"ne": "b"}}
    pairs = [("q", "value"), *LONG, ("filters", json.dumps(filters)), ("sort", "column_01")]
    page = open_page(client, wide, pairs).content.decode()
    labels = [label for label in list_buttons(page) if label.startswith("Remove “")]

    assert len(labels) == 24
    wholes = clean_parameters(QueryDict(build_query(pairs)[1:]))
    for place in (0, 1, 20, 21, 23):
        left = press(client, wide, page, labels[place]).redirect_chain[-1][0]
        question = clean_parameters(QueryDict(left.partition("?")[2]))
        if place == 21:
            assert json.loads(dict(question)["filters"]) == {"column_06": {"ne": "b"}}
        else:
            removed = "sort" if place == 23 else wholes[place]
            assert question == [each for each in wholes if removed not in (each, each[0])]


def test_a_record_of_a_long_question_knows_the_records_beside_it(
    client: Client, wide: Resource
) -> None:
    page = open_page(client, wide, LONG).content.decode()
    buttons = re.findall(
        r'<button form="question" name="(\w+)" value="(\d+)" formaction="(r/[^"]*)">', page
    )

    name, value, action = buttons[3]
    address = f"/en/datastore/{wide.pk}/{action}{build_query([*LONG, (name, value)])}"
    response = client.get(address)

    assert len(buttons) == 25
    assert response.status_code == 200
    assert 'rel="prev"' in response.content.decode()


def test_files_and_languages_of_a_long_question_have_forms(client: Client, wide: Resource) -> None:
    response = open_page(client, wide, LONG)
    page = response.content.decode()
    address = f"/en/datastore/dump/{wide.pk}"
    assert f'<form id="download-all" method="get" action="{address}">' in page
    sent = [*list_hidden(page, "download-all"), ("format", "csv")]
    assert '<button form="download-all" name="format" value="csv">CSV</button>' in page
    file = client.get(address, dict(sent)).getvalue()
    total = re.search(r"–25 of (\d+)", extract_text(response))

    assert total
    assert len(file.decode().splitlines()) == int(total[1]) + 1
    button = f'<button form="languages" formaction="/vi/datastore/{wide.pk}/" lang="vi">'
    assert button in page
    in_vietnamese = open_page(client, wide, list_hidden(page, "languages"), "vi")
    ids, found = ([row[0] for row in parse_table(each)[1:]] for each in (response, in_vietnamese))
    assert found == ids


def test_a_change_that_is_none_does_no_harm(client: Client, resource: Resource) -> None:
    for change in (
        "", "x", "0", "9.9&", "f7&", "0.&a=b&&=", "99999999.&", "&change=0.%26", "\x00&%FF",
    ):  # fmt: skip
        response = open_page(client, resource, [("not.code", "1"), ("change", change)])

        assert response.status_code == 200
        assert len(response.redirect_chain) <= 2
