"""Tables without a process that reads: one whose rows are given, and one of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from datastore_search.contrib.files.formats.child import read_file
from datastore_search.contrib.files.formats.options import ReadOptions
from datastore_search.contrib.files.formats.staging import (
    ROW_ERRORS,
    STAGED_ROWS,
    StagedTable,
    StagingArea,
    create_staging_area,
)
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.publishing.rows import render_rows
from datastore_search.contrib.files.types.field_formats import Decision
from datastore_search.guards.folders import create_working_folder

Read = Callable[[Path, Any, StagingArea], StagedTable]
Rows = list[tuple[Any, ...]]
#: Line, field, value and code.
Errors = list[tuple[int, str, str, str]]


@contextmanager
def temporary_staging_area() -> Iterator[StagingArea]:
    """Create a staging area in a folder that is deleted after the block."""
    with create_working_folder() as folder, create_staging_area(folder) as staging_area:
        yield staging_area


@contextmanager
def stage_columns(
    columns: Mapping[str, Sequence[str | None]],
    *,
    labels: Sequence[str] = (),
    declared_types: Sequence[str | None] = (),
) -> Iterator[StagedTable]:
    """Stage columns of equal length by their names, from line 2 on."""
    names = tuple(columns)
    with temporary_staging_area() as staging_area:
        cells = ", ".join(f"f{position} VARCHAR" for position in range(len(names)))
        staging_area.connection.execute(f"CREATE TABLE {STAGED_ROWS} (line BIGINT, {cells})")
        length = len(next(iter(columns.values())))
        values = ", ".join("unnest(?::VARCHAR[])" for _ in names)
        staging_area.connection.execute(
            f"INSERT INTO {STAGED_ROWS} SELECT unnest(range(2, {length + 2})), {values}",
            [list(column) for column in columns.values()],
        )
        yield StagedTable(
            staging_area,
            names,
            tuple(labels) or names,
            tuple(declared_types) or (None,) * len(names),
        )


@contextmanager
def read_in_process(path: Path, options: ReadOptions, *, name: str = "") -> Iterator[StagedTable]:
    """Open a file as ``open_table`` does, in this process: hundreds of files within seconds."""
    with temporary_staging_area() as staging_area:
        yield read_file(path, options, staging_area, name=name)


def read_content(
    read: Read, path: Path, content: bytes, **options: Any
) -> tuple[StagedTable, Rows, Errors]:
    """Read a content: the table, its rows, and its row errors with the code of each."""
    path.write_bytes(content)
    with temporary_staging_area() as staging_area:
        table = read(path, LoadOptions(**options), staging_area)
        columns = ", ".join(["line", *table.columns])
        rows = table.connection.execute(f"SELECT {columns} FROM {STAGED_ROWS} ORDER BY line")
        staged = rows.fetchall()
        errors = table.connection.execute(
            f"SELECT line, field, value, error FROM {ROW_ERRORS} ORDER BY line, field"
        ).fetchall()
    return table, staged, [(*error[:3], json.loads(error[3])["code"]) for error in errors]


def get_read_failure(read: Read, path: Path, content: bytes) -> LoadFailed:
    """Read a content that must be refused."""
    with pytest.raises(LoadFailed) as refusal:
        read_content(read, path, content)
    return refusal.value


def fetch_rows(table: StagedTable) -> list[tuple[Any, ...]]:
    """Fetch all rows in their order: the line of each, and its cells."""
    return table.execute("SELECT * FROM {}", STAGED_ROWS).fetchall()


def render_records(table: StagedTable, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Give the records that would be stored; numbers are their texts."""
    return [
        json.loads(text, parse_int=str, parse_float=str)
        for batch in render_rows(table, decisions)
        for _line, text in batch
    ]
