"""
Kill a replica and the primary of a served portal, while clients read and write.

    python -m benchmarks.scale.replicas [--synchronous] [--seconds 6]

A portal of two gunicorn workers runs on a primary and two standbys.  Eight clients read and two
write.  Each answer is checked: the newest records, without a gap, what its client has written, and
not before what its client has seen.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
from psycopg import sql

from ..server import TIMEOUT_SECONDS, find_free_port, wait_for_server
from ..throwaway_postgres import ThrowawayServer
from .standbys import Standby, run_standby

READERS: Final = 8
WRITERS: Final = 2

#: The records that a search asks for.
_LIMIT: Final = 20

#: Each client has an address, or it would be one client to the portal.
_NUMBERS: Final = count(10)

#: How long the primary is dead until a standby is promoted.
_DEAD_SECONDS: Final = 3.0

CREATION: Final = {
    "fields": [{"id": "n", "type": "int4"}, {"id": "text", "type": "text"}],
    "primary_key": ["n"],
    "force": True,
}

_SET_UP: Final = """
from django.contrib.auth import get_user_model
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token
for number in range({writers}):
    user = get_user_model().objects.create_superuser(f"writer{{number}}")
    resource = Resource.objects.create(name=f"table{{number}}")
    print("MADE", resource.pk, issue_token(user))
"""


class Log:
    """What was answered, by the phase of the run."""

    def __init__(self) -> None:
        """Begin empty."""
        self.phase = ""
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.times: dict[tuple[str, str], list[float]] = {}
        self.wrong: list[str] = []
        self.slowest: dict[tuple[str, str], float] = {}

    def note(self, kind: str, status: str, started_at: float) -> None:
        """Note an answer, and when it was not 200."""
        now, key = time.monotonic(), (self.phase, kind)
        self.counts[(*key, status)] += 1
        self.slowest[key] = max(self.slowest.get(key, 0.0), now - started_at)
        if status != "200":
            self.times.setdefault(key, []).append(now)

    def print_phases(self) -> None:
        """Print a line for each phase and kind."""
        for phase, kind in dict.fromkeys((phase, kind) for phase, kind, _status in self.counts):
            statuses = {s: n for (p, k, s), n in self.counts.items() if (p, k) == (phase, kind)}
            times = self.times.get((phase, kind), [])
            seconds = f", failing for {max(times) - min(times):.2f} s" if times else ""
            slowest = f", slowest {self.slowest[phase, kind]:.2f} s"
            sys.stdout.write(f"{phase:32} {kind:6} {statuses}{seconds}{slowest}\n")


class Client(threading.Thread):
    """A client with a connection of its own, which works until it is ended."""

    def __init__(self, address: str, log: Log, resource: str, token: str = "") -> None:
        """Take what it asks, and give it an address of its own."""
        super().__init__(daemon=True)
        self._source = (f"127.0.0.{next(_NUMBERS)}", 0)
        self._address, self.log, self.resource, self._token = address, log, resource, token
        self._connection: http.client.HTTPConnection | None = None
        self.is_ended = False
        self.acknowledged = self._seen = 0
        self.may_have_gaps = False

    def act(self, action: str, sent: dict[str, Any], kind: str) -> dict[str, Any] | None:
        """Call an action, and return its result; None if it has failed."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = self._token
        started_at = time.monotonic()
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(
                    self._address, timeout=60, source_address=self._source
                )
            body = json.dumps({"resource_id": self.resource, **sent})
            self._connection.request("POST", f"/en/api/3/action/{action}", body, headers)
            response = self._connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection = None
            self.log.note(kind, type(error).__name__, started_at)
            return None
        self.log.note(kind, str(response.status), started_at)
        if not answer["success"]:
            if response.status != http.client.SERVICE_UNAVAILABLE:
                self.log.wrong.append(f"{self.log.phase}: {response.status} {answer['error']}")
            return None
        result: dict[str, Any] = answer["result"]
        return result

    def search(self, least: int = 0) -> None:
        """Read the newest records, which must be whole and not before those of this client."""
        result = self.act("datastore_search", {"sort": "n desc", "limit": _LIMIT}, "read")
        if result is None:
            return
        numbers, total = [record["n"] for record in result["records"]], result["total"]
        texts = [record["text"] for record in result["records"]]
        newest = numbers[0] if numbers else 0
        expected = [*range(newest, max(0, newest - _LIMIT), -1)]
        is_whole = self.may_have_gaps or (numbers == expected and total == newest)
        if not is_whole or texts != [f"text {n}" for n in numbers]:
            self.log.wrong.append(f"{self.log.phase}: total {total}, {numbers}")
        if newest < self._seen and not self.may_have_gaps:
            self.log.wrong.append(f"{self.log.phase}: {self._seen} was seen, then {newest}")
        self._seen = newest
        if newest < least:
            self.log.wrong.append(f"{self.log.phase}: own write {least} not seen, {newest}")


class Reader(Client):
    """A client without a token."""

    def run(self) -> None:
        """Read."""
        while not self.is_ended:
            self.search()


class Writer(Client):
    """A client that writes one record after the other, and reads each."""

    def run(self) -> None:
        """Write a number until it is acknowledged, then read it."""
        while not self.is_ended:
            number = self.acknowledged + 1
            sent = {"records": [{"n": number, "text": f"text {number}"}], "force": True}
            if self.act("datastore_upsert", sent, "write") is not None:
                self.acknowledged = number
                self.search(least=number)


