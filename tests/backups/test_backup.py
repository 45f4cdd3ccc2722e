"""The commands of the page on backups, on the oldest and the newest PostgreSQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scale.standbys import wait_until

from .servers import ROOT, Server, find_machine_programs, get_wheel_programs, run_server

_PAGE = (ROOT / "docs" / "how-to" / "back-up-and-restore.md").read_text()


def read_commands(heading: str, number: int = 0, *, language: str = "sh") -> str:
    """Return a block of commands, or of another language, below a heading of the page."""
    sections = re.split(r"^## ", _PAGE, flags=re.MULTILINE)
    (section,) = [part for part in sections if part.startswith(f"{heading}\n")]
    blocks = re.findall(rf"^```{language}\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    return str(blocks[number])


@pytest.fixture(
    scope="module",
    params=[(find_machine_programs, "public"), (get_wheel_programs, "portal")],
    ids=["machine-public", "wheel-portal"],
)
def portal(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    """A server with a portal in its database “source”, and the schema where its tables are."""
    programs, schema = request.param
    with run_server(programs()) as server:
        server.create_database("source")
        if schema != "public":
            server.run_sql(server.build_url("source"), f"CREATE SCHEMA {schema}")
        server.run_commands(
            "python -m tests.backups.portal fill", DATABASE_URL=build_source_url(server, schema)
        )
        yield server, schema


def build_source_url(server: Server, schema: str) -> str:
    return server.build_url("source", search_path=schema)


def run_portal(server: Server, url: str, action: str) -> Any:
    return json.loads(
        server.run_commands(f"python -m tests.backups.portal {action}", DATABASE_URL=url)
    )


@pytest.fixture(scope="module")
def answers(portal: tuple[Server, str]) -> Any:
    server, schema = portal
    return run_portal(server, build_source_url(server, schema), "answers")


@pytest.fixture
def restore(portal: tuple[Server, str], tmp_path: Path) -> Callable[[str, str], str]:
    """Run commands of the page that restore into an empty database; return its URL."""
    server, schema = portal

    def restore_database(database: str, text: str) -> str:
        server.create_database(database)
        url = server.build_url(database, search_path=schema)
        (tmp_path / "manage.py").write_text((ROOT / "manage.py").read_text())
        server.run_commands(
            text, folder=tmp_path, DATABASE_URL=build_source_url(server, schema), RESTORED_URL=url
        )
        return url

    return restore_database


@pytest.mark.slow
def test_a_restored_dump_has_the_same_answers_and_can_be_changed(
    portal: tuple[Server, str], restore: Callable[[str, str], str], answers: Any
) -> None:
    server, schema = portal

    url = restore("restored", read_commands("Back up") + read_commands("Restore"))

    assert run_portal(server, url, "answers") == answers
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
    assert server.run_sql(url, indexes) == server.run_sql(build_source_url(server, schema), indexes)
    statistics = (
        "SELECT count(*) FROM pg_stats"
        " WHERE tablename LIKE 'datastore_search_record_%' AND attname = 'data'"
    )
    assert server.run_sql(url, statistics).strip() == "5"
    if schema != "public":
        server.run_commands(read_commands("A schema other than public"), RESTORED_URL=url)
        url = url.replace("portal", "museum")
        assert run_portal(server, url, "answers") == answers
    assert run_portal(server, url, "write_and_load") == [
        [{"_id": 4, "code": "d", "more": None, "list": ["z"]}],  # a dry run, which uses a number
        [{"_id": 5, "code": "d", "more": None, "list": ["z"]}],
        409,
        [_OZONE],
        7,
        3,
    ]


_OZONE = {
    "_id": 7, "code": "007", "subject": "air", "stage": None, "title": "Ozone", "amount": 1,
    "seen": None, "rank": 11.03124127,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "commands"),
    [
        ("from_plain_sql", read_commands("Restore", 1)),
        (
            "in_one_transaction",
            read_commands("Back up")
            + read_commands("Restore").replace("--jobs=2", "--single-transaction"),
        ),
    ],
)
def test_another_way_to_restore_has_the_same_answers(
    portal: tuple[Server, str],
    restore: Callable[[str, str], str],
    answers: Any,
    database: str,
    commands: str,
) -> None:
    assert run_portal(portal[0], restore(database, commands), "answers") == answers


@pytest.mark.slow
@pytest.mark.parametrize(
    "find_programs", [find_machine_programs, get_wheel_programs], ids=["machine", "wheel"]
)
def test_a_recovery_to_a_moment_has_the_answers_of_that_moment(
    find_programs: Callable[[], Path],
) -> None:
    heading = "Recover to a moment"
    settings = read_commands(heading, language="ini").replace("$ARCHIVE", "{folder}/archive")
    with run_server(find_programs(), settings=settings) as server:
        folders = {
            name: str(server.folder / name.lower()) for name in ("ARCHIVE", "BASE", "RECOVERED")
        }
        server.create_database("source")
        url = build_source_url(server, "public")
        run_as_owner(server, "mkdir archive")
        server.run_commands("python -m tests.backups.portal fill", DATABASE_URL=url)
        superuser_url = server.build_url("postgres", role="postgres")
        run_as_owner(server, read_commands(heading), SUPERUSER_URL=superuser_url, **folders)
        run_portal(server, url, "write_and_load")
        answers = run_portal(server, url, "answers")
        moment = server.run_sql(url, "SELECT clock_timestamp()").strip()
        run_portal(server, url, "lose")
        count = "SELECT count(*) FROM datastore_search_resource"
        assert server.run_sql(url, count).strip() == "0"
        segment = server.run_as_superuser("SELECT pg_walfile_name(pg_switch_wal())").strip()
        wait_until((server.folder / "archive" / segment).exists)
        run_as_owner(server, "pg_ctl -D data -m immediate -w stop")

        run_as_owner(server, read_commands(heading, 1), MOMENT=moment, **folders)
        wait_until(lambda: server.run_sql(url, "SELECT pg_is_in_recovery()").strip() == "f")

        assert run_portal(server, url, "answers") == answers
        printed = server.run_commands(read_commands(heading, 2), DATABASE_URL=url)
        assert "Nothing is damaged." in printed


def run_as_owner(server: Server, commands: str, **environment: str) -> None:
    server.run_commands(commands, folder=server.folder, as_owner=True, **environment)
