"""Totals and notes below a table are recognised by their words."""

from __future__ import annotations

import pytest

from datastore_search.contrib.files.formats.footers import begins_footer


@pytest.mark.parametrize(
    "text",
    [
        *("Total", "TOTAL:", "Grand total", "Summe", "Insgesamt", "Total général", "Tổng cộng"),
        *("المجموع", "Source: Ministry", "Quelle: Amt", "Nguồn: Bộ", "المصدر: الوزارة", "Note : x"),
    ],
)
def test_a_word_begins_a_footer(text: str) -> None:
    assert begins_footer(text)


@pytest.mark.parametrize(
    "text", ["", "Total cost of roads", "Sources of the Nile", "Summer", "Notes", "Source"]
)
def test_a_row_of_the_table_does_not(text: str) -> None:
    assert not begins_footer(text)
