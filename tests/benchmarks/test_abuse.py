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

from benchmarks.abuse.__main__ import build_parser
from benchmarks.abuse.attackers import attack_once
from benchmarks.abuse.attacks import ATTACKS, Target
from benchmarks.abuse.honest_clients import QUESTIONS
from benchmarks.abuse.scenarios import SCENARIOS
from benchmarks.data import FIELDS
from benchmarks.failures import BenchmarkError

from ..builders import list_other_connections, make_resource
from ..loading.jobs.workers import build_database_url

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "abuse.md").read_text(encoding="utf-8")


class LimitedHandler(BaseHTTPRequestHandler):
    """Accepts a body of at most 100 kB, and answers with 10 MB."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.close_connection = True
        if len(body) > 10**5:
            self.send_response(413)
            self.end_headers()
            return
        self.do_GET()

    def do_GET(self) -> None:
        self.server.sources.append(self.client_address[0])  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(10**7))
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


class LimitedServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), LimitedHandler)
        self.sources: list[str] = []

    def handle_error(self, *args: Any) -> None:
        """Log nothing when a client hangs up."""


@pytest.fixture
def server() -> Iterator[LimitedServer]:
    with LimitedServer() as server:
        threading.Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


@pytest.fixture
def target(server: LimitedServer) -> Target:
    return build_target(f"127.0.0.1:{server.server_address[1]}")


def build_target(server: str, table: str = "table") -> Target:
    return Target(server, 1_000, table, table, "writer", "stranger")


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_its_outcome_and_ends_in_time(target: Target, name: str) -> None:
    outcomes = {
        "slow-readers": "held to the end",
        "hang-ups": "hung up",
        **dict.fromkeys(("long-sort", "empty-filters", "long-q", "records"), "413"),
    }
    ended = threading.Event()
    timer = threading.Timer(0.3, ended.set)
    timer.start()

    actual = attack_once(ATTACKS[name], 1, "127.1.0.1", target, ended)  # type: ignore[arg-type]

    assert actual == outcomes.get(name, "200")
    timer.cancel()


@pytest.mark.parametrize(
    "server", ["192.0.2.1:80", "portal.example.org:80", "127.0.0.1.evil.org:80"]
)
def test_no_other_machine_is_attacked(server: str) -> None:
    with pytest.raises(BenchmarkError, match="is not this machine"):
        build_target(server)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_honest_question_is_answered(client: Any, kind: str) -> None:
    row = ",".join("1" if type_ != "timestamp" else "2020-01-01" for type_ in FIELDS.values())
    resource = make_resource(f"{','.join(FIELDS)}\n{row}\n", types=FIELDS)

    for number in range(10):
        request = QUESTIONS[kind](build_target("127.0.0.1:1", str(resource.pk)), number)
        answer = (
            client.post(request.path, request.body, content_type="application/json")
            if request.method == "POST"
            else client.get(request.path)
        )
        assert answer.status_code == 200


# The options and the page -------------------------------------------------------------------------


def test_the_page_names_every_attack_and_every_option() -> None:
    options = {option for action in build_parser()._actions for option in action.option_strings}
    page = PAGE.partition("\n## ")[0]  # other programs follow

    assert re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \|", page, re.MULTILINE) == [
        (attack.name, f"{attack.per_second:g}") for attack in ATTACKS.values()
    ]
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \| (\d+|–) \|", page, re.MULTILINE) == [
        (name, str(scenario.min_prompt or "–")) for name, scenario in SCENARIOS.items()
    ]
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", page, re.MULTILINE)) == options - {
        "-h",
        "--help",
    }


# A whole run --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("transactional_db")
def test_a_run_prints_its_findings_and_leaves_nothing_running() -> None:
    connections = list_other_connections()  # also those that threads of other tests have left

    process = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.abuse", "--rows", "200", "--seconds", "2"),
            *("--scenario", "loaded", "--scenario", "all", "--attack", "records"),
            *("--attack", "deletes", "--nginx"),
        ],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": build_database_url()},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )

    assert process.returncode == ("The portal failed" in process.stdout), process.stderr
    assert "200 records, 2 s" in process.stdout
    assert re.search(r"^\| loaded +\|.* 200: 10 ", process.stdout, re.MULTILINE)
    assert re.search(r"^\| all +\|.* 200: 10 ", process.stdout, re.MULTILINE)
    assert list_other_connections() <= connections
