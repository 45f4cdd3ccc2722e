"""
Reading a file in a process of its own, which is limited, and can be ended at any moment.

A file that somebody else has made may keep a parser busy for ever, make it take all memory, or make
it break down; the process that loads or shows a preview is not to suffer from it (decision 0023).
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import IO, Any, cast

from ...conf import conf
from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ..sources.folders import working_folder
from .interrupter import Interrupter
from .options import ReadOptions
from .staging import StagedTable, open_staging_area

logger = logging.getLogger(__name__)

_CHILD = "datastore_search.loading.readers.child"

#: Seconds between two looks whether the file is still wanted.
_LOOK_AGAIN = 0.1

#: What the process may need of the environment; secrets are none of its business.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONHOME")
_LIBRARIES = ("LD_", "DYLD_")

#: Memory that is free again goes back to the system, for the limit counts what is mapped: jemalloc,
#: which DuckDB has, keeps all that it ever had, and glibc what lies below the last piece in use.
_ALLOCATORS = {
    "DUCKDB_JE_MALLOC_CONF": "retain:false",
    "MALLOC_MMAP_THRESHOLD_": str(128 * 2**10),
    "MALLOC_ARENA_MAX": "1",
}

_SETTINGS = (
    "LOAD_MEMORY_BYTES",
    "READ_CPU_SECONDS",
    "READ_CPU_SECONDS_PER_MB",
    "READ_MEMORY_BYTES",
    "UNPACKED_MAX_BYTES",
    "UNPACKED_RATIO_MAX",
)

#: Names and labels of all fields are less.
_ANSWER_BYTES_MOST = 64 * 2**20
_SAID_BYTES_MOST = 10_000
_BLOCK_BYTES = 2**16

#: How long a process may take to end when it has said everything.
_END_SECONDS_MOST = 10

#: What a process says that Rust or C++ has ended for want of memory.
_OUT_OF_MEMORY = (b"memory allocation", b"bad_alloc", b"MemoryError")


class UnexpectedReadingError(Exception):
    """The process that reads has failed for a reason that nobody has foreseen."""


@contextmanager
def open_table(
    path: Path,
    options: ReadOptions,
    *,
    name: str = "",
    interrupter: Interrupter | None = None,
) -> Iterator[StagedTable]:
    """
    Read a file of any known format, packed or not, into a table that exists during the block.

    ``name`` is the file's own name, if ``path`` has another one: its suffix is a hint at the
    format.  ``interrupter`` can end the reading, and the statements on the table.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    interrupter = interrupter or Interrupter()
    with working_folder() as folder:
        found = _read(path.resolve(), options, name or path.name, folder, interrupter)
        with open_staging_area(folder, len(found["names"]), interrupter) as staging_area:
            yield StagedTable(
                staging_area=staging_area,
                names=tuple(found["names"]),
                labels=tuple(found["labels"]),
                declared_types=tuple(found["declared_types"]),
                notices=tuple(cast(Notice, Notice.from_json(kept)) for kept in found["notices"]),
            )


def _read(
    path: Path, options: ReadOptions, name: str, folder: Path, interrupter: Interrupter
) -> dict[str, Any]:
    """
    Let another process stage a file in a folder; give what it says of the table.

    Raises: ``LoadFailed``.
    """
    asked = {
        "parent": os.getpid(),
        "path": str(path),
        "name": name,
        "folder": str(folder),
        "options": {each.name: getattr(options, each.name) for each in fields(ReadOptions)},
        "settings": {f"DATASTORE_SEARCH_{each}": getattr(conf, each) for each in _SETTINGS},
    }
    log = folder / "said"
    with log.open("wb") as said, _started(said) as process:
        answer = _answer_of(process, json.dumps(asked).encode() + b"\n", interrupter)
        with suppress(subprocess.TimeoutExpired):  # what does not end is killed
            process.wait(_END_SECONDS_MOST)
    if process.returncode or not answer:
        raise _reason(process.returncode, log)
    found: dict[str, Any] = json.loads(answer)
    if "failure" in found:
        raise LoadFailed.from_json(found["failure"])
    if "error" in found:
        raise UnexpectedReadingError(found["error"])
    return dict(found["table"])


@contextmanager
def _started(said: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process, which is gone at the end of the block."""
    process = subprocess.Popen(  # noqa: S603 - our own program
        [_python(), "-P", "-m", _CHILD],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        env=_environment(),
        process_group=0,  # who presses Ctrl-C means the parent, which ends the child
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _python() -> str:
    """Find the interpreter: a server that embeds Python may name itself instead."""
    executable = Path(sys.executable or "")
    if executable.name.startswith(("python", "pypy")):
        return str(executable)
    return str(Path(sys.exec_prefix, "bin", "python3"))


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.startswith(_LIBRARIES)
    }
    paths = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
    return kept | _ALLOCATORS | {"PYTHONPATH": paths}


def _answer_of(process: subprocess.Popen[bytes], asked: bytes, interrupter: Interrupter) -> bytes:
    """
    Ask, and wait for the answer, which is empty where the process broke down.

    Raises: ``LoadFailed``, also when the file is no longer wanted.
    """
    stdin, stdout = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
    with suppress(BrokenPipeError):
        stdin.write(asked)
    deadline = monotonic() + conf.READ_TIMEOUT.total_seconds()
    answer = bytearray()
    with DefaultSelector() as selector:
        selector.register(stdout, EVENT_READ)
        while True:
            interrupter.raise_if_cancelled()
            if monotonic() > deadline:
                raise LoadFailed("load.reader_timeout")
            if selector.select(_LOOK_AGAIN):
                block = os.read(stdout.fileno(), _BLOCK_BYTES)
                answer += block
                if len(answer) > _ANSWER_BYTES_MOST:
                    raise LoadFailed("load.reader_crashed")
                if not block:
                    return bytes(answer)


def _reason(code: int, log: Path) -> Exception:
    """Say why a process has ended without an answer."""
    if code == -signal.SIGXCPU:
        return LoadFailed("load.reader_timeout")
    with log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - _SAID_BYTES_MOST))
        said = opened.read()
    if code == -signal.SIGKILL or any(words in said for words in _OUT_OF_MEMORY):
        return LoadFailed("load.out_of_memory")  # the system ends those that take the most
    text = said.decode(errors="replace")
    if code >= 0:
        return UnexpectedReadingError(text)
    logger.error("The process that read a file was ended by signal %s. %s", -code, text)
    return LoadFailed("load.reader_crashed")
