"""A run: serve the portal, attack it, send honest requests, and check the requirements."""

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
from ..server import find_free_port, wait_for_server
from .attackers import run_attackers
from .attacks import ATTACKS
from .clients import Target
from .honest_client import PROMPT_SECONDS, HonestOutcomes, send_honest_requests
from .monitor import ServerMaxima, connect_to_database, count_connections, monitor_server
from .options import Options
from .tables import load_fat_table, load_table

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

    honest_outcomes: HonestOutcomes
    outcomes: Mapping[str, Mapping[str, int]]
    maxima: ServerMaxima
    workers: int
    statements_left: int

    @property
    def has_passed(self) -> bool:
        """Return whether the portal withstood the attack."""
        return (
            self.honest_outcomes.prompt_share >= MIN_PROMPT_SHARE
            and self.maxima.workers_rss_bytes <= MAX_WORKERS_RSS_BYTES
        )


def run(options: Options) -> bool:
    """
    Attack, print the results, and return whether the portal withstood the attack.

    Raises: ``BenchmarkError`` when no attack is possible.
    """
    call_command("migrate", verbosity=0)
    table, fat_table = load_table(options.rows), load_fat_table(options.fat_records)
    with ExitStack() as stack:
        address, process = stack.enter_context(_serve_portal(options))
        server = address if options.is_direct else stack.enter_context(serve_nginx(address))
        findings = _attack(options, Target(server, options.rows, table, fat_table), process)
    for text in format_findings(options, findings):
        print(text, end="\n\n", flush=True)
    return findings.has_passed


def _attack(options: Options, target: Target, portal: psutil.Process) -> Findings:
    # Each worker loads the project.
    send_honest_requests(target, 0.1, count=2 * options.workers)
    with monitor_server(portal) as maxima:
        with run_attackers(target, options.attacks) as outcomes:
            time.sleep(_LEAD_SECONDS)
            honest_outcomes = send_honest_requests(target, options.seconds)
        time.sleep(_SETTLE_SECONDS)
        with connect_to_database() as connection:
            _opened, statements_left = count_connections(connection)
    return Findings(honest_outcomes, outcomes, maxima, options.workers, statements_left)


@contextmanager
def _serve_portal(options: Options) -> Iterator[tuple[str, psutil.Process]]:
    """Run ``manage.py serve`` on a free port; yield host and port, and the process."""
    port = find_free_port()
    server = subprocess.Popen(
        [
            *(sys.executable, "manage.py", "serve", "--port", str(port)),
            *("--workers", str(options.workers), "--threads", str(options.threads)),
        ]
    )
    try:
        wait_for_server(f"127.0.0.1:{port}", server)
        yield f"127.0.0.1:{port}", psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


# Results ------------------------------------------------------------------------------------------


def format_findings(options: Options, findings: Findings) -> list[str]:
    """Format the results, and whether the portal passed."""
    proxy = "without nginx" if options.is_direct else "behind nginx"
    setting = (
        f"{options.rows:,} records; {options.workers} workers of {options.threads} threads,"
        f" {proxy}; {options.seconds:g} s"
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
            for name, outcomes in findings.outcomes.items()
        ],
    )
    verdict = "The portal passed." if findings.has_passed else "The portal failed."
    return [
        setting,
        attacks.as_text(),
        _format_outcomes(findings.honest_outcomes),
        _format_server(findings),
        verdict,
    ]


def _format_outcomes(honest_outcomes: HonestOutcomes) -> str:
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    percentiles = ", ".join(
        f"{name} {format_number(honest_outcomes.compute_percentile(share))} s"
        for name, share in shares.items()
    )
    return (
        f"# The honest client\n\n{len(honest_outcomes.requests)} requests for 5 records:"
        f" {honest_outcomes.prompt_share:.0%} answered within {PROMPT_SECONDS:g} s"
        f" (at least {MIN_PROMPT_SHARE:.0%}); {percentiles};"
        f" {_format_counts(honest_outcomes.outcomes)}"
    )


def _format_server(findings: Findings) -> str:
    maxima = findings.maxima
    return (
        "# The server\n\n"
        f"memory of all workers: {maxima.workers_rss_bytes // _MIB} MiB at most"
        f" ({MAX_WORKERS_RSS_BYTES // _MIB}), of one {maxima.worker_rss_bytes // _MIB} MiB\n"
        f"workers restarted: {max(0, len(maxima.workers) - findings.workers)}\n"
        f"connections to PostgreSQL: {maxima.connections} at most\n"
        f"statements in PostgreSQL: {maxima.statements} at most at once,"
        f" {findings.statements_left} left {_SETTLE_SECONDS:g} s after the attack"
    )


def _format_counts(outcomes: Mapping[str, int]) -> str:
    ordered = sorted(outcomes.items(), key=lambda item: -item[1])
    return ", ".join(f"{outcome}: {count}" for outcome, count in ordered)
