"""The process that reads: how it is limited and ended, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

import duckdb
import psutil
import pytest
from django.core.files.base import ContentFile
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from datastore_search.conf import conf
from datastore_search.contrib.files.formats import process
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.formats.staging import create_staging_area
from datastore_search.contrib.files.jobs import LoadOptions, drafts, queue, runner
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.files.sources.limits import ReadingLimits
from datastore_search.models import Resource

from ..builders import fails_with
from .staging import temporary_staging_area

OPTIONS = LoadOptions()

#: A portal that opens a file, and waits.
_OPENS = """
import os, sys, django
django.setup()
from pathlib import Path
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.formats.process import open_table
with open_table(Path(sys.argv[1]), LoadOptions()): pass
"""

#: What the process that reads has imported, of what it has no need of.
_IMPORTS = """
import sys, datastore_search.contrib.files.formats.child
heavy = "django.db.models", "psycopg", "datastore_search.models", "datastore_search.database"
print([name for name in heavy if name in sys.modules])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.csv"
    path.write_text("a,b\n1,x\n")
    return path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a module of the test's own be the child; its file is to be written."""
    (tmp_path / "modules").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setattr(process, "_CHILD", "child_of_a_test")
    return tmp_path / "modules" / "child_of_a_test.py"


def read_file(path: Path) -> None:
    with open_table(path, OPTIONS):
        pass


def list_child_processes() -> list[psutil.Process]:
    """List the children that read files and have not ended; the engine's is none of them."""
    return [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE
        and "child" in (command := " ".join(child.cmdline()))
        and "analysis" not in command
    ]


def is_ended(stand_in: Path) -> bool:
    """Return whether a child that waits was ended before its time."""
    return not list_child_processes() and not stand_in.with_name("waited").exists()


def _call_later(call: Callable[[], object]) -> Timer:
    """Call in another thread, a second from now; return the thread."""

    def call_and_close() -> None:
        call()
        connections.close_all()

    timer = Timer(1, call_and_close)
    timer.start()
    return timer


#: A child that waits, and leaves a file if it is not ended before.
_WAITS = """
import time
from pathlib import Path
time.sleep(120)
Path(__file__).with_name("waited").touch()
"""

# How it ends --------------------------------------------------------------------------------------


#: The beginning of a process that has the limits of a file.
_LIMITED = """
import json, sys
from pathlib import Path
from django.conf import settings
from datastore_search.contrib.files.sources.limits import ReadingLimits
request = json.loads(sys.stdin.buffer.readline())
settings.configure(**request["settings"])
ReadingLimits(Path(request["path"]).stat().st_size).enforce()
"""


@override_settings(DATASTORE_SEARCH_READ_CPU_SECONDS=0)
@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param(_LIMITED + "while True: pass", "load.reader_timeout", id="computes for ever"),
        pytest.param(_LIMITED + "bytearray(2**30)", "load.out_of_memory", id="takes much memory"),
        # When memory is short, the system kills a process.
        pytest.param(
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "load.out_of_memory",
            id="is killed",
        ),
        pytest.param(
            "import os; print('a panic', flush=True); os.abort()",
            "load.reader_crashed",
            id="breaks down",
        ),
    ],
)
def test_the_end_of_a_process_is_explained(
    path: Path, stand_in: Path, caplog: pytest.LogCaptureFixture, script: str, code: str
) -> None:
    stand_in.write_text(script)

    with fails_with(code):
        read_file(path)
    assert ("signal 6" in caplog.text) is (code == "load.reader_crashed")


