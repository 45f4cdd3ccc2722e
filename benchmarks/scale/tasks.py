"""The timed tasks of a portal with many resources, each on request of ``many_tables``."""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from http import HTTPStatus
from io import StringIO
from pathlib import Path
from typing import Any

import django
import psutil
from django.core.management import call_command
from django.db import connection

from ..failures import BenchmarkError

#: Words of the tables; each table has a few of them.
_WORDS = ("river", "bridge", "school", "budget", "survey", "forest", "harbour", "market", "museum")
_TYPES = ("text", "int4", "date", "float8", "text", "bool", "numeric", "timestamp")
_OWN = "own-resource"  # of loads and upserts


class Portal:
    """The portal of this process, on the database of ``DATABASE_URL``."""

    def __init__(self) -> None:
        """Start Django; every task is done for a superuser."""
        django.setup()
        from django.contrib.auth import get_user_model
        from django.test import Client

        call_command("migrate", verbosity=0)
        self.chance = random.Random(20261126)
        self._ids: list[str] = []
        self.user, _ = get_user_model().objects.get_or_create(
            username="scale", is_superuser=True, is_staff=True
        )
        self.client, self.admin = Client(), Client()
        self.admin.force_login(self.user)

    @property
    def ids(self) -> list[str]:
        """The ids of the resources that ``fill`` has made."""
        if not self._ids:
            from datastore_search.models import Resource

            made = Resource.objects.filter(title__startswith="table-").order_by("title")
            self._ids = list(map(str, made.values_list("pk", flat=True)))
        return self._ids

    def choose(self) -> str:
        """Choose any resource."""
        return self.chance.choice(self.ids)

    def ask(self, action: str, **parameters: Any) -> Any:
        """Send an action and return its result."""
        answer = self.client.post(
            f"/en/api/3/action/{action}", json.dumps(parameters), content_type="application/json"
        )
        check(answer)
        return answer.json()["result"]

    def get(self, path: str, *, as_admin: bool = False) -> None:
        """Fetch a page."""
        answer = (self.admin if as_admin else self.client).get(path)
        check(answer)


def check(answer: Any) -> None:
    """
    Check the status of an answer.

    Raises: ``BenchmarkError``: the time of a failure is no figure.
    """
    if answer.status_code != HTTPStatus.OK:
        raise BenchmarkError(f"{answer.status_code}: {answer.content[:2_000]!r}")


def fill(portal: Portal, first: int, last: int) -> None:
    """Make resources by ``datastore_create``: 5 to 50 records with 3 to 8 fields."""
    from datastore_search import interface

    for number in range(first, last):
        chance = random.Random(number)
        types = _TYPES[: chance.randint(3, len(_TYPES))]
        fields = [{"id": f"field {place}", "type": kind} for place, kind in enumerate(types)]
        records = [
            {f"field {place}": _make_value(kind, chance, row) for place, kind in enumerate(types)}
            for row in range(chance.randint(5, 50))
        ]
        interface.create(
            portal.user,
            resource={"name": f"table-{number:06}"},
            fields=fields,
            records=records,
            primary_key=["field 1"] if number % 4 == 0 else [],
        )


def _make_value(kind: str, chance: random.Random, row: int) -> object:
    if kind == "text":
        return " ".join(chance.choices(_WORDS, k=6))
    if kind in {"date", "timestamp"}:
        return f"20{chance.randrange(10, 26)}-0{chance.randrange(1, 10)}-11"
    return bool(row % 2) if kind == "bool" else row


# Tasks --------------------------------------------------------------------------------------------


def _run_command(*arguments: str) -> None:
    with redirect_stdout(StringIO()):
        call_command(*arguments, stdout=StringIO(), stderr=StringIO())


def _create_and_delete(portal: Portal) -> None:
    from datastore_search import interface
    from datastore_search.models import Resource

    name = f"passing-{time.time_ns()}"
    records = [{"name": word, "number": place} for place, word in enumerate(_WORDS)]
    interface.create(portal.user, resource={"name": name}, records=records)
    Resource.objects.get(title=name).delete()


def _load_file(portal: Portal) -> None:
    lines = [f"{row},{word} {time.time_ns()}" for row, word in enumerate(_WORDS * 3)]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.csv"
        path.write_text("\n".join(["number,name", *lines]) + "\n", encoding="utf-8")
        _run_command("load_resource", str(path), "--name", _OWN)


