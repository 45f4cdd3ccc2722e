"""A run: for each measurement serve a portal, attack it, ask questions, check the requirements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psutil
from django.core.management import call_command

from ..nginx import serve_nginx
from ..report import Table
from ..server import find_free_port, wait_for_server
from .attackers import run_attackers
from .attacks import Target
from .honest_clients import PROMPT_SECONDS, Answers, ask_questions
from .monitor import ServerMaxima, monitor_server
from .scenarios import REFUSALS, SCENARIOS, Scenario
from .tables import issue_tokens, load_tables

#: Of all workers together.
MAX_WORKERS_RSS_BYTES = 600 * 2**20

_WORKERS = 2
#: Seconds of attack before the honest clients begin.
_LEAD_SECONDS = 2.0
#: Seconds of questions, and their rate, before anything is measured: each worker loads the project.
_WARM_UP = (4.0, 15.0)
_BUSY_PROGRAM = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"


@dataclass(frozen=True, slots=True)
class Findings:
    """The outcomes of one measurement."""

    name: str
    scenario: Scenario
    answers: Answers
    maxima: ServerMaxima
    attacks: Mapping[str, Counter[str]]

    @property
    def replaced_workers(self) -> int:
        """The number of workers that were replaced."""
        return max(0, len(self.maxima.workers) - _WORKERS)

    @property
    def has_passed(self) -> bool:
        """Return whether the portal met the requirements."""
        return (
            self.answers.prompt_percent >= self.scenario.min_prompt
            and (self.scenario.addresses > 0 or not REFUSALS & self.answers.outcomes.keys())
            and self.maxima.workers_rss_bytes <= MAX_WORKERS_RSS_BYTES
            and not self.replaced_workers
        )


def run(
    rows: int,
    seconds: float,
    *,
    scenarios: Sequence[str],
    attacks: Sequence[str],
    behind_nginx: bool,
) -> bool:
    """
    Measure, print the results, and return whether the portal withstood all attacks.

    Raises: ``BenchmarkError`` when no attack is possible.
    """
    call_command("migrate", verbosity=0)
    tables = load_tables(rows)
    every: list[Findings] = []
    with issue_tokens() as tokens:
        for name in scenarios:
            for group in SCENARIOS[name].divide(attacks):
                with _serve_portal(behind_nginx) as (server, portal):
                    target = Target(server, rows, *tables, *tokens)
                    every.append(_measure(name, group, target, portal, seconds))
                found = every[-1]
                print(f"{found.name}: {found.answers.prompt_percent:.0f}", file=sys.stderr)
    print(format_findings(rows, seconds, every))
    return all(findings.has_passed for findings in every)


def _measure(
    name: str, attacks: Sequence[str], target: Target, portal: psutil.Process, seconds: float
) -> Findings:
    scenario = SCENARIOS[name]
    ask_questions(target, *_WARM_UP)
    with (
        monitor_server(portal) as maxima,
        _keep_busy(scenario.busy_processes * (os.cpu_count() or 1), seconds),
        run_attackers(target, attacks, scenario.addresses) as outcomes,
    ):
        time.sleep(_LEAD_SECONDS)
        answers = ask_questions(target, seconds)
    label = f"{name}: {attacks[0]}" if name == "each" else name
    return Findings(label, scenario, answers, maxima, outcomes)


@contextmanager
def _serve_portal(behind_nginx: bool) -> Iterator[tuple[str, psutil.Process]]:
    """Run ``manage.py serve`` on a free port; yield host and port, and the process."""
    address = f"127.0.0.1:{find_free_port()}"
    command = [sys.executable, "manage.py", "serve", "--port", address.partition(":")[2]]
    environment = {**os.environ, "ABUSE_NGINX": "1" if behind_nginx else ""}
    server = subprocess.Popen(
        [*command, "--workers", str(_WORKERS)],
        env=environment,
        stderr=subprocess.DEVNULL,  # a line for each refusal
    )
    try:
        wait_for_server(address, server)
        with ExitStack() as stack:
            entrance = stack.enter_context(serve_nginx(address)) if behind_nginx else address
            yield entrance, psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


@contextmanager
def _keep_busy(processes: int, seconds: float) -> Iterator[None]:
    """Run processes that compute all the time; they end by themselves if this one is killed."""
    program = _BUSY_PROGRAM.format(seconds * 3 + 60)
    busy = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


# Results ------------------------------------------------------------------------------------------


def format_findings(rows: int, seconds: float, every: Sequence[Findings]) -> str:
    """Format the results, and whether the portal passed."""
    header = ("", "in time", "at least", "MiB", "replaced", "honest answers", "late", "attacks")
    lines = [
        (
            findings.name,
            f"{findings.answers.prompt_percent:.0f}",
            str(findings.scenario.min_prompt),
            str(findings.maxima.workers_rss_bytes // 2**20),
            str(findings.replaced_workers),
            _format_counts(findings.answers.outcomes),
            _format_counts(findings.answers.late_kinds),
            _format_counts(sum(findings.attacks.values(), Counter())),
        )
        for findings in every
    ]
    caption = (
        f"{rows:,} records, {seconds:g} s; in time: of 100 honest questions, those answered 200"
        f" within {PROMPT_SECONDS:g} s"
    )
    failed = [findings.name for findings in every if not findings.has_passed]
    verdict = f"The portal failed: {', '.join(failed)}." if failed else "The portal passed."
    return f"{Table(caption, header, lines).as_text()}\n\n{verdict}"


def _format_counts(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name}: {count}" for name, count in ordered) or "–"
