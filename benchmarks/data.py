"""A table of any length, the same on every machine."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

HEADER = ("code", "subject", "stage", "region", "title", "summary", "seen", "depth", "sites")
SUBJECTS = ("watershed", "survey", "forest", "soil", "air", "coast", "wetland", "wildlife")
STAGES = ("planned", "active", "review", "closed")
_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "za"),
    *("kre", "sto", "pli", "dra", "bel", "nor", "tam"),
)
_COMMON_EVERY, _RARE_EVERY = 5, 7_000
_BEGIN = datetime(2004, 1, 1)  # noqa: DTZ001 - the field has no time zone


def write_table(path: Path, rows: int) -> None:
    """Write a CSV file of so many rows, with rare and common words and values."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(_rows(rows))


def _rows(rows: int) -> Iterator[tuple[object, ...]]:
    chance = random.Random(20261121)  # noqa: S311 - data, not secrets
    words = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(5_000)]
    for number in range(rows):
        title = " ".join(chance.choices(words, k=4))
        common = "river " if number % _COMMON_EVERY == 0 else ""
        rare = "chatroom " if number % _RARE_EVERY == 1 else ""
        yield (
            f"{number:07}",
            chance.choice(SUBJECTS),
            # The last fiftieth of the table has a stage of its own: the trap of the primary key.
            "archived" if number >= rows - rows // 50 else chance.choice(STAGES),
            chance.choice(words[:40]),
            title,
            common + rare + " ".join(chance.choices(words, k=30)),
            (_BEGIN + timedelta(seconds=chance.randrange(22 * 365 * 86_400))).isoformat(),
            f"{chance.uniform(0, 900):.2f}",
            chance.randrange(100),
        )
