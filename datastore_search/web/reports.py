"""
Reports of answered requests: a line in the log for each slow one, and a signal for metrics.

A report names the action, the resource, and the parameters that were sent.  It never has their
values, and it names fields of public resources alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from django.http import HttpRequest
from rest_framework.request import Request

from ..conf import conf
from ..models import Resource
from ..signals import request_answered

logger = logging.getLogger("datastore_search.slow_requests")

_RESOURCE_ATTRIBUTE: Final = "_datastore_resource"


def note_resource(request: Request | HttpRequest, resource: Resource) -> None:
    """Note the resource that a request is about."""
    setattr(getattr(request, "_request", request), _RESOURCE_ATTRIBUTE, resource)


def start_clock() -> float:
    """Return the time that ``report_answer`` measures from; 0 where nothing is reported."""
    return perf_counter() if conf.SLOW_REQUEST_MS or request_answered.receivers else 0


@dataclass(frozen=True, slots=True)
class Question:
    """
    What a request asked for, without the request's client and its answer.

    ``name`` is one of few: an action, ``dump``, ``agents``, or the name of a page.  Of the
    parameters as they were ``sent``, only the ``known`` ones are named.
    """

    name: str
    sent: Mapping[str, object]
    known: Iterable[str]


def report_answer(
    request: HttpRequest, question: Question, *, status: int, record_count: int, started_at: float
) -> None:
    """Send the signal, and log a request that took longer than ``SLOW_REQUEST_MS``."""
    seconds = perf_counter() - started_at
    if request_answered.receivers:
        request_answered.send_robust(
            sender=Resource,
            name=question.name,
            status=status,
            seconds=seconds,
            record_count=record_count,
        )
    if 0 < conf.SLOW_REQUEST_MS <= seconds * 1000:
        resource: Resource | None = getattr(request, _RESOURCE_ATTRIBUTE, None)
        details = {
            "action": question.name,
            "resource_id": str(resource.pk) if resource else "",
            "status": status,
            "duration_ms": round(seconds * 1000),
            "record_count": record_count,
            "parameters": sorted(question.sent.keys() & set(question.known)),
            "filtered_fields": _list_filtered_fields(resource, question.sent.get("filters")),
        }
        logger.warning(
            "%(action)s took %(duration_ms)s ms: resource %(resource_id)s, status %(status)s,"
            " %(record_count)s records, parameters %(parameters)s, fields %(filtered_fields)s",
            details,
            extra=details,
        )


def _list_filtered_fields(resource: Resource | None, filters: object) -> list[str]:
    """List the fields of a public resource that ``filters`` names at its first level."""
    if resource is None or resource.private:
        return []
    if isinstance(filters, str):
        try:
            filters = json.loads(filters)
        except (ValueError, RecursionError):  # the answer says what is wrong with it
            return []
    if not isinstance(filters, Mapping):
        return []
    return [field.name for field in getattr(resource, "schema", ()) if field.name in filters]
