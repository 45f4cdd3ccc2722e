"""The process of the engine may fail in any way: the answer is an error, and the next is right."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from datastore_search.contrib.analysis.engine import process
from datastore_search.contrib.analysis.engine.process import (
    Engine,
    EngineUnavailable,
    FileDamaged,
    TableClosed,
)
from datastore_search.guards.shares import DISCONNECTED, Client
from datastore_search.messages import DatastoreError
from datastore_search.messages.availability import ClientDisconnected, QueryTooSlow

ROWS = b'1,"a"\n2,"b"\n3,\n'
SLOW = (
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * 7 % 13 = b.range % 11"
)
#: Planning takes for ever, and cannot be interrupted.
DOUBLED = "WITH a0 AS (SELECT 1 AS n)" + "".join(
    f", a{i} AS NOT MATERIALIZED (SELECT x.n FROM a{i - 1} x, a{i - 1} y)" for i in range(1, 24)
)
#: It needs files: its groups do not fit into memory.
GROUPED = (
    "SELECT count(*) FROM (SELECT repeat('x', 150) || range AS t FROM range(4000000) GROUP BY t)"
)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    made.store("k_1", ["VARCHAR"], ROWS, 20)
    yield made
    made.close()


def ask(engine: Engine, statement: str = "SELECT count(*) FROM k_1", seconds: float = 20) -> object:
    tables = ["k_1"] if "k_1" in statement else []
    return engine.ask(tables, statement, [], seconds)[0][0]


def get_pid(engine: Engine) -> int:
    return int(engine._child.pid)


def end(engine: Engine) -> None:
    os.kill(get_pid(engine), signal.SIGKILL)
    engine._child.wait(10)


def end_soon(engine: Engine) -> None:
    threading.Timer(0.5, os.kill, [get_pid(engine), signal.SIGKILL]).start()


def stop(engine: Engine) -> None:
    os.kill(get_pid(engine), signal.SIGSTOP)


def fill_disk(engine: Engine) -> None:
    """Let writing fail like on a full disk."""
    resource.prlimit(get_pid(engine), resource.RLIMIT_FSIZE, (2**20, resource.RLIM_INFINITY))


def nothing(_engine: Engine) -> None: ...


#: What happens, what is asked, the error, and whether the child and its tables survive it: of a
#: long text, that depends on whether the memory or the time ends first.
FAILURES: dict[str, tuple[Callable[[Engine], object], str, type[Exception], bool | None]] = {
    "killed before": (end, "SELECT n FROM k_1", TableClosed, False),
    "killed at work": (end_soon, SLOW, EngineUnavailable, False),
    "does not respond": (stop, "SELECT 1", QueryTooSlow, False),
    "slow": (nothing, SLOW, QueryTooSlow, True),
    "slow to plan": (nothing, DOUBLED + " SELECT count(*) FROM a23", QueryTooSlow, False),
    "repeat": (nothing, "SELECT length(repeat('x', 2000000000))", EngineUnavailable, True),
    "lpad": (nothing, "SELECT length(lpad('x', 2000000000, 'y'))", DatastoreError, None),
    "unnest": (nothing, "SELECT length(range(1000000000))", EngineUnavailable, True),
    "large answer": (nothing, "SELECT repeat('x', 70000000)", EngineUnavailable, False),
    "full disk": (fill_disk, GROUPED, EngineUnavailable, True),
    "invalid": (nothing, "SELECT nothing", EngineUnavailable, True),
    "no JSON": (nothing, "SELECT 'a'::BLOB", EngineUnavailable, True),
    "a file": (nothing, "SELECT count(*) FROM read_text('/etc/passwd')", EngineUnavailable, True),
    "a setting": (nothing, "SET memory_limit = '9GB'", EngineUnavailable, True),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_failure(
    engine: Engine, failure: tuple[Callable[[Engine], object], str, type[Exception], bool | None]
) -> None:
    happens, statement, error, survives = failure
    before, began = get_pid(engine), monotonic()
    happens(engine)
    seconds = 2 if error in {QueryTooSlow, DatastoreError} else 20
    with pytest.raises(error) as raised:
        ask(engine, statement, seconds)
    assert isinstance(raised.value, error)
    assert monotonic() - began < seconds + 4
    survives = engine.has("k_1") if survives is None else survives
    assert engine.has("k_1") == survives
    if not survives:
        engine.store("k_1", ["VARCHAR"], ROWS, 20)
    assert ask(engine) == 3
    assert (get_pid(engine) == before) == survives
    assert ask(engine, "SELECT count(DISTINCT range) FROM range(100000)") == 100_000


def test_a_client_that_is_gone(engine: Engine) -> None:
    gone, before = threading.Event(), get_pid(engine)
    threading.Timer(0.5, gone.set).start()
    with pytest.raises(ClientDisconnected):
        engine.ask([], SLOW, [], 30, Client({DISCONNECTED: gone}))
    assert ask(engine) == 3
    assert get_pid(engine) == before


@pytest.mark.parametrize(
    "content", [None, b"", b"no database" * 1000], ids=["no", "empty", "other"]
)
def test_a_file_that_cannot_be_opened(
    engine: Engine, content: bytes | None, tmp_path: Path, settings: object
) -> None:
    path = process.get_folder() / f"damaged-{os.getpid()}.duckdb"
    if content is not None:
        path.write_bytes(content)
    try:
        with pytest.raises(FileDamaged):
            engine.attach("k_2", path, 20)
    finally:
        path.unlink(missing_ok=True)
    assert not engine.has("k_2")
    assert ask(engine) == 3


def test_the_folder_of_the_child_is_gone(engine: Engine) -> None:
    shutil.rmtree(Path(engine._log.name).parent)
    assert ask(engine, GROUPED, 60) == 4_000_000
    shutil.rmtree(Path(engine._log.name).parent)
    engine.store("k_1", ["VARCHAR"], ROWS, 20)
    assert ask(engine) == 3


def test_rows_too_long_for_csv(engine: Engine) -> None:
    long = 'ab,\n"ü' * 500_000
    quoted = long.replace('"', '""')
    rows = f'1,"x"\n2,"{quoted}"\n3,""\n4,\n5,plain\n'.encode()
    engine.store("k_2", ["VARCHAR"], rows, 20)
    found = engine.ask(["k_2"], "SELECT _id, length(c0), md5(c0) FROM k_2 ORDER BY 1", [], 20)
    assert [row[1] for row in found] == [1, len(long), 0, None, 5]
    (expected,) = engine.ask([], "SELECT md5(?)", ["x"], 20)
    assert found[0][2] == expected[0]


# Threads and processes ----------------------------------------------------------------------------


def test_many_threads(engine: Engine) -> None:
    found: dict[int, object] = {}

    def run(number: int) -> None:
        found[number] = ask(engine, f"SELECT {number} + count(*) FROM k_1")

    threads = [threading.Thread(target=run, args=[number]) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: number + 3 for number in range(20)}


def test_waiting_is_part_of_the_time_of_a_question(engine: Engine) -> None:
    def run() -> None:
        with pytest.raises(QueryTooSlow):
            ask(engine, SLOW, 3)

    thread = threading.Thread(target=run)
    thread.start()
    sleep(0.5)
    began = monotonic()
    with pytest.raises(EngineUnavailable):
        ask(engine, seconds=0.5)
    assert monotonic() - began < 1.5
    thread.join()
    assert ask(engine) == 3


def test_the_thread_that_started_it_ends(engine: Engine) -> None:
    engine.close()
    thread = threading.Thread(target=engine.store, args=["k_1", ["VARCHAR"], ROWS, 20])
    thread.start()
    thread.join()
    before = get_pid(engine)
    sleep(1.5)
    assert ask(engine) == 3
    assert get_pid(engine) == before


def test_a_fork_has_a_child_of_its_own() -> None:
    engine = process.engine
    engine.store("k_1", ["VARCHAR"], ROWS, 20)
    before, folder = get_pid(engine), Path(engine._log.name).parent
    fork = os.fork()
    if not fork:
        is_right = False
        try:
            is_right = engine._child is None and not engine.has("k_1")
            engine.store("k_1", ["VARCHAR"], ROWS, 20)
            is_right = is_right and ask(engine) == 3 and get_pid(engine) != before
            engine.close()
        finally:
            os._exit(0 if is_right else 1)
    assert os.waitpid(fork, 0)[1] == 0
    assert folder.exists()
    assert ask(engine) == 3
    assert get_pid(engine) == before


def test_a_child_that_nobody_asks_is_replaced(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = engine._child
    monkeypatch.setattr(process, "_IDLE_SECONDS", 0.2)
    engine.close()
    assert ask(engine, "SELECT 1") == 1
    idle = engine._child
    sleep(0.5)
    assert idle.wait(5) == 0
    assert ask(engine, "SELECT 1") == 1
    assert len({before.pid, idle.pid, get_pid(engine)}) == 3


def test_no_child_can_be_started(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    with monkeypatch.context() as patch:
        patch.setattr(process, "_CHILD", "datastore_search.no_such_module")
        with pytest.raises(EngineUnavailable):
            ask(engine, "SELECT 1")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/python")
        with pytest.raises(EngineUnavailable):
            ask(engine, "SELECT 1")
    assert ask(engine, "SELECT 1") == 1


_PARENT = """
import sys
import django
django.setup()
from datastore_search.contrib.analysis.engine.process import Engine
engine = Engine()
engine.ask([], "SELECT 1", [], 20)
print(engine._child.pid, flush=True)
engine.ask([], sys.argv[1], [], 600)
"""


def test_the_parent_is_killed() -> None:
    statement = DOUBLED + " SELECT count(*) FROM a23"
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, statement], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        sleep(0.5)
        parent.kill()
    status = Path(f"/proc/{pid}/stat")
    began = monotonic()
    while status.exists() and status.read_text().split()[2] != "Z":
        assert monotonic() - began < 10
        sleep(0.1)
