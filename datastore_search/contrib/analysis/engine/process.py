"""
The engine of a process: a child that answers questions, started at the first one.

One question is asked at a time; who asks holds a slot of its client.  A question that takes too
long, or whose client is gone, is interrupted; a child that does not answer even then is killed, so
that the next question starts another.  A child that nobody asks ends by itself.  A fork of this
process has a child of its own.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import os
import re
import select
import signal
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import IO, Any, cast

from django.utils.translation import gettext_lazy as _

from ....guards.child_processes import start_child
from ....guards.folders import create_working_folder, delete_abandoned_folders
from ....guards.shares import Client
from ....messages.availability import ClientDisconnected, QueryTooSlow, TemporarilyUnavailable
from ..conf import conf
from .columns import Column

logger = logging.getLogger(__name__)

_CHILD = "datastore_search.contrib.analysis.engine.child"

#: How long an answer may take after the time limit of its question, or after it is interrupted:
#: planning cannot be interrupted.
_GRACE_SECONDS = 1.0

_START_SECONDS = 20.0

#: How often the client of a question is looked at.
_CHECK_SECONDS = 0.05

#: A child that nobody asks for this time is not asked again; it ends a little later.
_IDLE_SECONDS = 300.0

#: A longer row of CSV is read in another way.
MAX_LINE_BYTES = 2**20

_ROW = re.compile(rb'(?:[^"\n]+|"[^"]*")*\n')
_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\n]*))[,\n]')

_MAX_ANSWER_BYTES = 64 * 2**20
_BLOCK_BYTES = 2**18
_MAX_LOG_BYTES = 4_000


class EngineUnavailable(TemporarilyUnavailable):
    """The engine has ended, or its memory is short; the next question may be answered."""

    wait = 5
    message = _("This question cannot be answered at the moment. Try again, or ask for less.")


class StatementRefused(EngineUnavailable):
    """DuckDB cannot compute a statement."""


class TableClosed(Exception):
    """The child has no table of this name; it must be opened again."""


class FileDamaged(EngineUnavailable):
    """The file of a table is missing or damaged; it must be made again."""


class NumbersOutOfRange(Exception):
    """A statement computes with numbers that no type holds."""


#: What the kinds of errors of the child raise; others are written to the log.
_ERRORS = {"range": NumbersOutOfRange, "file": FileDamaged, "slow": QueryTooSlow}


def name_table(*key: object) -> str:
    """Name the table of the engine that has what a key identifies."""
    return f"k_{hashlib.sha256(repr(key).encode()).hexdigest()[:32]}"


def get_folder() -> Path:
    """
    Return the folder of this machine's snapshots.

    Raises: ``OSError`` if it cannot be made, or is another user's among temporary files.
    """
    own = Path(tempfile.gettempdir(), f"datastore_search_snapshots_{os.getuid()}")
    folder = Path(conf.SNAPSHOTS_FOLDER or own)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder == own and folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"The folder {folder} is another user's.")
    return folder


def read_row(row: bytes) -> list[str | None]:
    """Read a row of PostgreSQL's CSV, where null is an empty cell without quotation marks."""
    return [
        each[2] or None if each[1] is None else each[1].replace('""', '"')
        for each in _CELL.finditer(row.decode())
    ]


