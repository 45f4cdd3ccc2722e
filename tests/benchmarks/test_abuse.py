"""The attacks, on this machine only; the figures of a portal are not tested."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks.abuse import run
from benchmarks.abuse.attackers import run_attackers
from benchmarks.abuse.attacks import ATTACKS, build_expensive_queries
from benchmarks.abuse.clients import Client, Target
from benchmarks.abuse.honest_client import HonestOutcomes, HonestRequest, send_honest_requests
from benchmarks.abuse.monitor import ServerMaxima
from benchmarks.abuse.options import _build_parser, read_options
from benchmarks.data import FIELDS
from benchmarks.failures import BenchmarkError
from example_project.management.commands.serve import DEFAULT_THREADS

from ..builders import ask, list_other_connections, make_resource
from ..loading.jobs.workers import build_database_url

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "abuse.md").read_text(encoding="utf-8")


class LimitedHandler(BaseHTTPRequestHandler):
    """Accepts a body of at most 1 MB, and answers with 10 MB."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.close_connection = True
        if length > 10**6:
            self.send_response(413)
            self.end_headers()
            return
        self.rfile.read(length)
        self.do_GET()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(10**7))

    def log_message(self, *args: Any) -> None:
        pass


class LimitedServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: Any) -> None:
        """Log nothing when a client hangs up."""


@pytest.fixture
def target() -> Iterator[Target]:
    with LimitedServer(("127.0.0.1", 0), LimitedHandler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield Target(f"127.0.0.1:{server.server_address[1]}", 1_000, "table", "fat")
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("hang-ups", "hung up"),
        ("expensive-queries", "200"),
        ("slow-readers", "held to the end"),
        ("slow-bodies", "held to the end"),
        ("fat-pages", "200"),
        ("long-ids", r"(413|cut off), \d+ MB sent"),
        ("upload", r"(413|cut off), \d+ MB sent"),
        ("many-values", "413|cut off"),
        ("long-sort", "413|cut off"),
    ],
)
def test_every_attack_has_its_outcome_and_ends_in_time(
    target: Target, name: str, outcome: str
) -> None:
    ended = threading.Event()
    timer = threading.Timer(0.3, ended.set)
    timer.start()

    actual = ATTACKS[name].act(Client(target, "127.1.0.1", 1, ended))  # type: ignore[arg-type]

    assert re.fullmatch(outcome, actual)
    timer.cancel()


def test_every_attack_is_tried() -> None:
    (cases,) = [
        mark.args[1]
        for mark in test_every_attack_has_its_outcome_and_ends_in_time.pytestmark  # type: ignore[attr-defined]
    ]
    assert [name for name, _outcome in cases] == list(ATTACKS)


def test_the_attackers_of_all_attacks_begin_and_end_together(target: Target) -> None:
    with run_attackers(target, ["expensive-queries", "slow-bodies"]) as outcomes:
        honest_outcomes = send_honest_requests(target, 0.5, count=5)

    assert honest_outcomes.outcomes == {"200": 5}
    assert outcomes["expensive-queries"]["200"] > 0
    assert outcomes["slow-bodies"] == {"held to the end": 8}


@pytest.mark.parametrize(
    "server", ["192.0.2.1:80", "portal.example.org:80", "127.0.0.1.evil.org:80"]
)
def test_no_other_machine_is_attacked(server: str) -> None:
    with pytest.raises(BenchmarkError, match="is not this machine"):
        Target(server, 1, "table", "fat")


@pytest.mark.django_db
def test_expensive_queries_are_refused_by_a_limit_or_answered(client: Any) -> None:
    row = ",".join("1" if type_ != "timestamp" else "2020-01-01" for type_ in FIELDS.values())
    resource = make_resource(f"{','.join(FIELDS)}\n{row}\n", types=FIELDS)
    queries = [{"resource_id": str(resource.pk), **query} for query in build_expensive_queries(1)]

    assert [ask(client, parameters).status_code for parameters in queries] == [409] * 3 + [200] * 6


# The requirements ---------------------------------------------------------------------------------


def build_outcomes(prompt: int, *others: HonestRequest) -> HonestOutcomes:
    return HonestOutcomes([*[HonestRequest("200", 0.1)] * prompt, *others])


@pytest.mark.parametrize(
    ("prompt", "mebibytes", "has_passed"),
    [(95, 600, True), (94, 600, False), (95, 601, False), (100, 100, True)],
)
def test_a_portal_passes_that_answers_in_time_within_its_memory(
    prompt: int, mebibytes: int, has_passed: bool
) -> None:
    maxima = ServerMaxima(
        workers_rss_bytes=mebibytes * 2**20, worker_rss_bytes=1, workers={1, 2, 3}
    )
    honest_outcomes = build_outcomes(prompt, *[HonestRequest("timed out", 20)] * (100 - prompt))
    findings = run.Findings(honest_outcomes, {"upload": {"413": 1}}, maxima, 2, 0)
    text = "\n".join(run.format_findings(read_options([]), findings))

    assert findings.has_passed == has_passed
    assert f"The portal {'passed' if has_passed else 'failed'}." in text
    assert f"{prompt}% answered within 1 s" in text
    assert f"memory of all workers: {mebibytes} MiB at most (600)" in text
    assert "workers restarted: 1" in text


# The options and the page -------------------------------------------------------------------------


def test_the_page_names_every_attack_and_every_option() -> None:
    options = {option for action in _build_parser()._actions for option in action.option_strings}

    assert re.findall(r"^\| `([\w-]+)` \| (\d+) \|", PAGE, re.MULTILINE) == [
        (attack.name, str(attack.clients)) for attack in ATTACKS.values()
    ]
    page = PAGE.partition("\n## ")[0]  # other programs follow
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", page, re.MULTILINE)) == options - {
        "-h",
        "--help",
    }


# A whole run --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("transactional_db")
def test_a_run_prints_its_findings_and_leaves_nothing_running() -> None:
    connections = list_other_connections()  # also those that threads of other tests have left

    process = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.abuse", "--rows", "200", "--fat-records", "2"),
            *("--seconds", "2", "--only", "slow-bodies", "long-ids"),
        ],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": build_database_url()},
        capture_output=True,
        text=True,
        check=False,
    )

    assert process.returncode == ("The portal failed." in process.stdout), process.stderr
    assert "; 200: 100\n" in process.stdout
    assert (
        f"200 records; 2 workers of {DEFAULT_THREADS} threads, behind nginx; 2 s" in process.stdout
    )
    assert re.search(r"^slow-bodies +8 +8 +held to the end: 8$", process.stdout, re.MULTILINE)
    assert re.search(r"^long-ids +60 +60 +413, ", process.stdout, re.MULTILINE)
    assert list_other_connections() <= connections
