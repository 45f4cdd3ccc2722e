"""
Time what snapshots cost: ``python -m benchmarks.snapshots --rows 100000``.

In turn with and without: loads of a file with 14 fields, and upserts of 1, 100 and 10,000 records.
Then the first questions after a load.  It makes a resource of its own in the portal's database.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from datastore_search.models import Resource

_NAME = "benchmark-snapshots"
_SIZES = {1: 40, 100: 20, 10_000: 5}  # and how often


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--loads", type=int, default=3)
    options = parser.parse_args()
    django.setup()
    from datastore_search.models import Resource

    Resource.objects.filter(name=_NAME).delete()
    resource = Resource.objects.create(name=_NAME)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv")
            path.write_text("".join(_write_rows(options.rows)))
            _time_loads(resource, path, options.loads)
        _time_questions(resource)
        _time_upserts(resource, options.rows)
    finally:
        resource.delete()


def _write_rows(count: int) -> Iterator[str]:
    yield "key,code,name,place,n1,n2,n3,x1,x2,day,moment,flag,note,text\n"
    rng = random.Random(1)
    for i in range(count):
        yield (
            f"k{i},c{i % 97},name {rng.randrange(5000)},place {rng.randrange(300)},{i},"
            f"{rng.randrange(100)},{rng.randrange(10**6)},{rng.random():.4f},"
            f"{rng.random() * 100:.2f},"
            f"20{i % 25:02}-0{1 + i % 9}-1{i % 9},20{i % 25:02}-01-02T03:04:{i % 60:02},"
            f"{'true' if i % 3 else 'false'},note {rng.randrange(10**6)},"
            f"some words of {rng.randrange(10**5)} and {rng.randrange(10**5)}\n"
        )


def _time_loads(resource: Resource, path: Path, rounds: int) -> None:
    """Load with and without, until the records are served, and until the worker is free."""
    from datastore_search.contrib.files.jobs import load_file
    from datastore_search.contrib.files.types.options import LoadOptions
    from datastore_search.models.table_versions import copier

    made = copier.entry
    served: dict[bool, list[float]] = {True: [], False: []}
    freed: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(2 * rounds):
        is_with = bool(turn % 2)
        copier.entry = made if is_with else lambda _version, _types: lambda: None
        began = monotonic()
        load = load_file(resource, path, options=LoadOptions(key=("key",)))
        freed[is_with].append(monotonic() - began)
        if load.finished_at and load.started_at:
            served[is_with].append((load.finished_at - load.started_at).total_seconds())
        with path.open("a") as opened:  # an unchanged file is not loaded
            opened.write([*_write_rows(1)][1].replace("k0,", f"more{turn},"))
    for name, figures in {"served": served, "worker free": freed}.items():
        without, with_it = median(figures[False]), median(figures[True])
        print(f"load, {name}: {without:.2f} s without, {with_it:.2f} s with", end="")
        print(f" ({with_it / without:.3f})", figures)


def _time_questions(resource: Resource) -> None:
    from datastore_search.contrib.analysis.engine.source import Source
    from datastore_search.search import Query, with_consistent_read

    numbers = count()

    def ask() -> float:
        began = monotonic()
        with_consistent_read(
            resource.pk,
            lambda read: Source(read, Query(limit=None), ["code", "x1"]).fetch(
                "SELECT c0, median(c1) FROM (SELECT c1 AS c0, c7 AS c1 FROM matches) GROUP BY 1"
                " HAVING count(*) > ?",
                next(numbers),  # the answer to the same question is kept
            ),
        )
        return (monotonic() - began) * 1000

    ask()  # starts the process
    from datastore_search.contrib.analysis.engine.process import engine

    engine.close()
    engine.ask([], "SELECT 1", [], 20)
    print("questions:", ", ".join(f"{ask():.0f}" for _ in range(10)), "ms")


def _time_upserts(resource: Resource, rows: int) -> None:
    from django.db import connection

    from datastore_search.contrib.analysis.engine.snapshots import note_changes_of
    from datastore_search.database.statements import execute
    from datastore_search.database.tables import name_record_table
    from datastore_search.models import Resource
    from datastore_search.writing import Method, open_writer

    resource = Resource.objects.select_related("table_version").get(pk=resource.pk)
    table_id = resource.table_version_id or 0
    note_changes_of(connection, table_id)
    rng, table = random.Random(2), name_record_table(table_id)

    def upsert(size: int) -> float:
        keys = rng.sample(range(rows), size)
        records = [{"key": f"k{key}", "n2": rng.randrange(10**9)} for key in keys]
        began = monotonic()
        with open_writer(resource, force=True) as writer:
            writer.write(records, Method.UPSERT)
        return (monotonic() - began) * 1000

    def switch(state: str) -> None:
        for event in ("insert", "update", "delete", "truncate"):
            trigger = f"datastore_search_changes_{event}"
            execute(connection, f"ALTER TABLE {table} {state} TRIGGER {trigger}")

    for size, rounds in _SIZES.items():
        times: dict[str, list[float]] = {"DISABLE": [], "ENABLE": []}
        for _round in range(rounds):
            for state, found in times.items():
                switch(state)
                upsert(1)
                found.append(upsert(size))
        without, with_it = (median(each) for each in times.values())
        print(f"upsert of {size}: {without:.1f} ms without, {with_it:.1f} with", end="")
        print(f" ({with_it / without:.3f})")


if __name__ == "__main__":
    main()
