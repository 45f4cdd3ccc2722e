"""Statements from this process to PostgreSQL: by psycopg, with Django or without it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from django.test import Client
from psycopg import ClientCursor, Connection, Cursor, sql

from datastore_search.storage.batches import BatchCursor

from .calls import Call

#: The classes that run statements.
_CURSORS = (Cursor, BatchCursor)

#: The pieces of a text: string literals and quoted names with any content, and the rest.
_PIECES = re.compile(r"""'[^']*'|"[^"]*"|;|[^;'"]+""")
_READS = re.compile(r"(?:SELECT|WITH)\b", re.IGNORECASE)
_SETS = re.compile(r"SET\b|SELECT\s+(?:pg_catalog\.)?set_config\s*\(", re.IGNORECASE)
_COPIES = re.compile(r"COPY\s*\((.*)\)\s*TO\s+STDOUT\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """
    A text that was sent, its parameters merged into it.

    It ``copies`` if it began a COPY; it is ``transacted`` if it was part of a transaction and not
    one by itself.
    """

    text: str
    copies: bool = False
    transacted: bool = False

    @property
    def commands(self) -> list[str]:
        """The commands in it; of a COPY, its query."""
        if not self.copies:
            return _split_commands(self.text)
        match = _COPIES.match(self.text.strip())
        return [match[1]] if match else []


def is_setting(command: str) -> bool:
    """Return whether a command only changes settings."""
    return _SETS.match(command) is not None


def is_reading(command: str) -> bool:
    """Return whether a command reads."""
    return _READS.match(command) is not None and not is_setting(command)


def _split_commands(text: str) -> list[str]:
    commands = [""]
    for piece in _PIECES.findall(text):
        if piece == ";":
            commands.append("")
        else:
            commands[-1] += piece
    return [command.strip() for command in commands if command.strip()]


def record_statements(call: Call) -> list[Statement]:
    """
    Answer a call twice within this process, and return the statements of the second time.

    Raises: ``BenchmarkError`` when the answer is not the expected one.
    """
    answer_locally(call)
    sent: list[Statement] = []
    with _observe_statements(
        lambda cursor, *arguments: sent.append(_build_statement(cursor, *arguments))
    ):
        answer_locally(call)
    return sent


def answer_locally(call: Call) -> None:
    """
    Answer a call within this process, to the last block.

    Raises: ``BenchmarkError`` when the answer is not the expected one.
    """
    headers = {"Host": call.server, **call.headers}
    response = Client().generic(
        call.method,
        call.path,
        call.body,
        content_type=headers.pop("Content-Type", "application/octet-stream"),
        headers=headers,
    )
    blocks = iter(response)
    beginning = next(blocks, b"")
    for _block in blocks:
        pass
    call.check(response.status_code, beginning)


@dataclass(slots=True)
class Stopwatch:
    """The seconds within a block, and the number of its statements."""

    seconds: float = 0.0
    statements: int = 0


@contextmanager
def time_statements() -> Iterator[Stopwatch]:
    """
    Time all work of psycopg within the block, except reading rows afterwards.

    Rows that are collected while they arrive count, with their processing.
    """
    watch = Stopwatch()

    def count_statement(*_arguments: object) -> None:
        watch.statements += 1

    with ExitStack() as stack:
        stack.enter_context(_observe_statements(count_statement))
        for owner, name in (
            *((cursor, "execute") for cursor in _CURSORS),
            (Connection, "commit"),
            (Connection, "rollback"),
        ):
            stack.enter_context(time_calls(owner, name, watch))
        yield watch


@contextmanager
def _observe_statements(observe: Callable[..., None]) -> Iterator[None]:
    """Call ``observe`` with the cursor, the text and the parameters of each statement."""
    copy = Cursor.copy

    def observe_execute(execute: Callable[..., Any]) -> Callable[..., Any]:
        def execute_observed(
            cursor: Cursor[Any], query: Any, params: Any = None, **options: Any
        ) -> Any:
            if query:  # an empty query only begins a transaction
                observe(cursor, query, params, False)
            return execute(cursor, query, params, **options)

        return execute_observed

    def copy_observed(
        cursor: Cursor[Any], statement: Any, params: Any = None, **options: Any
    ) -> Any:
        observe(cursor, statement, params, True)
        return copy(cursor, statement, params, **options)

    with ExitStack() as stack:
        for owner in _CURSORS:
            stack.enter_context(mock.patch.object(owner, "execute", observe_execute(owner.execute)))
        stack.enter_context(mock.patch.object(Cursor, "copy", copy_observed))
        yield


@contextmanager
def time_calls(
    owner: type, name: str, watch: Stopwatch, *, but: Stopwatch | None = None
) -> Iterator[None]:
    """Time a method within the block, without the time of another watch."""
    method, other = getattr(owner, name), but or Stopwatch()

    def call_timed(*args: Any, **options: Any) -> Any:
        started_at, other_seconds = time.perf_counter(), other.seconds
        try:
            return method(*args, **options)
        finally:
            watch.seconds += time.perf_counter() - started_at - (other.seconds - other_seconds)

    with mock.patch.object(owner, name, call_timed):
        yield


def _build_statement(cursor: Cursor[Any], query: Any, params: Any, copies: bool) -> Statement:
    if params is not None:
        text = ClientCursor(cursor.connection).mogrify(query, params)
    elif isinstance(query, sql.Composable):
        text = query.as_string(cursor)
    else:
        text = query.decode() if isinstance(query, bytes) else query
    return Statement(text, copies, transacted=not cursor.connection.autocommit)
