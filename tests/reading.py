"""Read files in the process of the test, where the process that reads is not under test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from unittest.mock import patch

from datastore_search.loading.readers import child, process
from datastore_search.loading.readers.options import ReadOptions
from datastore_search.loading.sources.limits import ReadingLimits

#: The library that reads these may abort the process: they are always read by a child.
_WORKBOOKS = (".xlsx", ".xls", ".ods")

#: Whether files are read in the process of the test: set per thread, as two may load at once.
_is_reading_here: ContextVar[bool] = ContextVar("is_reading_here", default=False)
_has_no_child: ContextVar[bool] = ContextVar("has_no_child", default=False)

_run_child, _start_child, _send_request = (
    process._run_child,
    process._start_child,
    process._send_request,
)


@contextmanager
def read_in_test_process() -> Iterator[None]:
    """
    Let ``open_table`` read files without a child, whose start takes 0.25 seconds of processor time.

    Nothing else changes: requests and answers are JSON, and the staging area is written to its file
    and opened again.  Limits that the operating system enforces do not apply.  A child reads
    workbooks.
    """
    token = _is_reading_here.set(True)
    try:
        yield
    finally:
        _is_reading_here.reset(token)


def _run(
    path: Path, options: ReadOptions, name: str, folder: Path, *interrupter: Any
) -> dict[str, Any]:
    token = _has_no_child.set(_is_reading_here.get() and not name.endswith(_WORKBOOKS))
    try:
        return _run_child(path, options, name, folder, *interrupter)
    finally:
        _has_no_child.reset(token)


class _EndedChild:
    """A child that has done its work."""

    returncode = 0

    def wait(self, _timeout: float) -> None:
        """Wait for nothing."""


@contextmanager
def _start(log: Any) -> Iterator[Any]:
    if _has_no_child.get():
        yield _EndedChild()
    else:
        with _start_child(log) as child_process:
            yield child_process


def _answer(child_process: Any, request: bytes, interrupter: Any) -> bytes:
    if not _has_no_child.get():
        return _send_request(child_process, request, interrupter)
    parameters = json.loads(request)
    limits = ReadingLimits.for_file(Path(parameters["path"]))
    return json.dumps(child._answer_request(parameters, limits)).encode()


patch.multiple(process, _run_child=_run, _start_child=_start, _send_request=_answer).start()
