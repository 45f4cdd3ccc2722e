"""A run: serve the portal, attack it, send honest requests, and judge."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psutil
from django.core.management import call_command

from ..nginx import serve_nginx
from ..report import Table, format_number
from ..server import free_port, wait_for
from .attackers import run_attackers
from .attacks import ATTACKS
from .clients import Target
from .honest_client import PROMPT_SECONDS, HonestOutcomes, send_honest_requests
from .monitor import ServerMaxima, connect_to_database, count_connections, monitor_server
from .options import Options
from .tables import build_fat_table, build_table

#: Requirements: the share of the honest client's requests with a prompt answer, and the maximum
#: memory of all workers together.
MIN_PROMPT_SHARE = 0.95
MAX_WORKERS_RSS_BYTES = 600 * 2**20

_MIB = 2**20
#: Seconds of attack before the honest client begins.
_LEAD_SECONDS = 2.0
#: Seconds after the attack; statements that still run then do not end by themselves.
_SETTLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Findings:
    """The outcomes of all requests, and the state of the server."""

    honesty: HonestOutcomes
    outcomes: Mapping[str, Mapping[str, int]]
    watched: ServerMaxima
    workers: int
    statements_left: int

    @property
    def has_held_out(self) -> bool:
        """Return whether the portal withstood the attack."""
        return (
            self.honesty.prompt_share >= MIN_PROMPT_SHARE
            and self.watched.workers_rss_bytes <= MAX_WORKERS_RSS_BYTES
        )


def run(options: Options) -> bool:
    """
    Attack, print the results, and return whether the portal withstood the attack.

    Raises: ``BenchmarkError`` when no attack is possible.
    """
    call_command("migrate", verbosity=0)
    table, fat_table = build_table(options.rows), build_fat_table(options.fat_records)
    with ExitStack() as stack:
        address, process = stack.enter_context(_serve_portal(options))
        server = address if options.is_direct else stack.enter_context(serve_nginx(address))
        found = _attack(options, Target(server, options.rows, table, fat_table), process)
    for text in format_findings(options, found):
        print(text, end="\n\n", flush=True)
    return found.has_held_out


def _attack(options: Options, target: Target, portal: psutil.Process) -> Findings:
    send_honest_requests(
        target, 0.1, requests=2 * options.workers
    )  # each worker has loaded the project
    with monitor_server(portal) as watched:
        with run_attackers(target, options.attacks) as outcomes:
            time.sleep(_LEAD_SECONDS)
            honesty = send_honest_requests(target, options.seconds)
        time.sleep(_SETTLE_SECONDS)
        with connect_to_database() as connection:
            _opened, left = count_connections(connection)
    return Findings(honesty, outcomes, watched, options.workers, left)


@contextmanager
def _serve_portal(options: Options) -> Iterator[tuple[str, psutil.Process]]:
    """Run ``manage.py serve`` on a free port; yield host and port, and the process."""
    port = free_port()
    server = subprocess.Popen(
        [
            *(sys.executable, "manage.py", "serve", "--port", str(port)),
            *("--workers", str(options.workers), "--threads", str(options.threads)),
        ]
    )
    try:
        wait_for(f"127.0.0.1:{port}", server)
        yield f"127.0.0.1:{port}", psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


# Results ------------------------------------------------------------------------------------------


def format_findings(options: Options, found: Findings) -> list[str]:
    """Format the results and the judgement."""
    way = "without nginx" if options.is_direct else "behind nginx"
    setting = (
        f"{options.rows:,} records; {options.workers} workers of {options.threads} threads, {way};"
        f" {options.seconds:g} s"
    )
    attacks = Table(
        "# The attackers",
        ("attack", "clients", "requests", "outcomes"),
        [
            (
                name,
                str(ATTACKS[name].clients),
                str(sum(outcomes.values())),
                _format_counts(outcomes),
            )
            for name, outcomes in found.outcomes.items()
        ],
    )
    verdict = "The portal passed." if found.has_held_out else "The portal failed."
    return [
        setting,
        attacks.as_text(),
        _format_outcomes(found.honesty),
        _format_server(found),
        verdict,
    ]


def _format_outcomes(honesty: HonestOutcomes) -> str:
    times = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    said = ", ".join(
        f"{name} {format_number(honesty.percentile(of))} s" for name, of in times.items()
    )
    return (
        f"# The honest client\n\n{len(honesty.asked)} requests for 5 records:"
        f" {honesty.prompt_share:.0%} answered within {PROMPT_SECONDS:g} s"
        f" (at least {MIN_PROMPT_SHARE:.0%}); {said}; {_format_counts(honesty.outcomes)}"
    )


def _format_server(found: Findings) -> str:
    seen = found.watched
    return (
        "# The server\n\n"
        f"memory of all workers: {seen.workers_rss_bytes // _MIB} MiB at most"
        f" ({MAX_WORKERS_RSS_BYTES // _MIB}), of one {seen.worker_rss_bytes // _MIB} MiB\n"
        f"workers started again: {max(0, len(seen.workers) - found.workers)}\n"
        f"connections to PostgreSQL: {seen.connections} at most\n"
        f"statements in PostgreSQL: {seen.statements} at most at once,"
        f" {found.statements_left} left {_SETTLE_SECONDS:g} s after the attack"
    )


def _format_counts(outcomes: Mapping[str, int]) -> str:
    ordered = sorted(outcomes.items(), key=lambda each: -each[1])
    return ", ".join(f"{outcome}: {times}" for outcome, times in ordered)
