"""The benchmark of loads: each part is measured; the figures are not tested."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from benchmarks import data, packages
from benchmarks.failures import BenchmarkError
from benchmarks.floor import connect_for_floor
from benchmarks.loads.ckan import load_into_ckan
from benchmarks.loads.files import run_worker
from benchmarks.loads.floors import copy_json, copy_typed, export_json
from benchmarks.options import PAGE
from datastore_search.loading.jobs import load_file
from datastore_search.models import Resource

from .test_requests import database_url, run

__all__ = ["database_url"]

#: The trigger function of CKAN in the database of its DataStore.
CKAN_TRIGGER = """
CREATE FUNCTION populate_full_text_trigger() RETURNS trigger AS $body$
    BEGIN
        NEW._full_text := (
            SELECT to_tsvector(string_agg(value, ' ')) FROM json_each_text(row_to_json(NEW.*))
            WHERE key NOT LIKE '\\_%');
        RETURN NEW;
    END;
$body$ LANGUAGE plpgsql
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "packages.csv"
    data.write_table(path, islice(data.vary_rows(packages.make_up_packages()), 120))
    return path


def test_a_run_loads_beside_copy_and_ckan_and_leaves_nothing(
    database_url: str, tmp_path: Path, path: Path
) -> None:
    page, out = tmp_path / "page.md", tmp_path / "out.json"
    page.write_text(PAGE.read_text(encoding="utf-8"))
    with psycopg.connect(database_url, autocommit=True) as ckan:
        ckan.execute(CKAN_TRIGGER)

    process = run(
        database_url,
        *("--csv", path, "--loads", 100, 50, "--small-loads", 4, "--rounds", 2),
        *("--ckan-load", database_url, "--out", out, "--report", page),
    )

    assert process.returncode == 0, process.stderr
    figures = json.loads(out.read_text())
    assert [load_figures["rows"] for load_figures in figures["loads"]] == [50, 100]
    for load_figures in figures["loads"]:
        for part in ("portal", "typed", "json", "ckan"):
            assert len(load_figures[part]) == 2
            assert min(load_figures[part]) > 0
        assert {"reading", "copying", "indexing"} <= set(load_figures["states"][0])
        assert load_figures["peak_bytes"] >= load_figures["base_bytes"] > 0
    (many,) = figures["small_loads"]
    assert many["files"] == 4
    assert many["left"] == {"connections": 0, "folders": 0, "tables": 0, "files": 0}
    assert "\n| 50 | " in page.read_text()
    assert "\n| 4 | " in page.read_text()
    assert not list(tmp_path.glob("*.records"))
    with psycopg.connect(database_url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE tablename ~ '^(benchmark|datastore_search_rec)'"
        )
        assert tables.fetchall() == []


@pytest.mark.django_db(transaction=True)
def test_copies_are_of_the_same_rows(path: Path, tmp_path: Path) -> None:
    resource = Resource.objects.create(name="packages")
    load = load_file(resource, path)
    resource.refresh_from_db()
    records = tmp_path / "records"

    with connect_for_floor() as floor:
        floor.autocommit = True
        assert resource.table_version_id
        export_json(floor, resource.table_version_id, records)
        assert copy_typed(floor, path) > 0
        assert copy_json(floor, records) > 0
        leftover = floor.execute("SELECT to_regclass('benchmark_copied')").fetchone()

    assert records.read_bytes().count(b"\n") == load.record_count == 120
    assert leftover == (None,)


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_not_ckans_ends_the_run(path: Path) -> None:
    with connect_for_floor() as floor:
        floor.autocommit = True
        with pytest.raises(BenchmarkError, match="populate_full_text_trigger"):
            load_into_ckan(floor, path)
        leftover = floor.execute(sql.SQL("SELECT to_regclass('benchmark_load')")).fetchone()

    assert leftover == (None,)


def test_a_load_that_fails_ends_the_run(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    with pytest.raises(BenchmarkError, match="The load failed"):
        run_worker("one", "benchmark-load-1", str(tmp_path / "nowhere.csv"))
