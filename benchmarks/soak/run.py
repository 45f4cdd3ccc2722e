"""A run: serve, use and disturb the portal, then look at what is left."""

from __future__ import annotations

import statistics
import time
from argparse import Namespace
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from django.core.management import call_command
from django.db import connection

from datastore_search.contrib.files.models import FINISHED, Load
from datastore_search.contrib.files.tables.filling import list_staging_tables
from datastore_search.database.tables import list_record_tables
from datastore_search.models import Resource

from ..report import Table
from ..server import Memory, serve_whole_portal
from ..throwaway_postgres import ThrowawayServer
from .clients import Clients, Findings
from .faults import Faults, Recoveries
from .tables import Tables, create_tables

#: Requirements: how much slower the slowest answers may be under load, and how much a worker grows.
MAX_SLOWDOWN: Final = 5.0
MAX_GROWTH: Final = 0.1

_WORKERS: Final = 2
_INTERVAL_SECONDS: Final = 1.0
#: A worker that is as young as that still loads its modules.
_YOUNG_SAMPLES: Final = 60
_PERCENTS: Final = (50, 90, 99)
#: Requests before the run, for which each worker loads its modules.
_WARM_UP_REQUESTS: Final = 50


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run has shown: errors, and the figures."""

    errors: list[str]
    growths: list[tuple[float, float]]

    @property
    def has_passed(self) -> bool:
        """Return whether nothing was wrong, and the memory of every worker was flat."""
        return not self.errors and all(
            abs(last - first) <= MAX_GROWTH * first for first, last in self.growths
        )


def run(options: Namespace, server: ThrowawayServer, folder: Path) -> bool:
    """Run, print the figures, and return whether the portal has passed."""
    tables = create_tables(options.rows)
    with serve_whole_portal(_WORKERS, {}, folder / "portal.log") as (address, portal):
        clients = Clients(address, tables)
        clients.call(
            "datastore_create",
            {
                "resource_id": tables.written,
                "fields": [{"id": "key", "type": "int"}, {"id": "text", "type": "text"}],
                "primary_key": ["key"],
            },
            tables.token,
        )
        memory = Memory(portal, _INTERVAL_SECONDS)
        faults = Faults(
            portal,
            server,
            lambda: _is_answering(clients, tables),
            options.fault_minutes * 20,
            _WORKERS,
        )
        for _time in range(_WARM_UP_REQUESTS):
            _is_answering(clients, tables)
        memory.start()
        clients.start_readers(options.quiet_seconds + options.minutes * 60)
        time.sleep(options.quiet_seconds)
        clients.start_others()
        faults.start()
        time.sleep(options.minutes * 60)
        faults.end()
        clients.end()
        memory.end()
        outcome = _judge(clients, tables, faults.recoveries, memory)
    leftovers = _find_leftovers(folder, clients.findings)
    _print_figures(options, clients, faults.recoveries, outcome, leftovers)
    return outcome.has_passed and not leftovers


def _is_answering(clients: Clients, tables: Tables) -> bool:
    with suppress(Exception):
        result = clients.call("datastore_search", {"resource_id": tables.fixed, "limit": 5})
        return bool(result["total"] == tables.rows)
    return False


def _measure_growths(memory: Memory) -> list[tuple[float, float]]:
    """
    Return the memory of each worker, in MiB: after its first minute, and at its end.

    Each is a median of a quarter of the worker's life.  Workers that lived for less than five
    minutes are left out.
    """
    settled = [samples[_YOUNG_SAMPLES:] for samples in memory.samples.values()]
    return [
        (
            statistics.median(samples[: len(samples) // 4]) / 2**20,
            statistics.median(samples[-(len(samples) // 4) :]) / 2**20,
        )
        for samples in settled
        if len(samples) >= 4 * _YOUNG_SAMPLES
    ]


def _judge(clients: Clients, tables: Tables, recoveries: Recoveries, memory: Memory) -> Outcome:
    findings = clients.findings
    errors = [*findings.wrong, *recoveries.errors]
    written: set[int] = set()
    while True:
        result = clients.call(
            "datastore_search",
            {"resource_id": tables.written, "limit": 10_000, "offset": len(written), "sort": "key"},
        )
        if not result["records"]:
            break
        written |= {record["key"] for record in result["records"]}
    if result["total"] != len(written):
        errors.append(f"{result['total']} records have {len(written)} keys.")
    if lost := findings.acknowledged - written:
        errors.append(f"{len(lost)} acknowledged writes are lost: {sorted(lost)[:10]}")
    if strange := written - findings.acknowledged - findings.unknown:
        errors.append(f"{len(strange)} records were never written: {sorted(strange)[:10]}")
    return Outcome(errors, _measure_growths(memory))


def _find_leftovers(folder: Path, findings: Findings) -> list[str]:
    """
    List tables, loads and files that nothing needs, once the portal has ended.

    A load that could not be queued, as the database was away, may leave its file for some days.
    """
    connection.close()  # PostgreSQL was stopped meanwhile
    call_command("datastore_cleanup", stdout=StringIO())  # as an operator's cron does
    served = set(Resource.objects.values_list("table_version_id", flat=True))
    running = Load.objects.exclude(state__in=FINISHED).values_list("pk", flat=True)
    files = [path for path in (folder / "media").rglob("*") if path.is_file()]
    named = {Path(name).name for name in Load.objects.values_list("file", flat=True)}
    strays = [path for path in files if path.name not in named]
    if len(strays) <= findings.outcomes["loads", "database away"]:
        files = [path for path in files if path not in strays]
    return [
        *(f"table {name}" for name in list_record_tables(connection) - served),
        *(f"staging table {name}" for name in list_staging_tables(connection)),
        *(f"load {pk}" for pk in running),
        *(f"file {path.name}" for path in files),
    ]


def _compute_percentile_ms(seconds: list[float], percent: int) -> float:
    values = sorted(seconds) or [0.0]
    return values[round((len(values) - 1) * percent / 100)] * 1000


def _print_readers(findings: Findings) -> None:
    phases = {"quiet": findings.quiet_seconds, "under load": findings.busy_seconds}
    rows = [
        (
            name,
            f"{len(seconds):,}",
            *(f"{_compute_percentile_ms(seconds, percent):.1f}" for percent in _PERCENTS),
        )
        for name, seconds in phases.items()
    ]
    header = ("phase", "right answers", *(f"p{percent} ms" for percent in _PERCENTS))
    print(Table("# Five records", header, rows).as_text(), end="\n\n")
    quiet, busy = (_compute_percentile_ms(seconds, 99) for seconds in phases.values())
    print(f"Five records, p99: {busy / (quiet or 1):.1f} times (the aim is {MAX_SLOWDOWN:g}).")


def _print_figures(
    options: Namespace,
    clients: Clients,
    recoveries: Recoveries,
    outcome: Outcome,
    leftovers: list[str],
) -> None:
    findings = clients.findings
    print(f"{options.rows:,} records; {options.minutes:g} minutes; {_WORKERS} workers\n")
    rows = [(name, what, f"{count:,}") for (name, what), count in sorted(findings.outcomes.items())]
    print(Table("# The clients", ("client", "outcome", "requests"), rows).as_text(), end="\n\n")
    faults = [
        (
            name,
            str(len(seconds)),
            f"{sorted(seconds)[len(seconds) // 2]:.2f}",
            f"{max(seconds):.2f}",
        )
        for name, seconds in recoveries.seconds.items()
    ]
    header = ("fault", "times", "median s to recover", "max s")
    print(Table("# The faults", header, faults).as_text(), end="\n\n")
    _print_readers(findings)
    loads = ", ".join(f"{name}: {count}" for name, count in findings.loads.items())
    print(f"Loads: {loads or 'none'}.")
    print(f"Writes: {len(findings.acknowledged):,} acknowledged, {len(findings.unknown)} not.")
    for first, last in outcome.growths:
        print(f"A worker: {first:.0f} MiB, at its end {last:.0f} MiB.")
    for error in [*outcome.errors[:20], *leftovers[:20]]:
        print(f"Error: {error}")
    has_passed = outcome.has_passed and not leftovers
    print(f"The portal {'passed' if has_passed else 'failed'}.")
