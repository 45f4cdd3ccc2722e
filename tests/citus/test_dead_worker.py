"""A dead worker: what works for tables of the other ones, and that nothing is done by halves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from benchmarks.scale.citus import Cluster, Node
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Mode
from datastore_search.database.statements import execute, fetch_value
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..builders import act, check_error, get_result, make_user
from ..files.builders import load_text
from .test_cluster import place_on, search, write_csv

pytestmark = pytest.mark.usefixtures("portal")


class Writer:
    """A client that writes, and expects 200 or 503."""

    def __init__(self) -> None:
        self.token = issue_token(make_user("writer", is_superuser=True))

    def act(self, action: str, resource: Resource, **sent: Any) -> int:
        return self.send(action, {"resource_id": str(resource.pk), "force": True, **sent})[0]

    def send(self, action: str, sent: dict[str, Any]) -> tuple[int, Any]:
        answer = act(Client(), action, sent, self.token)
        if answer.status_code == 200:
            return 200, answer.json()["result"]
        check_error(answer, 503)
        assert answer["Retry-After"]
        return 503, None


@pytest.fixture
def writer(portal: None) -> Writer:
    return Writer()


@pytest.fixture
def resources(cluster: Cluster, portal: None) -> dict[str, Resource]:
    """Resources on the worker that dies, and on the other one."""
    dead, alive = cluster.workers
    names = {"lost": dead, "indexed": alive, "merged": alive, "replaced": alive, "deleted": alive}
    made = {}
    for name, worker in names.items():
        made[name] = Resource.objects.create(name=name)
        place_on(cluster, worker, made[name])
    return made


@pytest.fixture
def dead(cluster: Cluster, resources: dict[str, Resource]) -> Iterator[Node]:
    """A worker that has died."""
    worker = cluster.workers[0]
    worker.kill()
    try:
        yield worker
    finally:
        if not is_running(worker):
            worker.start()
        connection.close()
        told = f"SELECT start_metadata_sync_to_node('127.0.0.1', {worker.port})"
        cluster.coordinator.run(told, "portal")


def is_running(node: Node) -> bool:
    return node.process is not None and node.process.poll() is None


@pytest.fixture
def told(cluster: Cluster, dead: Node) -> Node:
    """A worker that has died, as Citus was told."""
    call = f"SELECT stop_metadata_sync_to_node('127.0.0.1', {dead.port}, false)"
    cluster.coordinator.run(call, "portal")
    return dead


def test_all_that_concerns_live_workers_works_once_citus_is_told(
    told: Node, writer: Writer, resources: dict[str, Resource]
) -> None:
    indexed, deleted = resources["indexed"], resources["deleted"]
    assert writer.act("datastore_create", indexed, indexes=["text"]) == 200
    assert writer.act("datastore_create", indexed, primary_key=["key", "text"]) == 200
    assert writer.act("datastore_upsert", indexed, records=[{"key": 1, "text": "pond"}]) == 200
    for number in range(4):  # Citus would place each second one on the dead worker
        new = {"resource": {"name": f"new-{number}"}, "records": [{"k": 1}]}
        status, created = writer.send("datastore_create", new)
        assert status == 200
        assert search(Resource.objects.get(pk=created["resource_id"]))["total"] == 1
        load_text(resources["replaced"], write_csv(number, 60, "sea"))
    load_text(resources["merged"], write_csv(40, 20, "lake"), Mode.UPSERT)
    load_text(resources["merged"], write_csv(100, 20, "lake"), Mode.APPEND)
    assert writer.act("datastore_delete", deleted) == 200
    Resource.objects.get(pk=created["resource_id"]).delete()

    assert search(indexed)["total"] == 51
    assert search(resources["replaced"], q="sea")["total"] == 60
    assert search(resources["merged"], q="lake")["total"] == 40
    served = set(
        Resource.objects.exclude(table_version=None).values_list("table_version", flat=True)
    )
    assert list_record_tables(connection) == served


def test_what_fails_before_citus_is_told_has_done_nothing(
    dead: Node, writer: Writer, resources: dict[str, Resource], cluster: Cluster
) -> None:
    alive = resources["indexed"]
    before, count = search(alive, sort="key"), Resource.objects.count()

    def describe() -> Any:
        info = act(Client(), "datastore_info", {"id": str(alive.pk)})
        return get_result(info)["fields"]

    fields = describe()
    assert writer.act("datastore_create", alive, indexes=["text"]) == 503
    assert writer.act("datastore_create", alive, primary_key=["key", "text"]) == 503
    for number in range(2):
        new = {"resource": {"name": f"new-{number}"}, "records": [{"k": 1}]}
        assert writer.send("datastore_create", new)[0] == 503
    for mode in (Mode.REPLACE, Mode.APPEND):
        with pytest.raises(LoadFailed, match="database was lost"):
            load_text(alive, write_csv(500, 20, "sea"), mode, force=True)
    assert (search(alive, sort="key"), describe()) == (before, fields)
    assert Resource.objects.count() == count
    assert writer.act("datastore_upsert", alive, records=[{"key": 1, "text": "pond"}]) == 200
    # Nothing serves the table, and a clean-up drops it once that is possible.
    assert writer.act("datastore_delete", resources["deleted"]) == 200
    lost = resources["lost"]
    for action, sent in (
        ("datastore_upsert", {"records": [{"key": 1, "text": "pond"}]}),
        ("datastore_records_delete", {"filters": {"key": 1}}),
        ("datastore_delete", {}),
    ):
        assert writer.act(action, lost, **sent) == 503
    call_command("datastore_cleanup", verbosity=0)

    dead.start()
    connection.close()
    assert search(lost)["total"] == 50
    call_command("datastore_cleanup", verbosity=0)
    served = set(
        Resource.objects.exclude(table_version=None).values_list("table_version", flat=True)
    )
    assert list_record_tables(connection) == served


def test_the_doctor_names_the_dead_worker_and_goes_on(
    dead: Node, resources: dict[str, Resource], capsys: pytest.CaptureFixture[str]
) -> None:
    table = f"datastore_search_record_{resources['merged'].table_version_id}"
    execute(
        connection,
        "UPDATE datastore_search_tableversion SET record_count = 7 WHERE id = %s",
        [resources["merged"].table_version_id],
    )
    with pytest.raises(CommandError):
        call_command("datastore_doctor", count=True)

    printed = capsys.readouterr().out
    assert f"worker.unreachable 127.0.0.1:{dead.port}: The worker does not answer." in printed
    assert f"stop_metadata_sync_to_node('127.0.0.1', {dead.port}, false)" in printed
    assert f"table.unreachable {resources['lost'].pk}: " in printed
    assert f"count.wrong {resources['merged'].pk}: There are 50 records" in printed
    assert fetch_value(connection, "SELECT to_regclass(%s) IS NOT NULL", [table])


def test_a_move_goes_on_with_the_tables_of_live_workers(
    told: Node, resources: dict[str, Resource], settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.DATASTORE_SEARCH_PLACEMENT = ""
    with pytest.raises(CommandError, match="1 resources were not moved"):
        call_command("datastore_move")
    assert "lost: " in capsys.readouterr().err
    placed = Resource.objects.filter(table_version__is_placed=True)
    assert [resource.name for resource in placed] == ["lost"]
