"""Reports of answered requests: the log of slow ones, the signal, and the ids of requests."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from datastore_search.models import Alias, Resource
from datastore_search.signals import request_answered
from datastore_search.web import views

from ...builders import act, make_resource, make_slow, make_token, make_writer_token
from ...test_logging import collect_lines

HAS_IDS = pytest.mark.skipif(
    "django_guid" not in django_settings.INSTALLED_APPS,
    reason="django-guid excludes Django 6 on Python 3.12",
)

QUESTION = {
    "q": "secretword",
    "filters": {"subject": "secretvalue", "code": ["001"]},
    "sort": "code desc",
}


@pytest.fixture
def every_request_is_slow(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request takes ten seconds of a clock."""
    settings.DATASTORE_SEARCH_SLOW_REQUEST_MS = 10_000
    seconds = iter(range(0, 100_000, 10))
    monkeypatch.setattr(views, "perf_counter", lambda: 1.0 + next(seconds))


def get_details(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    names = (
        "action", "resource_id", "status", "duration_ms", "record_count", "parameters",
        "filtered_fields",
    )  # fmt: skip
    return [
        {name: getattr(record, name) for name in names}
        for record in caplog.records
        if record.name == "datastore_search.slow_requests"
    ]


@pytest.mark.usefixtures("every_request_is_slow")
def test_a_slow_request_is_one_line_with_names_and_without_values(
    client: Client, resource: Resource, caplog: pytest.LogCaptureFixture
) -> None:
    act(client, "datastore_search", {"resource_id": str(resource.pk), **QUESTION})

    (details,) = get_details(caplog)
    assert details == {
        "action": "datastore_search",
        "resource_id": str(resource.pk),
        "status": 200,
        "duration_ms": 10_000,
        "record_count": 0,
        "parameters": ["filters", "q", "resource_id", "sort"],
        "filtered_fields": ["code", "subject"],
    }
    assert "secret" not in caplog.text


@pytest.mark.needs("analysis")
@pytest.mark.usefixtures("every_request_is_slow")
def test_a_line_counts_the_records_of_the_answer(
    client: Client, resource: Resource, caplog: pytest.LogCaptureFixture
) -> None:
    sent = {"resource_id": str(resource.pk), "limit": 4}
    act(client, "datastore_search", sent)
    act(client, "datastore_search", {**sent, "records_format": "csv"})
    act(client, "datastore_aggregate", {"resource_id": str(resource.pk), "group_by": ["stage"]})

    assert [details["record_count"] for details in get_details(caplog)] == [4, 4, 3]


@pytest.mark.needs("pages")
@pytest.mark.usefixtures("every_request_is_slow")
def test_a_line_counts_the_records_of_a_page(
    client: Client, resource: Resource, caplog: pytest.LogCaptureFixture
) -> None:
    for path in ("", "?embed=1", "r/1/", "about/"):
        assert client.get(f"/en/datastore/{resource.pk}/{path}").status_code == 200

    assert [details["record_count"] for details in get_details(caplog)] == [6, 6, 1, 0]


def test_a_line_names_no_field_of_a_private_resource(
    client: Client, db: None, every_request_is_slow: None, caplog: pytest.LogCaptureFixture
) -> None:
    resource = make_resource(private=True)
    Alias.objects.create(resource=resource, name="secretalias")

    for token in ("", make_token()):
        act(client, "datastore_search", {"resource_id": "secretalias", **QUESTION}, token)

    assert [
        (details["resource_id"], details["status"], details["filtered_fields"])
        for details in get_details(caplog)
    ] == [(str(resource.pk), 403, []), (str(resource.pk), 200, [])]
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("path", "action", "status"),
    [
        ("/en/api/action/nosuchaction?secret=1", "unknown", 400),
        ("/en/api/3", "version", 200),
        ("/en/datastore/mcp", "agents", 405),
        ("/en/api/action/datastore_search?secret=1", "datastore_search", 409),
        ("/en/datastore/dump/{}?filters={{", "dump", 409),
        ("/en/datastore/", "page catalogue", 200),
        ("/en/datastore/{}/?q=secret", "page resource", 200),
    ],
)
@pytest.mark.usefixtures("every_request_is_slow")
def test_every_entrance_reports_under_one_of_few_names(
    resource: Resource, caplog: pytest.LogCaptureFixture, path: str, action: str, status: int
) -> None:
    Client().get(path.format(resource.pk))

    (details,) = get_details(caplog)
    assert (details["action"], details["status"]) == (action, status)
    assert "secret" not in caplog.text


