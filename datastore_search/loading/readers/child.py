"""
The process that reads one file, and ends: ``python -m datastore_search.loading.readers.child``.

Its parent (``process``) writes a JSON object with what is to be read to the standard input, and
keeps that open for as long as it lives.  The answer is a JSON object, too, on what was the standard
output.  It imports what reading needs, and neither the portal's apps nor its settings.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from threading import Thread
from typing import Any

from django.conf import settings

from ...exceptions.loads import LoadFailed
from ..sources.limits import ReadingLimits
from .files import read_file
from .options import ReadOptions
from .shortages import is_too_large, shortage_of_machine
from .staging import StagedTable, create_staging_area

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Read the file that the parent names, and say what became of it."""
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libraries write where they like
    asked = json.loads(sys.stdin.buffer.readline())
    _end_with_parent(asked["parent"])
    settings.configure(**asked["settings"])
    limits = ReadingLimits.for_file(Path(asked["path"])).enforce()
    answer = json.dumps(_answer(asked, limits)).encode()
    with os.fdopen(answers, "wb") as pipe:
        pipe.write(answer)
    os._exit(0)  # there is nothing to clear up, and the parent waits


def _answer(asked: dict[str, Any], limits: ReadingLimits) -> dict[str, Any]:
    options = ReadOptions(**asked["options"] | {"nulls": tuple(asked["options"]["nulls"])})
    try:
        with create_staging_area(Path(asked["folder"]), limits) as place:
            table = read_file(Path(asked["path"]), options, place, name=asked["name"])
        return {"table": _described(table)}
    except LoadFailed as failure:
        return {"failure": failure.to_json()}
    except BaseException as error:  # noqa: BLE001 - the parent is to know, whatever it is
        shortage = limits.unpacked_failure if is_too_large(error) else shortage_of_machine(error)
        if shortage:
            return {"failure": shortage.to_json()}
        return {"error": traceback.format_exc()}


def _described(table: StagedTable) -> dict[str, Any]:
    return {
        "names": table.names,
        "labels": table.labels,
        "declared_types": table.declared_types,
        "notices": [notice.to_json() for notice in table.notices],
    }


def _end_with_parent(parent: int) -> None:
    """End when the parent does: the kernel sees to it on Linux, elsewhere a thread."""
    Thread(target=_wait_for_end, daemon=True).start()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # gone before it was asked
            os._exit(1)


def _wait_for_end() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
