"""
``python -m benchmarks.scripts``: a table of Chinese texts beside one of Latin texts.

Both have the same number of records and of bytes.  Words are as common as in a language: the second
one half as common as the first, and so on.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import django

if TYPE_CHECKING:
    from datastore_search.models import Resource

#: The words of a language, and the bytes of a text in UTF-8.
_WORDS, _TEXT_BYTES = 40_000, 90

_LATIN = "etaoinshrdlcumwfgypbvk"
_FIRST_HAN, _HAN_LETTERS = 0x4E00, 3_000

#: Questions of each kind, and how often each is asked.
_QUESTIONS, _ROUNDS = 20, 5


class _Language(NamedTuple):
    """Words, the common ones first, and what is between two of them."""

    name: str
    words: Sequence[str]
    blank: str

    def write_texts(self, rows: int) -> Iterator[str]:
        """Write texts of the same number of bytes."""
        chance = random.Random(self.name)
        weights = list(accumulate(1 / (rank + 1) for rank in range(len(self.words))))
        for _ in range(rows):
            text = self.blank.join(chance.choices(self.words, cum_weights=weights, k=30))
            yield text.encode()[:_TEXT_BYTES].decode(errors="ignore").strip()


def _build_languages() -> list[_Language]:
    chance = random.Random(0)
    weights = [1 / (rank + 1) for rank in range(_HAN_LETTERS)]
    han = [chr(_FIRST_HAN + number) for number in range(_HAN_LETTERS)]
    latin = ["".join(chance.choices(_LATIN, k=chance.randint(2, 10))) for _ in range(_WORDS)]
    chinese = ["".join(chance.choices(han, weights, k=2)) for _ in range(_WORDS)]
    return [_Language("latin", latin, " "), _Language("chinese", chinese, "")]


def main() -> None:
    """Load both tables, ask for rare and common words, and print the figures as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    for language in _build_languages():
        print(json.dumps(_measure(language, rows)), flush=True)


def _measure(language: _Language, rows: int) -> dict[str, object]:
    """Load a table of texts, ask it, and delete it."""
    from datastore_search.loading.jobs import LoadOptions, clean_up_loads, load_file
    from datastore_search.models import Resource

    from .resources import measure_resource

    resource = Resource.objects.create(name=f"benchmark-{language.name}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "texts.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerows([["text"], *([text] for text in language.write_texts(rows))])
            load_file(resource, path, options=LoadOptions(types={"text": "text"}))
        resource.refresh_from_db()
        cost = measure_resource(resource).cost
        return {
            "texts": language.name,
            "rows": cost.rows,
            "load_seconds": round(cost.seconds, 1),
            "table_mb": round(cost.table_bytes / 1e6),
            "indexes_mb": round(cost.indexes_bytes / 1e6),
            "rare_ms": _time_questions(resource, language.words[-_QUESTIONS:]),
            "common_ms": _time_questions(resource, language.words[:_QUESTIONS]),
        }
    finally:
        resource.delete()
        clean_up_loads()


def _time_questions(resource: Resource, words: Sequence[str]) -> float:
    """Return the typical time of a page of 100 records, in milliseconds."""
    from datastore_search.search import Query, read_page, with_consistent_read

    times = []
    for q in [*words] * _ROUNDS:
        answer = partial(read_page, query=Query(limit=100, q=q))
        begin = perf_counter()
        with_consistent_read(resource.pk, answer).close()
        times.append(perf_counter() - begin)
    return round(median(times) * 1_000, 2)


if __name__ == "__main__":
    main()
