"""The widths of cells: as they are written, and as lines show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from datastore_search.loading.readers.fixed_width import FixedWidths, find_widths
from datastore_search.loading.readers.options import ReadOptions

from ...failures import fails_with
from .staging import read_in_process


@pytest.mark.parametrize(
    ("text", "cells", "length"),
    [
        ("1-8,9-20", [(0, 8), (8, 20)], 20),
        ("8,12", [(0, 8), (8, 20)], 20),
        (" 2-3 , 5- ", [(1, 3), (4, None)], None),
        ("7", [(0, 7)], 7),
    ],
)
def test_widths_are_characters_or_numbers_of_them(
    text: str, cells: list[tuple[int, int | None]], length: int | None
) -> None:
    widths = FixedWidths.parse(text)

    assert widths == FixedWidths(tuple(slice(*cell) for cell in cells), length)


@pytest.mark.parametrize(
    "text", ["0-3", "3-1", "1-8,8-9", "1-,5-9", "1-8,3", "a", "1-8,", "9999999", "1-9999999"]
)
def test_what_are_no_widths_is_refused(text: str) -> None:
    with fails_with("option.invalid_widths"):
        FixedWidths.parse(text)


def test_more_cells_than_fields_are_refused() -> None:
    with fails_with("file.too_many_fields"):
        FixedWidths.parse(",".join(["1"] * 20_000))


@pytest.mark.parametrize(
    ("lines", "widths"),
    [
        (["ab    c", "d     e", "fgh  ij"], "1-5,6-7"),
        (["x  Huế b", "y  北京  c", "zz 東   d"], "1-3,4-7,8-8"),
        (["ab    c", "d     e"], ""),
        (["ab    c", "d     e", "fgh  ij "], ""),
        (["12 34 56", "78 90 12", "34 56 78"], ""),
        (["a   bcde", "bc  defg", "abcdefgh"], ""),
        ([], ""),
    ],
)
def test_widths_are_found_where_they_are_clear(lines: list[str], widths: str) -> None:
    assert find_widths(lines) == widths


def test_more_fields_than_a_narrow_table_has_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.txt"
    lines = ["".join(f"{start}{number:03}" for number in range(301)) for start in "abc"]
    path.write_text("\n".join([*lines, "too short"]))

    with read_in_process(path, ReadOptions(fixed_widths=",".join(["4"] * 301))) as table:
        counts = (len(table.names), table.count_rows(), table.count_bad_rows())

    assert counts == (301, 2, 1)
