"""Killed workers and cancelled loads, in each state of a load, during searches."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django_tasks_db.models import DBTaskResult

from datastore_search.contrib.files.jobs import (
    LoadOptions,
    cancel_load,
    clean_up_loads,
    cleanup,
    load_file,
    requeue_waiting_loads,
    retry_load,
    submit_load,
)
from datastore_search.contrib.files.jobs.drafts import create_draft
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Load, LoadState, Mode
from datastore_search.contrib.files.tables.locks import is_running
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource

from ...builders import search
from ...processes import DATABASE, IMMEDIATE, build_database_url, wait_until
from ...reader_threads import ReaderThreads
from ..builders import get_version_id
from .holds import MOMENTS, Hold, allow_holding_copies
from .workers import run_queued_tasks, run_worker

#: More rows than are copied over a single connection.
_ROWS = 10_100
_FEW_ROWS = 500

_WORD = "river"


def write_records(version: int, count: int) -> bytes:
    return "".join(["version,text\n", *[f"{version},{_WORD}\n"] * count]).encode()


class Searchers(ReaderThreads):
    """Search; each version has its own number of records, all with the version's number."""

    pause_seconds = 0.1
    #: First, replaced, and appended.
    expected = ({0}, 20), ({1}, _ROWS), ({1}, _FEW_ROWS), ({0}, 20 + _ROWS)

    def __init__(self, resource: Resource) -> None:
        super().__init__(count=2)
        self.seen: list[int] = []
        self._resource = resource

    def read_once(self) -> None:
        filters = {"text": _WORD}
        extras: tuple[dict[str, Any], ...] = ({}, {"q": _WORD}, {"filters": filters})
        for extra in extras:
            answer = search(Client(), self._resource, limit=20, **extra).json()
            result = answer.get("result")
            versions = {record["version"] for record in result["records"]} if result else None
            if versions is None or (versions, result["total"]) not in self.expected:
                self.errors.append(answer)
            else:
                self.seen += versions


@pytest.fixture
def served(
    transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Resource]:
    """A resource that is searched during the whole test; a worker runs tasks."""
    path = tmp_path / "first.csv"
    path.write_bytes(write_records(0, 20))
    settings.TASKS = DATABASE
    # Drop the tables that other tests have left.
    monkeypatch.setattr(cleanup, "RETENTION", timedelta(0))
    with allow_holding_copies(build_database_url()):
        resource = Resource.objects.create(name="served")
        load_file(resource, path)
        resource.refresh_from_db()
        with Searchers(resource) as searchers:
            yield resource
            searchers.done.wait(0.2)
        assert searchers.errors == []
        assert searchers.seen
        Resource.objects.all().delete()


def queue_load(resource: Resource, mode: Mode = Mode.REPLACE, rows: int = _ROWS) -> Load:
    return submit_load(
        resource,
        file=ContentFile(write_records(1, rows), name="second.csv"),
        options=LoadOptions(mode=mode.value),
    )


@contextmanager
def hold_load(load: Load, moment: str, uploads: Path) -> Iterator[Any]:
    """Hold a load of a worker in a state; it continues after the block, unless it was ended."""
    url = build_database_url()
    hold = Hold(url, load.pk, Path(load.file.path))
    with run_worker(url, uploads) as worker, hold.hold_at(moment) as reach:
        reach(lambda: worker.poll() is None)
        yield worker


def has_no_session(load: Load) -> bool:
    return not is_running(connection, load.pk)


def kill_worker(worker: Any, load: Load) -> None:
    """Kill a worker, and wait until the sessions of its load have ended."""
    worker.kill()
    worker.wait(60)
    wait_until(lambda: has_no_session(load), "the end of the sessions", alive=lambda: True)


def wait_for_end(load: Load, worker: Any) -> None:
    """Wait until a load and its sessions have ended, while its worker is alive."""

    def has_ended() -> bool:
        load.refresh_from_db()
        return load.is_finished and has_no_session(load)

    wait_until(has_ended, "the end of the load", alive=lambda: worker.poll() is None)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_worker_leaves_what_was_served_and_a_load_to_retry(
    served: Resource, uploads: Path, settings: Any, moment: str
) -> None:
    before = served.table_version_id
    load = queue_load(served)

    with hold_load(load, moment, uploads) as worker:
        kill_worker(worker, load)
    clean_up_loads()

    load.refresh_from_db()
    served.refresh_from_db()
    assert (load.state, load.error) == (LoadState.FAILED, str(LoadFailed("load.interrupted")))
    assert served.table_version_id == before
    assert list_record_tables(connection) == {before}

    settings.TASKS = IMMEDIATE
    again = retry_load(load)

    again.refresh_from_db()
    served.refresh_from_db()
    assert (again.state, again.record_count) == (LoadState.READY, _ROWS)
    assert served.table_version_id == get_version_id(again)
    assert not list(uploads.rglob("*.csv"))


@pytest.mark.slow
def test_the_next_task_of_a_worker_ends_a_load_that_was_cut_off(
    served: Resource, uploads: Path
) -> None:
    before = served.table_version_id
    load = queue_load(served)
    with hold_load(load, "copying", uploads) as worker:
        kill_worker(worker, load)
    other = queue_load(Resource.objects.create(name="other"))

    run_queued_tasks(build_database_url(), uploads)

    load.refresh_from_db()
    assert (load.state, load.error) == (LoadState.FAILED, str(LoadFailed("load.interrupted")))
    assert load.can_be_retried
    assert list_record_tables(connection) == {before, get_version_id(other)}


