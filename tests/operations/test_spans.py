"""Spans around statements: what they name, and that they have no values."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from datastore_search.models import Resource
from datastore_search.search.reads import tracer

from ..builders import act, get_result, make_slow


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """The process's spans; OpenTelemetry takes one provider for each process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter, settings: Any) -> Iterator[InMemorySpanExporter]:
    """The spans of a portal that has installed the app."""
    settings.INSTALLED_APPS = [
        *settings.INSTALLED_APPS,
        "datastore_search.contrib.operations.tracing",
    ]
    assert apps.is_installed("datastore_search.contrib.operations.tracing")
    exporter.clear()
    yield exporter
    tracer.entry = None


def get_attributes(spans: InMemorySpanExporter) -> list[dict[str, object]]:
    return [dict(span.attributes or {}) for span in spans.get_finished_spans()]


def test_a_search_is_a_span_with_kind_action_and_resource(
    client: Client, resource: Resource, spans: InMemorySpanExporter
) -> None:
    sent = {"resource_id": str(resource.pk), "filters": {"stage": "active"}}
    get_result(act(client, "datastore_search", sent))

    attributes = get_attributes(spans)
    assert {
        "db.system.name": "postgresql",
        "datastore_search.statement": "records",
        "datastore_search.action": "datastore_search",
        "datastore_search.resource_id": str(resource.pk),
    } in attributes
    assert {span.name for span in spans.get_finished_spans()} <= {
        "datastore_search records",
        "datastore_search rows",
    }


@pytest.mark.parametrize(
    ("path", "action", "statement"),
    [
        ("/en/api/3/action/datastore_aggregate?resource_id={}&group_by=stage",
         "datastore_aggregate", "records"),
        ("/en/api/3/action/datastore_facets?resource_id={}&facets=stage",
         "datastore_facets", "rows"),
        ("/en/datastore/dump/{}", "dump", "copy"),
        ("/en/datastore/{}/", "page", "records"),
    ],
)  # fmt: skip
def test_every_entrance_is_named(
    resource: Resource, spans: InMemorySpanExporter, path: str, action: str, statement: str
) -> None:
    response: Any = Client().get(path.format(resource.pk))

    assert response.status_code == 200
    assert response.getvalue()
    attributes = get_attributes(spans)
    assert {each["datastore_search.action"] for each in attributes} == {action}
    assert statement in {each["datastore_search.statement"] for each in attributes}


def test_a_span_has_no_value_and_no_statement(
    client: Client, resource: Resource, spans: InMemorySpanExporter, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(milliseconds=50)
    sent = {"resource_id": str(resource.pk), "q": "zqsecret", "filters": {"code": "zqother"}}
    act(client, "datastore_search", sent)
    make_slow(resource)

    sent |= {"q": "", "filters": {"code": {"ne": "zqthird"}}}
    refused = act(client, "datastore_search", sent)

    assert refused.status_code == 409
    finished = spans.get_finished_spans()
    failed = [span for span in finished if not span.status.is_ok and span.status.is_unset is False]
    assert [dict(span.attributes or {})["error.type"] for span in failed] == ["OperationalError"]
    text = "".join(str(json.loads(span.to_json())) for span in finished)
    assert "zq" not in text
    assert "SELECT" not in text


def test_a_stream_leaves_no_span_current(
    client: Client, resource: Resource, spans: InMemorySpanExporter
) -> None:
    response: Any = client.get(f"/en/datastore/dump/{resource.pk}")
    next(iter(response.streaming_content))

    assert trace.get_current_span() is trace.INVALID_SPAN
    response.close()
    assert "copy" in {each["datastore_search.statement"] for each in get_attributes(spans)}


@pytest.mark.slow
def test_without_the_app_nothing_is_traced_or_imported(client: Client, resource: Resource) -> None:
    assert tracer.entry is None
    code = (
        "import django; django.setup(); import sys, datastore_search.urls;"
        "sys.exit('datastore_search.contrib.operations.tracing' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert ran.returncode == 0