def test_a_search_that_was_stopped_is_reported(
    client: Client, resource: Resource, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DATASTORE_SEARCH_SLOW_REQUEST_MS = 1
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(milliseconds=50)
    make_slow(resource)

    response = act(client, "datastore_search", {"resource_id": str(resource.pk), "q": "river"})

    (details,) = get_details(caplog)
    assert details["status"] == response.status_code != 200


@pytest.mark.usefixtures("every_request_is_slow")
def test_a_slow_write_names_its_resource(
    client: Client, resource: Resource, caplog: pytest.LogCaptureFixture
) -> None:
    sent = {"resource_id": str(resource.pk), "records": [], "force": True}

    act(client, "datastore_upsert", sent, make_writer_token())

    (details,) = get_details(caplog)
    assert details["resource_id"] == str(resource.pk)


@pytest.mark.parametrize("milliseconds", [0, 10_001])
@pytest.mark.usefixtures("every_request_is_slow")
def test_other_requests_are_no_line(
    client: Client,
    resource: Resource,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    milliseconds: int,
) -> None:
    settings.DATASTORE_SEARCH_SLOW_REQUEST_MS = milliseconds

    assert act(client, "datastore_search", {"resource_id": str(resource.pk)}).status_code == 200

    assert get_details(caplog) == []


@pytest.fixture
def answered() -> Iterator[list[dict[str, Any]]]:
    """What a receiver of the signal gets."""
    reports: list[dict[str, Any]] = []

    def receive(signal: Any, sender: type, **report: Any) -> None:
        reports.append(report)
        raise ValueError("A failure of a receiver changes nothing.")

    request_answered.connect(receive)
    yield reports
    request_answered.disconnect(receive)


def test_the_signal_has_name_status_seconds_and_count(
    client: Client, resource: Resource, answered: list[dict[str, Any]]
) -> None:
    response = act(client, "datastore_search", {"resource_id": str(resource.pk)})

    assert response.status_code == 200
    (report,) = answered
    assert report.pop("seconds") > 0
    named = {"resource": resource, "record_count": 6}
    assert report == {"name": "datastore_search", "status": 200, **named}


# The example portal -------------------------------------------------------------------------------


@HAS_IDS
def test_an_answer_has_the_id_that_a_proxy_sent(client: Client, db: None) -> None:
    sent = str(uuid.uuid4())

    kept = client.get("/en/datastore/", headers={"X-Request-ID": sent})
    made = client.get("/en/datastore/", headers={"X-Request-ID": "text of a client"})

    assert kept["X-Request-ID"] == sent
    assert uuid.UUID(made["X-Request-ID"]).hex == made["X-Request-ID"]


@HAS_IDS
def test_a_line_of_the_log_is_json_with_the_id_of_the_request(
    client: Client, resource: Resource, every_request_is_slow: None
) -> None:
    with collect_lines("datastore_search") as lines:
        response = act(client, "datastore_search", {"resource_id": str(resource.pk)})

    (line,) = map(json.loads, lines)
    assert line["request_id"] == response["X-Request-ID"]
    assert (line["level"], line["logger"]) == ("WARNING", "datastore_search.slow_requests")
    assert (line["action"], line["duration_ms"]) == ("datastore_search", 10_000)
