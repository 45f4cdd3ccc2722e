"""
The process of the engine, which ``process.Engine`` starts: DuckDB, over tables that it is given.

A message is a line of JSON, and after it as many bytes as its member ``size`` says; the answer is a
line of JSON.  ``attach`` opens a file with a table ``snapshot``; ``store`` makes a table of rows of
CSV; ``build`` makes a file of a file of rows; ``ask`` runs one statement.  Rows that are too long
for CSV come as lists.  DuckDB is closed to all files but those of two folders, to settings and to
the network before the first message.  The texts of its errors, which hold paths and values, stay
in the log.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from select import select
from threading import Thread, Timer
from time import sleep
from typing import Any

import duckdb

from ....guards.child_processes import set_limit, take_over_output
from .columns import decide_columns, quote_text, select_columns

logger = logging.getLogger(__name__)

#: What the operating system gives the process beyond what it has at its start: DuckDB's own limit
#: does not hold for one function that makes a long text.
_MEMORY_RATIO, _MORE_BYTES = 1.6, 300 * 2**20

#: Tables that stay open, the ones that were asked last, and the bytes of rows of those in memory.
_MAX_TABLES, _MAX_STORED_BYTES = 64, 128 * 2**20

#: A line of CSV may have this size; ``process`` sends longer ones as lists.
_MAX_LINE_BYTES = 2 * 2**20

#: What the texts of errors have where a disk is full, which is not a damage of the file.
_NO_ROOM = "No space left", "Disk quota", "File too large"

_HEADS = {"_id": "BIGINT", "is_there": "BOOLEAN"}


class _Stopped(Exception):
    """The parent does not wait for the answer."""


class _Databases:
    """The tables by name, the one asked last at the end: ``sizes`` of their rows, 0 of a file."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.folder: str = request["folder"]
        self.sizes: OrderedDict[str, int] = OrderedDict()
        self.connection = duckdb.connect(config={"threads": request["threads"]})
        self._running = self.connection
        self.connection.execute(
            f"SET memory_limit = '{request['memory_bytes']}B';"
            f" SET temp_directory = {quote_text(self.folder)}; SET max_temp_directory_size = '4GB';"
            " SET autoinstall_known_extensions = false;"
            " SET autoload_known_extensions = false; SET preserve_insertion_order = false;"
            " SET integer_division = true; SET ieee_floating_point_ops = false;"
            " SET TimeZone = 'UTC';"
            f" SET allowed_directories = [{quote_text(self.folder)},"
            f" {quote_text(request['snapshots'])}];"
            " SET enable_external_access = false; SET lock_configuration = true"
        )

    def attach(self, request: dict[str, Any], _body: bytes) -> object:
        """Open a file, whose table gets its own name."""
        table = request["table"]
        self._add(table, 0)
        self.connection.execute(
            f"ATTACH IF NOT EXISTS {quote_text(request['path'])} AS {table}_file (READ_ONLY)"
        )
        self.connection.execute(f"CREATE OR REPLACE VIEW {table} AS FROM {table}_file.snapshot")
        self.connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        return {}

    def store(self, request: dict[str, Any], body: bytes) -> object:
        """Make a table of rows of PostgreSQL's CSV."""
        table, types, heads = request["table"], request["types"], request["heads"]
        self._add(table, len(body) + 1)
        rows = Path(self.folder, "rows.csv")
        rows.parent.mkdir(exist_ok=True)  # what tidies up temporary files may have deleted it
        rows.write_bytes(body)
        try:
            self._read_rows(rows, request["long"], heads, types, "raw")
        finally:
            rows.unlink()
        columns = decide_columns(types, self.connection.execute)
        select = select_columns(columns, heads)
        self.connection.execute(f"CREATE OR REPLACE TABLE {table} AS {select}; DROP TABLE raw")
        return {"columns": [*map(asdict, columns)]}

    def build(self, request: dict[str, Any], _body: bytes) -> object:
        """Write a file with a table ``snapshot`` from a file of rows."""
        os.nice(10)  # this process makes one file, beside a load or questions
        raw, execute = f"{request['path']}.raw", self.connection.execute
        execute(
            f"ATTACH {quote_text(request['path'])} AS made; ATTACH {quote_text(raw)} AS raw_file"
        )
        with Path(request["long"]).open() as lines:
            long = map(json.loads, lines)
            self._read_rows(Path(request["rows"]), long, ["_id"], request["types"], "raw_file.raw")
        execute("CREATE TEMP VIEW raw AS FROM raw_file.raw")
        columns = decide_columns(request["types"], execute)
        execute(f"CREATE TABLE made.snapshot AS {select_columns(columns)}")
        execute("DETACH made; DROP VIEW raw; DETACH raw_file")
        Path(raw).unlink()
        return {"columns": [*map(asdict, columns)]}

    def ask(self, request: dict[str, Any], _body: bytes) -> object:
        """Run a statement that reads tables; its own connection has nothing of those before."""
        for table in request["tables"]:
            if table not in self.sizes:
                return {"error": "closed", "table": table}
            self.sizes.move_to_end(table)
        with self.connection.cursor() as self._running:
            found = self._running.execute(request["statement"], request["parameters"])
            return {"rows": found.fetchall()}

    def interrupt(self) -> None:
        for each in (self.connection, self._running):  # which do not interrupt each other
            with suppress(duckdb.Error):  # it is closed
                each.interrupt()

    def _add(self, table: str, size: int) -> None:
        """Note a table, in the place of one of its name; the ones asked longest ago are closed."""
        stored, execute = self.sizes, self.connection.execute
        while (
            table in stored
            or len(stored) >= _MAX_TABLES
            or (stored and sum(stored.values()) + size > _MAX_STORED_BYTES)
        ):
            closed = table if table in stored else next(iter(stored))
            is_file = not stored.pop(closed)
            execute(
                f"DROP VIEW IF EXISTS {closed}" if is_file else f"DROP TABLE IF EXISTS {closed}"
            )
            if is_file:
                execute(f"DETACH DATABASE IF EXISTS {closed}_file")
        stored[table] = size

    def _read_rows(
        self,
        path: Path,
        long: Iterable[list[object]],
        heads: Sequence[str],
        types: list[str],
        table: str,
    ) -> None:
        """Read rows of PostgreSQL's CSV, first some of ``_HEADS``; an empty text is quoted."""
        names = [f"r{position}" for position in range(len(types))]
        kinds = {each: _HEADS[each] for each in heads} | dict.fromkeys(names, "VARCHAR")
        listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        self.connection.execute(f"CREATE OR REPLACE TABLE {table} ({listed})")
        if path.stat().st_size:
            self.connection.execute(
                f"INSERT INTO {table} SELECT * FROM read_csv({quote_text(str(path))}, columns = ?,"
                " header = false,"
                " delim = ',', quote = '\"', escape = '\"', nullstr = '', auto_detect = false,"
                " new_line = '\\n',"  # else the first one in a text decides
                f" allow_quoted_nulls = false, max_line_size = {_MAX_LINE_BYTES},"
                " parallel = false)",
                [kinds],
            )
        for row in long:
            marks = ", ".join("?" * len(row))
            self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def _to_json(value: object) -> object:
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value))


