"""
The span of a statement: its kind, the resource, and the action; never a value or the statement.

Source: OpenTelemetry's semantic conventions for database spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from .... import __version__
from ....api.actions import actions
from ....guards.shares import Client
from ....models import Resource

_tracer: Final = trace.get_tracer("datastore_search", __version__)

#: The names of requests that are not actions, by a part of their path.
_ENTRANCES: Final = {"/datastore/dump/": "dump", "/datastore/mcp": "agents"}


@contextmanager
def trace_statement(kind: str, resource: Resource | None, client: Client | None) -> Iterator[None]:
    """
    Open a span around a statement.

    An error is named by its class alone, because the text of a driver may have values.
    """
    attributes = {
        "db.system.name": "duckdb" if kind == "engine" else "postgresql",
        "datastore_search.statement": kind,
        "datastore_search.action": find_action(client.environ) if client else "program",
    }
    if resource is not None:
        attributes["datastore_search.resource_id"] = str(resource.pk)
    # It is not made the current one: a stream is suspended within it, while others use the thread.
    span = _tracer.start_span(
        f"datastore_search {kind}", kind=SpanKind.CLIENT, attributes=attributes
    )
    try:
        yield
    except Exception as error:
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        span.end()


def find_action(environ: Mapping[str, Any]) -> str:
    """Find the action of a request by its path; other requests have one of few names."""
    path = str(environ.get("PATH_INFO", ""))
    name = path.rstrip("/").rpartition("/")[2]
    if "/action/" in path and name in actions:
        return name
    return next((name for part, name in _ENTRANCES.items() if part in path), "page")
