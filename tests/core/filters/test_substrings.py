"""The patterns by which the index of substrings finds candidates."""

from __future__ import annotations

import pytest

from datastore_search.filters.words import MAX_INDEXED_LETTERS, build_pattern, is_exact


@pytest.mark.parametrize(
    ("part", "pattern"),
    [
        ("river", "%river%"),
        ("100% of_it", r"%100\% of\_it%"),
        (r"a\path", r"%a\\\\path%"),
        ('"so" said', r'%\\"so\\" said%'),
        ("two\nlines", r"%two\\nlines%"),
        ("ΟΔΟΣ κέντρο", "%ΟΔΟ% κέντρο%"),
        ("İstanbul", "%%stanbul%"),
        ("i\u0307stanbul", "%%stanbul%"),
        ("Ⴀb ĐƯỜNG 京都大", "%%b ĐƯỜNG 京都大%"),
        ("x" * 100, f"%{'x' * MAX_INDEXED_LETTERS}%"),
    ],
)
def test_a_pattern_means_the_part_within_json(part: str, pattern: str) -> None:
    assert build_pattern(part) == pattern


@pytest.mark.parametrize("part", ["", "ab", "a-b-c", "-----", "%%%", "ΣΣΣΣ", "___"])
def test_a_part_without_three_letters_in_a_row_has_no_pattern(part: str) -> None:
    assert build_pattern(part) is None


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("song", True),
        ("ữxyz", True),
        ("ing", False),
        ("nabc", False),
        ("UL0", False),
        ("007", False),
        ("ull", False),
        ("ΟΔΟΣ", False),
        ("x" * 65, False),
    ],
)
def test_some_words_may_match_what_json_adds(word: str, expected: bool) -> None:
    pattern = build_pattern(word)

    assert pattern is not None
    assert is_exact(pattern, word) is expected
