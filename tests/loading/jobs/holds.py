"""Hold a load of another process in one of its states, as long as a test needs it there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import psycopg

#: Where a load can be held; the last one is when all but the switch is done.  One that adds to the
#: records can be held while it is *merging*, too.
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


def wait_for(happened: Callable[[], object], what: str, *, alive: Callable[[], object]) -> None:
    """Wait for a condition, while the process that fulfils it is alive."""
    while not happened():
        assert alive(), f"{what} will never happen"
        time.sleep(0.05)


@contextmanager
def copying_can_be_held(url: str) -> Iterator[None]:
    """Let every record that is written ask for a lock, in the tables that are made meanwhile."""
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
            # The tables of the test use it, and go with it.
            connection.execute(
                "DO $$ DECLARE made regclass; BEGIN FOR made IN SELECT oid::regclass FROM pg_class"
                " WHERE relname ~ '^datastore_search_record_[0-9]+$' AND relkind = 'r'"
                " LOOP EXECUTE 'DROP TABLE ' || made; END LOOP; END $$"
            )
            connection.execute(_FREE.format(vector=_VECTOR))


class Hold:
    """Holds a load in a state: by a file that never arrives, or by a lock."""

    def __init__(self, url: str, load_id: int, upload: Path) -> None:
        """Know the load: its number, and where its upload lies."""
        self._url = url
        self._load_id = load_id
        self._upload = upload

    @contextmanager
    def at(self, moment: str) -> Iterator[Callable[[Callable[[], object]], None]]:
        """Hold the load for the block; what it gives waits until the load has come so far."""
        with ExitStack() as stack:
            if moment == "reading":
                stack.enter_context(self._no_file())
                yield lambda alive: wait_for(lambda: self._is_in("reading"), moment, alive=alive)
                return
            if moment == "publishing":
                resource = stack.enter_context(self._session())
                resource.execute(
                    "SELECT FROM datastore_search_resource AS r JOIN datastore_search_load AS l"
                    " ON l.resource_id = r.id WHERE l.id = %s FOR NO KEY UPDATE OF r",
                    [self._load_id],
                )
                yield lambda alive: wait_for(
                    lambda: self._is_in("indexing") and self._waits("UPDATE"),
                    moment,
                    alive=alive,
                )
                return
            copying = stack.enter_context(self._session())
            copying.execute("SELECT pg_advisory_xact_lock(5)")

            def reach(alive: Callable[[], object]) -> None:
                if moment == "merging":
                    wait_for(lambda: self._waits("INSERT"), moment, alive=alive)
                    return
                wait_for(lambda: self._waits("COPY"), "copying", alive=alive)
                if moment == "indexing":
                    first, reader = (stack.enter_context(self._session()) for _session in range(2))
                    self._let_copy(copying, first, reader, alive)
                    wait_for(lambda: self._waits("PRIMARY KEY"), moment, alive=alive)

            yield reach

    def _let_copy(
        self,
        copying: psycopg.Connection,
        first: psycopg.Connection,
        reader: psycopg.Connection,
        alive: Callable[[], object],
    ) -> None:
        """
        Let the copying end, and have a reader of the table before the load goes on.

        Whoever waits for a table gets it by turns: the load's last statement over the copied
        records waits for the first reader, and the second reader stands in line behind it.
        """
        found = first.execute(
            "SELECT id FROM datastore_search_tableversion WHERE load_id = %s", [self._load_id]
        ).fetchone()
        assert found
        read = f"SELECT FROM datastore_search_record_{found[0]} LIMIT 1"
        first.execute(read)
        copying.rollback()
        wait_for(lambda: self._waits("RESTART"), "the end of the copying", alive=alive)
        thread = Thread(target=reader.execute, args=[read])
        thread.start()
        pid = reader.info.backend_pid
        waits = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
        wait_for(lambda: self._finds(waits, pid), "the second reader", alive=alive)
        first.rollback()
        thread.join()

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection]:
        """Open a transaction; a server that is gone ends it, too."""
        connection = psycopg.connect(self._url)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _no_file(self) -> Iterator[None]:
        """Put a pipe in the place of the upload, into which nobody writes."""
        content = self._upload.read_bytes()
        self._upload.unlink()
        os.mkfifo(self._upload)
        try:
            yield
        finally:
            self._upload.unlink()
            self._upload.write_bytes(content)

    def _is_in(self, state: str) -> bool:
        return self._finds(
            "SELECT FROM datastore_search_load WHERE id = %s AND state = %s", self._load_id, state
        )

    def _waits(self, statement: str) -> bool:
        """Tell whether a session of the load waits for a lock in some statement."""
        return self._finds(
            "SELECT FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = %s"
            " AND wait_event_type = 'Lock' AND query LIKE %s",
            f"datastore_search load {self._load_id}",
            f"%{statement}%",
        )

    def _finds(self, statement: str, *values: object) -> bool:
        with psycopg.connect(self._url) as connection:
            return connection.execute(statement, values).fetchone() is not None
