"""A PostgreSQL that stops at once in each state of a load, while people search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..servers import OwnServer
from .holds import MOMENTS, Hold, copying_can_be_held, wait_for
from .workers import PROJECT, environment, work_off, working

_ROWS = 12_000

_BEGIN = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
import django
django.setup()
from django.core.files.base import ContentFile
from datastore_search.loading.jobs import clean_up_loads, retry, submit
from datastore_search.models import Load, Resource
def file(version, rows):
    return ContentFile(b"version,text\\n" + f"{version},river\\n".encode() * rows, name="file.csv")
"""

#: Creates a resource, and queues the load of its first file, or the next.
SUBMIT = """
version, rows = map(int, sys.argv[1:])
resource, _ = Resource.objects.get_or_create(name="served")
load = submit(resource, file=file(version, rows))
print(json.dumps({"resource": str(resource.pk), "load": load.pk, "upload": load.file.path}))
"""

RETRY = """
load = retry(Load.objects.get(pk=int(sys.argv[1])))
print(json.dumps({"load": load.pk}))
"""

#: Prints, after a clean-up, how a load has ended and which tables exist.
REPORT = """
from django.db import connection
from datastore_search import storage
clean_up_loads()
load = Load.objects.select_related("resource").get(pk=int(sys.argv[1]))
print(json.dumps({
    "state": load.state, "failure": load.failure and load.failure["code"], "rows": load.rows,
    "serves": load.resource.table_version_id,
    "tables": sorted(storage.list_record_tables(connection)),
}))
"""

#: Searches until it is ended, and prints what it found, or that there was no answer.
SEARCH = """
from django.test import Client
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
asked = [{}, {"q": "river"}, {"filters": {"text": "river"}}]
while True:
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


class Portal:
    """The example portal in processes of their own, on the server of the test."""

    def __init__(self, server: OwnServer, folder: Path) -> None:
        self.server = server
        self.uploads = folder / "uploads"
        self._environment = environment(server.url, self.uploads)

    def command(self, code: str, *arguments: object) -> list[str]:
        return [sys.executable, "-c", _BEGIN + code, *map(str, arguments)]

    def run(self, code: str, *arguments: object) -> dict[str, Any]:
        done = subprocess.run(
            self.command(code, *arguments), cwd=PROJECT, env=self._environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def searching(self, resource: str, path: Path) -> subprocess.Popen[Any]:
        with path.open("wb") as found:
            return subprocess.Popen(
                self.command(SEARCH, resource), cwd=PROJECT, env=self._environment, stdout=found,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    # The server of a test that runs as root is another user, who may not enter pytest's folders.
    with tempfile.TemporaryDirectory(prefix="own_") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = OwnServer(folder / "postgres")
        try:
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
                cwd=PROJECT, env={**os.environ, "DATABASE_URL": server.url}, check=True,
            )  # fmt: skip
            yield Portal(server, folder)
        finally:
            server.stop_immediately()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_that_stops_leaves_what_was_served_and_a_load_to_retry(
    portal: Portal, tmp_path: Path, moment: str
) -> None:
    server, uploads = portal.server, portal.uploads
    with copying_can_be_held(server.url):
        first = portal.run(SUBMIT, 0, 20)
        work_off(server.url, uploads)
        load = portal.run(SUBMIT, 1, _ROWS)
        found = tmp_path / "found"
        searching = portal.searching(first["resource"], found)
        hold = Hold(server.url, load["load"], Path(load["upload"]))
        try:
            with working(server.url, uploads) as worker, hold.at(moment) as reach:
                reach(lambda: worker.poll() is None)
                wait_for(
                    lambda: answers(found), "an answer", alive=lambda: searching.poll() is None
                )
                server.stop_immediately()
                server.start()
                asked = len(answers(found))
                wait_for(
                    lambda: answers(found)[asked + 10 :],
                    "an answer after the stop",
                    alive=lambda: searching.poll() is None,
                )
        finally:
            searching.kill()
            searching.wait()
        stopped = portal.run(REPORT, load["load"])
        again = portal.run(RETRY, load["load"])
        work_off(server.url, uploads)
        retried = portal.run(REPORT, again["load"])

    assert [answer for answer in answers(found) if answer not in (None, [[0], 20])] == []
    assert answers(found)[-1] == [[0], 20]
    assert stopped == {
        "state": "failed",
        "failure": stopped["failure"],
        "rows": stopped["rows"],
        "serves": first["load"],
        "tables": [first["load"]],
    }
    assert stopped["failure"] in {"load.database_lost", "load.interrupted"}
    assert retried == {
        "state": "ready",
        "failure": None,
        "rows": _ROWS,
        "serves": again["load"],
        "tables": [again["load"]],
    }


def answers(found: Path) -> list[Any]:
    """Read what was found so far, but for a line that is still being written."""
    return [
        json.loads(line) for line in found.read_text().splitlines(keepends=True) if "\n" in line
    ]
