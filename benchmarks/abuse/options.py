"""The options of a run, from the command line and the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from example_project.management.commands.serve import DEFAULT_THREADS

from .attacks import ATTACKS

#: Maximum duration of a run in seconds.
MAX_SECONDS = 300.0

#: Maximum records of 110 kB: 2 GB.
MAX_FAT_RECORDS = 20_000

_DESCRIPTION = (
    "Start a portal on this machine and attack it in many ways at once, while an honest client"
    " requests five records repeatedly. The exit status is 1 if that client waits too long, or if"
    " the workers use too much memory."
)


@dataclass(frozen=True, slots=True)
class Options:
    """
    The attacks and their target.

    ``is_direct`` leaves nginx out; without ``only``, all attacks run.
    """

    rows: int
    fat_records: int
    seconds: float
    workers: int
    threads: int
    is_direct: bool
    only: tuple[str, ...]

    @property
    def attacks(self) -> list[str]:
        """The names of the chosen attacks."""
        return [name for name in ATTACKS if not self.only or name in self.only]


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    values = vars(_build_parser().parse_args(arguments))
    return Options(**{**values, "only": tuple(values["only"])})


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.abuse",
        description=_DESCRIPTION,
        epilog="The attacks: "
        + "; ".join(
            f"{attack.name} ({attack.clients}): {attack.description}" for attack in ATTACKS.values()
        ),
    )
    rows = int(os.environ.get("ABUSE_ROWS", "100000"))
    workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
    parser.add_argument(
        "--rows", type=_build_integer_parser(10**7), default=rows, help="records (%(default)s)"
    )
    parser.add_argument(
        "--fat-records",
        type=_build_integer_parser(MAX_FAT_RECORDS),
        default=1_000,
        metavar="N",
        help="records of 110 kB (%(default)s)",
    )
    parser.add_argument("--seconds", type=_parse_seconds, default=30.0, help="(%(default)s)")
    parser.add_argument(
        "--workers", type=_build_integer_parser(64), default=workers, help="(%(default)s)"
    )
    parser.add_argument(
        "--threads",
        type=_build_integer_parser(64),
        default=DEFAULT_THREADS,
        help="of each worker (%(default)s)",
    )
    parser.add_argument(
        "--direct", action="store_true", dest="is_direct", help="without nginx before the portal"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=(),
        metavar="NAME",
        choices=list(ATTACKS),
        help="only these attacks",
    )
    return parser


def _build_integer_parser(maximum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= maximum:
            raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {maximum}")
        return int(text)

    return parse


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 1 <= seconds <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {MAX_SECONDS:.0f}")
    return seconds
