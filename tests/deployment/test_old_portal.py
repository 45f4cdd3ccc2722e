"""The portal of an older version, as its code made it, is migrated and answers as it did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.test import Client

from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.models import Resource
from datastore_search.tokens import issue_token

from ..builders import act, ask, get_result, make_user
from ..management.test_commands import run_command
from .portals import use_databases
from .servers import run_own_server

#: The tables and functions of the app at migration 0002, without those of Django.
_DUMP = Path(__file__).with_name("portal_0002.sql")

_STATIONS, _PRIVATE, _API = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2, 3))


def build_station(number: int, **more: Any) -> dict[str, Any]:
    """Build a record of the stations as the file had it."""
    day = f"20{number % 24:02}-0{number % 9 + 1}-11"
    return {
        "_id": number,
        "code": f"{number:03}",
        "name": f"{'Sông Hồng' if number % 3 else 'Cầu Long Biên'} {number}",
        "kind": "river" if number % 3 else "lake",
        "level": number / 8,
        "since": day,
        "at": f"{day}T0{number % 9}:30:00.000",
        **more,
    }


#: Requests, and the records and totals that the older code answered.
_ANSWERS: list[tuple[dict[str, Any], list[dict[str, Any]], int]] = [
    (
        {"id": "the stations", "limit": 2, "sort": "level desc"},
        [build_station(30), build_station(29)],
        30,
    ),
    (
        {"id": _STATIONS, "q": "long biên", "limit": 1},
        [build_station(3, rank=0.09910322)],
        10,
    ),
    (
        {"id": _STATIONS, "q": {"name": "sông"}, "limit": 1, "sort": "code"},
        [build_station(1, **{"rank name": 0.06079271})],
        20,
    ),
    (
        {"id": _STATIONS, "filters": {"since": {"gte": "2020-01-01"}}, "limit": 1, "sort": "since"},
        [build_station(20)],
        4,
    ),
    (
        {"id": _STATIONS, "fields": "kind", "distinct": True, "sort": "kind"},
        [{"kind": "lake"}, {"kind": "river"}],
        2,
    ),
    (
        {"id": "written", "sort": "_id"},
        [
            {"_id": 1, "code": "a", "more": {"deep": [1, "Hà Nội"]}, "list": ["x", "y"]},
            {"_id": 2, "code": "b", "more": None, "list": []},
        ],
        2,
    ),
]


@pytest.fixture(scope="module")
def _database(django_db_blocker: Any) -> Iterator[str]:
    with run_own_server() as server, django_db_blocker.unblock():
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("SET check_function_bodies = off")  # one calls another
            connection.execute(_DUMP.read_text())
        with use_databases({"default": server.url}):
            call_command("migrate", "datastore_search", "0002", fake=True, verbosity=0)
            call_command("migrate", verbosity=0)
        yield server.url


@pytest.fixture
def old_portal(_database: str, django_db_blocker: Any) -> Iterator[None]:
    """The migrated portal."""
    with django_db_blocker.unblock(), use_databases({"default": _database}):
        yield


@pytest.mark.usefixtures("old_portal")
@pytest.mark.parametrize(("sent", "records", "total"), _ANSWERS)
def test_its_records_answer_as_before(
    sent: dict[str, Any], records: list[dict[str, Any]], total: int
) -> None:
    found = get_result(ask(Client(), sent))

    assert (found["records"], found["total"]) == (records, total)


@pytest.mark.usefixtures("old_portal")
def test_its_fields_texts_and_access_are_as_before_and_nothing_is_damaged() -> None:
    stations, private, api = (Resource.objects.get(pk=each) for each in (_STATIONS, _PRIVATE, _API))

    assert (stations.title, stations.description) == ("Stations", "Rivers and *lakes*")
    assert [(field.name, field.type, field.label) for field in stations.fields.all()] == [
        ("code", "text", ""), ("name", "text", "Tên"), ("kind", "text", ""),
        ("level", "numeric", ""), ("since", "date", ""), ("at", "timestamp", ""),
    ]  # fmt: skip
    assert [(field.name, field.type) for field in api.fields.all()] == [
        ("code", "text"), ("more", "json"), ("list", "_text"),
    ]  # fmt: skip
    assert private.private
    assert ask(Client(), {"id": _PRIVATE}).status_code == 403
    assert len(b"".join(Client().get(f"/en/datastore/dump/{_STATIONS}")).splitlines()) == 31
    assert Client().get(f"/en/datastore/{_STATIONS}/").status_code == 200
    assert run_command("datastore_doctor", "--count")[0] == "Nothing is damaged.\n"


@pytest.mark.usefixtures("old_portal")
def test_its_tables_are_written_and_loaded(tmp_path: Path) -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    path = tmp_path / "more.csv"
    path.write_text("a,b\n3,z\n")

    written = {"id": _API, "records": [{"code": "d", "list": ["new"]}], "force": True}
    assert act(Client(), "datastore_upsert", written, token).status_code == 200
    load_file(Resource.objects.get(pk=_PRIVATE), path, options=LoadOptions(mode="append"))

    found = get_result(ask(Client(), {"id": _API, "q": "new"}))["records"]
    assert [(record["_id"], record["code"]) for record in found] == [(4, "d")]
    deleted = {"id": _API, "filters": {"code": "d"}, "force": True}
    assert act(Client(), "datastore_records_delete", deleted, token).status_code == 200
    found = get_result(act(Client(), "datastore_search", {"id": _PRIVATE, "q": "z"}, token))
    assert [record["b"] for record in found["records"]] == ["z"]
