"""Statements from this process to PostgreSQL: by psycopg, with Django or without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from django.test import Client
from psycopg import ClientCursor, Cursor, sql

from datastore_search.database.sessions import BatchCursor

from .calls import Call

#: The classes that run statements.
_CURSORS = (Cursor, BatchCursor)


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


def _build_statement(cursor: Cursor[Any], query: Any, params: Any, copies: bool) -> Statement:
    if params is not None:
        text = ClientCursor(cursor.connection).mogrify(query, params)
    elif isinstance(query, sql.Composable):
        text = query.as_string(cursor)
    else:
        text = query.decode() if isinstance(query, bytes) else query
    return Statement(text, copies, transacted=not cursor.connection.autocommit)
