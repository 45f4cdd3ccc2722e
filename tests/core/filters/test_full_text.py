"""The words of a full-text query: their limit, and the patterns that find parts of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest

from datastore_search.filters.full_text import MAX_WORDS, has_too_many_words
from datastore_search.filters.words import MAX_INDEXED_LETTERS, build_pattern, is_exact

MANY = [f"w{number}" for number in range(MAX_WORDS + 1)]


@pytest.mark.parametrize("separator", [" ", ",", "-", "_", "'", "&", "\n", "。"])
def test_words_are_separated_by_other_characters(separator: str) -> None:
    assert has_too_many_words([separator.join(MANY)], plain=True)
    assert not has_too_many_words([separator.join(MANY[1:])], plain=True)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([" ".join(MANY[:60]), " ".join(MANY[:40])], False),
        ([" ".join(MANY[:60]), " ".join(MANY[:41])], True),
        (["river " * 200], False),
        (["river " * 200, "RIVER " * 200], False),
        (["/" * 10_000], False),
        (["北京" * 100], False),
        (["北京" * 100 + "市"], True),
        (["北京" * 60 + " " + "北京" * 60], False),
        (["北京" * 60 + "2020" + "北京" * 40], True),
        (["ที่นี่" * 100], False),
        (["ที่นี่" * 100 + "ท"], True),
        ([""], False),
        ([], False),
    ],
)
def test_each_word_of_all_texts_counts_once(texts: Sequence[str], expected: bool) -> None:
    assert has_too_many_words(texts, plain=True) is expected


@pytest.mark.parametrize("text", ["Hà Nội đường", "हिन्दी में", "தமிழ்"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_marks_belong_to_their_words(text: str, form: str) -> None:
    words = unicodedata.normalize(form, text).split()  # type: ignore[arg-type] # one of its forms
    many = [f"{words[number % len(words)]}{number}" for number in range(MAX_WORDS)]

    assert not has_too_many_words([" ".join(many)], plain=True)
    assert has_too_many_words([" ".join([*many, "x"])], plain=True)


def test_of_a_query_with_operators_every_word_counts() -> None:
    assert has_too_many_words([" | ".join(["river:*"] * (MAX_WORDS + 1))], plain=False)
    assert not has_too_many_words([" | ".join(["river:*"] * MAX_WORDS)], plain=False)
    assert not has_too_many_words(["!" * 9_000 + "a"], plain=False)


# Parts of words -----------------------------------------------------------------------------------


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
