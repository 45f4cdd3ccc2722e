"""The input format of a portal's app, as the page on Python has it."""

from __future__ import annotations

from pathlib import Path

from datastore_search.contrib.files.formats import InputFormat, Start
from datastore_search.contrib.files.formats.options import ReadOptions
from datastore_search.contrib.files.formats.row_writer import RowWriter
from datastore_search.contrib.files.formats.staging import StagedTable, StagingArea


def is_piped(start: Start) -> bool:
    return start.name.endswith(".psv")


def read_pipes(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    with path.open(encoding="utf-8") as file, RowWriter(staging_area) as writer:
        names = tuple(next(file).rstrip("\n").split("|"))
        writer.widen(len(names))
        for line, row in enumerate(file, start=2):
            writer.add_row(line, row.rstrip("\n").split("|"))
        writer.finish(names, range(len(names)))
    return StagedTable(staging_area, names, names, (None,) * len(names), has_header=True)


PIPES = InputFormat("Pipes", is_piped, f"{__name__}:read_pipes")
