"""Filling a table over several connections: the same result as over one, or none."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import connection

from datastore_search.contrib.files.jobs import LoadOptions, clean_up_loads, load_file
from datastore_search.contrib.files.messages import UnstorableRecord
from datastore_search.contrib.files.models import Load, LoadState
from datastore_search.contrib.files.publishing import publish
from datastore_search.contrib.files.tables.filling import NewTable, create_records
from datastore_search.database.tables import drop_record_table, list_record_tables
from datastore_search.models import Resource
from datastore_search.writing import Method, open_writer

from ...builders import list_other_connections
from ..builders import fails_with, load_csv, make_loaded_resource

#: More than a load copies over one connection, as these tests have it.
ROW_COUNT = 2_345
BATCH_ROWS = 500
TABLE = NewTable(987_654, 987_655)


@pytest.fixture
def connections_before(transactional_db: None) -> set[int]:
    """The connections from before the test, also those that threads of other tests have left."""
    return list_other_connections()


@pytest.fixture(autouse=True)
def _several_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "_MAX_ROWS_OF_ONE_CONNECTION", 1_000)


@pytest.fixture(autouse=True)
def _nothing_left(connections_before: set[int]) -> Iterator[None]:
    threads = threading.active_count()
    yield
    Resource.objects.all().delete()
    drop_record_table(connection, TABLE.id)
    clean_up_loads()
    assert threading.active_count() <= threads  # those of other tests may end
    assert list_record_tables(connection) == set()
    assert list_new_connections(connections_before) == set()


def list_new_connections(before: set[int]) -> set[int]:
    """List the connections that are new, after a wait for those that are closing."""
    found: set[int] = set()
    for _wait in range(20):
        found = list_other_connections() - before
        if not found:
            break
        time.sleep(0.05)
    return found


def render_batches(
    *bad: int, error: BaseException | None = None, rows: int = ROW_COUNT
) -> Iterator[list[str]]:
    """Yield batches of numbered records as JSON; PostgreSQL refuses the ``bad`` ones."""
    for first in range(1, rows + 1, BATCH_ROWS):
        numbers = range(first, min(first + BATCH_ROWS, rows + 1))
        yield ['{"n": "\\u0000"}' if number in bad else f'{{"n":{number}}}' for number in numbers]
        if error and first > rows / 2:
            raise error


def fill_table(batches: Iterator[list[str]], max_connections: int = 2) -> int:
    return create_records(
        connection, TABLE, language="english", batches=batches, max_connections=max_connections
    )


def read_rows(table_id: int) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT _id, data::text, search::text FROM datastore_search_record_{table_id}"
            " ORDER BY _id"
        )
        return list(cursor.fetchall())


@pytest.mark.parametrize("streams", [1, 2, 3])
def test_records_are_numbered_in_their_order_over_any_number_of_connections(streams: int) -> None:
    assert fill_table(render_batches(), streams) == ROW_COUNT

    rows = read_rows(TABLE.id)

    assert [(number, data) for number, data, _search in rows] == [
        (number, f'{{"n": {number}}}') for number in range(1, ROW_COUNT + 1)
    ]
    assert rows[1_711][2] == "'1712':1"


@pytest.mark.parametrize(
    ("streams", "bad"),
    [
        (1, [ROW_COUNT]),
        (2, [1]),
        (2, [501]),
        (2, [ROW_COUNT]),
        (4, [1_777]),
        (2, range(1, ROW_COUNT, 2)),
    ],
    ids=str,
)
def test_a_record_that_postgresql_refuses_is_named_by_its_row(
    streams: int, bad: Sequence[int]
) -> None:
    with fails_with("load.unstorable_record") as refusal:
        fill_table(render_batches(*bad, rows=5_000), streams)

    assert refusal.value.parameters["row"] in bad


@pytest.mark.parametrize(
    ("streams", "error"), [(1, RuntimeError("the disk")), (2, KeyboardInterrupt())]
)
def test_an_error_of_the_reader_ends_all_streams(
    connections_before: set[int], streams: int, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        fill_table(render_batches(error=error), streams)

    assert list_new_connections(connections_before) == set()


# Whole loads --------------------------------------------------------------------------------------

CELLS = (
    "plain words", "12", "Đường Nguyễn", "1e5x -04T12:00", "naïve “façade”", "an old bridge",
    "level 7", "foxes", "2020-02-29", "王小明", "x" * 700,
)  # fmt: skip
RECORDS = [{"n": n, "text": f"{CELLS[n % 11]} running {n % 13}"} for n in range(1, ROW_COUNT + 1)]
CSV = "n,text\n" + "".join(f"{record['n']},{record['text']}\n" for record in RECORDS)


@pytest.mark.parametrize(("connections", "language"), [(2, "english"), (4, "simple")])
def test_a_load_is_the_same_over_any_number_of_connections(
    settings: Any, connections: int, language: str
) -> None:
    settings.DATASTORE_SEARCH_LOAD_CONNECTIONS = connections
    resource = make_loaded_resource(CSV, language=language)

    rows = read_rows(resource.table_version_id or 0)
    assert [(number, json.loads(data)) for number, data, _search in rows] == [
        (record["n"], record) for record in RECORDS
    ]
    assert count_wrong_vectors(resource) == 0
    with open_writer(resource) as writer:
        assert writer.write([{"n": 1}], Method.INSERT) == [ROW_COUNT + 1]


@pytest.mark.parametrize(
    "failure", [UnstorableRecord, KeyboardInterrupt], ids=["refused", "interrupted"]
)
def test_a_load_that_fails_midway_leaves_the_old_records_serving(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    resource = make_loaded_resource()
    before, tables = resource.table_version_id, list_record_tables(connection)
    assert before
    path = tmp_path / "new.csv"
    path.write_text(CSV)
    if failure is UnstorableRecord:
        batches = render_batches(1_999)
    else:
        batches = render_batches(error=KeyboardInterrupt())

    with monkeypatch.context() as patch:
        patch.setattr(
            publish,
            "render_rows",
            lambda *_plan: ([(0, record) for record in batch] for batch in batches),
        )
        with pytest.raises(failure):
            load_file(resource, path, options=LoadOptions(drop_missing_fields=True))

    load = Load.objects.filter(resource=resource).latest("created_at")
    resource.refresh_from_db()
    assert load.state == LoadState.FAILED
    assert ("Line 2000" in load.error) is (failure is UnstorableRecord)
    assert resource.table_version_id == before
    assert list_record_tables(connection) == tables
    load_csv(resource, CSV)  # the next load is not blocked
    assert resource.table_version is not None
    assert resource.table_version.record_count == ROW_COUNT


# Search vectors -----------------------------------------------------------------------------------


def count_wrong_vectors(resource: Resource) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM"
            f" datastore_search_record_{resource.table_version_id} AS record WHERE"
            " search IS DISTINCT FROM datastore_search_vector(data, %s::regconfig)"
            " OR search::text <> datastore_search_vector(data, %s::regconfig)::text",
            [resource.language, resource.language],
        )
        (count,) = cursor.fetchone()
    return int(count)


def test_records_that_are_written_after_a_load_have_the_search_vectors_of_postgresql() -> None:
    resource = make_loaded_resource(CSV, language="english")
    with open_writer(resource) as writer:
        writer.write([{"n": 1, "text": "running foxes"}], Method.INSERT)
        writer.write([{"_id": 7, "text": "jumped fences"}], Method.UPDATE)
    with connection.cursor() as cursor:
        cursor.execute("SET search_path = ''")
        cursor.execute(
            f"UPDATE public.datastore_search_record_{resource.table_version_id}"
            ' SET data = data || \'{"text": "leaping lizards"}\' WHERE _id = 8'
        )
        cursor.execute("RESET search_path")

    assert count_wrong_vectors(resource) == 0
    assert "'lizard'" in read_rows(resource.table_version_id or 0)[7][2]
