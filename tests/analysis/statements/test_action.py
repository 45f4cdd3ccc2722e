"""``datastore_search_sql``: its envelope, the right to read, versions, types of records, limits."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection, transaction

from datastore_search.api.actions import actions
from datastore_search.contrib.analysis import apps
from datastore_search.contrib.analysis.engine import source
from datastore_search.contrib.analysis.engine.process import engine
from datastore_search.contrib.analysis.engine.snapshots import make_snapshot
from datastore_search.models import Alias, Resource

from ...builders import (
    act,
    check_error,
    get_result,
    grant,
    make_resource,
    make_token,
    make_user,
    make_writer_token,
)

pytestmark = pytest.mark.django_db

SQL = "datastore_search_sql"
CSV = "code,Name,amount\n1,Ann,10.50\n2,Bob,2.5\n3,,\n"


def send(client: Any, sql: str, token: str = "") -> Any:
    return act(client, "datastore_search_sql", {"sql": sql}, token)


def read(client: Any, sql: str, token: str = "") -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = get_result(send(client, sql, token))["records"]
    return records


def test_an_answer_is_ckans(client: Any) -> None:
    resource = make_resource(CSV)
    sql = f'SELECT _id, "Name", amount FROM "{resource.pk}" LIMIT 2'

    response = client.get(f"/en/api/3/action/datastore_search_sql?sql={quote(sql, safe=' *')}")

    answer = json.loads(response.content, parse_float=str)
    assert answer["result"] == {
        "sql": sql,
        "fields": [
            {"id": "_id", "type": "int8"},
            {"id": "Name", "type": "text"},
            {"id": "amount", "type": "numeric"},
        ],
        "records": [
            {"_id": 1, "Name": "Ann", "amount": "10.50"},
            {"_id": 2, "Name": "Bob", "amount": "2.5"},
        ],
    }


def test_parameters_come_in_the_query_string_of_a_post(client: Any) -> None:
    make_resource(CSV, name="people")

    path = f"/en/api/3/action/datastore_search_sql?sql={quote('SELECT count(*) FROM people')}"

    assert get_result(client.post(path))["records"] == [{"count": 3}]


def test_what_is_more_than_the_maximum_is_cut(client: Any, settings: Any) -> None:
    settings.DATASTORE_SEARCH_MAX_LIMIT = 2
    make_resource(CSV, name="people")

    cut = get_result(send(client, "SELECT code FROM people"))
    whole = get_result(send(client, "SELECT code FROM people LIMIT 2"))

    assert (cut["records_truncated"], len(cut["records"])) == (True, 2)
    assert "records_truncated" not in whole


@pytest.mark.parametrize(
    ("sql", "status", "word"),
    [
        ("SELEC 1", 409, "“1”"),
        ("SELECT 1; SELECT 2", 409, "single statement"),
        ("DELETE FROM people", 409, "DELETE"),
        ("SELECT pg_sleep(0)", 403, "pg_sleep"),
        ("SELECT * FROM nope", 404, "nope"),
        ("SELECT nope FROM people", 409, "nope"),
        ("SELECT code FROM people WHERE _full_text @@ 'x'", 409, "@@"),
        ("SELECT 1 / 0", 409, "divided by zero"),
    ],
)
def test_a_refusal_names_the_word(client: Any, sql: str, status: int, word: str) -> None:
    make_resource(CSV, name="people")

    error = check_error(send(client, sql), status)

    told = error.get("message") or error["info"]["orig"][0]
    assert word in told
    assert status != 409 or error["query"] == [told]


def test_a_statement_is_required(client: Any) -> None:
    error = check_error(act(client, "datastore_search_sql", {}), 409)

    assert error["sql"] == ["Missing value"]


# Rights -------------------------------------------------------------------------------------------


def test_only_what_a_user_may_read_is_read(client: Any, guardian: None) -> None:
    secret = make_resource(CSV, name="secret", private=True)
    Alias.objects.create(name="hush", resource=secret)
    make_resource(CSV, name="people")
    user = make_user("friend")
    grant(user, "view", secret)

    for name in (str(secret.pk), str(secret.pk).upper(), "secret", "hush"):
        for sql in (
            f'SELECT count(*) FROM "{name}"',
            f'SELECT nothing FROM "{name}"',
            f'SELECT * FROM people WHERE code IN (SELECT code FROM "{name}")',
            f'WITH w AS (SELECT * FROM "{name}") SELECT 1 FROM people',
            f'SELECT 1 FROM people UNION SELECT code FROM "{name}"',
        ):
            error = check_error(send(client, sql), 403)
            assert str(secret.pk) not in error["message"] or name == str(secret.pk)
        assert read(client, f'SELECT count(*) FROM "{name}"', make_token(user)) == [{"count": 3}]


@pytest.mark.parametrize(
    ("given", "read_as", "is_found"),
    [("Latest", "latest", True), ("W", '"w"', True), ('"W"', '"W"', True), ('"W"', "w", False)],
)
def test_names_of_a_with_are_compared_as_in_postgresql(
    client: Any, given: str, read_as: str, is_found: bool
) -> None:
    make_resource(CSV, name="people")
    sql = f"WITH {given} AS (SELECT * FROM people) SELECT count(*) FROM {read_as}"

    if is_found:
        assert read(client, sql) == [{"count": 3}]
    else:
        check_error(send(client, sql), 404)


def test_a_deleted_resource_is_not_found(client: Any) -> None:
    make_resource(CSV, name="people")
    resource = make_resource(CSV, name="gone")
    assert read(client, "SELECT count(*) FROM gone, people") == [{"count": 9}]

    resource.delete()

    check_error(send(client, "SELECT count(*) FROM gone, people"), 404)


# Records ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.django_db(transaction=True)
def test_each_answer_is_of_the_present_version(
    client: Any, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    monkeypatch.setattr(source, "MAX_SMALL_CELLS", 500_000 if is_small else 0)
    people, others = make_resource(CSV, name="people"), make_resource(CSV, name="others")
    for resource in (people, others):
        assert resource.table_version is not None
        make_snapshot(resource.table_version, dict(resource.fields.values_list("name", "type")))
    token, sql = make_writer_token(), "SELECT sum(a.amount), count(b.code) FROM people a, others b"
    assert read(client, sql) == [{"sum": 39.0, "count": 9}]

    sent = {
        "resource_id": str(people.pk),
        "records": [{"code": 4, "amount": "0.25"}],
        "force": True,
    }
    act(client, "datastore_upsert", {**sent, "method": "insert"}, token)
    assert read(client, sql) == [{"sum": 39.75, "count": 12}]
    act(
        client,
        "datastore_delete",
        {"resource_id": str(others.pk), "force": True, "filters": {"code": [1, 2]}},
        token,
    )

    assert read(client, sql) == [{"sum": 13.25, "count": 4}]


def test_the_engine_is_asked_again_where_it_has_forgotten_a_table(client: Any) -> None:
    make_resource(CSV, name="people")
    assert read(client, "SELECT max(code) FROM people") == [{"max": 3}]

    engine.close()

    assert read(client, "SELECT max(code) FROM people") == [{"max": 3}]


def test_digits_are_those_of_the_records(client: Any) -> None:
    wide = "1" * 45
    make_resource(
        f"a,b\n1.50,1.5\n2,{wide}\n", types={"a": "numeric", "b": "numeric"}, name="digits"
    )

    shown = send(client, "SELECT a, b, a::text AS t, count(b) OVER () AS n FROM digits ORDER BY a")

    assert json.loads(shown.content, parse_float=str)["result"]["records"] == [
        {"a": "1.50", "b": "1.5", "t": "1.50", "n": 2},
        {"a": 2, "b": int(wide), "t": "2", "n": 2},
    ]
    error = check_error(send(client, "SELECT sum(b) FROM digits"), 409)
    assert "“b”" in error["query"][0]


def test_values_that_are_shown_alone(client: Any, typed: Resource) -> None:
    (first, *_others) = read(client, f'SELECT * FROM "{typed.pk}" ORDER BY _id')
    names = [
        name
        for name, kind in typed.fields.values_list("name", "type")
        if kind in {"json", "_text", "inet"}
    ]

    shown = get_result(act(client, "datastore_search", {"resource_id": str(typed.pk), "limit": 1}))

    assert names
    for name in names:
        wanted = shown["records"][0][name]
        # A single value of JSON is known as a text.
        assert first[name] == (
            wanted if isinstance(wanted, list | dict) or wanted is None else str(wanted)
        )
        quoted = '"' + name.replace('"', '""') + '"'
        assert send(client, f'SELECT count({quoted}) FROM "{typed.pk}"').status_code == 200
        error = check_error(send(client, f'SELECT max({quoted}) FROM "{typed.pk}"'), 409)
        assert "shown and counted" in error["query"][0]


@pytest.mark.parametrize("name", ["$or", "@id", ":a", "a;b", 'a"b', "a.b", "E\u0301", "ß"])
def test_columns_have_any_name_of_a_field(client: Any, name: str) -> None:
    sent = name.replace('"', '""')
    make_resource(f'"{sent}",n\nx,1\n', name="odd")

    for sql in (
        "SELECT * FROM odd",
        f'SELECT t."{sent}" FROM odd AS t',
        f'WITH w AS (SELECT "{sent}" FROM odd) SELECT * FROM w',
        f'SELECT a."{sent}" FROM odd AS a JOIN odd AS b USING ("{sent}")',
    ):
        (record,) = read(client, sql)
        assert record[name] == "x"


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_moments_may_be_infinite(client: Any, kind: str) -> None:
    day, time = "9999-12-31", "" if kind == "date" else "T12:00:00.500000"
    moment = day + time + "+00:00" * (kind == "timestamptz")
    make_resource(f"at\ninfinity\n-infinity\n{moment}\n", types={"at": kind}, name="times")

    found = [each["at"] for each in read(client, "SELECT at FROM times ORDER BY _id")]

    assert found == ["infinity", "-infinity", moment]


def test_it_is_off_unless_a_setting_turns_it_on(settings: Any) -> None:
    settings.DATASTORE_SEARCH_SQL_SEARCH = ""
    config = apps.AnalysisConfig.create("datastore_search.contrib.analysis")

    assert isinstance(config, apps.AnalysisConfig)
    listed = [name for each in config.contribute() for name in each.names]

    assert "datastore_search_sql" in actions
    assert "datastore_search_sql" not in listed


def test_without_transactions_of_its_own(client: Any) -> None:
    make_resource(CSV, name="people")
    with transaction.atomic():
        assert connection.in_atomic_block
        assert read(client, "SELECT avg(amount) FROM people") == [{"avg": 6.5}]


def test_averages_are_decimals(client: Any) -> None:
    response = send(client, "SELECT 1.0 / 3 AS x, 2.0 / 1 AS y")

    assert json.loads(response.content, parse_float=Decimal)["result"]["records"] == [
        {"x": Decimal("0.333333333333333"), "y": 2}
    ]
