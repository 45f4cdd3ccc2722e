"""A run: for each measurement serve a portal, attack it, ask questions, check the requirements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.core.management import call_command

from ..nginx import serve_nginx
from ..report import Table
from ..server import Memory, serve_whole_portal
from .attackers import run_attackers
from .attacks import Target
from .honest_clients import PROMPT_SECONDS, Answers, ask_questions
from .scenarios import REFUSALS, SCENARIOS, Scenario
from .tables import issue_tokens, load_tables

#: Of all workers together.
MAX_WORKERS_RSS_BYTES = 600 * 2**20

_WORKERS = 2
_INTERVAL_SECONDS = 0.25
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
    max_rss_bytes: int
    workers: int
    attacks: Mapping[str, Counter[str]]

    @property
    def replaced_workers(self) -> int:
        """The number of workers that were replaced."""
        return max(0, self.workers - _WORKERS)

    @property
    def has_passed(self) -> bool:
        """Return whether the portal met the requirements."""
        return (
            self.answers.prompt_percent >= self.scenario.min_prompt
            and (self.scenario.addresses > 0 or not REFUSALS & self.answers.outcomes.keys())
            and self.max_rss_bytes <= MAX_WORKERS_RSS_BYTES
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
    environment = {"ABUSE_NGINX": "1" if behind_nginx else ""}
    with issue_tokens() as tokens:
        for name in scenarios:
            for group in SCENARIOS[name].divide(attacks):
                with (
                    serve_whole_portal(_WORKERS, environment, Path(os.devnull)) as served,
                    serve_nginx(served[0]) if behind_nginx else nullcontext(served[0]) as server,
                ):
                    target = Target(server, rows, *tables, *tokens)
                    every.append(_measure(name, group, target, served[1], seconds))
                found = every[-1]
                print(f"{found.name}: {found.answers.prompt_percent:.0f}", file=sys.stderr)
    print(format_findings(rows, seconds, every))
    return all(findings.has_passed for findings in every)


def _measure(
    name: str, attacks: Sequence[str], target: Target, portal: psutil.Process, seconds: float
) -> Findings:
    scenario = SCENARIOS[name]
    ask_questions(target, *_WARM_UP)
    memory = Memory(portal, _INTERVAL_SECONDS)
    memory.start()
    with (
        _keep_busy(scenario.busy_processes * (os.cpu_count() or 1), seconds),
        run_attackers(target, attacks, scenario.addresses) as outcomes,
    ):
        time.sleep(_LEAD_SECONDS)
        answers = ask_questions(target, seconds)
    memory.end()
    label = f"{name}: {attacks[0]}" if name == "each" else name
    return Findings(label, scenario, answers, memory.max_bytes, len(memory.samples), outcomes)


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
            process.wait(60)  # it is killed already


# Results ------------------------------------------------------------------------------------------


def format_findings(rows: int, seconds: float, every: Sequence[Findings]) -> str:
    """Format the results, and whether the portal passed."""
    header = ("", "in time", "at least", "MiB", "replaced", "honest answers", "late", "attacks")
    lines = [
        (
            findings.name,
            f"{findings.answers.prompt_percent:.0f}",
            str(findings.scenario.min_prompt),
            str(findings.max_rss_bytes // 2**20),
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
