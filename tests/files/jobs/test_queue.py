"""Loads as jobs: queued, monitored, cancelled, retried, completed, cleaned up."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from datastore_search.contrib.files.jobs import (
    LoadOptions,
    cancel_load,
    clean_up_loads,
    load_file,
    queue,
    retry_load,
    runner,
    submit_load,
)
from datastore_search.contrib.files.jobs.runner import JobMonitor
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import (
    Load,
    LoadState,
    StoredDownload,
    get_upload_storage,
)
from datastore_search.contrib.files.publishing import publish
from datastore_search.contrib.files.signals import load_failed, resource_loaded
from datastore_search.contrib.files.sources import fetching as sources
from datastore_search.contrib.files.tables import filling
from datastore_search.contrib.files.tables.filling import create_indexes
from datastore_search.database.indexes import analyze_records
from datastore_search.database.statements import execute, fetch_value, is_connection_lost
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource

from ...processes import DATABASE, wait_until
from ...test_logging import collect_lines
from ..builders import fails_with, list_files, make_loaded_resource

pytestmark = pytest.mark.usefixtures("no_tables_of_others")

CSV = b"a,b\n1,x\n2,y\n"


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Resource]:
    """A resource in a test whose transactions are real."""
    yield make_loaded_resource("a\n0\n")
    Resource.objects.all().delete()


def build_upload(content: bytes = CSV) -> ContentFile:
    return ContentFile(content, name="file.csv")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.csv"
    path.write_bytes(CSV)
    return path


@pytest.fixture
def waiting(db: None, uploads: Path, settings: Any) -> Load:
    """A load of an upload that waits for its worker."""
    settings.TASKS = DATABASE
    return submit_load(Resource.objects.create(name="r"), file=build_upload())


# Queueing -----------------------------------------------------------------------------------------


def test_an_upload_is_loaded_at_once_without_a_worker_and_then_deleted(
    db: None, uploads: Path, django_capture_on_commit_callbacks: Any
) -> None:
    resource = Resource.objects.create(name="r")

    with django_capture_on_commit_callbacks(execute=True):
        load = submit_load(resource, file=build_upload(), options=LoadOptions(types={"a": "text"}))
    load.refresh_from_db()

    assert (load.state, load.record_count, load.source) == (LoadState.READY, 2, "file.csv")
    assert load.checksum == sha256(CSV).hexdigest()
    assert not load.file
    assert list_files(uploads) == []
    assert [field.type for field in resource.fields.all()] == ["text", "text"]


def test_an_upload_waits_for_its_worker_under_a_name_that_cannot_be_guessed(
    waiting: Load, uploads: Path
) -> None:
    (path,) = list_files(uploads)
    state = (waiting.state, waiting.started_at, waiting.percentage)
    assert state == (LoadState.QUEUED, None, None)
    assert path.read_bytes() == CSV
    assert path.suffix == ".csv"
    assert "file" not in path.stem
    assert len(path.stem) > 30
    with fails_with("load.not_retryable"):
        retry_load(waiting)


def test_nothing_is_queued_before_the_transaction_is_committed(
    committed: Resource, settings: Any
) -> None:
    from django_tasks_db.models import DBTaskResult  # noqa: PLC0415 - once the app is installed

    settings.TASKS = DATABASE

    with transaction.atomic():
        load = submit_load(committed, file=build_upload())
        assert not DBTaskResult.objects.exists()
    (task,) = DBTaskResult.objects.all()

    assert task.args_kwargs["args"] == [load.pk]
    assert task.task_path == "datastore_search.contrib.files.jobs.tasks.run_load"


def test_a_load_that_cannot_be_queued_fails(db: None, settings: Any) -> None:
    settings.DATASTORE_SEARCH_TASKS_BACKEND = "nowhere"

    load = submit_load(Resource.objects.create(name="r"), file=build_upload())

    assert load.state == LoadState.FAILED
    assert "could not be queued" in load.error
    assert load.can_be_retried


def test_a_missing_file_fails_the_load(waiting: Load, uploads: Path) -> None:
    list_files(uploads)[0].unlink()

    with fails_with("file.missing"):
        runner.run_load(waiting)

    expected = (LoadState.FAILED, str(LoadFailed("file.missing")))
    assert (waiting.state, waiting.error) == expected


def test_uploads_have_a_storage_of_their_own_where_the_portal_names_one(settings: Any) -> None:
    own = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "datastore_search": own}

    assert isinstance(get_upload_storage(), InMemoryStorage)


# Sources ------------------------------------------------------------------------------------------


def build_stored_file(content: bytes) -> Any:
    """Build a file of a storage that is not on this machine's disk."""
    elsewhere = InMemoryStorage()
    elsewhere.save("file.csv", ContentFile(content))
    return elsewhere.open("file.csv")


