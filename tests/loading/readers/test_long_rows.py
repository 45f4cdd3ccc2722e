"""Rows that need more memory than a load may take."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from datastore_search.loading.jobs import LoadOptions
from datastore_search.loading.readers import long_rows, row_writer
from datastore_search.loading.readers.long_rows import explain_shortage
from datastore_search.loading.readers.process import open_table

from ...failures import fails_with

_MB = 2**20
_ERRORS = [duckdb.OutOfMemoryException("x"), duckdb.TransactionException("failed to pin block")]


@pytest.mark.parametrize("header", ["a\n", "a\n" + "short\n" * 3_000])
def test_neighbouring_rows_that_are_too_long_together_are_named(
    settings: Any, tmp_path: Path, header: str
) -> None:
    settings.DATASTORE_SEARCH_LOAD_MEMORY_BYTES = 64 * _MB
    path = tmp_path / "rows.csv"
    path.write_text(header + f"{'x' * 100_000}\n" * 1_000)

    with (
        fails_with("file.long_rows", r"from line (1|2049) on are long: neighbouring ones have \d+"),
        open_table(path, LoadOptions()),
    ):
        pass


@pytest.mark.usefixtures("read_here")
def test_long_values_of_neighbouring_objects_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(long_rows, "conf", SimpleNamespace(LOAD_MEMORY_BYTES=16 * _MB))
    monkeypatch.setattr(row_writer, "_BATCH_BYTES", 4 * _MB)
    path = tmp_path / "rows.json"
    objects = [{"a": "short"}] * 3_000 + [{"a": "x" * 100_000}] * 300
    path.write_text(json.dumps(objects))

    with (
        fails_with(
            "file.long_rows", r"from line 3\d\d\d on are long: neighbouring .* have \d\d MB"
        ),
        open_table(path, LoadOptions()),
    ):
        pass


@pytest.mark.parametrize("error", _ERRORS, ids=lambda error: type(error).__name__)
def test_the_rows_with_the_most_bytes_are_named(
    settings: Any, tmp_path: Path, error: Exception
) -> None:
    settings.DATASTORE_SEARCH_LOAD_MEMORY_BYTES = 4 * _MB
    path = tmp_path / "rows.csv"
    path.write_text("x\n" * 2_048 + "x" * 3 * _MB + "\n" + "x\n" * 3_000)

    with fails_with("file.long_rows", "from line 2049 on .* have 3 MB"), explain_shortage(path):
        raise error


def test_a_shortage_for_another_reason_stays(settings: Any, tmp_path: Path) -> None:
    settings.DATASTORE_SEARCH_LOAD_MEMORY_BYTES = 4 * _MB
    path = tmp_path / "rows.csv"
    path.write_text("x\n" * 10_000)

    with pytest.raises(duckdb.OutOfMemoryException), explain_shortage(path):
        raise duckdb.OutOfMemoryException("x")
