"""
``python -m benchmarks.catalogue``: the catalogue of a portal of many resources, in this process.

The resources have texts, tags, publishers and fields, and no records; they are made within a
transaction that is rolled back.  The requests are sent in turn by Django's test client.  On a busy
machine the processor's times say more than the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from http import HTTPStatus
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import django
import psutil

from .packages import read_packages

if TYPE_CHECKING:
    from datastore_search.catalogue import Dataset

_FIELDS = ("code", "name", "day", "value", "unit", "place")
_SEARCH = "/en/api/3/action/package_search"

#: What is asked; each of them reads one page.
_REQUESTS = {
    "package_search": _SEARCH,
    "package_search, two words": f"{_SEARCH}?q=server+library",
    "package_search, conditions and facets": (
        f"{_SEARCH}?fq=tags:net&sort=title+asc&facet.field=%5B%22tags%22%2C%22organization%22%5D"
    ),
    "package_search, 100 datasets": f"{_SEARCH}?rows=100",
    "package_show": "/en/api/3/action/package_show?id=bench-0",
    "package_list": "/en/api/3/action/package_list",
    "catalogue page": "/en/datastore/",
    "catalogue page, two words": "/en/datastore/?q=server+library",
    "catalogue page, the last": "/en/datastore/?page={last}",
    "catalog.ttl": "/en/datastore/catalog.ttl",
    "catalog.ttl, the middle": "/en/datastore/catalog.ttl?page=20",
    "sitemap": "/en/datastore/sitemap.xml?page=2",
    "feed": "/en/datastore/changes.atom",
}


def main() -> None:
    """Make the resources, time each request, and print the figures as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resources", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--own", action="store_true", help="let a function give datasets of two resources each"
    )
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    os.environ["THROTTLE"] = "0"
    django.setup()
    from django.db import transaction
    from django.test.utils import override_settings

    own = {"DATASTORE_SEARCH_DATASETS": f"{__spec__.name}.list_datasets"} if options.own else {}
    with transaction.atomic(), override_settings(ALLOWED_HOSTS=["*"], **own):
        _make_resources(options.resources)
        _time_requests(options.resources, options.rounds)
        transaction.set_rollback(True)


def list_datasets(_user: Any) -> Iterator[Dataset]:
    """Give a dataset for every two resources."""
    from datastore_search.catalogue import Dataset, Organization
    from datastore_search.models import Resource

    rows = Resource.objects.filter(name__startswith="bench-").order_by("name")
    columns = rows.values_list("pk", "name", "title", "description", "tags", "publisher")
    pairs = iter(columns)
    for (pk, name, title, notes, tags, publisher), other in zip(pairs, pairs, strict=False):
        yield Dataset(
            id=name,
            name=name,
            title=title,
            notes=notes,
            tags=tags,
            organization=Organization(publisher),
            resources=[pk, other[0]],
        )


def _make_resources(count: int) -> None:
    from django.db import connection
    from django.utils import timezone

    from datastore_search.models import Field, Load, LoadState, Resource, TableVersion

    packages = read_packages()[:count]
    resources = Resource.objects.bulk_create(
        Resource(
            name=f"bench-{number}",
            title=package.name,
            description=package.description,
            publisher=f"Office {number % 40}",
            tags=[package.section, package.priority],
            license="CC-BY-4.0",
            contact=package.maintainer[:200],
        )
        for number, package in enumerate(packages)
    )
    loads = Load.objects.bulk_create(
        Load(resource=each, source="a.csv", state=LoadState.READY) for each in resources
    )
    now = timezone.now()
    versions = TableVersion.objects.bulk_create(
        TableVersion(resource=load.resource, load=load, language="simple", published_at=now)
        for load in loads
    )
    for version in versions:
        version.resource.table_version = version
    Resource.objects.bulk_update(resources, ["table_version"], batch_size=500)
    Field.objects.bulk_create(
        Field(resource=resource, name=name, position=position, type="text")
        for resource in resources
        for position, name in enumerate(_FIELDS, start=1)
    )
    with connection.cursor() as cursor:
        for model in (Resource, Field, Load, TableVersion):
            table = model._meta.db_table  # noqa: SLF001 - Django's public name for it
            cursor.execute(f"ANALYZE {connection.ops.quote_name(table)}")


def _read_seconds(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


def _time_requests(count: int, rounds: int) -> None:
    """Send the requests in turn, after two rounds that fill caches."""
    from django.db import connection
    from django.test import Client

    client = Client()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        server = psutil.Process(cursor.fetchone()[0])
    walls: dict[str, list[float]] = {name: [] for name in _REQUESTS}
    processor: dict[str, list[float]] = {name: [] for name in _REQUESTS}
    postgres: dict[str, list[float]] = {name: [] for name in _REQUESTS}
    sizes: dict[str, int] = {}
    for number in range(rounds + 2):
        for name, address in _REQUESTS.items():
            before = _read_seconds(server)
            began, used = time.perf_counter(), time.process_time()
            response = client.get(address.format(last=count // 40))
            wall, cpu = time.perf_counter() - began, time.process_time() - used
            if response.status_code != HTTPStatus.OK:
                raise SystemExit(f"{name}: {response.status_code}")
            sizes[name] = len(response.content)
            if number > 1:
                walls[name].append(wall)
                processor[name].append(cpu)
                postgres[name].append(_read_seconds(server) - before)
    for name in _REQUESTS:
        print(
            json.dumps(
                {
                    "request": name,
                    "median_ms": round(median(walls[name]) * 1_000, 1),
                    "least_ms": round(min(walls[name]) * 1_000, 1),
                    "processor_ms": round(median(processor[name]) * 1_000, 1),
                    # The system counts in steps of 10 ms, so only the mean says something.
                    "postgres_processor_ms": round(mean(postgres[name]) * 1_000, 1),
                    "bytes": sizes[name],
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