def build_temporary_file(content: bytes) -> TemporaryUploadedFile:
    file = TemporaryUploadedFile("file.csv", "text/csv", len(content), None)
    file.write(content)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "build_file",
    [
        build_upload,
        build_stored_file,
        build_temporary_file,
        lambda content: SimpleUploadedFile("file.csv", content),
    ],
)
def test_every_kind_of_django_file_is_copied_with_its_digest(
    tmp_path: Path, build_file: Callable[[bytes], Any]
) -> None:
    content = CSV * 500_000
    reported: list[tuple[int, int | None]] = []
    file = build_file(content)

    source = sources.copy_source(
        file, tmp_path, report_progress=lambda done, total: reported.append((done, total))
    )

    assert source.path.read_bytes() == content
    assert (source.name, source.checksum) == ("file.csv", sha256(content).hexdigest())
    assert reported[-1] == (len(content), len(content))
    assert len(reported) > 3


def test_the_file_of_another_model_is_copied_and_stays(committed: Resource) -> None:
    storage = get_upload_storage()
    document = StoredDownload(file=storage.save("documents/file.csv", ContentFile(CSV)))

    load = submit_load(committed, file=document.file)
    document.file.close()

    assert (load.state, load.record_count) == (LoadState.READY, 2)
    assert storage.exists("documents/file.csv")


# Retrying -----------------------------------------------------------------------------------------


def test_a_failed_load_is_retried_with_its_file_and_options(resource: Resource) -> None:
    options = LoadOptions(types={"a": "text"}, bad_rows="skip", drop_missing_fields=True)
    first = submit_load(resource, file=build_upload(b""), options=options)
    assert (first.state, first.error) == (LoadState.FAILED, str(LoadFailed("file.empty")))
    Path(first.file.path).write_bytes(CSV)

    second = retry_load(first)

    assert (second.state, second.record_count, second.source) == (LoadState.READY, 2, "file.csv")
    assert LoadOptions.from_json(second.options) == options
    assert not first.can_be_retried
    with fails_with("load.not_retryable"):
        retry_load(first)


# Cancelling ---------------------------------------------------------------------------------------


def test_a_load_that_waits_is_cancelled_at_once_and_never_runs(waiting: Load) -> None:
    assert cancel_load(waiting)
    runner.run_load(Load.objects.get(pk=waiting.pk))

    waiting.refresh_from_db()
    error = str(LoadFailed("load.cancelled"))
    assert (waiting.state, waiting.error) == (LoadState.CANCELLED, error)
    assert waiting.can_be_retried
    assert not cancel_load(waiting)


def test_a_load_that_is_ready_is_not_cancelled(resource: Resource) -> None:
    load = Load.objects.get(resource=resource)

    assert not cancel_load(load)

    assert load.state == LoadState.READY
    assert not load.cancel_requested_at


