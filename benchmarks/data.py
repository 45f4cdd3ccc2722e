"""Tables of any length: generated packages with Debian's fields, repeated with different rows."""

from __future__ import annotations

import csv
import random
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

#: The fields with their types, in order.
FIELDS = {
    **dict.fromkeys(("Package", "Version", "Section", "Priority", "Architecture"), "text"),
    **dict.fromkeys(("Installed-Size", "Size"), "int4"),
    **dict.fromkeys(("Maintainer", "Source", "Homepage", "Description"), "text"),
    "Released": "timestamp",
    "Score": "float8",
    "Share": "numeric",
}
HEADER = tuple(FIELDS)

Row = Sequence[str]

_FIRST_RELEASE = datetime.fromisoformat("2004-01-01")
_RELEASE_SPAN_SECONDS = 22 * 365 * 86_400
_MAX_INT4 = 2**31 - 1
#: One cell in this number is empty.
_EMPTY_EVERY = 128

_MADE_UP = 20_000
_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "za"),
    *("kre", "sto", "pli", "dra", "bel", "nor", "tam"),
)
#: Words that the requests ask for.
_ENGLISH = ("audio", "font", "game", "image", "library", "network", "python", "server")
#: Weights as in Debian, for the values in the requests of the benchmark.
_SECTIONS = {"libs": 18, "python": 14, "doc": 14, "perl": 13, "utils": 7, "net": 3, "admin": 2}
_PRIORITIES = {"optional": 995, "extra": 4, "required": 1}
_COMMON_SHARE, _RARE_EVERY, _HOMELESS_SHARE = 0.2, 7_000, 0.07


class Package(NamedTuple):
    """One package, with Debian's names of fields, all of them texts."""

    name: str
    version: str
    section: str
    priority: str
    architecture: str
    installed_size: str
    size: str
    maintainer: str
    source: str
    homepage: str
    description: str


def get_table(folder: Path, rows: int) -> Path:
    """Return a file of the first ``rows`` rows in a folder; an existing one is reused."""
    path = folder / f"packages-{rows}.csv"
    if not path.exists():
        part = path.with_suffix(".part")
        write_table(part, islice(vary_rows(make_up_packages()), rows))
        part.rename(path)
    return path


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write a CSV file with the header and some rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)


def vary_rows(base: Sequence[Package]) -> Iterator[Row]:
    """
    Yield the packages repeatedly, without end.

    From the second round on, versions have a suffix and numbers differ.  The changes come from a
    hash, so that the same packages make the same rows everywhere.
    """
    return (_build_row(package, turn) for turn in count() for package in base)


def _build_row(package: Package, turn: int) -> Row:
    key = "\n".join([package.name, package.version, package.architecture, str(turn)])
    first, second, when, score, share, empty = struct.unpack("<6I8x", sha256(key.encode()).digest())
    if turn:
        package = package._replace(
            version=f"{package.version}+{turn}",
            installed_size=_scale(package.installed_size, first),
            size=_scale(package.size, second),
        )
    released = _FIRST_RELEASE + timedelta(seconds=when % _RELEASE_SPAN_SECONDS)
    return (
        *package,
        "" if empty % _EMPTY_EVERY == 0 else released.isoformat(),
        "" if empty % _EMPTY_EVERY == 1 else f"{score / 2**32 * 10:.6f}",
        f"{share % 10_000_000 / 100:.2f}",
    )


def _scale(number: str, chance: int) -> str:
    """Change a number by up to a half."""
    return str(min(_MAX_INT4, int(number) * (512 + chance % 1024) // 1024))


def make_up_packages() -> list[Package]:
    """Generate packages, the same on every machine, with rare and common words and values."""
    chance = random.Random(20261121)
    words = sorted({"".join(chance.choices(_SYLLABLES, k=3)) for _ in range(5_000)} | set(_ENGLISH))
    packages = [_make_up_package(chance, words, number) for number in range(_MADE_UP - 1)]
    return sorted([*packages, _make_up_package(chance, words, _MADE_UP)._replace(name="nginx")])


def _make_up_package(chance: random.Random, words: list[str], number: int) -> Package:
    name = f"{chance.choice(words)}-{chance.choice(words)}{number}"
    size = int(chance.lognormvariate(11, 2)) + 500
    text = chance.choices(words, k=55)
    if chance.random() < _COMMON_SHARE:
        text.insert(chance.randrange(50), "support")
    if number % _RARE_EVERY == 1:
        text.insert(chance.randrange(50), "chatroom")
    return Package(
        name=name,
        version=f"{chance.randrange(9)}.{chance.randrange(30)}-{chance.randrange(1, 5)}",
        section=_choose_weighted(chance, _SECTIONS),
        priority=_choose_weighted(chance, _PRIORITIES),
        architecture=chance.choice(("amd64", "all")),
        installed_size=str(size // 300 + 1),
        size=str(size),
        maintainer=f"{chance.choice(words[:2_000]).title()} Team <team@example.org>",
        source=name.partition("-")[0],
        homepage="" if chance.random() < _HOMELESS_SHARE else f"https://{name}.example.org/",
        description=f"{' '.join(text[:7])}\n{' '.join(text[7:])}",
    )


def _choose_weighted(chance: random.Random, weights: dict[str, int]) -> str:
    (value,) = chance.choices(list(weights), list(weights.values()))
    return value