def test_a_process_that_waits_for_ever_is_ended(
    path: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TIMEOUT_SECONDS", 1)
    stand_in.write_text(_WAITS)

    with fails_with("load.reader_timeout"):
        read_file(path)
    assert is_ended(stand_in)


def test_an_unexpected_error_comes_with_its_traceback(path: Path, stand_in: Path) -> None:
    stand_in.write_text("raise ZeroDivisionError('of all things')")

    with pytest.raises(process.UnexpectedReadingError, match="of all things"):
        read_file(path)


def test_the_process_ends_with_its_parent(path: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # reading it blocks
    parent = subprocess.Popen(
        [sys.executable, "-c", _OPENS, str(fifo)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "example_project.settings"},
    )
    deadline = monotonic() + 60
    child = None
    while child is None and monotonic() < deadline:
        child = next(iter(psutil.Process(parent.pid).children()), None)
        sleep(0.05)
    assert child is not None

    parent.kill()
    parent.wait(timeout=60)
    gone, _alive = psutil.wait_procs([child], timeout=60)

    assert gone == [child]


# What it may take ---------------------------------------------------------------------------------


def test_duckdb_is_closed_with_memory_after_a_shortage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    more: list[int] = []
    monkeypatch.setattr(ReadingLimits, "extend_memory", lambda _limits, size: more.append(size))

    with pytest.raises(MemoryError), create_staging_area(tmp_path):
        raise MemoryError

    assert more == [conf.LOAD_MEMORY_BYTES]


def test_many_cores_make_no_more_threads() -> None:
    # Each thread has a stack, which counts for the limit of memory.
    with temporary_staging_area() as staging_area:
        found = staging_area.connection.execute(
            "SELECT name, value FROM duckdb_settings() WHERE name IN ('threads', 'async_threads')"
        ).fetchall()

    assert {value for _name, value in found} == {"2"}


@override_settings(DATASTORE_SEARCH_MAX_UNPACKED_BYTES=100_000)
def test_what_is_staged_has_an_end(path: Path) -> None:
    path.write_text("a,b\n" + "".join(f"{n * 7919},{n * 104729}\n" for n in range(300_000)))

    with fails_with("archive.too_large"):
        read_file(path)


@pytest.mark.slow
def test_neighbouring_rows_that_are_too_long_together_are_refused(
    settings: Any, path: Path
) -> None:
    settings.DATASTORE_SEARCH_LOAD_MEMORY_BYTES = 64 * 2**20
    path.write_text("a\n" + f"{'x' * 100_000}\n" * 1_000)

    with fails_with("load.out_of_memory"):
        read_file(path)


def test_the_process_knows_no_secrets(
    path: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.write_text(
        "import json, os, sys\n"
        "request = json.loads(sys.stdin.readline())\n"
        "named = sorted(os.environ)\n"
        "raise SystemExit(json.dumps([named, sorted(request['settings'])]))"
    )
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")

    with pytest.raises(process.UnexpectedReadingError) as error:
        read_file(path)

    environment, settings = json.loads(str(error.value).strip().splitlines()[-1])
    assert "PYTHONPATH" in environment
    assert "DATABASE_PASSWORD" not in environment
    assert "SECRET_KEY" not in settings


def test_the_process_imports_neither_models_nor_postgresql() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True, timeout=60
    )

    assert found.stdout.strip() == "[]"


def test_a_wide_table_is_opened_again(path: Path) -> None:
    names = [f"k{n}" for n in range(1_000)]
    path.write_text(",".join(names) + "\n" + (",".join("1" * 1_000) + "\n") * 50)

    with open_table(path, OPTIONS) as table:
        assert (len(table.names), table.count_rows()) == (1_000, 50)


# What it may open ---------------------------------------------------------------------------------


def test_a_staged_table_opens_no_other_file_and_keeps_its_settings(
    path: Path, tmp_path: Path
) -> None:
    with open_table(path, OPTIONS) as table:
        execute = table.connection.execute
        for query in (
            f"SELECT * FROM read_csv('{path}')",
            f"SELECT * FROM read_text('{path}')",
            f"SELECT * FROM glob('{tmp_path}/*')",
            f"COPY (SELECT 1) TO '{tmp_path}/other.csv'",
            f"ATTACH '{tmp_path}/other.duckdb' AS other",
        ):
            with pytest.raises(duckdb.PermissionException):
                execute(query)
        for setting in ("enable_external_access = true", "memory_limit = '100GB'"):
            with pytest.raises(duckdb.InvalidInputException):
                execute(f"SET {setting}")


@pytest.mark.slow
def test_a_staged_table_still_uses_its_folder_for_what_exceeds_memory(path: Path) -> None:
    path.write_text("name\n" + "".join(f"{n}{'x' * 200}\n" for n in range(600_000)))

    with (
        override_settings(DATASTORE_SEARCH_LOAD_MEMORY_BYTES=100 * 2**20),
        open_table(path, OPTIONS) as table,
    ):
        table.connection.execute("CREATE TEMP TABLE sorted AS FROM staged_rows ORDER BY f0 DESC")
        spilled = table.connection.execute("SELECT count(*) > 0 FROM duckdb_temporary_files()")
        assert spilled.fetchall() == [(True,)]
        assert table.count_rows() == 600_000


def test_the_process_that_reads_opens_no_other_file(tmp_path: Path) -> None:
    path, other, folder = tmp_path / "file.csv", tmp_path / "other.csv", tmp_path / "working"
    folder.mkdir()
    for each in (path, other, folder / "unpacked.csv"):
        each.write_text("name\nA\n")

    with create_staging_area(folder) as staging_area:
        staging_area.restrict(path)
        read = staging_area.connection.execute
        assert read(f"SELECT name FROM '{path}'").fetchall() == [("A",)]
        assert read(f"SELECT name FROM '{folder}/unpacked.csv'").fetchall() == [("A",)]
        for query in (
            f"FROM '{other}'",
            f"COPY (SELECT 1) TO '{other}'",
            f"FROM glob('{tmp_path}/*')",
        ):
            with pytest.raises(duckdb.PermissionException):
                read(query)
        with pytest.raises(duckdb.InvalidInputException):
            read("SET enable_external_access = true")


# Loads and drafts ---------------------------------------------------------------------------------


def test_a_cancelled_load_ends_while_its_file_is_read(
    transactional_db: None, path: Path, stand_in: Path
) -> None:
    stand_in.write_text(_WAITS)
    resource = Resource.objects.create(name="slow")
    load = queue.create_load(resource, OPTIONS, source="file.csv")
    _call_later(lambda: Load.objects.filter(pk=load.pk).update(cancel_requested_at=timezone.now()))

    with fails_with("load.cancelled"):
        runner.run_load(load, path)

    load.refresh_from_db()
    assert load.state == LoadState.CANCELLED
    assert is_ended(stand_in)


def test_a_discarded_draft_is_no_longer_looked_at(transactional_db: None, stand_in: Path) -> None:
    stand_in.write_text(_WAITS)
    resource = Resource.objects.create(name="slow")
    load = queue.create_load(
        resource,
        OPTIONS,
        source="file.csv",
        file=ContentFile(b"a,b\n1,2\n", name="file.csv"),
        state=LoadState.DRAFT,
    )
    deletion = _call_later(Load.objects.get(pk=load.pk).delete)

    drafts.preview_draft(load)

    deletion.join(timeout=60)
    assert not Load.objects.filter(pk=load.pk).exists()
    assert is_ended(stand_in)
