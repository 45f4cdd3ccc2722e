"""The commands of the page on backups, on the oldest and the newest PostgreSQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .servers import (
    ROOT,
    Server,
    programs_of_the_machine,
    programs_of_the_wheel,
    serving,
)

_PAGE = (ROOT / "docs" / "how-to" / "back-up-and-restore.md").read_text()


def commands(heading: str, number: int = 0) -> str:
    """Give a block of commands that stands under a heading of the page."""
    section = re.split(r"^## ", _PAGE, flags=re.MULTILINE)
    (found,) = [each for each in section if each.startswith(f"{heading}\n")]
    blocks = re.findall(r"^```sh\n(.*?)^```", found, flags=re.MULTILINE | re.DOTALL)
    return str(blocks[number])


@pytest.fixture(
    scope="module",
    params=[(programs_of_the_machine, "public"), (programs_of_the_wheel, "portal")],
    ids=["machine-public", "wheel-portal"],
)
def portal(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    """A server with a portal in its database “source”, and the schema where its tables are."""
    programs, schema = request.param
    with serving(programs()) as server:
        server.create("source")
        if schema != "public":
            server.sql(server.url("source"), f"CREATE SCHEMA {schema}")
        server.run("python -m tests.backups.portal fill", DATABASE_URL=source(server, schema))
        yield server, schema


def source(server: Server, schema: str) -> str:
    return server.url("source", search_path=schema)


def ask(server: Server, url: str, what: str) -> Any:
    return json.loads(server.run(f"python -m tests.backups.portal {what}", DATABASE_URL=url))


@pytest.fixture
def restore(portal: tuple[Server, str], tmp_path: Path) -> Callable[[str, str], str]:
    """Run commands of the page with an empty database to restore to, and give its URL."""
    server, schema = portal

    def run(database: str, text: str) -> str:
        server.create(database)
        url = server.url(database, search_path=schema)
        (tmp_path / "manage.py").write_text((ROOT / "manage.py").read_text())
        server.run(text, folder=tmp_path, DATABASE_URL=source(server, schema), RESTORED_URL=url)
        return url

    return run


def test_a_restored_dump_answers_as_before_and_goes_on(
    portal: tuple[Server, str], restore: Callable[[str, str], str]
) -> None:
    server, schema = portal
    before = ask(server, source(server, schema), "answers")

    url = restore("restored", commands("Back up") + commands("Restore"))

    assert ask(server, url, "answers") == before
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
    assert server.sql(url, indexes) == server.sql(source(server, schema), indexes)
    statistics = (
        "SELECT count(*) FROM pg_stats"
        " WHERE tablename LIKE 'datastore_search_record_%' AND attname = 'data'"
    )
    assert server.sql(url, statistics).strip() == "5"
    if schema != "public":
        url = _renamed(server, url)
        assert ask(server, url, "answers") == before
    assert ask(server, url, "go_on") == [
        [{"_id": 4, "code": "d", "more": None, "list": ["z"]}],
        [{"_id": 4, "code": "d", "more": None, "list": ["z"]}],
        409,
        [_OZONE],
        7,
        3,
    ]


_OZONE = {
    "_id": 7, "code": "007", "subject": "air", "stage": None, "title": "Ozone", "amount": 1,
    "seen": None, "rank": 0.06079271,
}  # fmt: skip


def _renamed(server: Server, url: str) -> str:
    """Rename the schema as the page says, and give the URL that leads there."""
    server.run(commands("A schema other than public"), RESTORED_URL=url)
    return url.replace("portal", "museum")


def test_a_dump_in_plain_sql_is_the_same(
    portal: tuple[Server, str], restore: Callable[[str, str], str]
) -> None:
    server, schema = portal
    before = ask(server, source(server, schema), "answers")

    url = restore("from_plain_sql", commands("Restore", 1))

    assert ask(server, url, "answers") == before


def test_a_restore_in_one_transaction_is_the_same(
    portal: tuple[Server, str], restore: Callable[[str, str], str]
) -> None:
    server, schema = portal
    restoring = commands("Restore").replace("--jobs=2", "--single-transaction")

    url = restore("in_one_transaction", commands("Back up") + restoring)

    before = ask(server, source(server, schema), "answers")
    assert ask(server, url, "answers") == before
