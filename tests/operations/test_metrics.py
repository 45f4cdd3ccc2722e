"""The metrics: what is counted, with which labels, over all processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from prometheus_client.parser import text_string_to_metric_families

from datastore_search.contrib.files.models import LoadState
from datastore_search.contrib.operations.metrics.views import answer_cache
from datastore_search.guards.cache import BoundedCache, BriefCache
from datastore_search.models import Resource
from example_project.urls import urlpatterns as portal_patterns

from ..builders import act
from ..processes import run_program

urlpatterns = [
    *portal_patterns,
    path("", include("datastore_search.contrib.operations.metrics.urls")),
]

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(autouse=True)
def _portal_with_metrics(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ROOT_URLCONF = __name__
    monkeypatch.setattr(BriefCache, "max_age_seconds", 0)
    answer_cache.clear()


def parse_samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read_metrics(client: Client) -> Samples:
    response = client.get("/metrics")
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")
    return parse_samples(response.content.decode())


class Counted:
    """What was counted since the last look."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._before = read_metrics(client)

    def get(self, name: str, **labels: object) -> float:
        key = name, frozenset((label, str(value)) for label, value in labels.items())
        return read_metrics(self._client).get(key, 0) - self._before.get(key, 0)


@pytest.fixture
def counted(client: Client, db: None) -> Counted:
    return Counted(client)


def test_requests_are_counted_by_action_and_status(
    client: Client, resource: Resource, counted: Counted
) -> None:
    act(client, "datastore_search", {"resource_id": "no-such-resource"})
    for sent in ({}, {"limit": 2}, {"limit": -1}):
        act(client, "datastore_search", {"resource_id": str(resource.pk), **sent})
    client.get(f"/en/datastore/{resource.pk}/")

    requests = "datastore_search_requests_total"
    assert counted.get(requests, action="datastore_search", status=200) == 2
    assert counted.get(requests, action="datastore_search", status=409) == 1
    assert counted.get(requests, action="datastore_search", status=404) == 1
    assert counted.get(requests, action="page resource", status=200) == 1
    seconds = "datastore_search_request_seconds"
    assert counted.get(f"{seconds}_count", action="datastore_search") == 4
    assert counted.get(f"{seconds}_bucket", action="datastore_search", le="60.0") == 4
    assert counted.get(f"{seconds}_sum", action="datastore_search") > 0
    assert counted.get("datastore_search_records_returned_total", action="datastore_search") == 8


def test_what_does_not_exist_makes_no_new_label(client: Client, counted: Counted) -> None:
    for number in range(3):
        client.get(f"/en/api/action/invented{number}")

    assert counted.get("datastore_search_requests_total", action="unknown", status=400) == 3
    labels = {value for _name, pairs in read_metrics(client) for _label, value in pairs}
    assert not any("invented" in value for value in labels)


def test_look_ups_in_caches_are_counted(counted: Counted) -> None:
    cache = BoundedCache[str, int]("test", 2)
    cache.add("a", 1)
    cache.get("a"), cache.get("a"), cache.get("b")

    lookups = "datastore_search_cache_lookups_total"
    assert counted.get(lookups, cache="test", result="hit") == 2
    assert counted.get(lookups, cache="test", result="miss") == 1


def test_loads_are_counted_in_the_database_by_state(client: Client, no_resource: None) -> None:
    resource = Resource.objects.create(name="r")
    for state in (LoadState.QUEUED, LoadState.QUEUED, LoadState.FAILED):
        resource.loads.create(state=state)

    samples = read_metrics(client)

    states = {
        dict(labels)["state"]: value
        for (name, labels), value in samples.items()
        if name == "datastore_search_loads"
    }
    assert states.keys() == set(LoadState.values)
    assert {state for state, value in states.items() if value} == {"queued", "failed"}
    assert samples["datastore_search_queue_length", frozenset()] == 2


def test_loads_are_counted_once_within_the_time_that_an_answer_is_kept(
    client: Client, no_resource: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BriefCache, "max_age_seconds", 1e9)
    first = read_metrics(client)
    Resource.objects.create(name="r").loads.create(state=LoadState.QUEUED)

    with CaptureQueriesContext(connection) as queries:
        assert read_metrics(client) == first

    assert not len(queries)


def test_the_example_portal_names_no_address_of_metrics(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "example_project.urls"

    assert client.get("/metrics").status_code == 404


COUNT = """
import django
django.setup()
from datastore_search.contrib.operations.metrics.views import count_request
count_request(None, "datastore_search", 200, 0.5, 10)
"""

SHOW = """
import django
django.setup()
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from datastore_search.contrib.operations.metrics import views
views.LoadCollector.collect = lambda self: iter(())
print(generate_latest(views.build_registry()).decode())
"""


@pytest.mark.slow
def test_the_counters_of_all_processes_are_added_up(tmp_path: Path) -> None:
    def run(program: str) -> str:
        process = run_program(
            *(sys.executable, "-c", program),
            DJANGO_SETTINGS_MODULE="example_project.settings",
            DATABASE_URL="postgres://nobody@127.0.0.1:1/none",
            PROMETHEUS_MULTIPROC_DIR=str(tmp_path),
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    run(COUNT)
    run(COUNT)

    samples = parse_samples(run(SHOW))
    labels = frozenset({("action", "datastore_search"), ("status", "200")})
    assert samples["datastore_search_requests_total", labels] == 2
    labels = frozenset({("action", "datastore_search")})
    assert samples["datastore_search_records_returned_total", labels] == 20
