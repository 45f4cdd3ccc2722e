"""
The process that reads a file: ``python -m`` with the name of this module.

Its parent (``process``) writes a JSON object to the standard input, with the file and the options,
and keeps that open while it lives.  The answer is a JSON object on what was the standard output.
The process imports what reading needs, and neither the portal's apps nor its settings.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback
from pathlib import Path
from threading import Thread
from typing import Any

from django.conf import settings

from ....guards.child_processes import end_with_parent, take_over_output
from ..messages.failures import LoadFailed
from ..sources.limits import ReadingLimits
from . import input_formats
from .options import ReadOptions
from .reading import read_file
from .shortages import find_shortage, is_file_too_large
from .staging import StagedTable, create_staging_area


def main() -> None:
    """Read the file that the parent names, and answer with the table or the failure."""
    answers = take_over_output()
    request = json.loads(sys.stdin.buffer.readline())
    _end_with_parent(request["parent"])
    settings.configure(**request["settings"])
    limits = ReadingLimits.for_file(Path(request["path"])).enforce()
    answer = json.dumps(_answer_request(request, limits)).encode()
    with answers:
        answers.write(answer)
    os._exit(0)  # there is nothing to clean up, and the parent waits


def _answer_request(request: dict[str, Any], limits: ReadingLimits) -> dict[str, Any]:
    options = ReadOptions.from_json(request["options"])
    try:
        formats = pickle.loads(bytes.fromhex(request["formats"]))  # noqa: S301 - of the parent
        input_formats.add(*formats)
        with create_staging_area(Path(request["folder"]), limits) as staging_area:
            staging_area.restrict(Path(request["path"]))
            table = read_file(Path(request["path"]), options, staging_area, name=request["name"])
        return {"table": _table_to_json(table)}
    except LoadFailed as failure:
        return {"failure": failure.to_json()}
    except BaseException as error:  # noqa: BLE001 - the parent gets it, whatever it is
        shortage = find_shortage(error)
        if is_file_too_large(error):
            shortage = limits.unpacked_failure
        return {"failure": shortage.to_json()} if shortage else {"error": traceback.format_exc()}


def _table_to_json(table: StagedTable) -> dict[str, Any]:
    return {
        "names": table.names,
        "labels": table.labels,
        "declared_types": table.declared_types,
        "has_header": table.has_header,
        "notices": [notice.to_json() for notice in table.notices],
    }


def _end_with_parent(parent: int) -> None:
    """End when the parent ends: the kernel does that on Linux, a thread elsewhere."""
    Thread(target=_wait_for_end_of_input, daemon=True).start()
    end_with_parent(parent)


def _wait_for_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
