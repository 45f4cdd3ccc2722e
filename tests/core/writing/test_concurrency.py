"""Concurrent writers and readers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import pytest
from django.db import connections, transaction

from datastore_search.models import Alias, TableVersion

from ...builders import check_error, make_user_token, make_writer_token
from ...reader_threads import ReaderThreads
from .tables import Table

pytestmark = pytest.mark.django_db(transaction=True)

Result = TypeVar("Result")

#: Writers at the same time.
WRITERS = 4


@pytest.fixture
def token(db: None) -> str:
    """Make the user again, as a committed test cannot be rolled back."""
    return make_writer_token()


def run_together(jobs: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run jobs at the same time, each in its own thread and connection."""
    start = threading.Barrier(len(jobs), timeout=30)

    def run(job: Callable[[], Result]) -> Result:
        try:
            start.wait()
            return job()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [done.result(timeout=60) for done in [pool.submit(run, job) for job in jobs]]


def run_writers(job: Callable[[int], Result]) -> list[Result]:
    """Run a job once for each writer, all at the same time."""
    return run_together([partial(job, writer) for writer in range(WRITERS)])


def check_counts(table: Table) -> None:
    """Assert that the stored number of records, the real one and that of a search are the same."""
    total = len(table.read_records())
    assert table.count_records() == (total, total)


def make_table(table: Table, writers: int = 0) -> Table:
    """Make an empty table: a key, a text, and a field for each writer."""
    table.run(
        "create",
        fields=[
            {"id": "key", "type": "int4"},
            {"id": "by", "type": "text"},
            *({"id": f"w{writer}", "type": "int4"} for writer in range(writers)),
        ],
        primary_key=["key"],
    )
    return table


# Writers ------------------------------------------------------------------------------------------


def test_upserts_of_the_same_keys_lose_nothing(table: Table) -> None:
    make_table(table, WRITERS)
    rounds, keys = 5, 12

    def write(writer: int) -> dict[int, int]:
        written: dict[int, int] = {}
        choice = random.Random(writer)
        for turn in range(rounds):
            chosen = choice.sample(range(keys), 7)
            table.upsert(*({"key": key, f"w{writer}": turn, "by": str(writer)} for key in chosen))
            written.update(dict.fromkeys(chosen, turn))
        return written

    written = run_writers(write)

    records = {record["key"]: record for record in table.read_records()}
    assert len(records) == len(table.read_records()) == len(set().union(*written))
    for writer, turns in enumerate(written):
        assert {key: records[key][f"w{writer}"] for key in turns} == turns
    check_counts(table)


def test_one_of_the_inserts_of_one_key_wins(table: Table) -> None:
    make_table(table)

    def write(writer: int) -> list[int]:
        return [
            table.call(
                "upsert", method="insert", records=[{"key": key, "by": str(writer)}, {"key": None}]
            ).status_code
            for key in range(6)
        ]

    statuses = run_writers(write)

    for answers in zip(*statuses, strict=True):
        assert sorted(answers) == [200] + [409] * (WRITERS - 1)
    keys = [key for key in table.read_values("key") if key is not None]
    assert sorted(keys) == list(range(6))
    assert table.count_records() == (12, 12)


def test_deletes_of_the_same_records_return_each_once(table: Table) -> None:
    make_table(table)
    table.insert(*({"key": key} for key in range(60)))

    def write(writer: int) -> list[int]:
        deleted: list[int] = []
        for start in range(0, 50, 10):
            filters = {"key": {"gte": start, "lt": start + 15}}
            answer = table.run("delete", filters=filters, include_deleted_records=True)
            deleted += [record["key"] for record in answer["deleted_records"]]
        return deleted

    deleted = run_writers(write)

    assert sorted(chain.from_iterable(deleted)) == list(range(55))
    assert table.read_values("key") == list(range(55, 60))
    check_counts(table)


def test_fields_and_keys_changed_at_once_are_all_stored(table: Table) -> None:
    make_table(table)

    def write(writer: int) -> None:
        for turn in range(3):
            name = f"f{turn}"  # every writer adds it
            table.run(
                "create",
                fields=[{"id": name, "type": "int4"}, {"id": f"own {writer} {turn}"}],
                records=[{"key": writer * 10 + turn, name: writer}],
                primary_key=["key"] if turn % 2 else ["key", "by"],
            )

    run_writers(write)

    names = [field["id"] for field in table.read_fields()]
    expected = {"key", "by", *(f"f{turn}" for turn in range(3))}
    expected |= {f"own {writer} {turn}" for writer in range(WRITERS) for turn in range(3)}
    assert (len(names), set(names)) == (len(expected), expected)
    assert len({*table.read_values("key")}) == len(table.read_records()) == WRITERS * 3
    check_counts(table)


