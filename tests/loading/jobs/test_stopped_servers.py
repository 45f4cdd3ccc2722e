"""A PostgreSQL that stops immediately in each state of a load, during searches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from benchmarks.throwaway_postgres import ThrowawayServer
from datastore_search import storage
from datastore_search.loading.jobs import clean_up_loads, load_file, retry_load, submit_load
from datastore_search.models import LoadState, Resource

from ...deployment.portals import empty_portal, migrate_portal, use_databases
from ...deployment.servers import run_own_server
from .holds import TEXT_FOR_POSTGRESQL, Hold, allow_holding_copies, wait_until
from .workers import DATABASE, IMMEDIATE, PROJECT, run_worker

_ROWS = 12_000

#: Searches until it is killed; prints versions and total of each answer, or null for a failure.
SEARCH = """
import json, os, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
import django
django.setup()
from django.test import Client
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
queries = [{}, {"q": "river"}, {"filters": {"text": "river 川"}}]
while True:
    time.sleep(0.05)
    for query in queries:
        answer = client.post(
            "/en/api/action/datastore_search",
            {"resource_id": sys.argv[1], "limit": 20, **query}, content_type="application/json",
        )
        result = answer.json().get("result") if answer.status_code == 200 else None
        print(json.dumps(result and [
            sorted({record["version"] for record in result["records"]}), result["total"]
        ]), flush=True)
"""


@pytest.fixture(scope="module")
def server(django_db_blocker: Any) -> Iterator[ThrowawayServer]:
    with run_own_server() as server, django_db_blocker.unblock():
        with use_databases({"default": server.url}):
            migrate_portal()
        yield server


@pytest.fixture
def portal(server: ThrowawayServer, settings: Any) -> Iterator[ThrowawayServer]:
    """The portal of this process on a separate server; a worker runs its tasks."""
    settings.TASKS = DATABASE
    with use_databases({"default": server.url}), allow_holding_copies(server.url):
        try:
            yield server
        finally:
            empty_portal()


@contextmanager
def run_searches(
    server: ThrowawayServer, resource: Resource, path: Path
) -> Iterator[subprocess.Popen[Any]]:
    """Search a resource in another process within the block; write the answers into a file."""
    with (
        path.open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-c", SEARCH, str(resource.pk)], cwd=PROJECT,
            env={**os.environ, "DATABASE_URL": server.url}, stdout=log,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def write_records(version: int, count: int) -> bytes:
    return b"version,text\n" + f"{version},{TEXT_FOR_POSTGRESQL}\n".encode() * count


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["copying", "publishing"])
def test_a_server_that_stops_leaves_what_was_served_and_a_load_to_retry(
    portal: ThrowawayServer, settings: Any, uploads: Path, tmp_path: Path, moment: str
) -> None:
    resource, log = Resource.objects.create(name="served"), tmp_path / "answers"
    (tmp_path / "first.csv").write_bytes(write_records(0, 20))
    load_file(resource, tmp_path / "first.csv")
    resource.refresh_from_db()
    before = resource.table_version_id
    load = submit_load(resource, file=ContentFile(write_records(1, _ROWS), name="second.csv"))
    hold = Hold(portal.url, load.pk, Path(load.file.path))

    with (
        run_searches(portal, resource, log) as searcher,
        run_worker(portal.url, uploads) as worker,
        hold.hold_at(moment) as reach,
    ):
        reach(lambda: worker.poll() is None)
        wait_until(lambda: read_answers(log), "an answer", alive=lambda: searcher.poll() is None)
        connection.close()
        portal.stop_immediately()
        portal.start()
        count = len(read_answers(log))
        wait_until(
            lambda: read_answers(log)[count + 10 :],
            "an answer after the stop",
            alive=lambda: searcher.poll() is None,
        )
    clean_up_loads()

    assert [answer for answer in read_answers(log) if answer not in (None, [[0], 20])] == []
    assert read_answers(log)[-1] == [[0], 20]
    load.refresh_from_db()
    resource.refresh_from_db()
    assert load.state == LoadState.FAILED
    assert load.failure is not None
    assert load.failure["code"] in {"load.database_lost", "load.interrupted"}
    assert resource.table_version_id == before
    assert storage.list_record_tables(connection) == {before}

    settings.TASKS = IMMEDIATE
    again = retry_load(load)

    again.refresh_from_db()
    resource.refresh_from_db()
    assert (again.state, again.failure, again.record_count) == (LoadState.READY, None, _ROWS)
    assert resource.table_version is not None
    assert (resource.table_version.load_id, resource.table_version.record_count) == (
        again.pk,
        _ROWS,
    )
    assert storage.list_record_tables(connection) == {resource.table_version_id}


def read_answers(log: Path) -> list[Any]:
    """Read the answers so far, without a line that is not complete."""
    return [json.loads(line) for line in log.read_text().splitlines(keepends=True) if "\n" in line]
