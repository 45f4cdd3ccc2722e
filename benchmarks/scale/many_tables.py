"""
Compare a portal of few resources with one of many, on one server: ``--help`` says how.

Each size has a database and a process of the portal.  Every task is timed in turn in both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from ..report import Table, format_number, format_ratio
from ..throwaway_postgres import ThrowawayServer, run_throwaway_server
from .tasks import TASKS

#: What may not be exceeded: how much slower a task is with many resources.
MAX_SLOWDOWN = 1.5

_MAX_ROUND_SECONDS = 1.0
_MAX_REPEATS = 20
_MAX_REPEATED_SECONDS = 10.0
#: PostgreSQL's default; with it, the locks of many tables do not fit.
_DEFAULT_LOCKS = 64
_MEBIBYTE = 2**20


class Case:
    """A database with a number of resources, and a process of the portal on it."""

    def __init__(self, server: ThrowawayServer, resources: int, media: Path) -> None:
        """Name a database; ``open`` starts the process."""
        self.resources = resources
        self.name = f"tables_{resources}"
        self.url = server.url.replace("/portal?", f"/{self.name}?")
        self._superuser_url = server.superuser_url.replace("/portal?", f"/{self.name}?")
        self._environment = {
            **os.environ,
            "DATABASE_URL": self.url,
            "DJANGO_SETTINGS_MODULE": "example_project.settings",
            "MEDIA_ROOT": str(media / self.name),
            "THROTTLE": "0",
            "ALLOWED_HOSTS": "testserver",
        }
        self.portal: subprocess.Popen[str] | None = None

    @contextmanager
    def open(self) -> Iterator[subprocess.Popen[str]]:
        """Run a process of the portal."""
        with subprocess.Popen(  # which ends with its input
            [sys.executable, "-m", "benchmarks.scale.tasks"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield process

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as superuser."""
        with psycopg.connect(self._superuser_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def ask(process: subprocess.Popen[str], *task: object) -> Any:
    """Send a task to a process, and return its answer."""
    send(process, *task)
    return receive(process)


def send(process: subprocess.Popen[str], *task: object) -> None:
    """Send a task to a process."""
    print(json.dumps(task), file=process.stdin, flush=True)


def receive(process: subprocess.Popen[str]) -> Any:
    """Wait for the answer of a process."""
    for line in process.stdout or ():
        return json.loads(line)
    raise SystemExit("A process of the portal has ended.")


# Measuring ----------------------------------------------------------------------------------------


def fill(case: Case) -> float:
    """Make the resources in two processes, and return the seconds."""
    started_at = time.perf_counter()
    with case.open() as first:
        ask(first, "fill", 0, 2)  # migrates, too
        with case.open() as second:
            middle = max(2, case.resources // 2)
            send(first, "fill", 2, middle)
            send(second, "fill", middle, case.resources)
            receive(first)
            receive(second)
    return time.perf_counter() - started_at


def time_tasks(cases: Sequence[Case], names: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Time each task in turn in every case; return the medians by the task's name."""
    medians = {}
    with ExitStack() as stack:
        processes = [stack.enter_context(case.open()) for case in cases]
        for name in names:
            seconds = [ask(process, name, 1) for process in processes]
            repeats = [_choose_repeats(each) for (each,) in seconds]
            # The first run of a task that takes long is its figure.
            if max(each for (each,) in seconds) < _MAX_REPEATED_SECONDS:
                seconds = [[] for _ in cases]
                for _ in range(rounds):
                    for place, process in enumerate(processes):
                        seconds[place] += ask(process, name, repeats[place])
            medians[name] = [statistics.median(each) for each in seconds]
            print(name, [format_number(each * 1000) for each in medians[name]], file=sys.stderr)
    return medians


def _choose_repeats(seconds: float) -> int:
    return max(1, min(_MAX_REPEATS, int(_MAX_ROUND_SECONDS / seconds)))


def time_cold(cases: Sequence[Case], rounds: int) -> dict[str, list[float]]:
    """Time searches of new processes: the very first, and the first ones of other tables."""
    names = ("first search of a process", "first search of a table")
    seconds: dict[str, list[list[float]]] = {name: [[] for _ in cases] for name in names}
    for _ in range(rounds):
        for place, case in enumerate(cases):
            with case.open() as process:
                first, *others = ask(process, "search", *range(20))
            seconds[names[0]][place].append(first)
            seconds[names[1]][place] += others
    return {name: list(map(statistics.median, each)) for name, each in seconds.items()}


def dump(server: ThrowawayServer, case: Case, folder: Path) -> str | float:
    """Dump a database, and return the seconds, or the reason of the failure."""
    program = Path(server.command[0]).with_name("pg_dump")
    started_at = time.perf_counter()
    done = subprocess.run(
        [str(program), "--format=custom", f"--file={folder / 'dump'}", case.url],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return next(line for line in done.stderr.splitlines() if "ERROR" in line)
    return time.perf_counter() - started_at


def measure_autovacuum(server: ThrowawayServer, case: Case, seconds: float) -> float:
    """Measure the processor seconds of the server in each second, with a round every second."""
    case.query("ALTER SYSTEM SET autovacuum_naptime = '1s'")
    case.query("SELECT pg_reload_conf()")
    process = psutil.Process(server.pid)
    time.sleep(5)
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    case.query("ALTER SYSTEM RESET autovacuum_naptime")
    case.query("SELECT pg_reload_conf()")
    used = after.children_user + after.children_system
    return float(used - before.children_user - before.children_system) / seconds


#: Figures of a database: a name and a statement.
_FIGURES: Mapping[str, str] = {
    "relations of the record tables": (
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'datastore_search_record_%'"
        " OR relname LIKE 'pg_toast_%' AND substring(relname FROM '[0-9]+')::oid"
        " IN (SELECT oid FROM pg_class WHERE relname LIKE 'datastore_search_record_%')"
    ),
    "record tables": (
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'datastore_search_record_%'"
        " AND relkind = 'r'"
    ),
    "MiB of the record tables": (
        "SELECT sum(pg_total_relation_size(oid)) / 1048576 FROM pg_class"
        " WHERE relname LIKE 'datastore_search_record_%' AND relkind IN ('r', 'S')"
    ),
    "MiB of PostgreSQL's catalogue": (
        "SELECT sum(pg_total_relation_size(oid)) / 1048576 FROM pg_class"
        " WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'"
    ),
}


def measure(server: ThrowawayServer, folder: Path, options: argparse.Namespace) -> list[Table]:
    """Fill the databases and measure them."""
    cases = [Case(server, number, folder) for number in options.resources]
    figures: dict[str, list[float | str | None]] = {}
    for case in cases:
        made = _create_database(server, case.name)
        seconds = [fill(case) if made else None]
        figures.setdefault("s of making them", []).extend(seconds)
        started_at = time.perf_counter()
        case.query("VACUUM (ANALYZE)")
        vacuumed = time.perf_counter() - started_at
        figures.setdefault("s of VACUUM (ANALYZE)", []).append(vacuumed)
        idle = measure_autovacuum(server, case, options.idle_seconds)
        figures.setdefault("processor s of autovacuum's round, of all so far", []).append(idle)
        print({name: row[-1] for name, row in figures.items()}, file=sys.stderr)
    for name, statement in _FIGURES.items():
        figures[name] = [float(case.query(statement)[0][0]) for case in cases]
    dumps = [dump(server, case, folder) for case in cases]
    figures["dump, s, with 64 locks"] = list(dumps)
    server.superuser_execute("ALTER SYSTEM SET max_locks_per_transaction = 512")
    server.restart()
    figures["dump, s, with 512 locks"] = [dump(server, case, folder) for case in cases]
    medians = time_cold(cases, options.rounds)
    medians |= time_tasks(cases, options.only or list(TASKS), options.rounds)
    if not options.only:
        for place, case in enumerate(cases):
            with case.open() as process:
                for name, value in ask(process, "touch").items():
                    row = figures.setdefault(f"MiB of the {name}", [None] * len(cases))
                    row[place] = value / _MEBIBYTE
    for name, row in figures.items():
        print(name, row, file=sys.stderr)
    header = [f"{case.resources:,}" for case in cases]
    setting = f"{os.cpu_count()} cores; {cases[0].query('SHOW server_version')[0][0]}"
    times = [
        (name, *(format_number(each * 1000) for each in row), format_ratio(row[-1], row[0]))
        for name, row in medians.items()
    ]
    other = [(name, *map(_format_figure, row)) for name, row in figures.items()]
    return [
        Table(f"Medians in ms; PostgreSQL, {setting}", ["task", *header, "ratio"], times),
        Table("Figures", ["", *header], other),
    ]


def _format_figure(value: float | str | None) -> str:
    return value if isinstance(value, str) else format_number(value)


def _create_database(server: ThrowawayServer, name: str) -> bool:
    """Create a database as the template of tests has it; return whether it did not exist."""
    # To read the memory of its own connection.
    server.superuser_execute("GRANT pg_read_all_stats TO portal")
    with psycopg.connect(server.url, autocommit=True) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone()
        if found is None:
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE portal_template")
            connection.execute(statement.format(sql.Identifier(name)))
        return found is None


def main() -> None:
    """Read the options, start a server, measure, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.many_tables",
        description="Compare portals of few and of many resources on a PostgreSQL of its own.",
    )
    add = parser.add_argument
    add("--resources", type=int, nargs="+", default=[20, 20_000], help="%(default)s")
    add("--rounds", type=int, default=5, help="in which both are timed in turn (%(default)s)")
    add("--idle-seconds", type=float, default=20, help="for autovacuum (%(default)s)")
    add("--only", nargs="+", choices=list(TASKS), metavar="TASK", help="time only these")
    add("--folder", type=Path, help="keep the server in this folder, and use what is there")
    options = parser.parse_args()
    with run_throwaway_server("scale_", options.folder) as (folder, server):
        for table in measure(server, folder, options):
            print(f"\n{table.as_text()}")


if __name__ == "__main__":
    main()
