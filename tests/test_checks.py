"""Each system check, by its id."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection

from datastore_search import storage
from datastore_search.task_framework import DummyBackend


def run_check_ids(*, databases: list[str] | None = None) -> set[str]:
    messages = run_checks(databases=databases)
    return {str(message.id) for message in messages if "datastore_search" in str(message.id)}


def test_the_example_project_passes(db: None) -> None:
    assert run_check_ids(databases=["default"]) == set()
    call_command("check", "--deploy", fail_level="ERROR", databases=["default"])


@pytest.mark.parametrize("other", ["django.middleware.locale.LocaleMiddleware", None])
def test_a_missing_locale_middleware_is_w001(settings: Any, other: str | None) -> None:
    ours = "datastore_search.middleware.LocaleMiddleware"
    settings.MIDDLEWARE = [
        other if path == ours else path for path in settings.MIDDLEWARE if other or path != ours
    ]

    assert run_check_ids() == {"datastore_search.W001"}


def test_another_database_is_e001(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "sqlite")

    assert run_check_ids(databases=["default"]) == {"datastore_search.E001"}


def test_an_old_server_is_e002(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "is_supported", lambda _connection: False)

    assert run_check_ids(databases=["default"]) == {"datastore_search.E002"}


@pytest.mark.parametrize("sources", ["'self'", ["https://a.example; script-src *"], ["a b"]])
def test_a_frame_ancestor_that_is_no_source_is_e006(settings: Any, sources: Any) -> None:
    settings.DATASTORE_SEARCH_FRAME_ANCESTORS = sources

    assert run_check_ids() == {"datastore_search.E006"}


@pytest.mark.parametrize(
    "rates",
    [
        ["10/minute"],
        {"anonymous": "10/minute"},
        {"users": ["10/minute"]},
        {"anonymous": ["10"]},
        {"anonymous": ["0/minute"]},
        {"anonymous": ["10/week"]},
        {"anonymous": ["-1/day"]},
    ],
)
def test_rates_that_cannot_be_counted_are_e007(settings: Any, rates: Any) -> None:
    settings.DATASTORE_SEARCH_THROTTLE_RATES = rates

    assert "datastore_search.E007" in run_check_ids()


def test_a_database_without_letters_is_w002(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "can_fold_case", lambda _connection: False)

    assert run_check_ids(databases=["default"]) == {"datastore_search.W002"}


def test_an_index_without_its_extension_is_w011(db: None, settings: Any) -> None:
    settings.DATASTORE_SEARCH_INDEXES = ("words", "substrings")

    assert run_check_ids(databases=["default"]) == {"datastore_search.W011"}


def test_tasks_that_are_read_from_a_replica_are_w010(settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.deployment.routers.ReplicaRouter"]
    assert run_check_ids() == set()

    settings.DATABASE_ROUTERS = ["tests.deployment.routers.CarelessRouter"]
    assert run_check_ids() == {"datastore_search.W010"}


def test_an_unknown_index_is_e003(settings: Any) -> None:
    settings.DATASTORE_SEARCH_INDEXES = ("words", "colours")

    assert run_check_ids() == {"datastore_search.E003"}


@pytest.mark.parametrize("kinds", [(), ("filters", "words", "numbers", "dates", "texts")])
def test_every_choice_of_indexes_passes(settings: Any, kinds: tuple[str, ...]) -> None:
    settings.DATASTORE_SEARCH_INDEXES = kinds

    assert run_check_ids() == set()


@pytest.mark.parametrize(
    "setting", ["DATASTORE_SEARCH_TASKS_BACKEND", "DATASTORE_SEARCH_TASKS_QUEUE"]
)
def test_an_unknown_backend_or_queue_is_e004(settings: Any, setting: str) -> None:
    setattr(settings, setting, "nowhere")

    assert run_check_ids() == {"datastore_search.E004"}


def test_a_backend_that_runs_nothing_is_w003(settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": f"{DummyBackend.__module__}.DummyBackend"}}

    assert run_check_ids() == {"datastore_search.W003"}


def test_a_queue_of_its_own_passes(settings: Any) -> None:
    settings.TASKS = {**settings.TASKS, "loads": {**settings.TASKS["default"], "QUEUES": ["long"]}}
    settings.DATASTORE_SEARCH_TASKS_BACKEND = "loads"
    settings.DATASTORE_SEARCH_TASKS_QUEUE = "long"

    assert run_check_ids() == set()


@pytest.mark.parametrize(
    "hosts", ["files.internal", ["http://files.internal"], ["files.internal/f.csv"], [""], [80]]
)
def test_invalid_servers_are_e005(settings: Any, hosts: Any) -> None:
    settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = hosts

    assert run_check_ids() == {"datastore_search.E005"}


def test_servers_may_be_named_by_name_or_address_and_port(settings: Any) -> None:
    settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = [
        "files.internal", "files.internal:8080", "10.0.0.5", "10.0.0.5:80", "::1", "[::1]:80",
    ]  # fmt: skip

    assert run_check_ids() == set()


@pytest.mark.parametrize(
    "path", ["nowhere.datasets", "json.nothing", "datasets", "json.__name__", 7]
)
def test_datasets_that_cannot_be_called_are_e008(settings: Any, path: Any) -> None:
    settings.DATASTORE_SEARCH_DATASETS = path

    assert run_check_ids() == {"datastore_search.E008"}
