"""The programs about growth, with few small tables."""

from __future__ import annotations

import pytest

from benchmarks.scale.growth import Line, build_table

from .programs import run_benchmark


@pytest.mark.slow
def test_few_tables_are_compared_with_some_more() -> None:
    names = ("search, any table", "`datastore_cleanup`")

    printed = run_benchmark(
        *("benchmarks.scale.many_tables", "--resources", "20", "25", "--rounds", "1"),
        *("--idle-seconds", "1", "--only", *names),
    ).stdout

    for line in (*names, "first search of a table", "record tables", "dump, s, with 64 locks"):
        assert f"\n| {line} " in printed


@pytest.mark.slow
def test_tables_that_grow_are_timed() -> None:
    printed = run_benchmark(
        "benchmarks.scale.growth", "--rows", "100", "800", "--seconds", "0.01"
    ).stdout

    for line in ("load, s", "a_limit5", "d_q_common, first", "w_dump"):
        assert f"\n| {line} " in printed


def test_what_grows_evenly_is_predicted() -> None:
    line = Line.fit({1_000: 3.0, 2_000: 5.0, 8_000: 17.0})
    assert (round(line.a, 6), round(line.b, 6)) == (1.0, 0.002)


def test_what_hardly_grows_is_level() -> None:
    assert Line.fit({1_000: 3.0, 8_000: 4.0}) == Line(3.5, 0.0)


def test_the_largest_table_is_compared_with_its_prediction() -> None:
    figures = {rows: {"q": rows / 1_000} for rows in (1_000, 2_000, 8_000)}
    (row,) = build_table(figures).rows
    assert row == ("q", "1.00", "2.00", "8.00", "1.00×", "100,000", "1,000,000")
