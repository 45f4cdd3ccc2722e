"""Totals and notes below a table are recognised by their words."""

from __future__ import annotations

import pytest

from datastore_search.contrib.files.formats.footers import LastRow, find_footer

_WORDS = (
    *("Total", "TOTAL:", "Grand total", "Summe", "Insgesamt", "Total général", "Tổng cộng"),
    *("المجموع", "Source: Ministry", "Quelle: Amt", "Nguồn: Bộ", "المصدر: الوزارة", "Note : x"),
)
_OTHERS = ("", "Total cost of roads", "Sources of the Nile", "Summer", "Notes", "Source")


@pytest.mark.parametrize(
    ("text", "footer"), [*((text, [3]) for text in _WORDS), *((text, []) for text in _OTHERS)]
)
def test_a_word_begins_a_footer(text: str, footer: list[int]) -> None:
    rows = [LastRow(2, 2, 2, "row"), LastRow(3, 3, 2, text)]

    assert find_footer(rows, width=2) == footer