def _answer(databases: _Databases, request: dict[str, Any], body: bytes) -> bytes:
    """Answer a message; an error is its kind alone."""
    timer = Timer(request["seconds"], databases.interrupt)
    timer.start()
    try:
        answer = getattr(databases, request["do"])(request, body)
        return json.dumps(answer, default=_to_json).encode()
    except (duckdb.InterruptException, RuntimeError, _Stopped):
        kind = "slow"
    except (duckdb.OutOfMemoryException, MemoryError, OSError):
        kind = "memory"
    except (duckdb.FatalException, duckdb.InternalException):
        logger.exception("DuckDB has failed.")
        kind = "fatal"
    except (duckdb.ConversionException, duckdb.OutOfRangeException):
        kind = "range"
    except (duckdb.Error, TypeError) as error:
        # A wrong checksum of a block is an error of no kind.
        is_file = request["do"] == "attach" or type(error) in {duckdb.Error, duckdb.IOException}
        # Others may have values of records or of a statement in their texts.
        logger.warning("DuckDB refused a message: %s", error if is_file else type(error).__name__)
        kind = "statement" if not is_file else "file"
        if any(each in str(error) for each in (*_NO_ROOM, databases.folder)):
            kind = "memory"
    finally:
        timer.cancel()
    if "table" in request:
        databases.sizes.pop(request["table"], None)
    return json.dumps({"error": kind}).encode()


def _stop(*_signal: object) -> None:
    raise _Stopped


def _end_with_parent(parent: int) -> None:
    """End with the parent, even in a statement; the kernel would end with one of its threads."""
    while os.getppid() == parent:
        sleep(1)
    os._exit(1)


def main() -> None:
    answers, messages = take_over_output(), sys.stdin.buffer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request = json.loads(messages.readline())
    Thread(target=_end_with_parent, args=[request["parent"]], daemon=True).start()
    databases = _Databases(request)
    status = Path("/proc/self/statm")
    data = int(status.read_text().split()[5]) * resource.getpagesize() if status.exists() else 0
    limit = data + int(request["memory_bytes"] * _MEMORY_RATIO) + _MORE_BYTES
    set_limit(resource.RLIMIT_DATA, limit)
    answers.write(b"{}\n")
    answers.flush()
    idle = request["idle_seconds"]
    # The next message is sent after the answer, so no part of one is in the buffer.
    while select([messages], [], [], idle)[0] and (line := messages.readline()):
        request = json.loads(line)
        body = messages.read(request["size"])
        try:
            signal.signal(signal.SIGINT, _stop)
            answer = _answer(databases, request, body)
        except _Stopped:
            answer = b'{"error": "slow"}'
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        answers.write(answer + b"\n")
        answers.flush()
        if answer[-8:-1] == b'"fatal"':
            break
    os._exit(0)


if __name__ == "__main__":
    main()
