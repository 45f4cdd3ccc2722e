"""The page *SQL*: a statement, its answer as a table and as CSV, and what is wrong with it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from ..builders import make_resource, make_user

pytestmark = pytest.mark.django_db

CSV = 'code,title\n1,"a ""b"", c"\n2,<b>\n3,\n'
PATH = "/en/datastore/sql/"


def show(client: Client, sql: str, more: str = "") -> Any:
    return client.get(f"{PATH}?sql={quote(sql)}{more}")


@pytest.mark.parametrize(
    ("setting", "user", "status"),
    [
        ("all", "", 200),
        ("staff", "", 404),
        ("staff", "reader", 404),
        ("staff", "clerk", 200),
        ("api", "clerk", 404),
        ("", "clerk", 404),
    ],
)
def test_a_setting_says_who_sees_the_page(
    client: Client, settings: Any, setting: str, user: str, status: int
) -> None:
    settings.DATASTORE_SEARCH_SQL_SEARCH = setting
    resource = make_resource(CSV)
    if user:
        client.force_login(make_user(user, is_staff=user == "clerk"))

    page = client.get(f"/en/datastore/{resource.pk}/api/").content.decode()

    assert client.get(PATH).status_code == status
    assert ("Ask in SQL" in page) == (status == 200)


def test_the_answer_is_a_table_and_a_file(client: Client) -> None:
    make_resource(CSV, name="codes")
    sql = "SELECT code, title FROM codes ORDER BY code"

    page, file = show(client, sql).content.decode(), show(client, sql, "&csv=1")

    assert "<bdi>&lt;b&gt;</bdi>" in page
    assert "Rows: 3<" in page
    assert file["Content-Type"] == "text/csv; charset=utf-8"
    assert file.content.decode() == 'code,title\r\n1,"a ""b"", c"\r\n2,<b>\r\n3,\r\n'


def test_texts_of_the_file_are_no_formulas_and_numbers_are_as_they_are(client: Client) -> None:
    make_resource('code,title\n-1,=1+1\n2,"a, b"\n', name="codes")
    sql = 'SELECT code, title, code AS "=x" FROM codes ORDER BY code'

    file = show(client, sql, "&csv=1").content.decode()

    assert file == "code,title,'=x\r\n-1,'=1+1,-1\r\n2,\"a, b\",2\r\n"


def test_numbers_are_aligned_as_in_the_table_of_records(client: Client) -> None:
    make_resource(CSV, name="codes")
    sql = "SELECT title, count(*) AS many, avg(code) AS mean FROM codes GROUP BY title"

    page = show(client, sql).content.decode()

    assert re.findall(r"<th scope=col( class=n)?><bdi>(\w+)", page) == [
        ("", "title"),
        (" class=n", "many"),
        (" class=n", "mean"),
    ]
    assert [page.count(f"<td {each}=") for each in ("data-l", "data-n")] == [3, 6]


def test_the_table_has_the_first_rows(client: Client) -> None:
    make_resource("n\n" + "".join(f"{i}\n" for i in range(300)), name="many")

    page = show(client, "SELECT * FROM many").content.decode()

    assert "Rows: 200, and more" in page
    assert "at most 32,000 rows" in page
    assert len(show(client, "SELECT * FROM many", "&csv=1").content.splitlines()) == 301


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", "syntax error at or near “1”"),
        ("SELEC", "syntax error at or near “SELEC”"),
        ("1 + 1", "syntax error at or near “1”"),
        ("SELECT pg_sleep(9)", "Not authorized to call function pg_sleep"),
        ("SELECT * FROM nothing", "Resource “nothing” was not found."),
        ("SELECT <script> FROM x", "syntax error"),
        ("SELECT nothing FROM codes", "Column “nothing” does not exist here"),
        ("SELECT a.nothing FROM codes a", "Column “nothing” does not exist here"),
        ('SELECT "it\'s" FROM codes', "Column “it&#x27;s” does not exist here"),
        ("SELECT code FROM codes a JOIN codes b USING (nothing)", "Column “nothing” does not"),
        ('SELECT * FROM "a\0"', "syntax error at or near “U+0000”"),
    ],
)
def test_an_error_is_shown_with_the_word(client: Client, sql: str, message: str) -> None:
    make_resource(CSV, name="codes")

    response = show(client, sql)

    page = response.content.decode()
    assert response.status_code == 400
    assert message in page
    assert "<script>" not in page


def test_a_private_resource_is_read_by_those_who_may(client: Client) -> None:
    make_resource(CSV, name="secret", private=True)

    assert show(client, "SELECT * FROM secret").status_code == 403
    client.force_login(make_user("reader", permissions=("view_resource",)))
    response = show(client, "SELECT * FROM secret")

    assert response.status_code == 200
    assert "private" in response["Cache-Control"]
