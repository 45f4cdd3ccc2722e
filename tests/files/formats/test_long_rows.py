"""Rows that need more memory than a load may take."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from datastore_search.contrib.files.formats import row_writer
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.jobs import LoadOptions

from ..failures import fails_with

_MB = 2**20


@pytest.mark.slow
def test_neighbouring_rows_that_are_too_long_together_are_refused(
    settings: Any, tmp_path: Path
) -> None:
    settings.DATASTORE_SEARCH_LOAD_MEMORY_BYTES = 64 * _MB
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + f"{'x' * 100_000}\n" * 1_000)

    with fails_with("load.out_of_memory"), open_table(path, LoadOptions()):
        pass


@pytest.mark.usefixtures("read_here")
def test_long_values_of_neighbouring_objects_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(row_writer, "core_conf", SimpleNamespace(LOAD_MEMORY_BYTES=16 * _MB))
    monkeypatch.setattr(row_writer, "_BATCH_BYTES", 4 * _MB)
    path = tmp_path / "rows.json"
    objects = [{"a": "short"}] * 3_000 + [{"a": "x" * 100_000}] * 300
    path.write_text(json.dumps(objects))

    with (
        fails_with(
            "file.long_rows", r"from line 3\d\d\d on are too long: consecutive rows have \d\d MB"
        ),
        open_table(path, LoadOptions()),
    ):
        pass
