"""Sessions: the settings of a search, and that they end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.db.utils import DatabaseError
from psycopg import capabilities, sql

from datastore_search.database.sessions import Session, TextBatch, open_session as begin_session
from datastore_search.database.statements import Clause, execute, fetch_column, fetch_value

SETTINGS = ("statement_timeout", "work_mem", "random_page_cost", "jit", "client_min_messages")

open_snapshot = partial(begin_session, as_snapshot=True)
each_kind_of_session = pytest.mark.parametrize("open_session", [begin_session, open_snapshot])
OpenSession = Callable[..., AbstractContextManager[Session]]


def read_settings() -> list[Any]:
    statement = "SELECT setting FROM pg_settings WHERE name = ANY (%s) ORDER BY name"
    return fetch_column(connection, statement, [[*SETTINGS, "transaction_isolation"]])


def read_setting(session: Session, name: str) -> Any:
    ((value,),) = session.fetch_rows(Clause(sql.SQL("SELECT current_setting(%s)"), [name]))
    return value


def read_in_session(open_session: OpenSession, error: BaseException | None = None) -> None:
    with open_session(connection, timedelta(milliseconds=1234), 5 * 2**20) as session:
        assert read_setting(session, "statement_timeout") == "1234ms"
        assert read_setting(session, "work_mem") == "5MB"
        assert read_setting(session, "jit") == "off"
        cost = sql.SQL("SELECT current_setting('random_page_cost')")
        assert session.fetch_texts(Clause(cost), list, is_scan=True) == [TextBatch((), [b"4"])]
        assert session.fetch_texts(Clause(cost), list) == [TextBatch((), [b"1.1"])]
        if error:
            raise error


def check_settings_end(open_session: OpenSession) -> None:
    """Expect that a session leaves no setting, however it ends."""
    before = read_settings()
    for failure in (None, KeyError("ours"), DatabaseError("theirs")):
        with suppress(KeyError, DatabaseError):
            read_in_session(open_session, failure)

        assert read_settings() == before


@each_kind_of_session
def test_settings_end_with_the_session(transactional_db: None, open_session: OpenSession) -> None:
    check_settings_end(open_session)


@each_kind_of_session
def test_settings_do_not_stay_in_the_transaction_of_the_caller(
    db: None, open_session: OpenSession
) -> None:
    with transaction.atomic():
        execute(connection, "SET LOCAL work_mem = '77MB'; SET LOCAL statement_timeout = '99s'")
        check_settings_end(open_session)


@each_kind_of_session
def test_a_statement_that_takes_too_long_leaves_the_transaction_of_the_caller_usable(
    db: None, open_session: OpenSession
) -> None:
    before = read_settings()

    with (
        pytest.raises(DatabaseError),
        open_session(connection, timedelta(milliseconds=50), 2**20) as session,
    ):
        session.fetch_rows(Clause(sql.SQL("SELECT pg_sleep(30)")))

    assert read_settings() == before


def test_a_parameter_is_a_value_even_if_two_statements_are_sent_together(
    transactional_db: None,
) -> None:
    values = ["'; DROP TABLE x; --", "%s", "\\'", "a\nb", "100%", "ờ"]
    with begin_session(connection, timedelta(seconds=9), 2**20) as session:
        for value in values:
            assert session.fetch_rows(Clause(sql.SQL("SELECT %s, '%%'"), [value])) == [(value, "%")]


def test_statements_of_a_snapshot_see_one_moment_and_those_of_a_session_the_latest(
    transactional_db: None,
) -> None:
    other = connection.copy("other")
    try:
        for open_session, numbers in ((open_snapshot, [0, 0]), (begin_session, [0, 1])):
            counts = []
            with open_session(connection, timedelta(seconds=9), 2**20) as session:
                for _time in range(2):
                    count = sql.SQL("SELECT count(*) FROM auth_group")
                    counts.append(session.fetch_rows(Clause(count))[0][0])
                    with other.cursor() as cursor:
                        cursor.execute("INSERT INTO auth_group (name) VALUES (gen_random_uuid())")
            assert counts == numbers
            Group.objects.all().delete()
    finally:
        other.close()


# Batches ------------------------------------------------------------------------------------------

NUMBERS = sql.SQL("SELECT 'head', generate_series(1, %s)")


@each_kind_of_session
def test_texts_come_in_batches(transactional_db: None, open_session: OpenSession) -> None:
    for rows, batch_rows, sizes in (
        (0, 32, [0]),
        (32, 32, [32]),
        (70, 32, [32, 32, 6]),
        (3, 1, [1, 1, 1]),
        (0, None, [0]),
        (70, None, [70]),
    ):
        with open_session(connection, timedelta(seconds=9), 2**20) as session:
            batches = session.fetch_texts(Clause(NUMBERS, [rows]), list, batch_rows=batch_rows)

        assert [len(batch.last) for batch in batches] == sizes
        assert {batch.head for batch in batches} == {(b"head",) if rows else ()}
        assert [int(text or 0) for batch in batches for text in batch.last] == [*range(1, rows + 1)]


def test_texts_come_one_by_one_from_a_libpq_without_batches(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "has_stream_chunked", lambda: False)
    with begin_session(connection, timedelta(seconds=9), 2**20) as session:
        batches = session.fetch_texts(Clause(NUMBERS, [3]), list, batch_rows=32)

    assert batches == [TextBatch((b"head",), [text]) for text in (b"1", b"2", b"3")]


@each_kind_of_session
def test_a_statement_whose_rows_are_not_read_is_ended(
    transactional_db: None, open_session: OpenSession
) -> None:
    def gather(batches: Iterator[TextBatch]) -> None:
        next(batches)
        raise KeyError

    with pytest.raises(KeyError), open_session(connection, timedelta(hours=1), 2**20) as session:
        session.fetch_texts(Clause(NUMBERS, [10**12]), gather, batch_rows=32)  # would take days

    with begin_session(connection, timedelta(seconds=9), 2**20) as session:
        assert session.fetch_rows(Clause(sql.SQL("SELECT 1"))) == [(1,)]


@pytest.mark.parametrize("batch_rows", [32, None])
def test_a_statement_that_fails_between_two_batches_leaves_the_connection_usable(
    transactional_db: None, batch_rows: int | None
) -> None:
    seen: list[int] = []

    def gather(batches: Iterator[TextBatch]) -> None:
        seen.extend(len(batch.last) for batch in batches)

    failing = sql.SQL("SELECT 1 / (100 - n) FROM generate_series(1, 200) AS n")
    with begin_session(connection, timedelta(seconds=9), 2**20) as session:
        with pytest.raises(DatabaseError, match="division by zero"):
            session.fetch_texts(Clause(failing), gather, batch_rows=batch_rows)
        assert session.fetch_rows(Clause(sql.SQL("SELECT 1"))) == [(1,)]

    assert sum(seen) < 100


def test_a_statement_of_texts_begins_the_transaction_of_the_caller(transactional_db: None) -> None:
    with transaction.atomic():
        texts = Session(connection, {}).fetch_texts(Clause(sql.SQL("SELECT txid_current()")), list)
        number = fetch_value(connection, "SELECT txid_current()")
        assert texts == [TextBatch((), [str(number).encode()])]