def _upsert(portal: Portal) -> None:
    from datastore_search import interface

    record = {"field 0": " ".join(portal.chance.choices(_WORDS, k=6)), "field 1": 0}
    interface.upsert(portal.user, portal.ids[0], records=[record])


def _touch_all(portal: Portal) -> dict[str, float]:
    """Search every table over one connection, and measure it and this process."""
    process, figures = psutil.Process(), {}
    portal.ask("datastore_search", resource_id=portal.ids[0], limit=5)
    for moment in ("first", "all"):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_backend_pid(), sum(total_bytes) FROM pg_backend_memory_contexts"
            )
            pid, contexts = cursor.fetchone() or (0, 0)
        figures[f"backend, {moment}"] = float(psutil.Process(pid).memory_full_info().uss)
        figures[f"contexts, {moment}"] = float(contexts)
        figures[f"worker, {moment}"] = float(process.memory_info().rss)
        if moment == "first":
            for pk in portal.ids:
                portal.ask("datastore_search", resource_id=pk, q="river", limit=5)
    return figures


#: What is timed, by its name in the table of figures.
TASKS: dict[str, Callable[[Portal], object]] = {
    "search, one table": lambda p: p.ask("datastore_search", resource_id=p.ids[0], limit=5),
    "search, any table": lambda p: p.ask("datastore_search", resource_id=p.choose(), limit=5),
    "`q`, any table": lambda p: p.ask("datastore_search", resource_id=p.choose(), q="river"),
    "`datastore_info`": lambda p: p.ask("datastore_info", id=p.choose()),
    "data page": lambda p: p.get(f"/en/datastore/{p.choose()}/"),
    "`package_search`": lambda p: p.ask("package_search", rows=10),
    "`package_search`, `q`": lambda p: p.ask("package_search", q="000011", rows=10),
    "`package_list`": lambda p: p.ask("package_list", limit=20),
    "`resource_search`": lambda p: p.ask("resource_search", query="name:table-00001", limit=10),
    "catalogue page": lambda p: p.get("/en/datastore/"),
    "catalogue page, `q`": lambda p: p.get("/en/datastore/?q=000011"),
    "sitemap": lambda p: p.get("/en/datastore/sitemap.xml"),
    "feed": lambda p: p.get("/en/datastore/changes.atom"),
    "admin list": lambda p: p.get("/en/admin/datastore_search/resource/", as_admin=True),
    "admin search": lambda p: p.get("/en/admin/datastore_search/resource/?q=000011", as_admin=True),
    "upsert": _upsert,
    "create and delete": _create_and_delete,
    "`load_resource`": _load_file,
    "`migrate`": lambda _: _run_command("migrate", "--verbosity", "0"),
    "`check`": lambda _: _run_command("check", "--database", "default"),
    "`datastore_cleanup`": lambda _: _run_command("datastore_cleanup"),
    "`datastore_doctor`": lambda _: _run_command("datastore_doctor"),
}


def main() -> None:
    """Read tasks from the standard input, a JSON list in each line, and answer with figures."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    portal = Portal()
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        result: object = None
        if name == "fill":
            fill(portal, *arguments)
        elif name == "search":
            result = [_time_search(portal, place) for place in arguments]
        elif name == "touch":
            result = _touch_all(portal)
        else:
            result = _time_task(portal, name, *arguments)
        print(json.dumps(result), file=answers, flush=True)


def _time_search(portal: Portal, place: int) -> float:
    pk = portal.ids[place * (len(portal.ids) // 20)]
    if place == 0:
        connection.close()
    started_at = time.perf_counter()
    portal.ask("datastore_search", resource_id=pk, limit=5)
    return time.perf_counter() - started_at


def _time_task(portal: Portal, name: str, repeats: int) -> list[float]:
    """Run a task repeatedly, and return the seconds of each run."""
    durations = []
    len(portal.ids)  # read before anything is timed
    for _ in range(repeats):
        started_at = time.perf_counter()
        TASKS[name](portal)
        durations.append(time.perf_counter() - started_at)
    return durations


if __name__ == "__main__":
    main()
