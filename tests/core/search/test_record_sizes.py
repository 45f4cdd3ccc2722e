"""The number of records in a batch."""

from __future__ import annotations

import pytest

from datastore_search.search.records import RecordSizes


def note_answers(*answers: tuple[int, int]) -> RecordSizes:
    sizes = RecordSizes()
    for count, size_bytes in answers:
        sizes.note_size(count, size_bytes)
    return sizes


@pytest.mark.parametrize(
    ("answers", "rows"),
    [
        ([], 32),
        ([(0, 0)], 32),
        ([(5, 2_000)], 100),
        ([(1, 100_000)], 20),
        ([(1_000, 110_000_000)], 19),
        ([(3, 2**30)], 1),
        ([(10, 1_000_000), (10, 1_000)], 20),  # the larger answer decides, in any order
        ([(10, 1_000), (10, 1_000_000)], 20),
    ],
)
def test_a_batch_has_as_many_records_as_two_megabytes_hold(
    answers: list[tuple[int, int]], rows: int
) -> None:
    sizes = note_answers(*answers)

    assert sizes.choose_batch_rows(rows) is None
    assert sizes.choose_batch_rows(rows + 1) == rows
    assert sizes.choose_batch_rows(None) == rows
