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
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import django
from django.test import override_settings

from ..contents import build_archive

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
#: Bytes that mean something in one of the formats.
_MARKS = b'\0",<\\\xff09'

#: A small file that takes longer than this ends with ``load.reader_timeout``.
_CPU_SECONDS = 3


# Mutations ----------------------------------------------------------------------------------------


def _mutate(content: bytes, chance: random.Random) -> bytes:
    """Cut a content, or change, remove, double or exchange bytes of it, up to four times."""
    mutated = bytearray(content)
    for _ in range(chance.randint(1, _MAX_CHANGES)):
        if not mutated:
            break
        one, other = (
            slice(start, start + chance.randint(1, _MAX_PIECE_BYTES))
            for start in (chance.randrange(len(mutated)), chance.randrange(len(mutated)))
        )
        places = [chance.randrange(len(mutated)) for _ in range(chance.randint(1, 8))]
        match chance.choice(("cut", "change", "change", "remove", "double", "exchange")):
            case "cut":
                del mutated[one.start :]
            case "change":
                for place in places:
                    one_bit = mutated[place] ^ 1 << chance.randrange(8)
                    mutated[place] = chance.choice((one_bit, chance.choice(_MARKS)))
            case "remove":
                del mutated[one]
            case "double":
                mutated[one.stop : one.stop] = mutated[one] * chance.randint(1, 3)
            case "exchange":
                mutated[one], mutated[other] = mutated[other], mutated[one]
    return bytes(mutated)


def _mutate_member(content: bytes, chance: random.Random) -> bytes:
    """Mutate a member of an archive, which stays whole."""
    with ZipFile(io.BytesIO(content)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    if not members:
        return content
    changed = chance.choice(sorted(members))
    return build_archive(members | {changed: _mutate(members[changed], chance)})


def mutate_file(path: Path, chance: random.Random) -> bytes:
    """Return the mutated content of a file."""
    content = path.read_bytes()
    if path.suffix in _ARCHIVES and chance.random() < 2 / 3:
        try:
            return _mutate_member(content, chance)
        except (BadZipFile, NotImplementedError, RuntimeError, zlib.error):
            pass  # one that was damaged or encrypted before
    return _mutate(content, chance)


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
            suffix = chance.choice(_SUFFIXES)
            path = chance.choice([path for path in files if path.suffix == suffix])
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
