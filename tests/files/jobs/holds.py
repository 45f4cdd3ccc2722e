"""Hold a load of another process in one of its states for the time of a block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg

from ...processes import wait_until

#: States in which a load can be held; in the last one, only the switch of tables is missing.
#: A load that adds records can also be held in *merging*.
MOMENTS = ("reading", "copying", "indexing", "publishing")

_VECTOR = "datastore_search_vector(jsonb, regconfig)"
_HELD = """
ALTER FUNCTION {vector} RENAME TO datastore_search_vector_not_held;
CREATE FUNCTION datastore_search_vector(data jsonb, language regconfig)
RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(5);
    RETURN datastore_search_vector_not_held(data, language);
END $$
"""
_FREE = """
DROP FUNCTION IF EXISTS {vector};
ALTER FUNCTION datastore_search_vector_not_held RENAME TO datastore_search_vector
"""


@contextmanager
def allow_holding_copies(url: str) -> Iterator[None]:
    """Acquire a lock for each record that is written into a table that is created in the block."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_HELD.format(vector=_VECTOR))
    try:
        yield
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database()"
                " AND application_name LIKE 'datastore_search load %'"
            )
            # The tables of the test use the function, and are dropped before it.
            connection.execute(
                "DO $$ DECLARE part regclass; BEGIN FOR part IN SELECT oid::regclass FROM pg_class"
                " WHERE relname ~ '^datastore_search_record_[0-9]+$' AND relkind = 'r'"
                " LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$"
            )
            connection.execute(_FREE.format(vector=_VECTOR))


class Hold:
    """Hold a load in a state: by a file that never arrives, or by a lock."""

    def __init__(self, url: str, load_id: int, upload: Path) -> None:
        self._url = url
        self._load_id = load_id
        self._upload = upload

    @contextmanager
    def hold_at(self, moment: str) -> Iterator[Callable[[Callable[[], object]], None]]:
        """Hold the load within the block; yield a function that waits until the load is there."""
        with ExitStack() as stack:
            self._observer = stack.enter_context(self._open_session())
            self._observer.autocommit = True
            if moment == "reading":
                stack.enter_context(self._replace_upload_by_pipe())
                yield lambda alive: wait_until(
                    lambda: self._has_state("reading"), moment, alive=alive
                )
                return
            if moment == "publishing":
                resource = stack.enter_context(self._open_session())
                resource.execute(
                    "SELECT FROM datastore_search_resource AS r"
                    " JOIN datastore_search_files_load AS l ON l.resource_id = r.id"
                    " WHERE l.id = %s FOR NO KEY UPDATE OF r",
                    [self._load_id],
                )
                yield lambda alive: wait_until(
                    lambda: self._has_state("indexing") and self._waits_for_lock("_resource"),
                    moment,
                    alive=alive,
                )
                return
            copying = stack.enter_context(self._open_session())
            copying.execute("SELECT pg_advisory_xact_lock(5)")

            def reach(alive: Callable[[], object]) -> None:
                if moment == "merging":
                    wait_until(lambda: self._waits_for_lock("INSERT"), moment, alive=alive)
                    return
                wait_until(lambda: self._waits_for_lock("COPY"), "copying", alive=alive)
                if moment == "indexing":
                    reader = stack.enter_context(self._open_session())
                    self._finish_copying(copying, reader)
                    wait_until(lambda: self._waits_for_lock("PRIMARY KEY"), moment, alive=alive)

            yield reach

    def _finish_copying(self, copying: psycopg.Connection, reader: psycopg.Connection) -> None:
        """End the copying, and read the table, so that the statement for its key waits."""
        version_row = reader.execute(
            "SELECT table_version_id FROM datastore_search_files_load WHERE id = %s",
            [self._load_id],
        ).fetchone()
        assert version_row
        reader.execute(f"SELECT FROM datastore_search_record_{version_row[0]} LIMIT 1")
        copying.rollback()

    def _open_session(self) -> closing[psycopg.Connection]:
        """Open a transaction; it also ends with the server."""
        return closing(psycopg.connect(self._url))

    @contextmanager
    def _replace_upload_by_pipe(self) -> Iterator[None]:
        """Replace the upload by a pipe into which nothing is written."""
        content = self._upload.read_bytes()
        self._upload.unlink()
        os.mkfifo(self._upload)
        try:
            yield
        finally:
            self._upload.unlink()
            self._upload.write_bytes(content)

    def _has_state(self, state: str) -> bool:
        return self._has_row(
            "SELECT FROM datastore_search_files_load WHERE id = %s AND state = %s",
            self._load_id,
            state,
        )

    def _waits_for_lock(self, statement: str) -> bool:
        """
        Return whether a session of the load waits for a lock in a statement.

        PostgreSQL shows the first 1,024 bytes of a statement.
        """
        return self._has_row(
            "SELECT FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = %s"
            " AND wait_event_type = 'Lock' AND query LIKE %s",
            f"datastore_search load {self._load_id}",
            f"%{statement}%",
        )

    def _has_row(self, statement: str, *values: object) -> bool:
        return self._observer.execute(statement, values).fetchone() is not None
