"""A portal on a coordinator with two workers: loads, writes, moves, workers that come and go."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from benchmarks.scale.citus import Cluster, Node
from datastore_search.contrib.files.models import LoadState, Mode
from datastore_search.database.statements import execute, fetch_value
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource, TableVersion
from datastore_search.web.tokens import issue_token

from ..builders import act, ask, get_result, make_user
from ..deployment.portals import check_reads
from ..files.builders import load_text

pytestmark = pytest.mark.usefixtures("portal")


def write_csv(first: int, count: int, text: str) -> str:
    rows = "".join(f"{number},{text} {number}\n" for number in range(first, first + count))
    return f"key,text\n{rows}"


def search(resource: Resource, **parameters: Any) -> dict[str, Any]:
    return get_result(ask(Client(), {"resource_id": str(resource.pk), **parameters}))


def find_worker(cluster: Cluster, resource: Resource) -> Node:
    resource.refresh_from_db()
    port = fetch_value(
        connection,
        "SELECT nodeport FROM citus_shards WHERE table_name = %s::regclass",
        [f"datastore_search_record_{resource.table_version_id}"],
    )
    return next(node for node in cluster.workers if node.port == port)


def place_on(cluster: Cluster, worker: Node, resource: Resource) -> None:
    """Load a resource until its table is on a worker."""
    for _attempt in range(4):
        load_text(resource, write_csv(0, 50, "river"), key=("key",), force=True)
        if find_worker(cluster, resource) is worker:
            return
    raise AssertionError("no table was placed on the worker")


def test_every_kind_of_load_and_write() -> None:
    resource = Resource.objects.create(name="rivers")
    token = issue_token(make_user("writer", is_superuser=True))
    load_text(resource, write_csv(0, 30_000, "river"), key=("key",))
    load_text(resource, write_csv(30_000, 10, "lake"), Mode.APPEND)
    load_text(resource, write_csv(29_990, 15, "sea"), Mode.UPSERT)
    same = load_text(resource, write_csv(29_990, 15, "sea"), Mode.UPSERT)
    assert same.state == LoadState.UNCHANGED
    sent = {"resource_id": str(resource.pk), "force": True}
    changes = {"records": [{"key": 5, "text": "pond"}, {"key": 40_000, "text": "pond"}]}
    get_result(act(Client(), "datastore_upsert", {**sent, **changes}, token))
    gone = {"filters": {"key": {"lt": 3}}}
    act(Client(), "datastore_records_delete", {**sent, **gone}, token)

    assert search(resource)["total"] == 30_008
    assert search(resource, q="sea")["total"] == 15
    found = search(resource, q="pond", sort="key desc")["records"]
    assert [record["key"] for record in found] == [40_000, 5]
    assert search(resource, limit=1, sort="key")["records"][0]["key"] == 3
    assert TableVersion.objects.get().is_placed
    assert list_record_tables(connection) == {TableVersion.objects.get().pk}


def test_a_call_makes_a_table_and_fills_it_beyond_the_size_of_small_ones() -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    records = [{"k": number, "text": f"river {number} " + "x" * 300} for number in range(5_000)]
    sent = {"resource": {"name": "large"}, "primary_key": ["k"], "records": records}
    answer = act(Client(), "datastore_create", sent, token)
    created = get_result(answer)

    resource = Resource.objects.get(pk=created["resource_id"])
    assert search(resource, q="river", filters={"k": 17})["total"] == 1
    statement = "SELECT count(*) FROM pg_index WHERE indrelid = %s::regclass"
    name = f"datastore_search_record_{resource.table_version_id}"
    assert fetch_value(connection, statement, [name]) == 4  # _id, the key, values, words
    parameters = {"id": str(resource.pk)}
    info = get_result(act(Client(), "datastore_info", parameters))
    assert info["meta"]["size"] > 10**6 < info["meta"]["idx_size"]


def test_every_action_page_and_dump_reads_it() -> None:
    resource = Resource.objects.create(name="read")
    load_text(resource, "code,text\na,river\nb,lake\n")
    check_reads(resource)


def test_doctor_and_clean_up(capsys: Any) -> None:
    resource = Resource.objects.create(name="checked")
    load_text(resource, write_csv(0, 5_000, "river"))
    second = load_text(resource, write_csv(0, 100, "lake"))
    call_command("datastore_cleanup", verbosity=0)
    call_command("datastore_doctor")

    assert "checked" not in capsys.readouterr().out
    assert list_record_tables(connection) == {second.table_version_id}
    resource.delete()
    assert list_record_tables(connection) == set()
    left = "SELECT count(*) FROM citus_tables WHERE table_name::text LIKE 'datastore_search_rec%'"
    assert fetch_value(connection, left) == 0


def test_an_installation_moves_while_it_is_read(settings: Any) -> None:
    settings.DATASTORE_SEARCH_PLACEMENT = ""
    resource = Resource.objects.create(name="moved")
    load_text(resource, write_csv(0, 20_000, "river"), key=("key",))
    expected = search(resource, q="river", limit=50, sort="key desc")

    for setting in ("citus", ""):
        settings.DATASTORE_SEARCH_PLACEMENT = setting
        with read_meanwhile(resource) as answers:
            call_command("datastore_move", verbosity=0)
        assert set(answers) == {(200, 20_000)}
        assert TableVersion.objects.get().is_placed == bool(setting)
        assert search(resource, q="river", limit=50, sort="key desc") == expected


def test_a_worker_is_added_and_tables_move_to_it(cluster: Cluster, third_worker: Node) -> None:
    resources = [Resource.objects.create(name=f"table-{number}") for number in range(6)]
    for resource in resources:
        load_text(resource, write_csv(0, 2_000, "river"), key=("key",))
        resource.refresh_from_db()
    third_worker.create_database("portal")
    with read_meanwhile(resources[0]) as answers:
        cluster.add_worker(third_worker, "portal")
        cluster.coordinator.run(
            "SELECT rebalance_table_shards(shard_transfer_mode => 'force_logical')", "portal"
        )
        cluster.coordinator.run(
            "SELECT citus_move_shard_placement(shardid, nodename, nodeport, '127.0.0.1',"
            f" {third_worker.port}, 'force_logical') FROM citus_shards WHERE table_name ="
            f" 'datastore_search_record_{resources[0].table_version_id}'::regclass"
            f" AND nodeport <> {third_worker.port}",
            "portal",
        )
    assert set(answers) == {(200, 2_000)}
    token = issue_token(make_user("mover", is_superuser=True))
    change = {"records": [{"key": 1, "text": "pond"}], "force": True}
    sent = {"resource_id": str(resources[0].pk), **change}
    assert act(Client(), "datastore_upsert", sent, token).status_code == 200
    assert search(resources[0], q="pond")["total"] == 1
    for resource in resources:
        resource.delete()
    cluster.coordinator.run(f"SELECT citus_remove_node('127.0.0.1', {third_worker.port})", "portal")


def test_a_dead_worker_fails_its_own_tables_and_comes_back(cluster: Cluster) -> None:
    token = issue_token(make_user("writer", is_superuser=True))
    dead, alive = cluster.workers
    resources = {}
    for name, worker in (("dead", dead), ("alive", alive)):
        resources[name] = Resource.objects.create(name=name)
        place_on(cluster, worker, resources[name])

    def write(name: str) -> int:
        change = {"records": [{"key": 1, "text": "pond"}], "force": True}
        sent = {"resource_id": str(resources[name].pk), **change}
        status: int = act(Client(), "datastore_upsert", sent, token).status_code
        return status

    def read(name: str) -> int:
        status: int = ask(Client(), {"resource_id": str(resources[name].pk)}).status_code
        return status

    dead.kill()
    try:
        assert (read("alive"), write("alive"), read("dead"), write("dead")) == (200, 200, 503, 503)
        assert search(resources["alive"], q="pond")["total"] == 1
    finally:
        dead.start()
    assert (read("dead"), write("dead")) == (200, 200)
    assert search(resources["dead"], q="pond")["total"] == 1
    connection.close()  # Citus keeps a broken connection to the worker, and drops no table by it


def test_readers_beside_a_writer_see_whole_versions() -> None:
    resource = Resource.objects.create(name="changing")
    load_text(resource, write_csv(0, 200, "v0"), key=("key",))
    wrong: list[Any] = []
    counts: Counter[str] = Counter()
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            answer = ask(Client(), {"resource_id": str(resource.pk), "limit": 500})
            counts[str(answer.status_code)] += 1
            if answer.status_code == 200:
                result = answer.json()["result"]
                texts = {record["text"].split()[0] for record in result["records"]}
                if len(texts) != 1 or result["total"] != len(result["records"]) != 200:
                    wrong.append((texts, result["total"], len(result["records"])))
        connection.close()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 16):
        load_text(resource, write_csv(0, 200, f"v{number}"), Mode.UPSERT)
    ended.set()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert counts["200"] > 50
    assert set(counts) <= {"200", "503"}


def test_a_change_commits_in_two_phases(cluster: Cluster) -> None:
    resource = Resource.objects.create(name="phases")
    load_text(resource, write_csv(0, 10, "river"))
    with logged_statements(cluster, resource) as read_log:
        Resource.objects.filter(pk=resource.pk).update(title="Phases")
        assert (read_log().count("PREPARE TRANSACTION"), read_log().count("COMMIT PREPARED")) == (
            1,
            1,
        )
        load_text(resource, write_csv(10, 10, "lake"), Mode.APPEND)
        assert read_log().count("PREPARE TRANSACTION") == read_log().count("COMMIT PREPARED") > 1


@contextmanager
def logged_statements(cluster: Cluster, resource: Resource) -> Iterator[Callable[[], str]]:
    """Let the worker of a resource log its statements."""
    worker = find_worker(cluster, resource)
    log = worker.folder / "log"
    size = log.stat().st_size
    worker.run("ALTER SYSTEM SET log_statement = 'all'")
    worker.run("SELECT pg_reload_conf()")
    execute(connection, "SELECT run_command_on_workers('SELECT 1')")
    try:

        def read_log() -> str:
            return log.read_bytes()[size:].decode()

        yield read_log
    finally:
        worker.run("ALTER SYSTEM RESET log_statement")
        worker.run("SELECT pg_reload_conf()")


@contextmanager
def read_meanwhile(resource: Resource) -> Iterator[list[tuple[int, int]]]:
    """Search again and again during the block; note the status and the total of each answer."""
    answers: list[tuple[int, int]] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            answer = ask(Client(), {"resource_id": str(resource.pk), "limit": 5})
            total = answer.json()["result"]["total"] if answer.status_code == 200 else 0
            answers.append((answer.status_code, total))
        connection.close()

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield answers
    finally:
        ended.set()
        thread.join()