def test_statements_of_duckdb_are_interrupted(
    committed: Resource, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    def run_endless_query(table: Any, *_arguments: object) -> None:
        load = committed.loads.latest("pk")
        threading.Thread(target=cancel_in_thread, args=[load]).start()
        table.connection.execute("SELECT sum(a.range) FROM range(100000000) a, range(100000000) b")

    monkeypatch.setattr(runner, "publish_table", lambda _l, table, *_: run_endless_query(table))

    with fails_with("load.cancelled"):
        load_file(committed, path)

    load = committed.loads.latest("pk")
    assert load.state == LoadState.CANCELLED
    assert load.cancel_requested_at is not None


def cancel_in_thread(load: Load) -> None:
    try:
        cancel_load(load)
    finally:
        connection.close()


def test_a_load_that_is_cancelled_at_the_last_moment_is_not_published(
    resource: Resource, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resource.table_version_id
    enter_state = JobMonitor.enter_state

    def cancel_when_ready(monitor: JobMonitor, state: LoadState) -> None:
        if state == LoadState.READY:
            Load.objects.filter(pk=monitor.load.pk).update(cancel_requested_at=timezone.now())
        enter_state(monitor, state)

    monkeypatch.setattr(JobMonitor, "enter_state", cancel_when_ready)

    with fails_with("load.cancelled"):
        load_file(resource, path, options=LoadOptions(drop_missing_fields=True))

    resource.refresh_from_db()
    assert resource.table_version_id == before
    assert list_record_tables(connection) == {before}


def test_a_load_whose_file_is_replaced_while_it_is_read_is_cancelled(
    resource: Resource,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lose_file(load: Load, *_arguments: object) -> None:
        Load.objects.filter(pk=load.pk).update(cancel_requested_at=timezone.now())
        raise FileNotFoundError

    monkeypatch.setattr(runner, "publish_table", lose_file)

    with fails_with("load.cancelled"):
        load_file(resource, path)

    assert resource.loads.latest("pk").state == LoadState.CANCELLED
    assert not caplog.records


# Progress -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "progress", "percentage", "remaining"),
    [
        (LoadState.QUEUED, 0.0, None, None),
        (LoadState.READING, 0.0, None, None),
        (LoadState.READING, 0.1, 10, None),
        (LoadState.COPYING, 0.25, 25, timedelta(seconds=30)),
        (LoadState.INDEXING, 0.999, 99, timedelta(milliseconds=10)),
        (LoadState.INDEXING, 1.0, 99, timedelta(0)),
        (LoadState.READY, 1.0, 100, None),
        (LoadState.FAILED, 0.5, None, None),
    ],
)
def test_the_remaining_time_is_estimated_from_the_progress(
    state: LoadState, progress: float, percentage: int | None, remaining: timedelta | None
) -> None:
    now = timezone.now()
    load = Load(
        state=state, progress=progress, started_at=now, heartbeat_at=now + timedelta(seconds=10)
    )

    assert load.percentage == percentage
    if remaining is None:
        assert load.remaining is None
    else:
        assert load.remaining is not None
        assert abs(load.remaining - remaining) < timedelta(milliseconds=1)


# Failing ------------------------------------------------------------------------------------------


def chain_error(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (psycopg.OperationalError("the server closed the connection"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CrashShutdown(), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (chain_error(DatabaseError(), psycopg.OperationalError()), True),
        (psycopg.errors.QueryCanceled(), False),
        (psycopg.errors.DiskFull(), False),
        (psycopg.errors.UniqueViolation(), False),
        (duckdb.IOException(), False),
        (OSError(), False),
    ],
)
def test_a_lost_connection_is_distinguished_from_an_error_of_a_statement(
    error: Exception, is_lost: bool
) -> None:
    assert is_connection_lost(error) is is_lost


@pytest.mark.parametrize("state", [LoadState.QUEUED, LoadState.COPYING])
def test_an_abandoned_load_is_failed_and_a_queued_one_is_not(
    resource: Resource, state: LoadState
) -> None:
    values = {"resource": resource, "source": "x"}
    now = timezone.now()
    abandoned = Load.objects.create(state=state, started_at=now, **values)
    cancelled = Load.objects.create(state=state, started_at=now, cancel_requested_at=now, **values)
    queued = Load.objects.create(state=LoadState.QUEUED, **values)
    draft = Load.objects.create(state=LoadState.DRAFT, **values)

    clean_up_loads()

    loads = (abandoned, cancelled, queued, draft)
    states = [Load.objects.get(pk=load.pk).state for load in loads]
    assert states == [
        LoadState.FAILED, LoadState.CANCELLED, LoadState.QUEUED, LoadState.DRAFT,
    ]  # fmt: skip
    assert Load.objects.get(pk=abandoned.pk).error == str(LoadFailed("load.interrupted"))


def test_a_limit_of_the_portal_for_its_requests_does_not_end_a_load(
    committed: Resource, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[str] = []

    def read_limit() -> str:
        limit = fetch_value(connection, "SELECT current_setting('statement_timeout')")
        return str(limit)

    def record_limit(*arguments: Any, **options: Any) -> None:
        limits.append(read_limit())
        analyze_records(*arguments, **options)

    monkeypatch.setattr(f"{filling.__name__}.analyze_records", record_limit)
    execute(connection, "SET statement_timeout = '10min'")

    load_file(committed, path, options=LoadOptions(drop_missing_fields=True))

    assert limits == ["0"]
    assert read_limit() == "10min"
    execute(connection, "RESET statement_timeout")


# Two at once --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_load_of_a_resource_waits_for_the_first(
    committed: Resource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    indexing_started, can_continue = threading.Event(), threading.Event()
    index = create_indexes

    def wait_and_index(*arguments: Any, **options: Any) -> None:
        indexing_started.set()
        assert can_continue.wait(120)
        index(*arguments, **options)

    monkeypatch.setattr(publish, "create_indexes", wait_and_index)

    def load(name: str) -> None:
        path = tmp_path / name
        path.write_text(f"a\n{name}\n")
        try:
            load_file(committed, path, options=LoadOptions(drop_missing_fields=True))
        finally:
            connection.close()

    loaders = [threading.Thread(target=load, args=[name]) for name in ("1", "2")]
    loaders[0].start()
    assert indexing_started.wait(120)
    loaders[1].start()
    wait_until(
        Load.objects.filter(source="2", started_at__isnull=False).exists,
        "the second load",
        alive=loaders[1].is_alive,
    )
    assert Load.objects.get(source="2").state == LoadState.QUEUED
    can_continue.set()
    for loader in loaders:
        loader.join(120)
        assert not loader.is_alive()

    order = Load.objects.exclude(source="file.csv").order_by("finished_at")
    assert list(order.values_list("source", "state")) == [("1", "ready"), ("2", "ready")]
    committed.refresh_from_db()
    assert committed.table_version is not None
    assert committed.table_version.loads.get() == Load.objects.get(source="2")
    assert list_record_tables(connection) == {committed.table_version_id}


# Signals ------------------------------------------------------------------------------------------


@pytest.fixture
def signals() -> Iterator[list[dict[str, Any]]]:
    """The values of the signals that were sent; one of the receivers always fails."""
    seen: list[dict[str, Any]] = []

    def record_values(**values: Any) -> None:
        seen.append(values)

    def fail(**_values: Any) -> None:
        raise RuntimeError("of a receiver")

    for signal in (resource_loaded, load_failed):
        signal.connect(fail)
        signal.connect(record_values)
    yield seen
    for signal in (resource_loaded, load_failed):
        signal.disconnect(fail)
        signal.disconnect(record_values)


def test_the_signal_of_a_load_is_sent_once_it_is_served(
    committed: Resource, signals: list[dict[str, Any]]
) -> None:
    with transaction.atomic():
        load = submit_load(
            committed, file=build_upload(), options=LoadOptions(drop_missing_fields=True)
        )
        assert signals == []
    load.refresh_from_db()

    (values,) = signals
    assert load.state == LoadState.READY
    assert (values["sender"], values["resource"], values["load"]) == (Resource, committed, load)
    assert values["resource"].table_version.loads.get() == load


def test_the_signal_of_a_failure_is_not_sent_for_a_cancel(
    committed: Resource, signals: list[dict[str, Any]], settings: Any
) -> None:
    load = submit_load(committed, file=build_upload(b""))
    settings.TASKS = DATABASE
    cancel_load(submit_load(committed, file=build_upload()))

    (values,) = signals
    assert (values["sender"], values["load"]) == (Resource, load)
    assert values["failure"].code == "file.empty"


# Cleaning up ------------------------------------------------------------------------------------


def test_uploads_that_nobody_needs_are_deleted_after_some_days(
    resource: Resource, uploads: Path, settings: Any
) -> None:
    failed = submit_load(resource, file=build_upload(b""))
    draft = queue.create_load(
        resource, LoadOptions(), source="x", file=build_upload(), state=LoadState.DRAFT
    )
    for name in ("datastore_search/without_load.csv", "others/kept.csv"):
        get_upload_storage().save(name, io.BytesIO(CSV))
    clean_up_loads()
    assert Load.objects.filter(pk=draft.pk).exists()
    assert len(list_files(uploads)) == 4

    settings.DATASTORE_SEARCH_UPLOAD_RETENTION = timedelta(0)
    clean_up_loads()

    failed.refresh_from_db()
    assert not failed.can_be_retried
    assert not Load.objects.filter(pk=draft.pk).exists()
    assert [path.name for path in list_files(uploads)] == ["kept.csv"]


def test_the_upload_of_a_ready_load_that_a_killed_worker_has_left_is_deleted(
    db: None, uploads: Path
) -> None:
    resource = Resource.objects.create(name="r")
    load = queue.create_load(resource, LoadOptions(), source="x", file=build_upload())
    Load.objects.filter(pk=load.pk).update(state=LoadState.READY)
    assert len(list_files(uploads)) == 1

    clean_up_loads()

    load.refresh_from_db()
    assert not load.file
    assert list_files(uploads) == []


def test_deleting_a_resource_deletes_its_uploads(committed: Resource, uploads: Path) -> None:
    submit_load(committed, file=build_upload(b""))
    assert len(list_files(uploads)) == 1

    committed.delete()

    assert list_files(uploads) == []


def test_no_line_of_the_log_has_a_value_of_a_file(
    resource: Resource, django_capture_on_commit_callbacks: Any
) -> None:
    file = build_upload(b"n\nzqsecret\n")
    options = LoadOptions(types={"n": "int4"}, drop_missing_fields=True)
    with (
        collect_lines("datastore_search") as lines,
        django_capture_on_commit_callbacks(execute=True),
    ):
        load = submit_load(resource, file=file, options=options)

    load.refresh_from_db()
    assert "zqsecret" in load.error
    assert "load." in "".join(lines)
    assert "zqsecret" not in "".join(lines)