def test_a_load_whose_task_is_lost_is_queued_again(
    served: Resource, uploads: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load = queue_load(served, rows=_FEW_ROWS)
    take_all_tasks()

    call_command("datastore_cleanup")

    assert "Waiting loads that are queued again: 1." in capsys.readouterr().out
    run_queued_tasks(build_database_url(), uploads)
    load.refresh_from_db()
    assert (load.state, load.record_count) == (LoadState.READY, _FEW_ROWS)


class UnreachableStorage(FileSystemStorage):
    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        raise RuntimeError(f"{path} cannot be read")  # each storage has errors of its own


def test_a_storage_that_is_out_of_reach_does_not_end_the_clean_up(
    served: Resource, uploads: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"BACKEND": f"{__name__}.UnreachableStorage"}
    settings.STORAGES = {**settings.STORAGES, "datastore_search": own}
    queue_load(served, rows=_FEW_ROWS)
    take_all_tasks()

    call_command("datastore_cleanup")

    assert "Waiting loads that are queued again: 1." in capsys.readouterr().out


@pytest.mark.slow
def test_a_preview_whose_task_is_lost_is_queued_again(served: Resource, uploads: Path) -> None:
    draft = create_draft(served, LoadOptions(), url="https://portal.invalid/file.csv")
    take_all_tasks()

    assert [requeue_waiting_loads(), requeue_waiting_loads()] == [1, 1]

    run_queued_tasks(build_database_url(), uploads)
    draft.refresh_from_db()
    assert draft.preview is not None
    assert requeue_waiting_loads() == 0
    results = DBTaskResult.objects.filter(status="SUCCESSFUL").order_by("finished_at")
    assert [result.return_value for result in results] == ["draft", "gone"]


def take_all_tasks() -> None:
    """Take the tasks that are queued as a worker does that is killed at once."""
    assert DBTaskResult.objects.ready().update(status="RUNNING") == 1


@pytest.mark.slow
def test_a_load_that_is_queued_twice_runs_once(served: Resource, uploads: Path) -> None:
    load = queue_load(served, rows=_FEW_ROWS)
    assert requeue_waiting_loads() == 1

    run_queued_tasks(build_database_url(), uploads)

    load.refresh_from_db()
    assert load.state == LoadState.READY
    assert list_record_tables(connection) == {get_version_id(load)}
    assert list(DBTaskResult.objects.values_list("return_value", flat=True)) == ["ready", "ready"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["copying", "publishing"])
def test_a_load_is_cancelled_by_another_process(
    served: Resource, uploads: Path, moment: str
) -> None:
    before = served.table_version_id
    load = queue_load(served)

    with hold_load(load, moment, uploads) as worker:
        worker.send_signal(signal.SIGSTOP)  # it may check for a request just now
        try:
            assert cancel_load(load)
            assert load.state not in {LoadState.CANCELLED, LoadState.READY}
        finally:
            worker.send_signal(signal.SIGCONT)
        wait_for_end(load, worker)

    served.refresh_from_db()
    assert (load.state, load.error) == (LoadState.CANCELLED, "The load was cancelled.")
    assert served.table_version_id == before
    clean_up_loads()
    assert list_record_tables(connection) == {before}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["merging", "publishing"])
def test_what_is_added_is_added_wholly_or_not_at_all(
    served: Resource, uploads: Path, settings: Any, moment: str
) -> None:
    before = served.table_version_id
    load = queue_load(served, Mode.APPEND)

    with hold_load(load, moment, uploads) as worker:
        kill_worker(worker, load)
    clean_up_loads()
    load.refresh_from_db()
    assert load.state == LoadState.FAILED
    assert list_record_tables(connection) == {before}

    again = retry_load(load)
    with hold_load(again, moment, uploads) as worker:
        cancel_load(again)
        wait_for_end(again, worker)
    assert again.state == LoadState.CANCELLED

    settings.TASKS = IMMEDIATE
    last = retry_load(again)
    last.refresh_from_db()
    served.refresh_from_db()
    assert last.state == LoadState.READY
    assert served.table_version is not None
    assert (served.table_version.pk, served.table_version.record_count) == (before, 20 + _ROWS)


@pytest.mark.slow
def test_a_load_that_waits_for_another_is_cancelled_meanwhile(
    served: Resource, uploads: Path
) -> None:
    first = queue_load(served)

    with (
        hold_load(first, "indexing", uploads),
        run_worker(build_database_url(), uploads) as second_worker,
    ):
        second = queue_load(served)
        wait_until(
            lambda: Load.objects.filter(pk=second.pk, started_at__isnull=False).exists(),
            "the second load",
            alive=lambda: second_worker.poll() is None,
        )
        assert Load.objects.get(pk=second.pk).state == LoadState.QUEUED
        assert cancel_load(second)
        assert second.state == LoadState.CANCELLED
        wait_until(
            lambda: has_no_session(second), "its end", alive=lambda: second_worker.poll() is None
        )
        first.refresh_from_db()
        assert first.state == LoadState.INDEXING


@pytest.mark.slow
def test_a_load_whose_resource_is_deleted_ends(served: Resource, uploads: Path) -> None:
    resource = Resource.objects.create(name="deleted")
    load = queue_load(resource)
    upload = Path(load.file.path)

    with hold_load(load, "copying", uploads) as worker:
        Resource.objects.filter(pk=resource.pk).delete()
        wait_until(
            lambda: has_no_session(load), "the end of the load", alive=lambda: worker.poll() is None
        )

    clean_up_loads()
    assert list_record_tables(connection) == {served.table_version_id}
    assert not upload.exists()
