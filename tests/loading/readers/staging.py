"""Tables without a process that reads: one whose rows are given, and one of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datastore_search.loading.publishing.rows import render_rows
from datastore_search.loading.readers.files import read_file
from datastore_search.loading.readers.options import ReadOptions
from datastore_search.loading.readers.staging import STAGED, Table, stage
from datastore_search.loading.typing.inference import Decision


@contextmanager
def staged(
    columns: Mapping[str, Sequence[str | None]],
    *,
    labels: Sequence[str] = (),
    tells: Sequence[str | None] = (),
) -> Iterator[Table]:
    """Stage columns of equal length by their names, from line 2 on."""
    names = tuple(columns)
    with stage() as place:
        cells = ", ".join(f"f{position} VARCHAR" for position in range(len(names)))
        place.connection.execute(f"CREATE TABLE {STAGED} (line BIGINT, {cells})")
        length = len(next(iter(columns.values())))
        values = ", ".join("unnest(?::VARCHAR[])" for _ in names)
        place.connection.execute(
            f"INSERT INTO {STAGED} SELECT unnest(range(2, {length + 2})), {values}",
            [list(column) for column in columns.values()],
        )
        yield Table(place, names, tuple(labels) or names, tuple(tells) or (None,) * len(names))


@contextmanager
def opened(path: Path, options: ReadOptions, *, name: str = "") -> Iterator[Table]:
    """Open a file as ``open_table`` does, in this process: hundreds of files within seconds."""
    with stage() as place:
        yield read_file(path, options, place, name=name)


def records_of(table: Table, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Give the records that would be stored; numbers are their texts."""
    return [
        json.loads(text, parse_int=str, parse_float=str)
        for batch in render_rows(table, decisions)
        for _line, text in batch
    ]
