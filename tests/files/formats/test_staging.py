"""Tests of the staging area: what the processes that read and load may open."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from django.test import override_settings

from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.formats.staging import create_staging_area
from datastore_search.contrib.files.jobs import LoadOptions


def test_a_staged_table_opens_no_other_file_and_keeps_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("name,count\nA,1\n")
    with open_table(path, LoadOptions()) as table:
        execute = table.connection.execute
        for query in (
            f"SELECT * FROM read_csv('{path}')",
            f"SELECT * FROM read_text('{path}')",
            f"SELECT * FROM glob('{tmp_path}/*')",
            f"COPY (SELECT 1) TO '{tmp_path}/other.csv'",
            f"ATTACH '{tmp_path}/other.duckdb' AS other",
        ):
            with pytest.raises(duckdb.PermissionException):
                execute(query)
        for setting in ("enable_external_access = true", "memory_limit = '100GB'"):
            with pytest.raises(duckdb.InvalidInputException):
                execute(f"SET {setting}")


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