def test_aliases_taken_in_opposite_orders_do_not_deadlock(table: Table) -> None:
    tables = [table, Table(table.token), Table(table.token), Table(table.token)]
    for each_table in tables:
        each_table.run("create", records=[{"a": 1}])

    def take_aliases(index: int) -> list[int]:
        names = [f"name {number}" for number in range(100)]
        wanted = names if index % 2 else names[::-1]
        statuses = []
        for turn in range(6):
            response = tables[index].call("create", aliases=[] if turn % 2 else wanted)
            if response.status_code == 409:
                assert set(response.json()["error"]) == {"__type", "aliases"}
            statuses.append(response.status_code)
        return statuses

    statuses = run_writers(take_aliases)

    assert {status for answers in statuses for status in answers} <= {200, 409}
    assert all(answers[1::2] == [200] * 3 for answers in statuses)
    assert 200 in {status for answers in statuses for status in answers[::2]}
    assert not Alias.objects.exists()


def test_a_call_that_waits_for_a_taken_alias_is_refused(table: Table) -> None:
    other = Table(table.token)
    for each_table in (table, other):
        each_table.run("create", records=[{"a": 1}])

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            table.run("create", aliases=["one"])
            waiting = pool.submit(run_together, [lambda: other.call("create", aliases=["one"])])
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
        (response,) = waiting.result(timeout=30)

    error = check_error(response, 409)
    assert error == {"aliases": ["The alias “one” is taken."]}
    assert table.read_ids(resource_id="one") == [1]


def test_a_new_id_used_at_once_becomes_one_resource_with_all_records(table: Table) -> None:
    for _time in range(2):
        new = Table(table.token)

        def create(writer: int, new: Table = new) -> int:
            response = new.call(
                "create",
                fields=[{"id": "key", "type": "int4"}, {"id": f"w{writer}", "type": "text"}],
                records=[{"key": writer * 2}, {"key": writer * 2 + 1}],
                primary_key=["key"],
                aliases=["new"],
            )
            return int(response.status_code)

        assert run_writers(create) == [200] * WRITERS

        assert sorted(new.read_values("key", resource_id="new")) == list(range(WRITERS * 2))
        assert len(new.read_fields()) == 1 + WRITERS
        assert TableVersion.objects.filter(resource_id=new.id).count() == 1
        check_counts(new)
        new.run("delete")


def test_a_new_id_belongs_to_the_first_of_the_users_who_may_only_add(table: Table) -> None:
    adder = make_user_token("adder", "add")
    for _time in range(3):
        new = Table(adder)

        def create(writer: int, new: Table = new) -> int:
            return int(new.call("create", records=[{"a": writer}]).status_code)

        statuses = run_writers(create)

        assert sorted(statuses) == [200] + [403] * (WRITERS - 1)
        (writer,) = [index for index, status in enumerate(statuses) if status == 200]
        assert new.read_values("a") == [writer]


def test_writers_to_a_table_that_is_dropped_succeed_or_get_404(table: Table) -> None:
    make_table(table)

    def write(writer: int) -> list[tuple[int, Any]]:
        if not writer:
            return [(table.call("delete").status_code, None)]
        answers = []
        for turn in range(4):
            response = table.call("upsert", records=[{"key": writer * 10 + turn}])
            answers.append((response.status_code, response.json().get("error")))
        return answers

    for _time in range(3):
        (dropped,), *written = run_writers(write)
        assert dropped[0] == 200
        missing = {
            "__type": "Not Found Error",
            "message": f"Not found: Resource “{table.id}” was not found.",
        }
        for answer in chain.from_iterable(written):
            assert answer in ((200, None), (404, missing))
        assert table.call("search").status_code == 404
        make_table(table)
    assert table.read_records() == []


# Readers ------------------------------------------------------------------------------------------


