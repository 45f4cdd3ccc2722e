"""
Kill a worker of Citus and the coordinator of a served portal, while clients read and write.

    python -m benchmarks.scale.workers [--seconds 6]

A portal of two gunicorn workers runs on a coordinator and two workers (``CITUS_BIN``).  Eight
clients read and two write, each to one of two tables.  Each answer is checked as in
``benchmarks.scale.replicas``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from ..failures import BenchmarkError
from ..server import TIMEOUT_SECONDS
from .citus import Cluster, Node, find_programs, run_cluster
from .replicas import (
    CREATION,
    READERS,
    WRITERS,
    Client,
    Log,
    Reader,
    Writer,
    count_lost,
    make_tables,
    serve,
)

_DEAD_SECONDS = 3.0


def _kill(log: Log, cluster: Cluster, clients: list[Client], seconds: float) -> None:
    log.phase = "1 all is well"
    time.sleep(seconds)
    for number, (name, node) in enumerate(_name_nodes(cluster)):
        log.phase = f"{2 * number + 2} {name} is killed"
        node.kill()
        time.sleep(_DEAD_SECONDS)
        node.start()
        log.phase = f"{2 * number + 3} it is started again"
        time.sleep(seconds)
    for client in clients:
        client.is_ended = True
    for client in clients:
        client.join(TIMEOUT_SECONDS)


def _name_nodes(cluster: Cluster) -> list[tuple[str, Node]]:
    return [("a worker", cluster.workers[0]), ("the coordinator", cluster.coordinator)]


def _run(folder: Path, programs: Path, seconds: float) -> int:
    log = Log()
    with run_cluster(programs) as cluster:
        url = cluster.create_database("portal")
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchmarks.served_settings"}
        environment |= {"DATABASE_URL": url, "PLACEMENT": "citus", "THROTTLE": "0"}
        environment["CACHE"] = str(folder / "cache")
        tables = make_tables(environment)
        with serve(environment) as address:
            writers = [Writer(address, log, resource, token) for resource, token in tables]
            for writer in writers:
                writer.act("datastore_create", CREATION, "write")
            names = [tables[number % WRITERS][0] for number in range(READERS)]
            clients: list[Client] = [*writers, *(Reader(address, log, name) for name in names)]
            for client in clients:
                client.start()
            _kill(log, cluster, clients, seconds)
        lost = count_lost(url, writers)
    log.print_phases()
    acknowledged = sum(writer.acknowledged for writer in writers)
    sys.stdout.write(
        f"Acknowledged writes: {acknowledged}, lost: {lost}. Wrong answers: {len(log.wrong)}\n"
    )
    sys.stdout.writelines(f"{each}\n" for each in log.wrong[:10])
    return int(bool(log.wrong) or lost > 0)


def main() -> int:
    """Run it, and return 1 if an answer was wrong, or an acknowledged write is lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each phase")
    options = parser.parse_args()
    programs = find_programs()
    if programs is None:
        raise BenchmarkError("CITUS_BIN names no build of Citus.")
    with tempfile.TemporaryDirectory(prefix="workers_") as name:
        return _run(Path(name), programs, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
