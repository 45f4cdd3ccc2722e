"""What the benchmark asks and of what; its figures are nobody's test."""

from __future__ import annotations

import uuid
from pathlib import Path

from benchmarks.__main__ import REQUESTS
from benchmarks.data import HEADER, write_table
from datastore_search.api.parameters import SearchParameters, query_of


def test_the_table_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"

    write_table(first, 500)
    write_table(second, 500)

    assert first.read_bytes() == second.read_bytes()
    header, *rows = first.read_text().splitlines()
    assert header == ",".join(HEADER)
    assert len(rows) == 500
    assert sum("archived" in row for row in rows) == 10
    assert sum("river" in row for row in rows) == 100


def test_every_request_is_one_that_the_action_takes() -> None:
    for name, request in REQUESTS.items():
        asked = {key: value for key, value in request.items() if key != "offset_share"}
        sent = {"resource_id": str(uuid.uuid4()), **asked}
        assert query_of(SearchParameters.read(sent)), name
