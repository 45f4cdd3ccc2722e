"""Requests spread over many small resources, and the same requests to one of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from datastore_search.models import Resource

from .addresses import Portal
from .calls import Call, send_call
from .requests import Request
from .timed_calls import PARALLEL_CONNECTIONS, Pace, Served, TimedCalls


@dataclass(frozen=True, slots=True)
class Spread:
    """Times of a request: to one resource, and spread over all."""

    one: Served
    all: Served


def measure_spread(pace: Pace, resources: Sequence[Resource], portal: Portal) -> dict[str, Spread]:
    """
    Time requests for five records, and requests with one filter.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    ids = [str(resource.pk) for resource in resources]
    limit_calls = [_build_search(portal, {"limit": 5}, resource_id) for resource_id in ids]
    filter_calls = [
        _build_search(portal, _build_filter(portal, resource_id), resource_id)
        for resource_id in ids
    ]
    return {
        "limit 5": _time_spread(pace, limit_calls),
        "one filter": _time_spread(pace, filter_calls),
    }


def _build_filter(portal: Portal, resource_id: str) -> dict[str, object]:
    """Request a package of the resource."""
    call = _build_search(portal, {"limit": 1, "fields": ["Package"]}, resource_id)
    (record,) = json.loads(send_call(call).beginning)["result"]["records"]
    return {"filters": record}


def _build_search(portal: Portal, parameters: dict[str, object], resource_id: str) -> Call:
    return portal.build_call(Request("spread", parameters), resource_id)


def _time_spread(pace: Pace, calls: Sequence[Call]) -> Spread:
    one, all_ = TimedCalls([calls[len(calls) // 2]]), TimedCalls(calls)
    for _ in range(pace.rounds):
        for connections in (1, PARALLEL_CONNECTIONS):
            for subject in (one, all_):
                subject.time(connections, pace.seconds)
    return Spread(one=one.served, all=all_.served)
