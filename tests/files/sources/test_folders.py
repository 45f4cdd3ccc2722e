"""What loads have on disk, and what is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from datastore_search.contrib.files.jobs import clean_up_loads
from datastore_search.guards.folders import create_working_folder, delete_abandoned_folders

#: A process that has a folder, says which, and waits.
_AT_WORK = """
import time
import django
django.setup()
from datastore_search.guards.folders import create_working_folder
with create_working_folder() as folder:
    (folder / "private.csv").write_text("secret")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_is_gone_at_the_end(temporary: Path) -> None:
    with create_working_folder() as folder:
        (folder / "f.csv").write_text("a\n")
        assert folder.parent == temporary

    assert list(temporary.iterdir()) == []


@pytest.mark.django_db
def test_the_folder_of_a_killed_process_is_cleared_up_and_that_of_a_living_one_is_not(
    temporary: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _AT_WORK], stdout=subprocess.PIPE, text=True
    ) as process:
        watchdog = threading.Timer(120, process.kill)  # readline has no timeout
        watchdog.start()
        try:
            assert process.stdout
            folder = Path(process.stdout.readline().strip())
            clean_up_loads()
            assert (folder / "private.csv").exists()
        finally:
            watchdog.cancel()
            process.kill()
        process.wait(60)
        clean_up_loads()

    assert list(temporary.iterdir()) == []


def test_what_is_no_folder_of_ours_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("other", "datastore_search_without", "datastore_search_theirs"):
        (temporary / name).mkdir()
    for name in ("other", "datastore_search_theirs"):
        (temporary / name / "lock").touch()
    (temporary / "datastore_search_link").symlink_to(temporary / "other")
    me = os.geteuid()

    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: me + 1)
        assert delete_abandoned_folders() == 0
    assert delete_abandoned_folders() == 1

    assert len(list(temporary.iterdir())) == 3
