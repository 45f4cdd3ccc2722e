"""The health checks: 200, or 503 with what is wrong."""

from __future__ import annotations

import shutil
from collections import namedtuple
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.operations.health.views import OperationsView, ReadyView
from datastore_search.guards.cache import BriefCache
from datastore_search.models import Resource

OK = {"database": "OK", "migrations": "OK", "worker": "OK", "disk": "OK"}

MIGRATIONS = "Unavailable: Migrations are not applied."
WORKER = "Unavailable: Loads are waiting, and no worker runs them."
DISK = "Unavailable: The disk for temporary files is almost full."

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 - as that of shutil


def get_operations(client: Client) -> tuple[int, dict[str, str]]:
    response = client.get("/health/operations")
    assert "no-store" in response["Cache-Control"]
    return response.status_code, response.json()


@pytest.fixture
def load(transactional_db: None) -> Load:
    queued_at = timezone.now() - timedelta(minutes=10)
    resource = Resource.objects.create(name="secretname")
    return Load.objects.create(resource=resource, state=LoadState.QUEUED, queued_at=queued_at)


@pytest.fixture(autouse=True)
def _no_earlier_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BriefCache, "max_age_seconds", 0)
    ReadyView.answer_cache.clear()
    OperationsView.answer_cache.clear()


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    room = {"free": 10 * 2**30}
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(0, 0, room["free"]))
    return room


def test_a_process_lives_without_its_database(client: Client) -> None:
    response = client.get("/health/live")

    assert (response.status_code, response.content) == (200, b"OK\n")
    assert client.post("/health/live").status_code == 405


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("accept", ["text/html", "application/rss+xml"])
def test_a_portal_is_ready_whatever_the_client_accepts(client: Client, accept: str) -> None:
    response = client.get("/health/ready?format=atom", headers={"Accept": accept})

    assert (response.status_code, response.json()) == (200, {"database": "OK", "migrations": "OK"})
    assert client.post("/health/ready").status_code == 405


@pytest.mark.django_db(transaction=True)
def test_a_database_that_does_not_answer_is_503_without_its_address(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patch.setitem(connection.settings_dict, "PORT", "1")
        status, answer = get_operations(client)

    away = "Unavailable: The database does not answer."
    assert (status, answer) == (503, {**OK, "database": away, "migrations": away, "worker": away})


def test_a_load_that_has_just_come_or_was_taken_is_no_failure(client: Client, load: Load) -> None:
    Load.objects.update(state=LoadState.READING, started_at=timezone.now())
    assert get_operations(client) == (200, OK)

    Load.objects.update(state=LoadState.QUEUED, started_at=None, queued_at=timezone.now())
    assert get_operations(client) == (200, OK)


def test_a_load_may_wait_while_another_one_runs(client: Client, load: Load) -> None:
    running = load.resource.loads.create(state=LoadState.COPYING, heartbeat_at=timezone.now())
    assert get_operations(client) == (200, OK)

    killed_at = timezone.now() - timedelta(hours=1)
    Load.objects.filter(pk=running.pk).update(heartbeat_at=killed_at)
    assert get_operations(client)[0] == 503


def test_what_is_wrong_is_named_and_logged(
    client: Client, load: Load, room: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    room["free"] = 100
    recorder = MigrationRecorder(connection)
    name = max(name for app, name in recorder.applied_migrations() if app == "datastore_search")
    recorder.record_unapplied("datastore_search", name)
    try:
        found = get_operations(client)
    finally:
        recorder.record_applied("datastore_search", name)

    failures = {"migrations": MIGRATIONS, "worker": WORKER, "disk": DISK}
    assert found == (503, {**OK, **failures})
    (record,) = [
        each
        for each in caplog.records
        if each.name == "datastore_search.contrib.operations.health.views"
    ]
    assert record.__dict__["checks"] == failures
    # A load that waits and a full disk are no reasons to send no requests.
    assert client.get("/health/ready").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_checks_run_once_within_the_time_that_an_answer_is_kept(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BriefCache, "max_age_seconds", 1e9)
    first = client.get("/health/ready")
    monkeypatch.setattr(ReadyView, "checks", [])

    assert client.get("/health/ready").content == first.content
