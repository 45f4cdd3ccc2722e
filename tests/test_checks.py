"""Each system check, by its id."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection

from datastore_search.checks import check_settings
from datastore_search.conf import find_settings, list_settings
from datastore_search.contrib.files.conf import conf as files_conf
from datastore_search.contrib.files.jobs.task_framework import DummyBackend
from datastore_search.database.server import measure_locks
from datastore_search.database.statements import execute
from datastore_search.models import IndexKind

LOCALE = "datastore_search.middleware.LocaleMiddleware"
DJANGOS_LOCALE = "django.middleware.locale.LocaleMiddleware"
middleware = list(django_settings.MIDDLEWARE)


def run_check_ids(*, databases: list[str] | None = None) -> set[str]:
    messages = run_checks(databases=databases)
    return {str(message.id) for message in messages if "datastore_search" in str(message.id)}


def test_the_example_project_passes(db: None) -> None:
    assert run_check_ids(databases=["default"]) == set()
    call_command("check", "--deploy", fail_level="ERROR", databases=["default"])


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("STATEMENT_TIMEOUT", 60, "It must be a datetime.timedelta."),
        ("STATEMENT_TIMEOUT", timedelta(0), "It must be at least 0:00:00.001000."),
        ("DUMP_TIMEOUT", timedelta(days=25), "It must be at most 24 days, 20:31:23.647000."),
        ("MAX_LIMIT", "100", "It must be an integer."),
        ("MAX_LIMIT", True, "It must be an integer."),
        ("MAX_LIMIT", 0, "It must be at least 1."),
        ("READ_CPU_SECONDS", "8", "It must be a number."),
        ("READ_CPU_SECONDS", float("nan"), "It must be at least 0.001."),
        ("LOAD_MEMORY_BYTES", 1, "It must be at least 8388608."),
        ("SITE_TITLE", 7, "It must be a text."),
        ("MAP_TILES", {"url": 7}, "It must be a mapping to texts."),
        ("INDEXES", ("words", "colours"), "“colours” does not match filters|words|"),
        ("FRAME_ANCESTORS", "'self'", "It must be a list of texts."),
        ("FRAME_ANCESTORS", ["https://a.example; script-src *"], "“https://a.example; scr"),
        ("FETCH_PRIVATE_HOSTS", "files.internal", "It must be a list of texts."),
        ("FETCH_PRIVATE_HOSTS", ["http://files.internal"], "“http://files.internal” does not"),
        ("FETCH_PRIVATE_HOSTS", ["files.internal/f.csv"], "“files.internal/f.csv” does not"),
        ("FETCH_PRIVATE_HOSTS", [""], "“” does not match"),
        ("AUTHENTICATION_CLASSES", ["nowhere.Token"], "No module named 'nowhere'"),
        ("AUTHENTICATION_CLASSES", ["json.Tokn"], 'Module "json" does not define a "Tokn" '),
        ("AUTHENTICATION_CLASSES", ["token"], "token doesn't look like a module path"),
        ("AUTHENTICATION_CLASSES", ["json.__name__"], "“json.__name__” cannot be called."),
    ],
)
def test_an_invalid_setting_is_e009(settings: Any, name: str, value: Any, problem: str) -> None:
    setattr(settings, f"DATASTORE_SEARCH_{name}", value)

    (message,) = (each for each in run_checks() if each.id == "datastore_search.E009")

    assert message.msg.startswith(f"DATASTORE_SEARCH_{name} is not valid: {problem}")
    assert message.hint == list_settings()[f"DATASTORE_SEARCH_{name}"].text


@pytest.mark.parametrize("name", list_settings())
def test_no_setting_may_have_any_type(settings: Any, name: str) -> None:
    for value in (None, object(), {"a": []}, b"words"):
        setattr(settings, name, value)

        assert "datastore_search.E009" in {each.id for each in check_settings()}, value


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DATASTORE_SEARCH_MAX_LIMITS", "Did you mean DATASTORE_SEARCH_MAX_LIMIT?"),
        ("DATASTORE_SEARCH_COLOUR_OF_THE_SKY", "Remove it."),
    ],
)
def test_an_unknown_setting_is_e012(settings: Any, name: str, hint: str) -> None:
    setattr(settings, name, 1)

    (message,) = check_settings()

    assert (message.id, message.hint) == ("datastore_search.E012", hint)
    assert message.is_serious()


def test_a_setting_of_an_app_that_is_not_installed_is_e012(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del settings.DATASTORE_SEARCH_PAGES_VERSION
    settings.DATASTORE_SEARCH_MAP_TILES = {}
    assert check_settings() == []
    monkeypatch.delitem(apps.app_configs, "datastore_search_pages")

    (message,) = check_settings()

    app = "datastore_search.contrib.pages"
    assert (message.id, message.msg, message.hint) == (
        "datastore_search.E012",
        f"DATASTORE_SEARCH_MAP_TILES is a setting of {app}, which is not installed.",
        f"Add '{app}' to INSTALLED_APPS, or remove the setting.",
    )


def test_no_setting_is_declared_by_two_apps() -> None:
    own = [each.name for each in apps.get_app_configs() if each.name.startswith("datastore_search")]
    names = [name for app in own for name in find_settings(app)]

    assert sorted(names) == sorted(list_settings())
    assert len(names) <= 44


def test_a_changed_setting_of_a_contrib_app_is_read_again(settings: Any) -> None:
    assert files_conf.TASKS_QUEUE == "default"

    settings.DATASTORE_SEARCH_TASKS_QUEUE = "loads"

    assert files_conf.TASKS_QUEUE == "loads"


def test_the_kinds_of_indexes_of_the_setting_are_those_of_a_resource() -> None:
    assert list_settings()["DATASTORE_SEARCH_INDEXES"].pattern == "|".join(IndexKind.values)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("MIDDLEWARE", [each for each in middleware if each != LOCALE], "W001"),
        ("MIDDLEWARE", [each.replace(LOCALE, DJANGOS_LOCALE) for each in middleware], "W001"),
        ("TASKS", {"default": {"BACKEND": f"{DummyBackend.__module__}.DummyBackend"}}, "W003"),
        ("DATASTORE_SEARCH_TASKS_BACKEND", "nowhere", "E004"),
        ("DATASTORE_SEARCH_TASKS_QUEUE", "nowhere", "E004"),
        ("DATASTORE_SEARCH_INDEXES", ("words", "substrings"), "W011"),
    ],
)
def test_an_unfit_setting_is_found(
    db: None, settings: Any, name: str, value: object, found: str
) -> None:
    setattr(settings, name, value)

    assert run_check_ids(databases=["default"]) == {f"datastore_search.{found}"}


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("checks.connections", {"default": Mock(vendor="sqlite")}, "E001"),
        ("checks.has_version", lambda _connection, _version: False, "E002"),
        ("checks.can_fold_case", lambda _connection: False, "W002"),
        ("database.server._LOCKS_OF_A_DUMP", 10**6, "W013"),
        ("checks.fetch_value", lambda *_args: "serializable", "W028"),
    ],
)
def test_an_unfit_database_is_found(
    db: None, monkeypatch: pytest.MonkeyPatch, name: str, value: object, found: str
) -> None:
    assert measure_locks(connection)[1] >= 64 * 20
    monkeypatch.setattr(f"datastore_search.{name}", value)

    assert run_check_ids(databases=["default"]) == {f"datastore_search.{found}"}


def test_backslashes_that_escape_in_every_text_are_e029(db: None) -> None:
    execute(connection, "SET LOCAL standard_conforming_strings = off")

    assert run_check_ids(databases=["default"]) == {"datastore_search.E029"}


def test_a_cache_that_keeps_nothing_is_w015_where_requests_are_counted(settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
    assert run_check_ids() == set()

    settings.REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["datastore_search.guards.rates.AddressThrottle"]
    }

    assert run_check_ids() == {"datastore_search.W015"}


def test_replicas_without_a_shared_cache_are_w023(settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert run_check_ids() == set()

    settings.DATASTORE_SEARCH_REPLICAS = ["default"]
    assert run_check_ids() == {"datastore_search.W023"}

    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:6379",
        }
    }
    assert run_check_ids() == set()


def test_tasks_that_are_read_from_a_replica_are_w010(settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.deployment.routers.ReplicaRouter"]
    assert run_check_ids() == set()

    settings.DATABASE_ROUTERS = ["tests.deployment.routers.CarelessRouter"]
    assert run_check_ids() == {"datastore_search.W010"}


@pytest.mark.parametrize("root", ["", "media"])
def test_uploads_in_the_working_directory_are_w024(settings: Any, root: str) -> None:
    settings.MEDIA_ROOT = root

    assert run_check_ids() == {"datastore_search.W024"}

    location = {"location": "/srv/uploads"}
    uploads = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": location}
    settings.STORAGES = {**settings.STORAGES, "datastore_search": uploads}
    assert run_check_ids() == set()


def test_a_queue_of_its_own_and_servers_by_address_pass(settings: Any) -> None:
    settings.DATASTORE_SEARCH_FETCH_PRIVATE_HOSTS = ["files.internal:8080", "10.0.0.5", "[::1]:80"]
    settings.DATASTORE_SEARCH_INDEXES = ()
    settings.TASKS = {**settings.TASKS, "loads": {**settings.TASKS["default"], "QUEUES": ["long"]}}
    settings.DATASTORE_SEARCH_TASKS_BACKEND = "loads"
    settings.DATASTORE_SEARCH_TASKS_QUEUE = "long"

    assert run_check_ids() == set()
