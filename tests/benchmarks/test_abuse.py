"""The attacks, on this machine only; the figures of a portal are not tested."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.abuse.__main__ import build_parser
from benchmarks.abuse.attacks import ATTACKS, Target
from benchmarks.abuse.honest_clients import QUESTIONS
from benchmarks.abuse.scenarios import SCENARIOS
from benchmarks.data import FIELDS
from benchmarks.failures import BenchmarkError

from ..builders import list_other_connections, make_resource
from ..processes import PROJECT, build_database_url
from .programs import run_benchmark

PAGE = (PROJECT / "docs" / "explanation" / "abuse.md").read_text(encoding="utf-8")


def build_target(server: str, table: str = "table") -> Target:
    return Target(server, 1_000, table, table, "writer", "stranger")


@pytest.mark.parametrize(
    "server", ["192.0.2.1:80", "portal.example.org:80", "127.0.0.1.evil.org:80"]
)
def test_no_other_machine_is_attacked(server: str) -> None:
    with pytest.raises(BenchmarkError, match="is not this machine"):
        build_target(server)


@pytest.mark.slow
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

    process = run_benchmark(
        *("benchmarks.abuse", "--rows", "200", "--seconds", "2"),
        *("--scenario", "loaded", "--scenario", "all", "--attack", "records"),
        *("--attack", "deletes", "--nginx"),
        database_url=build_database_url(),
        may_fail=True,
    )

    assert process.returncode == ("The portal failed" in process.stdout), process.stderr
    assert "200 records, 2 s" in process.stdout
    assert re.search(r"^\| loaded +\|.* 200: 10 ", process.stdout, re.MULTILINE)
    assert re.search(r"^\| all +\|.* 200: 10 ", process.stdout, re.MULTILINE)
    assert list_other_connections() <= connections
