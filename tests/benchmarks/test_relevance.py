"""What the pairs of ``make relevance`` find, and that their sets are complete."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.relevance.pairs import ask_ours, compile_sqlite_query, read_pairs

SCRIPTS = Path(__file__).parents[1] / "core" / "search" / "scripts.tsv"
PAIRS = read_pairs()


def test_what_must_be_found_is_found(db: None) -> None:
    answers = [(pair, ask_ours(pair)) for pair in PAIRS]
    must = [is_found for pair, is_found in answers if pair.found == "yes"]
    wrong = [pair for pair, is_found in answers if is_found and pair.found == "no"]

    assert sum(must) >= 0.97 * len(must)
    assert len(wrong) <= 6, wrong


def test_each_set_has_enough_pairs_of_both_kinds() -> None:
    sets = Counter(pair.set for pair in PAIRS)
    refused = Counter(pair.set for pair in PAIRS if pair.found == "no")

    assert len(sets) >= 24
    assert min(sets.values()) >= 30
    assert min(refused[name] / count for name, count in sets.items()) > 0.2
    assert {pair.found for pair in PAIRS} == {"yes", "no"}


def test_no_pair_is_there_twice() -> None:
    asked = Counter((pair.text, pair.q) for pair in PAIRS)
    tested = {tuple(line.split("\t")[1:3]) for line in SCRIPTS.read_text("utf-8").splitlines()}

    assert max(asked.values()) == 1
    assert not tested & {*asked}


@pytest.mark.parametrize(
    ("q", "compiled"),
    [
        ("river lake", '("river" AND "lake"*)'),
        ('"a river" -lake', '("a river" NOT "lake")'),
        ("river OR 5 - lake", '("river"*) OR ("5" AND "lake"*)'),
    ],
)
def test_a_query_of_fts5_has_the_same_operators(q: str, compiled: str) -> None:
    assert compile_sqlite_query(q) == compiled
