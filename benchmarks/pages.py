"""
``python -m benchmarks.pages``: the data page and the chart beside the actions that they ask.

The page of a question, ``datastore_search`` with the same records, and ``datastore_facets`` or
``datastore_aggregate`` with the same groups, in turn, over one connection.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import django

from .addresses import Portal
from .calls import Call, Caller
from .failures import BenchmarkError
from .requests import Request

if TYPE_CHECKING:
    from .resources import LoadedResource

_PAGE_SIZE = 50
_FACETS = ["Section", "Priority", "Architecture", "Installed-Size", "Size"]
_GROUPS = {"group_by": "Section", "limit": 100}


class _Question(NamedTuple):
    name: str
    q: str = ""
    filters: Mapping[str, Any] = {}


_QUESTIONS = [
    _Question("none"),
    _Question("a rare word", "chatroom"),
    _Question("a common word", "support"),
    _Question("a selective range", "", {"Size": {"gte": 100_000, "lt": 101_000}}),
    _Question("a common value", "", {"Section": "net"}),
    _Question("nearly all records", "", {"Size": {"gte": 1_000}}),
]


def main() -> None:
    """Load the table, serve the portal, time each question, and print the figures as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--data", type=Path, help="keep the generated table in this folder")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from .credentials import issue_reading_token
    from .resources import prepare_resource
    from .server import serve_portal

    try:
        target = prepare_resource(options.rows, options.data)
        with issue_reading_token() as token, serve_portal(2, 4) as address:
            _time_pages(Portal(address, token), target, options.rounds)
    except BenchmarkError as failure:
        sys.exit(str(failure))


def _time_pages(portal: Portal, target: LoadedResource, rounds: int) -> None:
    page = f"/en/datastore/{target.id}/"
    for each in _QUESTIONS:
        question = {"q": each.q, "filters": each.filters}
        texts = {"q": each.q, "filters": json.dumps(each.filters) if each.filters else ""}
        asked = {name: value for name, value in texts.items() if value}
        calls = {
            "page": Call(portal.server, "GET", f"{page}?{urlencode(asked)}" if asked else page),
            "search": _build_action(portal, target, "search", question | {"limit": _PAGE_SIZE}),
            "facets": _build_action(portal, target, "facets", question | {"facets": _FACETS}),
        }
        _print_times(each.name, portal, calls, rounds)
    calls = {
        "chart": Call(portal.server, "GET", f"{page}chart/?by=Section"),
        "aggregate": _build_action(portal, target, "aggregate", _GROUPS),
    }
    _print_times("a chart of a common group", portal, calls, rounds)


def _build_action(
    portal: Portal, target: LoadedResource, action: str, parameters: Mapping[str, Any]
) -> Call:
    request = Request(action, parameters, action=f"datastore_{action}")
    return portal.build_call(request, target.id)


def _print_times(name: str, portal: Portal, calls: Mapping[str, Call], rounds: int) -> None:
    """Send the calls in turn, after two rounds that fill caches, and print typical times in ms."""
    caller = Caller(portal.server)
    times: dict[str, Sequence[float]] = {each: [] for each in calls}
    for number in range(rounds + 2):
        for each, call in calls.items():
            seconds = caller.send(call).seconds
            times[each] = [*times[each], seconds] if number > 1 else []
    caller.close()
    typical = {f"{each}_ms": round(median(times[each]) * 1_000, 1) for each in calls}
    print(json.dumps({"question": name, **typical}), flush=True)


if __name__ == "__main__":
    main()
