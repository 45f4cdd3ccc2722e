"""Tests of the staging area: what the processes that read and load may open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from django.test import override_settings

from datastore_search.loading.jobs import LoadOptions
from datastore_search.loading.readers.process import open_table
from datastore_search.loading.readers.staging import StagedTable, create_staging_area


@pytest.fixture
def table(tmp_path: Path) -> Iterator[StagedTable]:
    """Open a file of one row, as a load does."""
    path = tmp_path / "file.csv"
    path.write_text("name,count\nA,1\n")
    with open_table(path, LoadOptions()) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{folder}/other.csv'",
        "ATTACH '{folder}/other.duckdb' AS other",
    ],
)
def test_a_staged_table_reads_and_writes_no_other_file(
    query: str, table: StagedTable, tmp_path: Path
) -> None:
    statement = query.format(file=tmp_path / "file.csv", folder=tmp_path)

    with pytest.raises(duckdb.PermissionException):
        table.connection.execute(statement)


@pytest.mark.parametrize("setting", ["enable_external_access = true", "memory_limit = '100GB'"])
def test_the_settings_of_a_staged_table_do_not_change(setting: str, table: StagedTable) -> None:
    with pytest.raises(duckdb.InvalidInputException):
        table.connection.execute(f"SET {setting}")


@pytest.mark.slow
def test_a_staged_table_still_uses_its_folder_for_what_exceeds_memory(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("name\n" + "".join(f"{n}{'x' * 200}\n" for n in range(600_000)))

    with (
        override_settings(DATASTORE_SEARCH_LOAD_MEMORY_BYTES=100 * 2**20),
        open_table(path, LoadOptions()) as table,
    ):
        table.connection.execute("CREATE TEMP TABLE sorted AS FROM staged_rows ORDER BY f0 DESC")
        spilled = table.connection.execute("SELECT count(*) > 0 FROM duckdb_temporary_files()")
        assert spilled.fetchall() == [(True,)]
        assert table.count_rows() == 600_000


def test_the_process_that_reads_opens_no_other_file(tmp_path: Path) -> None:
    path, other, folder = tmp_path / "file.csv", tmp_path / "other.csv", tmp_path / "working"
    folder.mkdir()
    for each in (path, other, folder / "unpacked.csv"):
        each.write_text("name\nA\n")

    with create_staging_area(folder) as staging_area:
        staging_area.restrict(path)
        read = staging_area.connection.execute
        assert read(f"SELECT name FROM '{path}'").fetchall() == [("A",)]
        assert read(f"SELECT name FROM '{folder}/unpacked.csv'").fetchall() == [("A",)]
        for query in (
            f"FROM '{other}'",
            f"COPY (SELECT 1) TO '{other}'",
            f"FROM glob('{tmp_path}/*')",
        ):
            with pytest.raises(duckdb.PermissionException):
                read(query)
        with pytest.raises(duckdb.InvalidInputException):
            read("SET enable_external_access = true")
