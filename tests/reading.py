"""Read files in the process of the test, where the process that reads is not under test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from datastore_search.loading.readers import child, process
from datastore_search.loading.readers.options import ReadOptions
from datastore_search.loading.sources.limits import ReadingLimits

#: The library that reads these may abort the process.
_WORKBOOKS = (".xlsx", ".xls", ".ods")

_run_child = process._run_child


@contextmanager
def reading_in_this_process() -> Iterator[None]:
    """
    Let ``open_table`` read files without a child, which takes 0.25 seconds of the processor.

    All else is as it is: requests and answers are JSON, and the staging area is written to its file
    and opened again.  Of the limits only those apply that the system does not enforce.  Workbooks
    are read by a child.
    """
    with patch.object(process, "_run_child", _run_here):
        yield


def _run_here(
    path: Path, options: ReadOptions, name: str, folder: Path, *interrupter: Any
) -> dict[str, Any]:
    if name.endswith(_WORKBOOKS):
        return _run_child(path, options, name, folder, *interrupter)
    with (
        patch.object(process, "_start_child", _start_nothing),
        patch.object(process, "_exchange", _answer_here),
    ):
        return _run_child(path, options, name, folder, *interrupter)


class _EndedChild:
    """A child that has done its work."""

    returncode = 0

    def wait(self, _timeout: float) -> None:
        """Wait for nothing."""


@contextmanager
def _start_nothing(_log: object) -> Iterator[_EndedChild]:
    yield _EndedChild()


def _answer_here(_child: object, request: bytes, _interrupter: object) -> bytes:
    asked = json.loads(request)
    limits = ReadingLimits.for_file(Path(asked["path"]))
    return json.dumps(child._answer_request(asked, limits)).encode()