class Engine:
    """The child of this process, and the names of the tables that it has, as far as is known."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the child, as in a process that was forked from the one that started it."""
        self._lock = Lock()
        self._asked_at = 0.0
        self._stack = ExitStack()
        self._child: Any = None
        self._tables: set[str] = set()

    def has(self, table: str) -> bool:
        """Return whether the child has a table, as far as it was opened and not closed."""
        return table in self._tables and self._child is not None and self._is_alive()

    def attach(self, table: str, path: Path, seconds: float) -> None:
        """Open the table of a file.  Raises: as ``ask``; ``FileDamaged``."""
        self._send({"do": "attach", "table": table, "path": str(path)}, seconds)

    def store(
        self,
        table: str,
        types: Sequence[str],
        rows: bytes,
        seconds: float,
        heads: Sequence[str] = ("_id",),
    ) -> list[Column]:
        """
        Make a table of rows of CSV: ``_id``, then the texts of fields of these types of DuckDB's.

        Raises: ``EngineUnavailable``; ``QueryTooSlow``.
        """
        long: list[list[str | None]] = []
        if len(rows) > MAX_LINE_BYTES:
            each = [row[0] for row in _ROW.finditer(rows)]
            long = [read_row(row) for row in each if len(row) > MAX_LINE_BYTES]
            rows = b"".join(row for row in each if len(row) <= MAX_LINE_BYTES) if long else rows
        request = {"do": "store", "table": table, "types": types, "heads": heads, "long": long}
        return [Column(**each) for each in self._send(request, seconds, rows)["columns"]]

    def build(
        self, path: Path, rows: Path, long: Path, types: Sequence[str], seconds: float
    ) -> list[Column]:
        """
        Write a file of DuckDB from a file of rows, as for ``store``, and one of ``long`` rows.

        Raises: ``EngineUnavailable``; ``QueryTooSlow``.
        """
        request = {"do": "build", "types": types}
        request |= {"path": str(path), "rows": str(rows), "long": str(long)}
        return [Column(**each) for each in self._send(request, seconds)["columns"]]

    def ask(
        self,
        tables: Sequence[str],
        statement: str,
        parameters: Sequence[Any],
        seconds: float,
        client: Client | None = None,
    ) -> list[list[Any]]:
        """
        Run a statement that reads tables, and return its rows, with values as JSON has them.

        Raises: ``TableClosed``; ``QueryTooSlow``; ``EngineUnavailable``; ``ClientDisconnected``.
        """
        request = {"do": "ask", "tables": tables}
        request |= {"statement": statement, "parameters": parameters}
        rows: list[list[Any]] = self._send(request, seconds, client=client)["rows"]
        return rows

    def close(self) -> None:
        """End the child; a thread that waits for its answer is told."""
        is_free = self._lock.acquire(timeout=_GRACE_SECONDS)
        self._end()
        if is_free:
            self._lock.release()

    def _send(
        self,
        request: dict[str, Any],
        seconds: float,
        body: bytes = b"",
        client: Client | None = None,
    ) -> dict[str, Any]:
        deadline = monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            raise EngineUnavailable
        try:
            if self._child is None or not self._is_alive():
                self._start()
            left = max(0.001, deadline - monotonic())
            text = json.dumps(request | {"seconds": left, "size": len(body)})
            answer = self._exchange(text.encode() + b"\n" + body, left, client)
            self._asked_at = monotonic()
        except BaseException as error:
            log = self._read_log()
            self._end()
            if isinstance(error, OSError | EngineUnavailable):
                logger.exception("The engine has ended, or cannot be started. %s", log)
                raise EngineUnavailable from error
            raise
        finally:
            self._lock.release()
        match answer.get("error"):
            case None:
                if "table" in request:
                    self._tables.add(request["table"])
                return answer
            case "slow" if client is not None and client.is_gone():
                raise ClientDisconnected
            case "closed":
                self._tables.discard(answer["table"])
                raise TableClosed(answer["table"])
            case error if error in _ERRORS:
                raise _ERRORS[error]
        is_refused = answer["error"] == "statement"
        level = logging.WARNING if is_refused else logging.ERROR
        logger.log(level, "The engine has failed: %s. %s", answer["error"], self._read_log())
        raise StatementRefused if is_refused else EngineUnavailable

    def _exchange(self, message: bytes, seconds: float, client: Client | None) -> dict[str, Any]:
        """Send a message and wait for its answer; an error leaves the child to be killed."""
        stdin, stdout = cast(IO[bytes], self._child.stdin), cast(IO[bytes], self._child.stdout)
        deadline, is_stopped = monotonic() + seconds + _GRACE_SECONDS, False
        sent, answer = memoryview(message), bytearray()
        os.set_blocking(stdin.fileno(), False)
        poll = select.poll()  # select() refuses descriptors over 1,023
        poll.register(stdout, select.POLLIN)
        poll.register(stdin, select.POLLOUT)
        while not answer.endswith(b"\n"):
            ready = dict(poll.poll(_CHECK_SECONDS * 1000))
            if sent and stdin.fileno() in ready:
                try:
                    sent = sent[os.write(stdin.fileno(), sent[:_BLOCK_BYTES]) :]
                except BrokenPipeError:
                    raise EngineUnavailable from None
                if not sent:
                    poll.unregister(stdin)
            if stdout.fileno() in ready:
                block = os.read(stdout.fileno(), _BLOCK_BYTES)
                answer += block
                if not block or len(answer) > _MAX_ANSWER_BYTES:
                    raise EngineUnavailable
            elif client is not None and not is_stopped and client.is_gone():
                self._child.send_signal(signal.SIGINT)
                deadline, is_stopped = monotonic() + _GRACE_SECONDS, True
            if monotonic() > deadline:
                raise QueryTooSlow
        found: dict[str, Any] = json.loads(answer)
        return found

    def _start(self) -> None:
        self._end()
        delete_abandoned_folders()
        folder = self._stack.enter_context(create_working_folder())
        self._log = self._stack.enter_context((folder / "log").open("wb"))
        self._child = self._stack.enter_context(start_child(_CHILD, self._log))
        request = {
            "folder": str(folder),
            "snapshots": str(get_folder()),
            "parent": os.getpid(),
            "idle_seconds": 1.1 * _IDLE_SECONDS,
            "memory_bytes": conf.ENGINE_MEMORY_BYTES,
            "threads": conf.ENGINE_THREADS,
        }
        try:
            self._exchange(json.dumps(request).encode() + b"\n", _START_SECONDS, None)
        except QueryTooSlow:
            raise EngineUnavailable from None
        self._asked_at = monotonic()

    def _is_alive(self) -> bool:
        return self._child.poll() is None and monotonic() - self._asked_at < _IDLE_SECONDS

    def _read_log(self) -> str:
        try:
            return Path(self._log.name).read_bytes()[-_MAX_LOG_BYTES:].decode(errors="replace")
        except (AttributeError, OSError):  # it was not started, or its folder is gone
            return ""

    def _end(self) -> None:
        self._child, stack, self._stack = None, self._stack, ExitStack()
        self._tables = set()
        stack.close()


engine = Engine()
os.register_at_fork(after_in_child=engine.reset)
atexit.register(engine.close)
