"""Pages that begin after an ``_id``, in turn with the first page of the same search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .addresses import Portal
from .requests import Request
from .resources import LoadedResource
from .timing import Pace, TimedCalls, Timing

#: After which part of the records a page begins, in per cent; the first page has no condition.
SHARES = (0, 10, 50, 90)

_PAGE = {"limit": 500, "include_next_page": True}
_WORD = {"q": "support", "sort": "_id", "include_total": False}
_VALUES = {"filters": {"Section": ["libs", "python", "doc"]}, "include_total": False}

#: The parameters of the first pages.  A total would be counted again for each page.
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "cursor": _PAGE,
    "cursor_q": {**_PAGE, **_WORD},
    "cursor_filter": {**_PAGE, **_VALUES},
    "cursor_q_and_filter": {**_PAGE, **_WORD, **_VALUES},
}


def measure_pages(
    portal: Portal, name: str, target: LoadedResource, pace: Pace
) -> Sequence[Timing]:
    """
    Time the pages of a search in turn, round by round, over one connection.

    Raises: ``BenchmarkError`` when an answer is not the expected one.
    """
    requests = [_build_request(name, target.rows * share // 100) for share in SHARES]
    pages = [TimedCalls([portal.build_call(request, target.id)]) for request in requests]
    for _ in range(pace.rounds):
        for page in pages:
            page.time(1, pace.seconds)
    return [page.alone for page in pages]


def _build_request(name: str, last_id: int) -> Request:
    """Ask for the page after a record, as ``next_page`` says; for the first one after 0."""
    search = SEARCHES[name]
    condition = {"_id": {"gt": last_id}} if last_id else {}
    return Request(name, {**search, "filters": {**search.get("filters", {}), **condition}})
