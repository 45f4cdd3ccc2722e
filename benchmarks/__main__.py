"""
Time each kind of request, and beside it, in the same run, the bare statements it needs.

The floor is what PostgreSQL takes to answer the same count and page over the same kind of
connection; what the portal takes beyond it is our own time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

ROUNDS = 15
#: A request that takes longer than this is timed a few times only.
SLOW_SECONDS = 1.0

REQUESTS: dict[str, dict[str, Any]] = {
    "limit 5": {"limit": 5},
    "limit 100": {"limit": 100},
    "limit 32,000": {"limit": 32_000},
    "deep offset": {"offset_share": 0.5, "limit": 100},
    "filter: one record": {"filters": {"code": "0004711"}},
    "filter: list and value": {"filters": {"subject": ["watershed", "survey"], "stage": "active"}},
    "filter: at the end": {"filters": {"stage": "archived"}},
    "q: rare word": {"q": "chatroom"},
    "q: common word": {"q": "river"},
    "q and filter": {"q": "river", "filters": {"subject": "air"}},
}


def main() -> None:
    """Make the table, serve the portal, time everything, print the table of figures."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=int(os.environ.get("BENCH_ROWS", "100000")))
    rows = parser.parse_args().rows
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()

    from .server import serving

    resource_id = _resource(rows)
    print(f"{'request':24} {'portal':>10} {'p95':>10} {'floor':>10} {'ratio':>7} {'own time':>10}")
    with serving() as port:
        for name, request in REQUESTS.items():
            asked = {**request}
            if share := asked.pop("offset_share", None):
                asked["offset"] = int(rows * share)
            portal, floor = _timed(_portal(port, resource_id, asked), _floor(resource_id, asked))
            _print(name, portal, floor)


def _resource(rows: int) -> str:
    """Load the table of so many rows, unless it is there."""
    from django.core.management import call_command

    from datastore_search.loading import load_file
    from datastore_search.models import Resource

    from .data import write_table

    call_command("migrate", verbosity=0)
    resource, _ = Resource.objects.get_or_create(name=f"benchmark-{rows}")
    if resource.current_load_id is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            write_table(path, rows)
            begin = time.perf_counter()
            load_file(resource, path)
            seconds = time.perf_counter() - begin
        print(f"loaded {rows:,} rows in {seconds:.1f} s: {rows / seconds:,.0f} a second\n")
    return str(resource.pk)


def _portal(port: int, resource_id: str, asked: dict[str, Any]) -> Callable[[], None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    body = json.dumps({"resource_id": resource_id, **asked})

    def ask() -> None:
        connection.request(
            "POST",
            "/en/api/action/datastore_search",
            body,
            {"Content-Type": "application/json"},
        )
        response = connection.getresponse()
        text = response.read()
        if response.status != http.client.OK:
            sys.exit(text.decode())

    return ask


def _floor(resource_id: str, asked: dict[str, Any]) -> Callable[[], None]:
    from functools import partial

    from django.db import connection

    from datastore_search import search, storage
    from datastore_search.api.parameters import SearchParameters, query_of
    from datastore_search.models import Resource
    from datastore_search.search.statements import Statements

    query = query_of(SearchParameters.read({"resource_id": resource_id, **asked}))
    relation = search.relation_of(Resource.objects.described(resource_id))
    statements = Statements(relation, query, partial(storage.cast_texts, connection))
    connection.ensure_connection()
    cursor = connection.connection.cursor()

    def ask() -> None:
        total = relation.rows or 0
        if not statements.is_whole:
            count = statements.count()
            ((total,),) = cursor.execute(count.text, count.parameters).fetchall()
        page = statements.page(few=total <= search._SORTED_MATCHES)
        cursor.execute(page.text, page.parameters).fetchall()

    return ask


def _timed(*subjects: Callable[[], None]) -> list[list[float]]:
    """Time the subjects in turn, A B A B …, in milliseconds, after a round that does not count."""
    times: list[list[float]] = [[] for _ in subjects]
    for subject in subjects:
        subject()
    for _ in range(ROUNDS):
        for place, subject in enumerate(subjects):
            begin = time.perf_counter()
            subject()
            times[place].append((time.perf_counter() - begin) * 1000)
        if sum(times[0]) > SLOW_SECONDS * 1000 * 5:
            break
    return times


def _print(name: str, portal: list[float], floor: list[float]) -> None:
    median, base = statistics.median(portal), statistics.median(floor)
    p95 = sorted(portal)[int(len(portal) * 0.95) - 1 if len(portal) > 1 else 0]
    print(
        f"{name:24} {median:7.1f} ms {p95:7.1f} ms {base:7.1f} ms"
        f" {median / base:7.2f} {median - base:7.1f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
