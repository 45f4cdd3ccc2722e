"""
Measure a portal alone and behind Varnish: requests a second, hits, and the time of a purge.

    python -m benchmarks.scale.cache

It has a PostgreSQL of its own, and a resource of 10,000 records.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from example_project.management.commands.serve import DEFAULT_THREADS

from ..failures import BenchmarkError
from ..server import find_free_port, serve_portal
from ..throwaway_postgres import run_throwaway_server
from .varnish import read_counters, serve_varnish

Client = subprocess.Popen[str]

SECONDS, CLIENTS, WRITES = 8.0, 8, 50


def check(answer: http.client.HTTPResponse) -> None:
    """Read an answer, which must be a success."""
    body = answer.read()
    if answer.status != http.client.OK:
        raise BenchmarkError(f"{answer.status}: {body[:200]!r}")


def ask(server: str, paths: Sequence[str], until: float, counts: list[int]) -> None:
    """Send requests one after the other over one connection, and count the answers."""
    host = http.client.HTTPConnection(server, timeout=60)
    count = 0
    while time.monotonic() < until:
        for path in paths:
            host.request("GET", path)
            check(host.getresponse())
            count += 1
    counts.append(count)


def start_clients(server: str, paths: Sequence[str], is_wanted: bool = True) -> list[Client]:
    """Start clients, which are processes that print how often they were answered."""
    code = "import sys, time; from benchmarks.scale.cache import ask; counts = [];"
    code += f"ask({server!r}, {paths!r}, time.monotonic() + {SECONDS}, counts); print(counts[0])"
    return [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(CLIENTS if is_wanted else 0)
    ]


def measure_rate(server: str, paths: Sequence[str]) -> float:
    """Measure requests a second of several clients."""
    clients = start_clients(server, paths)
    return sum(int(client.communicate()[0]) for client in clients) / SECONDS


def measure_purges(server: str, resource_id: str, token: str) -> list[float]:
    """Measure the seconds from the end of a write until the cache shows it, under load."""
    path = f"/en/api/3/action/datastore_search?resource_id={resource_id}&limit=1"
    host = http.client.HTTPConnection(server, timeout=60)
    seconds = []
    for number in range(WRITES):
        body = {"resource_id": resource_id, "force": True, "method": "update",
                "records": [{"_id": 1, "code": f"new {number}"}]}  # fmt: skip
        headers = {"Authorization": token, "Content-Type": "application/json"}
        host.request("POST", "/en/api/3/action/datastore_upsert", json.dumps(body), headers)
        check(host.getresponse())
        written_at, shown = time.monotonic(), ""
        while shown != f"new {number}":
            host.request("GET", path)
            shown = json.loads(host.getresponse().read())["result"]["records"][0]["code"]
        seconds.append(time.monotonic() - written_at)
        time.sleep(0.05)
    return seconds


def main() -> None:
    """Print the figures."""
    with run_throwaway_server("cache_") as (folder, database):
        port = find_free_port()
        os.environ |= {
            "DATABASE_URL": database.url,
            "DJANGO_SETTINGS_MODULE": "benchmarks.scale.served_settings",
            "CACHES": f"http://127.0.0.1:{port}",
            "MEDIA_ROOT": str(folder),
        }
        _measure(port)


def _measure(port: int) -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from datastore_search.interface import create
    from datastore_search.web.tokens import issue_token

    call_command("migrate", verbosity=0)
    user = get_user_model().objects.create_superuser("boss")
    records = [
        {"code": f"{number:05}", "title": f"River {number % 50}", "amount": number}
        for number in range(10_000)
    ]
    created = create(user, resource={"name": "rivers"}, records=records)
    resource_id, token = created["resource_id"], issue_token(user)
    search = f"/en/api/3/action/datastore_search?resource_id={resource_id}"
    kinds = {
        "search of 100 records": [search],
        "search for a word": [f"{search}&q=river&limit=20"],
        "data page": [f"/en/datastore/{resource_id}/"],
        "catalogue page": ["/en/datastore/"],
    }
    settings = {"DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"]}
    cache = f"127.0.0.1:{port}"
    with (
        serve_portal(2, DEFAULT_THREADS, settings) as portal,
        serve_varnish(portal, port) as folder,
    ):
        for kind, paths in kinds.items():
            alone, cached = measure_rate(portal, paths), measure_rate(cache, paths)
            print(f"{kind}: {alone:.0f} requests a second alone, {cached:.0f} by the cache")
        hits, misses = read_counters(folder, "cache_hit", "cache_miss")
        print(f"{hits} hits, {misses} misses")
        for load in ("idle", "8 clients"):
            clients = start_clients(cache, kinds["search of 100 records"], load != "idle")
            seconds = measure_purges(cache, resource_id, token)
            for client in clients:
                client.terminate()
            p50, longest = statistics.median(seconds) * 1000, max(seconds) * 1000
            print(f"{load}: a write is seen after {p50:.1f} ms (median), {longest:.1f} ms (max)")


if __name__ == "__main__":
    main()
