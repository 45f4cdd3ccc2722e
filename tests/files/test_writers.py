"""Loads of files into tables that the API writes to, before and meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.jobs import load_file
from datastore_search.contrib.files.models import LoadState
from datastore_search.database import statements

from ..builders import make_writer_token
from ..core.database.test_locks import LOCK_RESOURCE, hold_locks
from ..core.writing.tables import Table, make_stock
from ..core.writing.test_concurrency import check_counts, make_table, run_together
from .builders import load_csv, make_loaded_resource

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def table(db: None) -> Table:
    """A resource that does not exist yet, and the token of a user with all permissions."""
    return Table(make_writer_token())


# Written before -----------------------------------------------------------------------------------


def test_a_file_replaces_records_and_fields_and_keeps_key_and_aliases(table: Table) -> None:
    stock = make_stock(table)
    stock.run("create", fields=[{"id": "name", "info": {"label": "Name"}}, {"id": "more"}])

    load_csv(stock.resource, "name,code\npear,a\napple,b\n")

    assert stock.read_fields() == [
        {"id": "name", "type": "text", "info": {"label": "Name"}},
        {"id": "code", "type": "text"},
    ]
    assert stock.read_values("code", resource_id="stock") == ["a", "b"]
    assert stock.resource.primary_key == ["code"]
    assert "read-only" in stock.get_refusal("upsert", records=[{"code": "a"}])
    assert "same primary key" in str(
        stock.get_refusal("create", records=[{"code": "a"}], force=True)
    )
    stock.run("create", records=[{"code": "c"}], force=True)
    assert stock.count_records() == (3, 3)


# Written meanwhile --------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of 500 records of the same fields."""
    path = tmp_path / "file.csv"
    path.write_text("key,by\n" + "".join(f"{key},file\n" for key in range(500)))
    return path


def test_a_file_replaces_all_records_that_are_written_meanwhile(table: Table, path: Path) -> None:
    make_table(table)
    published = threading.Event()

    def write(writer: int) -> list[int]:
        statuses: list[int] = []
        turn = 0
        while 409 not in statuses and turn < 400:
            turn += 1
            response = table.call(
                "upsert", records=[{"key": key, "by": f"api {writer}"} for key in (turn, -turn)]
            )
            statuses.append(response.status_code)
            if response.status_code == 409:
                assert published.wait(30)
                assert set(response.json()["error"]) == {"__type", "read-only"}
        return statuses

    def load() -> list[int]:
        load_file(table.resource, path)
        published.set()
        return []

    jobs: list[Callable[[], list[int]]] = [load, partial(write, 1), partial(write, 2)]
    _none, *statuses = run_together(jobs)

    for answers in statuses:
        assert answers[-1] == 409
        assert set(answers[:-1]) <= {200}
    assert table.read_values("key") == list(range(500))
    assert set(table.read_values("by")) == {"file"}
    assert table.read_ids(q="api") == []
    assert table.resource.primary_key == ["key"]
    check_counts(table)


def test_forced_calls_meanwhile_are_stored_whole_or_not_at_all(table: Table, path: Path) -> None:
    make_table(table)
    published = threading.Event()

    def write(writer: int) -> int:
        turn, after = 0, 0
        while after < 3 and turn < 400:
            turn += 1
            after += published.is_set()
            key = writer * 100_000 + turn * 2
            table.insert(
                {"key": key, "by": f"w{writer}"}, {"key": key + 1, "by": f"w{writer}"}, force=True
            )
        return turn

    def load() -> int:
        load_file(table.resource, path)
        published.set()
        return 0

    jobs: list[Callable[[], int]] = [load, partial(write, 1), partial(write, 2)]
    turns = run_together(jobs)

    assert table.read_values("key")[:500] == list(range(500))
    for writer in (1, 2):
        keys = table.read_values("key", filters={"by": f"w{writer}"})
        last = writer * 100_000 + turns[writer] * 2 + 1
        assert len(keys) >= 6
        assert keys == list(range(last - len(keys) + 1, last + 1))
        assert len(keys) % 2 == 0
    check_counts(table)


def test_a_file_and_a_dropped_table_at_once_leave_the_file_or_nothing(
    table: Table, path: Path
) -> None:
    make_table(table)
    jobs: list[Callable[[], Any]] = [
        lambda: load_file(table.resource, path),
        lambda: table.call("delete", force=True).status_code,
        lambda: table.call("create", records=[{"key": -1}], force=True).status_code,
    ]

    _load, dropped, created = run_together(jobs)

    assert dropped in {200, 404}
    assert created == 200
    response = table.call("search", limit=1000)
    if response.status_code == 404:
        assert table.resource.table_version is None
    else:
        keys = table.read_values("key")
        assert keys in ([-1], list(range(500)), [*range(500), -1])
        check_counts(table)


def test_a_load_that_is_done_waits_for_a_writer_and_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statements, "WRITE_LOCK_TIMEOUT", timedelta(milliseconds=200))
    committed = make_loaded_resource()
    with ExitStack() as stack:
        stack.enter_context(hold_locks(LOCK_RESOURCE))
        timer = threading.Timer(1, stack.close)
        timer.start()
        started_at = time.monotonic()

        load_csv(committed, "code\nnew\n")

        timer.join(30)
    assert time.monotonic() - started_at > 0.7
    assert committed.table_version is not None
    assert committed.table_version.loads.get().state == LoadState.READY
    assert committed.table_version.record_count == 1
