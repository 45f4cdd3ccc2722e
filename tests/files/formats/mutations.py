"""
Read damaged files of every format, and report each that ends with neither a table nor a failure.

    python -m tests.files.formats.mutations --count 10000 [--seed 1]

A file is one of the torture folder that was cut, or has bytes that were changed, removed, doubled
or exchanged; of an archive, that happens within a member as often as to the whole.  It is read with
the options of one of its cases.  Each file is read, planned and rendered in a process of its own,
forked from this one: a library may end it.  The status is 1
if a file ended with an exception that is not a ``LoadFailed``.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import random
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import django
from django.test import override_settings

if TYPE_CHECKING:
    from ..torture.cases import Case

_FILES = Path(__file__).parents[1] / "torture" / "files"
#: One file of each of these is as likely as of the others.
_SUFFIXES = (
    ".csv", ".geojson", ".gpkg", ".gpx", ".gz", ".json", ".kml", ".ndjson", ".ods", ".parquet",
    ".tsv", ".txt", ".xls", ".xlsx", ".xml", ".zip",
)  # fmt: skip
_ARCHIVES = (".ods", ".xlsx", ".zip")
_MAX_BYTES = 200_000
#: Files that are read until a limit ends them.
_SLOW = ("bomb.zip", "repeated.ods", "stray_cell.xlsx")
_MAX_PIECE_BYTES = 200
_MAX_CHANGES = 4

#: A small file that takes longer than this ends with ``load.reader_timeout``.
_CPU_SECONDS = 3


# Mutations ----------------------------------------------------------------------------------------


def _cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content) + 1) :]


def _change_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        content[chance.randrange(len(content))] = chance.choice((0, 34, 44, 60, 92, 255, 48, 57))


def _change_bits(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _remove_piece(content: bytearray, chance: random.Random) -> None:
    del content[slice(*_choose_piece(content, chance))]


def _double_piece(content: bytearray, chance: random.Random) -> None:
    start, end = _choose_piece(content, chance)
    content[end:end] = content[start:end] * chance.randint(1, 3)


def _exchange_pieces(content: bytearray, chance: random.Random) -> None:
    one, other = (slice(*_choose_piece(content, chance)) for _ in range(2))
    content[one], content[other] = content[other], content[one]


def _choose_piece(content: bytearray, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(content))
    return start, start + chance.randint(1, _MAX_PIECE_BYTES)


_MUTATIONS: Sequence[Callable[[bytearray, random.Random], None]] = (
    _cut,
    _change_bytes,
    _change_bits,
    _remove_piece,
    _double_piece,
    _exchange_pieces,
)


def _mutate(content: bytes, chance: random.Random) -> bytes:
    mutated = bytearray(content)
    for _ in range(chance.randint(1, _MAX_CHANGES)):
        if mutated:
            chance.choice(_MUTATIONS)(mutated, chance)
    return bytes(mutated)


def _mutate_member(content: bytes, chance: random.Random) -> bytes:
    """Mutate a member of an archive, which stays whole."""
    with ZipFile(io.BytesIO(content)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    if not members:
        return content
    changed = chance.choice(sorted(members))
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, _mutate(member, chance) if name == changed else member)
    return target.getvalue()


def mutate_file(path: Path, chance: random.Random) -> bytes:
    """Return the mutated content of a file."""
    content = path.read_bytes()
    if path.suffix in _ARCHIVES and chance.random() < 2 / 3:
        try:
            return _mutate_member(content, chance)
        except (BadZipFile, NotImplementedError, RuntimeError, zlib.error):
            pass  # one that was damaged or encrypted before
    return _mutate(content, chance)


def choose_file(files: Sequence[Path], chance: random.Random) -> Path:
    """Choose a file, of each suffix as often."""
    suffix = chance.choice(_SUFFIXES)
    return chance.choice([path for path in files if path.suffix == suffix])


def main() -> int:
    """Read mutated files, print how many ended how, and each exception with its trace."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
    os.environ["DATABASE_URL"] = "postgres://nobody@localhost/none"  # no server is needed
    django.setup()
    # These need the models.
    forks = importlib.import_module(".forks", __package__)
    cases: Sequence[Case] = importlib.import_module("..test_torture", __package__).CASES
    files = sorted(
        path
        for path in _FILES.iterdir()
        if path.name not in _SLOW and path.stat().st_size <= _MAX_BYTES
    )
    options = {path.name: [case.options for case in cases if case.path == path] for path in files}
    ends: Counter[str] = Counter()
    has_exceptions = False
    with override_settings(DATASTORE_SEARCH_READ_CPU_SECONDS=_CPU_SECONDS):
        for number in range(arguments.count):
            chance = random.Random(f"{arguments.seed}.{number}")
            path = choose_file(files, chance)
            content = mutate_file(path, chance)
            chosen = chance.choice(options[path.name])
            end, _line, trace = forks.read_in_fork(content, path.name, chosen).partition("\n")
            ends[end] += 1
            if trace:
                has_exceptions = True
                sys.stderr.write(f"{arguments.seed}.{number} {path.name}: {trace}\n")
    for end, count in ends.most_common():
        sys.stdout.write(f"{count:6} {end}\n")
    return int(has_exceptions)


if __name__ == "__main__":
    sys.exit(main())
