"""A PostgreSQL that stops at once in each state of a load, while people search."""

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

from datastore_search import storage
from datastore_search.loading.jobs import clean_up_loads, load_file, retry_load, submit_load
from datastore_search.models import LoadState, Resource

from ...deployment.portals import empty, migrate, portal_on
from ...deployment.servers import own_server
from ..servers import OwnServer
from .holds import MOMENTS, Hold, copying_can_be_held, wait_for
from .workers import DATABASE, IMMEDIATE, PROJECT, working

_ROWS = 12_000

#: Searches until it is ended, and prints what it found, or that there was no answer.
SEARCH = """
import json, os, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
import django
django.setup()
from django.test import Client
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
asked = [{}, {"q": "river"}, {"filters": {"text": "river"}}]
while True:
    time.sleep(0.05)
    for more in asked:
        answer = client.post(
            "/en/api/action/datastore_search",
            {"resource_id": sys.argv[1], "limit": 20, **more}, content_type="application/json",
        )
        found = answer.json().get("result") if answer.status_code == 200 else None
        print(json.dumps(found and [
            sorted({record["version"] for record in found["records"]}), found["total"]
        ]), flush=True)
"""


@pytest.fixture(scope="module")
def server(django_db_blocker: Any) -> Iterator[OwnServer]:
    with own_server() as server, django_db_blocker.unblock():
        with portal_on({"default": server.url}):
            migrate()
        yield server


@pytest.fixture
def portal(server: OwnServer, settings: Any) -> Iterator[OwnServer]:
    """The portal of this process on a server of the test's own; a worker runs its tasks."""
    settings.TASKS = DATABASE
    with portal_on({"default": server.url}), copying_can_be_held(server.url):
        try:
            yield server
        finally:
            empty()


@contextmanager
def searching(server: OwnServer, resource: Resource, path: Path) -> Iterator[subprocess.Popen[Any]]:
    """Let another process search a resource during the block, and write down what it finds."""
    with (
        path.open("wb") as found,
        subprocess.Popen(
            [sys.executable, "-c", SEARCH, str(resource.pk)], cwd=PROJECT,
            env={**os.environ, "DATABASE_URL": server.url}, stdout=found,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def records(version: int, count: int) -> bytes:
    return b"version,text\n" + f"{version},river\n".encode() * count


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_that_stops_leaves_what_was_served_and_a_load_to_retry(
    portal: OwnServer, settings: Any, uploads: Path, tmp_path: Path, moment: str
) -> None:
    resource, found = Resource.objects.create(name="served"), tmp_path / "found"
    (tmp_path / "first.csv").write_bytes(records(0, 20))
    load_file(resource, tmp_path / "first.csv")
    resource.refresh_from_db()
    before = resource.table_version_id
    load = submit_load(resource, file=ContentFile(records(1, _ROWS), name="second.csv"))
    hold = Hold(portal.url, load.pk, Path(load.file.path))

    with (
        searching(portal, resource, found) as searcher,
        working(portal.url, uploads) as worker,
        hold.at(moment) as reach,
    ):
        reach(lambda: worker.poll() is None)
        wait_for(lambda: answers(found), "an answer", alive=lambda: searcher.poll() is None)
        connection.close()
        portal.stop_immediately()
        portal.start()
        asked = len(answers(found))
        wait_for(
            lambda: answers(found)[asked + 10 :],
            "an answer after the stop",
            alive=lambda: searcher.poll() is None,
        )
    clean_up_loads()

    assert [answer for answer in answers(found) if answer not in (None, [[0], 20])] == []
    assert answers(found)[-1] == [[0], 20]
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


def answers(found: Path) -> list[Any]:
    """Read what was found so far, but for a line that is still being written."""
    return [
        json.loads(line) for line in found.read_text().splitlines(keepends=True) if "\n" in line
    ]