class Readers(ReaderThreads):
    """Readers that check the sums of the records."""

    def __init__(self, table: Table, *, count: int = 2) -> None:
        super().__init__(count=count)
        self.table = table
        self.reads = 0

    def read_once(self) -> None:
        for more in ({}, {"filters": {"by": "x"}}, {"q": "x"}, {"records_format": "csv"}):
            self._search(more)

    def _search(self, more: dict[str, Any]) -> None:
        """Search, and check that the records come in threes whose sums are 0."""
        response = self.table.call("search", limit=32_000, **more)
        if response.status_code != 200:
            self.errors.append((more, response.content))
            return
        result = response.json()["result"]
        records = result["records"]
        count = len(records.splitlines()) if isinstance(records, str) else len(records)
        if result["total"] != count or count % 3:
            self.errors.append((more, result["total"], count))
        if not isinstance(records, str) and sum(record["sum"] for record in records):
            self.errors.append((more, "half of a call", records))
        self.reads += 1


def make_triples(first: int, number: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"key": first + index, "by": "x", "sum": (-2, 1, 1)[index % 3] * number, **more}
        for index in range(3)
    ]


def test_readers_see_the_records_before_a_call_or_after_it(table: Table) -> None:
    make_table(table)
    table.run("create", fields=[{"id": "sum", "type": "int4"}], records=make_triples(0, 1))

    with Readers(table) as readers:
        turn = 0
        while turn < 12 or (turn < 500 and readers.reads < 60 and not readers.errors):
            turn += 1
            first = turn * 3
            table.insert(*make_triples(first, turn))
            table.upsert(*make_triples(first, turn + 7), *make_triples(first + 10_000, turn))
            table.run("delete", filters={"key": [first - 3, first - 2, first - 1]})
            if turn % 4 == 0:
                table.run("create", fields=[{"id": f"new {turn}"}], records=make_triples(-first, 5))
                table.run("records_delete", filters={"key": {"gte": 10_000}})

    assert readers.errors == []
    assert readers.reads >= 60
    check_counts(table)


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "records": ("create", {"records": [{"key": 9}]}),
    "fields": ("create", {"fields": [{"id": "more"}], "records": [{"more": "x"}]}),
    "delete_fields": ("create", {"fields": [{"id": "key"}], "delete_fields": True}),
    "aliases": ("create", {"aliases": ["other"]}),
    "private": ("create", {"private": True}),
    "the same key": ("create", {"primary_key": ["key"], "records": [{"key": 9}]}),
    "upsert": ("upsert", {"records": [{"key": 1, "by": "new"}, {"key": 9}]}),
    "delete": ("delete", {"filters": {}}),
    "the table": ("delete", {}),
}


def test_readers_do_not_wait_for_writers(table: Table, settings: Any) -> None:
    settings.DATASTORE_SEARCH_STATEMENT_TIMEOUT = timedelta(seconds=1)
    make_table(table)
    table.insert({"key": 1, "by": "old"}, {"key": 2})

    def read_state_by_api() -> list[Any]:
        searched = table.call("search", sort="_id").json()
        info = table.call("info").json().get("result", {"meta": {}})
        result = searched.get("result", {})
        parts = [result.get(name) for name in ("records", "total", "fields")]
        return [searched.get("error"), *parts, info["meta"].get("count")]

    before = read_state_by_api()
    states = {}
    for change, (action, parameters) in CHANGES.items():
        with transaction.atomic():  # the locks of the call are held until the end
            table.run(action, **parameters)
            (states[change],) = run_together([read_state_by_api])
            transaction.set_rollback(True)

    assert before[0] is None
    assert {change: state for change, state in states.items() if state != before} == {}


def test_a_key_is_not_replaced_under_a_long_reader_and_nothing_changes(table: Table) -> None:
    make_table(table)
    table.insert({"key": 1})
    before = table.read_state()
    parameters = {"fields": [{"id": "more"}], "primary_key": ["key", "by"], "records": [{"key": 1}]}

    with transaction.atomic():
        assert table.read_ids() == [1]  # the transaction holds a lock of a reader
        (response,) = run_together([lambda: table.call("create", **parameters)])

    assert check_error(response, 503) == {
        "message": "The resource is being read, and its indexes cannot change now. Try again."
    }
    assert table.read_state() == before
    table.run("create", **parameters)
    assert table.read_ids() == [1, 2]
