"""Read files in the process of the test, where the process that reads is not under test."""

from __future__ import annotations

import atexit
import json
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

from datastore_search.conf import conf
from datastore_search.contrib.files.conf import conf as files_conf
from datastore_search.contrib.files.formats import child, process, staging
from datastore_search.contrib.files.sources.limits import ReadingLimits
from datastore_search.guards import child_processes

#: The library that reads these may abort the process: they are always read by a child.
_WORKBOOKS = (".xlsx", ".xls", ".ods")

#: Whether files are read in the process of the test: set per thread, as two may load at once.
_is_reading_here: ContextVar[bool] = ContextVar("is_reading_here", default=False)
_is_reading_workbooks: ContextVar[bool] = ContextVar("is_reading_workbooks", default=False)

_start_child, _send_request = child_processes.start_child, process._send_request


@contextmanager
def read_in_test_process(*, workbooks: bool = False) -> Iterator[None]:
    """
    Let ``open_table`` read files without a child, whose start takes 0.25 seconds of processor time.

    Nothing else changes: requests and answers are JSON, and the staging area is written to its file
    and opened again.  Limits that the operating system or DuckDB enforces do not apply.  A child
    reads workbooks, unless ``workbooks`` says that they are known to end no process.
    """
    token = _is_reading_here.set(True)
    workbooks_token = _is_reading_workbooks.set(workbooks)
    try:
        yield
    finally:
        _is_reading_workbooks.reset(workbooks_token)
        _is_reading_here.reset(token)


class _LateChild:
    """A child that is started where the file is not read here."""

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def returncode(self) -> int | None:
        return self._process.returncode if self._process else 0

    def wait(self, timeout: float) -> None:
        if self._process:
            self._process.wait(timeout)

    def start(self) -> subprocess.Popen[bytes]:
        self._process = self._start()
        return self._process


@contextmanager
def _start(module: str, log: Any) -> Iterator[Any]:
    with ExitStack() as stack:
        yield _LateChild(lambda: stack.enter_context(_start_child(module, log)))


def _answer(child_process: Any, request: bytes, interrupter: Any) -> bytes:
    parameters = json.loads(request)
    needs_child = parameters["name"].endswith(_WORKBOOKS) and not _is_reading_workbooks.get()
    if needs_child or not _is_reading_here.get():
        return _send_request(child_process.start(), request, interrupter)
    limits = ReadingLimits(Path(parameters["path"]).stat().st_size)
    return json.dumps(child._answer_request(parameters, limits)).encode()


#: DuckDB takes 13 milliseconds of processor time to start, and most files have ten rows.
_idle_databases: deque[duckdb.DuckDBPyConnection] = deque(maxlen=4)

# What Python still holds when it ends is reported as a leak.
atexit.register(_idle_databases.clear)

_start_database = staging._connect


@contextmanager
def _connect(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to a DuckDB that an earlier test has started, with the limits of a new one."""
    database = _restart_database(folder) or _start_database(folder)
    try:
        with database.cursor() as connection:
            yield connection
    finally:
        try:
            database.execute("DETACH DATABASE IF EXISTS stage")
        except duckdb.Error:  # what a test has left in it
            database.close()
        else:
            _idle_databases.append(database)


def _restart_database(folder: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        database = _idle_databases.pop()
    except IndexError:
        return None
    try:
        database.execute(
            f"SET memory_limit = '{conf.LOAD_MEMORY_BYTES}B'; SET threads = 2;"
            f" SET temp_directory = '{folder}';"
            f" SET max_temp_directory_size = '{files_conf.MAX_UNPACKED_BYTES}B'"
        )
    except duckdb.Error:  # the temporary directory has been used, or the limit has been reached
        database.close()
        return None
    return database


_open_area, _restrict_area = staging.StagingArea.open, staging.StagingArea.restrict


def _open(area: staging.StagingArea, width: int) -> None:
    """Open a staging area; one that is read here is not restricted, or it could not be reused."""
    if _is_reading_here.get():
        area.attach()
        area.allow_width(width)
    else:
        _open_area(area, width)


def _restrict(area: staging.StagingArea, path: Path) -> None:
    if not _is_reading_here.get():
        _restrict_area(area, path)


patch.object(staging, "_connect", _connect).start()
patch.multiple(staging.StagingArea, open=_open, restrict=_restrict).start()
patch.multiple(process, start_child=_start, _send_request=_answer).start()