@contextmanager
def serve(environment: dict[str, str]) -> Iterator[str]:
    """Serve the portal of an environment by gunicorn; yield host and port."""
    port = find_free_port()
    command = [
        sys.executable, "-m", "gunicorn", "example_project.wsgi", "--workers", "2", "--threads",
        "8", "--worker-class", "gthread", "--bind", f"127.0.0.1:{port}", "--keep-alive", "75",
    ]  # fmt: skip
    log = Path(environment["CACHE"]).parent / "portal.log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        wait_for_server(f"127.0.0.1:{port}", server)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(TIMEOUT_SECONDS)


def _manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def _set_synchronous(primary: ThrowawayServer) -> None:
    with psycopg.connect(primary.superuser_url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def _run_servers(folder: Path) -> Iterator[tuple[ThrowawayServer, Standby, Standby]]:
    """Run a primary and two standbys; the second one follows the first if that is promoted."""
    settings = {"wal_receiver_timeout": "10s", "hot_standby_feedback": "on"}
    primary = ThrowawayServer(folder / "primary")
    try:
        with run_standby(primary, **settings) as heir:
            folders = f"{primary.url.partition('host=')[2].partition('&')[0]},{heir.folder}"
            conninfo = f"host={folders} user=postgres target_session_attrs=read-write"
            with run_standby(primary, **settings, primary_conninfo=conninfo) as other:
                yield primary, heir, other
    finally:
        with suppress(psutil.NoSuchProcess, FileNotFoundError):
            primary.stop_immediately()


def _build_environment(
    folder: Path, primary: ThrowawayServer, *standbys: Standby
) -> dict[str, str]:
    heir = standbys[0]
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "benchmarks.scale.replica_settings",
        "DATABASE_URL": f"{primary.url},{heir.folder}&target_session_attrs=read-write"
        "&connect_timeout=2",
        "REPLICAS": " ".join(f"{standby.url}&connect_timeout=2" for standby in standbys),
        "CACHE": str(folder / "cache"),
    }


def make_tables(environment: dict[str, str]) -> list[tuple[str, str]]:
    """Make a resource for each writer; return their ids, and the tokens."""
    _manage(environment, "migrate", "--verbosity", "0")
    made = _manage(environment, "shell", "--command", _SET_UP.format(writers=WRITERS))
    lines = [line.split() for line in made.splitlines() if line.startswith("MADE")]
    return [(resource, token) for _made, resource, token in lines]


def _kill(
    log: Log,
    servers: tuple[ThrowawayServer, Standby, Standby],
    clients: list[Client],
    seconds: float,
) -> None:
    """Kill a replica, start it again, kill the primary, and promote the other standby."""
    primary, heir, other = servers
    log.phase = "1 all is well"
    time.sleep(seconds)
    log.phase = "2 a replica is killed"
    other.stop_immediately()
    time.sleep(seconds)
    log.phase = "3 it is started again"
    other.start()
    time.sleep(seconds)
    log.phase = "4 the primary is killed"
    primary.stop_immediately()
    time.sleep(_DEAD_SECONDS)
    heir.promote()
    log.phase = "5 a standby is promoted"
    time.sleep(seconds)
    for client in clients:
        client.is_ended = True
    for client in clients:
        client.join(TIMEOUT_SECONDS)


def count_lost(url: str, writers: list[Writer]) -> int:
    """Count the acknowledged records that a server does not have."""
    lost = 0
    with psycopg.connect(url) as connection:
        for writer in writers:
            ((version,),) = connection.execute(
                "SELECT table_version_id FROM datastore_search_resource WHERE id = %s",
                [writer.resource],
            ).fetchall()
            numbers = sql.SQL("SELECT (data->>'n')::int FROM {}").format(
                sql.Identifier(f"datastore_search_record_{version}")
            )
            stored = {number for (number,) in connection.execute(numbers).fetchall()}
            lost += len({*range(1, writer.acknowledged + 1)} - stored)
    return lost


def _run(folder: Path, *, is_synchronous: bool, seconds: float) -> int:
    log = Log()
    with _run_servers(folder) as servers:
        environment = _build_environment(folder, *servers)
        tables = make_tables(environment)
        if is_synchronous:
            _set_synchronous(servers[0])
        with serve(environment) as address:
            writers = [Writer(address, log, resource, token) for resource, token in tables]
            for writer in writers:
                writer.act("datastore_create", CREATION, "write")
            names = [tables[number % WRITERS][0] for number in range(READERS)]
            clients = [*writers, *(Reader(address, log, name) for name in names)]
            for client in clients:
                client.may_have_gaps = not is_synchronous
                client.start()
            _kill(log, servers, clients, seconds)
        lost = count_lost(servers[1].url, writers)
    log.print_phases()
    acknowledged = sum(writer.acknowledged for writer in writers)
    sys.stdout.write(
        f"Synchronous: {is_synchronous}. Acknowledged writes: {acknowledged}, lost: {lost}."
        f" Wrong answers: {len(log.wrong)}\n"
    )
    sys.stdout.writelines(f"{each}\n" for each in log.wrong[:10])
    return int(bool(log.wrong) or (is_synchronous and lost > 0))


def main() -> int:
    """Run it, and return 1 if an answer was wrong, or a synchronous write is lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else "")
    parser.add_argument("--synchronous", action="store_true", help="set synchronous_standby_names")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each phase")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="replicas_") as name:
        Path(name).chmod(0o755)
        return _run(Path(name), is_synchronous=options.synchronous, seconds=options.seconds)


if __name__ == "__main__":
    sys.exit(main())
