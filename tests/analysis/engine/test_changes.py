"""The engine answers from a snapshot and what has changed since, always of the present version."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from decimal import Decimal
from time import monotonic, sleep
from typing import Any

import pytest
from django.db import connection, connections, transaction
from psycopg import sql

from datastore_search.contrib.analysis.engine import source
from datastore_search.contrib.analysis.engine.process import TableClosed, engine
from datastore_search.contrib.analysis.engine.snapshots import make_snapshot
from datastore_search.contrib.analysis.engine.source import Source
from datastore_search.contrib.analysis.models import Snapshot
from datastore_search.filters import Clause
from datastore_search.models import Resource, TableVersion
from datastore_search.search import ConsistentRead, Query, with_consistent_read

from ...builders import get_record_table, make_resource

pytestmark = pytest.mark.django_db(transaction=True)

TYPES = {"name": "text", "n": "int4", "price": "numeric"}
RECORDS = 500

#: What each write does at its end.
TOUCH = "UPDATE datastore_search_resource SET version = version WHERE id = %s"

#: The same figures in DuckDB and in PostgreSQL.
ASKED = (
    "SELECT count(*), sum(c1), sum(CAST(c2 AS DOUBLE)), sum(_id), count(DISTINCT c0) FROM matches"
)
EXPECTED = (
    "SELECT count(*), sum((data ->> 'n')::bigint), sum((data ->> 'price')::numeric), sum(_id),"
    " count(DISTINCT data ->> 'name') FROM {}"
)


@pytest.fixture
def resource(monkeypatch: pytest.MonkeyPatch) -> Resource:
    monkeypatch.setattr(source, "MAX_SMALL_CELLS", 0)
    rows = "".join(f"name {i % 7},{i},{i / 4}\n" for i in range(RECORDS))
    return make_resource("name,n,price\n" + rows, types=TYPES)


def get_version(resource: Resource) -> TableVersion:
    assert resource.table_version is not None
    return resource.table_version


def normalize(row: Sequence[Any]) -> list[str]:
    return [str(Decimal(str(each or 0)).normalize()) for each in row]


def ask_both(resource: Resource) -> tuple[list[str], list[str]]:
    """Ask the engine and PostgreSQL about one version."""

    def answer(read: ConsistentRead) -> tuple[list[str], list[str]]:
        (found,) = Source(read, Query(limit=None), TYPES).fetch(ASKED)
        table = read.relation.source.text
        (expected,) = read.fetch_rows(Clause(sql.SQL(EXPECTED).format(table)))
        return normalize(found), normalize(expected)

    return with_consistent_read(resource.pk, answer)


class Writer(threading.Thread):
    """Writes with keys of its own, updates and deletes, in transactions that take a while."""

    def __init__(self, resource: Resource, seed: int, stop: threading.Event) -> None:
        super().__init__()
        self.table, self.random, self.stop = get_record_table(resource), random.Random(seed), stop
        self.resource = resource
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                with transaction.atomic(), connection.cursor() as cursor:
                    for _number in range(self.random.randint(1, 4)):
                        cursor.execute(*self.choose())
                    sleep(self.random.random() * 0.01)
                    cursor.execute(TOUCH, [self.resource.pk])
                    sleep(self.random.random() * 0.01)
        except Exception as error:
            self.failure = error
            raise
        finally:
            connections.close_all()

    def choose(self) -> tuple[str, list[Any]]:
        number, key = self.random.randint(0, 99), self.random.randint(600, 10**6)
        price = self.random.choice(["1.25", "3.125", "2"])
        insert = f"INSERT INTO {self.table}"
        new = f'{{"name": "x", "n": {number}, "price": {price}}}'
        known = self.random.randint(1, RECORDS)
        choices: list[tuple[str, list[Any]]] = [
            (f"{insert} (data) VALUES (%s)", [new]),
            (f"{insert} (_id, data) VALUES (%s, %s) ON CONFLICT DO NOTHING", [key, new]),
            (
                f"UPDATE {self.table} SET data = data || %s WHERE _id = %s",
                [f'{{"n": {number}}}', known],
            ),
            (f"DELETE FROM {self.table} WHERE _id = %s", [known]),
        ]
        return self.random.choice(choices)


@pytest.fixture
def writers(resource: Resource) -> Iterator[list[Writer]]:
    stop = threading.Event()
    started = [Writer(resource, seed, stop) for seed in range(3)]
    for each in started:
        each.start()
    yield started
    stop.set()
    for each in started:
        each.join()


def test_three_writers(resource: Resource, writers: list[Writer]) -> None:
    began, asked = monotonic(), 0
    while monotonic() - began < 8 or asked < 10:
        found, expected = ask_both(resource)
        assert found == expected
        asked += 1
        if asked % 20 == 0:
            make_snapshot(get_version(resource), TYPES)
    assert [each.failure for each in writers] == [None] * 3


CHANGES = {
    "none": "SELECT 1",
    "insert": 'INSERT INTO {0} (data) VALUES (\'{{"n": 5, "price": 1e3}}\')',
    "key": 'INSERT INTO {0} (_id, data) VALUES (-7, \'{{"n": 5, "price": 0.0078125}}\')',
    "update": 'UPDATE {0} SET data = data || \'{{"name": "other", "price": null}}\'',
    "update key": "UPDATE {0} SET _id = _id + 1000 WHERE _id < 100",
    "other type": 'UPDATE {0} SET data = data || \'{{"price": "NaN"}}\' WHERE _id = 1',
    "delete": "DELETE FROM {0} WHERE _id % 3 = 0",
    "delete all": "DELETE FROM {0}",
    "truncate": "TRUNCATE {0}",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_many", [False, True], ids=["noted", "too many to note"])
def test_change(resource: Resource, change: str, is_many: bool) -> None:
    make_snapshot(get_version(resource), TYPES)
    table = get_record_table(resource)
    with connection.cursor() as cursor:
        if is_many:
            cursor.execute("DELETE FROM datastore_search_analysis_change")
            number = "INSERT INTO datastore_search_analysis_change (table_id) VALUES (%s)"
            cursor.execute(number, [get_version(resource).pk])
        cursor.execute(change.format(table))
        cursor.execute(TOUCH, [resource.pk])
    found, expected = ask_both(resource)
    assert found == expected


def test_the_engine_is_asked_once_about_a_version(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = engine.ask

    def note(tables: Any, statement: str, *rest: Any) -> Any:
        asked.append(statement)
        if len(asked) == 1:  # a table that was there has been closed, as when memory is short
            raise TableClosed
        return ask(tables, statement, *rest)

    monkeypatch.setattr(engine, "ask", note)
    first, expected = ask_both(resource)
    assert first == expected == ask_both(resource)[0]
    assert len([each for each in asked if each.endswith(ASKED)]) == 2

    with connection.cursor() as cursor:
        cursor.execute(CHANGES["delete"].format(get_record_table(resource)))
        cursor.execute(TOUCH, [resource.pk])
    second, expected = ask_both(resource)
    assert second == expected != first


def test_a_table_of_large_values_has_a_snapshot(
    resource: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_SMALL_CELLS", 10**6)
    monkeypatch.setattr(source, "_MAX_SMALL_BYTES", 1_000)

    found, expected = ask_both(resource)

    assert found == expected
    assert Snapshot.objects.filter(pk=get_version(resource).pk).exists()
