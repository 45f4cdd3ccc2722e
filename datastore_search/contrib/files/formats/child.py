"""
Read a file of any format, in the process that ``python -m`` starts with the name of this module.

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
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from django.conf import settings

from ....guards.child_processes import end_with_parent, take_over_output
from ..messages import LoadFailed
from ..sources.archives import unpack
from ..sources.limits import ReadingLimits, find_shortage, is_file_too_large
from . import detect_format, input_formats, list_formats
from .headers_and_footers import clean_labels, describe_name_changes
from .options import ReadOptions
from .staging import StagedTable, StagingArea, create_staging_area


def read_file(
    path: Path, options: ReadOptions, staging_area: StagingArea, *, name: str = ""
) -> StagedTable:
    """Stage a file of any known format, packed or not (``process.open_table``)."""
    folder, limits, member = staging_area.folder, staging_area.limits, options.member
    for file_format in list_formats():
        if file_format.unpack and (main := file_format.unpack(path, folder, limits, member=member)):
            break
    else:
        main, name = unpack(path, name or path.name, folder, limits, member=member)
        file_format = detect_format(main, name)
    # Else each thread of numpy's OpenBLAS takes memory.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module, _, function = file_format.read.partition(":")
    try:
        # Imports take most of the time of a small file: only the reader that is needed is imported.
        read = getattr(import_module(module, __package__), function)
    except ModuleNotFoundError as error:
        if not (extra := file_format.extra):
            raise
        raise LoadFailed("file.extra_missing", format=file_format.name, extra=extra) from error
    table: StagedTable = read(main, options, staging_area)
    return replace(
        table,
        labels=clean_labels(table.labels),
        notices=(*table.notices, *describe_name_changes(table.labels, table.names)),
    )


def main() -> None:
    answers = take_over_output()
    request = json.loads(sys.stdin.buffer.readline())

    def end_with_input() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        os._exit(1)

    # The kernel ends it with the parent on Linux, a thread elsewhere.
    Thread(target=end_with_input, daemon=True).start()
    end_with_parent(request["parent"])
    settings.configure(**request["settings"])
    limits = ReadingLimits(Path(request["path"]).stat().st_size).enforce()
    answer = json.dumps(_answer_request(request, limits)).encode()
    with answers:
        answers.write(answer)
    os._exit(0)  # there is nothing to clean up, and the parent waits


def _answer_request(request: dict[str, Any], limits: ReadingLimits) -> dict[str, Any]:
    path, options = Path(request["path"]), ReadOptions.from_json(request["options"])
    try:
        formats = pickle.loads(bytes.fromhex(request["formats"]))  # noqa: S301 - the parent process wrote it
        input_formats.add(*formats)
        with create_staging_area(Path(request["folder"]), limits) as staging_area:
            staging_area.restrict(path)
            table = read_file(path, options, staging_area, name=request["name"])
        members = ("names", "labels", "declared_types", "has_header")
        notices = [notice.to_json() for notice in table.notices]
        return {"table": {**{name: getattr(table, name) for name in members}, "notices": notices}}
    except LoadFailed as failure:
        return {"failure": failure.to_json()}
    except BaseException as error:  # noqa: BLE001 - the parent gets it, whatever it is
        shortage = limits.unpacked_failure if is_file_too_large(error) else find_shortage(error)
        return {"failure": shortage.to_json()} if shortage else {"error": traceback.format_exc()}


if __name__ == "__main__":
    main()
