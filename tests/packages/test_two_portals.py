"""Packages between portals on two PostgreSQL servers, of the oldest and the newest version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ..backups.servers import Server, find_machine_programs, get_wheel_programs, run_server

#: Each test has a database of its own.
_NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Portal:
    """A portal with a database of its own."""

    server: Server
    database: str

    def run(self, action: str, *arguments: object) -> Any:
        """Run an action of ``tests.backups.portal``."""
        command = " ".join(["python -m tests.backups.portal", action, *map(str, arguments)])
        url = self.server.build_url(self.database)
        return json.loads(self.server.run_commands(command, DATABASE_URL=url))


@pytest.fixture(scope="module", params=[False, True], ids=["to-newer", "to-older"])
def servers(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Server]]:
    """The servers that packages leave and reach."""
    programs = [find_machine_programs(), get_wheel_programs()]
    with ExitStack() as stack:
        first, second = (stack.enter_context(run_server(each)) for each in programs)
        yield (second, first) if request.param else (first, second)


@pytest.fixture(scope="module")
def exported(
    servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Portal, Path]:
    """A portal with resources of every kind, and the folder of their packages."""
    portal, folder = make_portal(servers[0], "origin"), tmp_path_factory.mktemp("packages")
    portal.run("fill")
    portal.run("export", folder)
    return portal, folder


def make_portal(server: Server, database: str) -> Portal:
    server.create_database(database)
    return Portal(server, database)


@pytest.fixture
def target(servers: tuple[Server, Server]) -> Portal:
    """A portal without resources on the other server."""
    portal = make_portal(servers[1], f"target_{next(_NUMBERS)}")
    portal.run("prepare")
    return portal


def test_every_resource_answers_as_before(exported: tuple[Portal, Path], target: Portal) -> None:
    origin, folder = exported

    assert target.run("import", folder) == []

    answers = target.run("all_answers")
    for name, expected in origin.run("all_answers").items():
        for kind, answer in expected.items():
            assert answers[name][kind] == answer, kind
    assert sorted(answer["status"] for answer in answers.values()) == [200, 200, 200, 200, 403]
    assert target.run("leftovers") == [5, 5, 5, 0]


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def change_bytes(data: bytes) -> bytes:
    middle = len(data) // 2
    changed = bytes(byte ^ 255 for byte in data[middle : middle + 8])
    return data[:middle] + changed + data[middle + 8 :]


def test_packages_that_cannot_be_imported_leave_nothing(
    exported: tuple[Portal, Path], target: Portal, tmp_path: Path
) -> None:
    _origin, folder = exported
    for number, path in enumerate(sorted(folder.iterdir())):
        for name, damage in (("cut", cut), ("changed", change_bytes)):
            (tmp_path / f"{name}-{number}.zip").write_bytes(damage(path.read_bytes()))

    refusals = target.run("import", tmp_path)

    assert len(refusals) == 10
    assert all("damaged" in refusal for refusal in refusals[:5])
    assert all("ends too early" in refusal for refusal in refusals[5:])
    assert target.run("leftovers") == [0, 0, 0, 0]
