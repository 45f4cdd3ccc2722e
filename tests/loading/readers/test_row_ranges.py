"""Long rows are read in ranges of limited bytes, and give what they would give together."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from datastore_search.conf import conf
from datastore_search.loading.publishing.postgres_limits import record_unstorable_values
from datastore_search.loading.publishing.profiles import build_profiles
from datastore_search.loading.publishing.rows import render_rows
from datastore_search.loading.readers import process, staging
from datastore_search.loading.readers.duckdb_sql import Composed, quote_identifier
from datastore_search.loading.readers.options import ReadOptions
from datastore_search.loading.readers.row_ranges import RowRange, split_rows
from datastore_search.loading.typing.inference import decide_formats
from datastore_search.loading.typing.options import LoadOptions


def test_rows_of_more_bytes_than_the_memory_of_a_load_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "_MEMORY_RATIO", 64)
    limits = SimpleNamespace(
        LOAD_MEMORY_BYTES=64 * 2**20, MAX_UNPACKED_BYTES=conf.MAX_UNPACKED_BYTES
    )
    monkeypatch.setattr(staging, "conf", limits)  # of this process; the file's has more
    shapes = [
        {"points": [number] * 20_000, "name": "\0" if number == 100_290 else "x"}
        for number in range(100_000, 100_300)
    ]
    path = tmp_path / "file.json"
    path.write_text(json.dumps([{"id": at, "shape": each} for at, each in enumerate(shapes)]))

    with process.open_table(path, ReadOptions()) as table:
        decisions = decide_formats(table, LoadOptions(nulls=("17",)))
        record_unstorable_values(table, decisions)
        errors = table.connection.execute("SELECT line, field FROM row_errors").fetchall()
        profile = build_profiles(table, decisions)["fields"]["shape"]
        rendered = [
            json.loads(record) for rows in render_rows(table, decisions) for _line, record in rows
        ]

    assert [each.field_type.name for each in decisions] == ["int4", "json"]
    assert errors == [(291, "shape")]
    assert (profile["count"], profile["nulls"]) == (300, 0)
    assert rendered == [
        {"id": None if at == 17 else at, "shape": each} for at, each in enumerate(shapes)
    ]


@pytest.mark.parametrize("max_rows", [5_000, 700, 64])
def test_rows_are_split_by_their_bytes(max_rows: int) -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE rows AS SELECT repeat('x', CASE WHEN n < 2048 THEN 1 WHEN n = 3000 THEN 5000"
        " ELSE 30 END) AS f0, NULL::VARCHAR AS f1 FROM range(4000) AS numbers (n)"
    )

    def execute(query: Composed) -> duckdb.DuckDBPyConnection:
        rows = connection.execute(query.text)
        if "GROUP BY" in query.text or "ORDER BY" in query.text:
            found = rows.fetchall()
            if len(found) > max_rows:
                raise duckdb.OutOfMemoryException("x")
            return connection.execute(query.text)
        return rows

    found = split_rows(execute, quote_identifier("rows"), ["f0", "f1"], 15_000)

    starts = [0, 2048, 2548, 3000, 3334, 3834]
    assert found == [RowRange(*each) for each in zip(starts, [*starts[1:], None], strict=True)]
