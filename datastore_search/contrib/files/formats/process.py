"""Read a file in a process that has limits and can be killed at any moment (decision 0023)."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import IO, Any, cast

from ....conf import conf as core_conf
from ....guards.child_processes import start_child
from ....guards.folders import create_working_folder
from ..conf import conf
from ..messages import LoadFailed, Notice
from . import input_formats
from .options import ReadOptions
from .staging import Interrupter, StagedTable, open_staging_area

logger = logging.getLogger(__name__)

_CHILD = "datastore_search.contrib.files.formats.child"

#: The time for a file, with waits.
TIMEOUT_SECONDS = 60 * 60

_CHECK_INTERVAL_SECONDS = 0.1

#: The names and labels of all fields are less.
_MAX_ANSWER_BYTES = 64 * 2**20
_MAX_LOG_BYTES = 10_000
_BLOCK_BYTES = 2**16

#: The time that the child may take to end after its answer.
_END_TIMEOUT_SECONDS = 10

#: Texts in the log of a process that Rust, C++ or Python has ended because memory was short.
_OUT_OF_MEMORY = (b"memory allocation", b"bad_alloc", b"MemoryError")

#: A statement needs a few times the bytes of the values that DuckDB reads at once, in two threads.
_MEMORY_RATIO = 16


class UnexpectedReadingError(Exception):
    """The child failed for a reason that no code describes."""


@contextmanager
def open_table(
    path: Path, options: ReadOptions, *, name: str = "", interrupter: Interrupter | None = None
) -> Iterator[StagedTable]:
    """
    Read a file of any known format, packed or not, into a table that exists during the block.

    ``name`` is the file's own, if ``path`` has another one: its suffix is a hint at the format.
    ``interrupter`` can end the reading, and the statements on the table.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    interrupter = interrupter or Interrupter()
    with create_working_folder() as folder:
        request = {
            "parent": os.getpid(),
            "path": str(path.resolve()),
            "name": name or path.name,
            "folder": str(folder),
            "options": options.to_json(),
            "formats": pickle.dumps([*input_formats.values()]).hex(),
            "settings": {
                "DATASTORE_SEARCH_LOAD_MEMORY_BYTES": core_conf.LOAD_MEMORY_BYTES,
                "DATASTORE_SEARCH_READ_CPU_SECONDS": conf.READ_CPU_SECONDS,
                "DATASTORE_SEARCH_MAX_UNPACKED_BYTES": conf.MAX_UNPACKED_BYTES,
            },
        }
        log_path = folder / "log"
        with log_path.open("wb") as log, start_child(_CHILD, log) as child:
            text = _send_request(child, json.dumps(request).encode() + b"\n", interrupter)
            with suppress(subprocess.TimeoutExpired):  # a child that does not end is killed
                child.wait(_END_TIMEOUT_SECONDS)
        if child.returncode or not text:
            raise _explain_end(child.returncode, log_path)
        answer: dict[str, Any] = json.loads(text)
        if "failure" in answer:
            raise LoadFailed.from_json(answer["failure"])
        if "error" in answer:
            raise UnexpectedReadingError(answer["error"])
        table = answer["table"]
        width = len(table["names"])
        with open_staging_area(folder, width, interrupter) as staging_area:
            opened = StagedTable(
                staging_area=staging_area,
                names=tuple(table["names"]),
                labels=tuple(table["labels"]),
                declared_types=tuple(table["declared_types"]),
                has_header=table["has_header"],
                notices=tuple(cast(Notice, Notice.from_json(each)) for each in table["notices"]),
            )
            opened.rows.limit_memory(opened.columns, core_conf.LOAD_MEMORY_BYTES // _MEMORY_RATIO)
            yield opened


def _send_request(
    child: subprocess.Popen[bytes], request: bytes, interrupter: Interrupter
) -> bytes:
    """Send the request, and wait for the answer, which is empty if the child crashes."""
    stdin, stdout = cast(IO[bytes], child.stdin), cast(IO[bytes], child.stdout)
    with suppress(BrokenPipeError):
        stdin.write(request)
    deadline = monotonic() + TIMEOUT_SECONDS
    answer = bytearray()
    with DefaultSelector() as selector:
        selector.register(stdout, EVENT_READ)
        while True:
            interrupter.raise_if_cancelled()
            if monotonic() > deadline:
                raise LoadFailed("load.reader_timeout")
            if selector.select(_CHECK_INTERVAL_SECONDS):
                block = os.read(stdout.fileno(), _BLOCK_BYTES)
                answer += block
                if len(answer) > _MAX_ANSWER_BYTES:
                    raise LoadFailed("load.reader_crashed")
                if not block:
                    return bytes(answer)


def _explain_end(code: int, log_path: Path) -> Exception:
    if code == -signal.SIGXCPU:
        return LoadFailed("load.reader_timeout")
    with log_path.open("rb") as file:
        file.seek(max(0, log_path.stat().st_size - _MAX_LOG_BYTES))
        log = file.read()
    # When memory is short, the system kills the processes that take the most.
    if code == -signal.SIGKILL or any(words in log for words in _OUT_OF_MEMORY):
        return LoadFailed("load.out_of_memory")
    text = log.decode(errors="replace")
    if code >= 0:
        return UnexpectedReadingError(text)
    logger.error("The process that read a file was ended by signal %s. %s", -code, text)
    return LoadFailed("load.reader_crashed")
