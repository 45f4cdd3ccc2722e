"""``python -m benchmarks``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import django

from example_project.management.commands.serve import DEFAULT_THREADS

from .failures import BenchmarkError

_DESCRIPTION = (
    "Time each kind of request to the portal and, in turn with it, its statements alone."
    " With --loads, time loads in place of requests."
)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=_DESCRIPTION)
    add = parser.add_argument
    rows = int(os.environ.get("BENCH_ROWS", "100000"))
    workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
    add("--rows", type=_parse_positive_integer, default=rows, help="records (%(default)s)")
    add("--data", type=Path, help="keep the generated files in this folder")
    add("--reload", action="store_true", help="load again what is already loaded")
    add(
        *("--loads",),
        type=_parse_positive_integer,
        nargs="+",
        default=(),
        metavar="ROWS",
        help="time loads of files of these sizes, beside COPY",
    )
    add("--workers", type=_parse_positive_integer, default=workers, help="(%(default)s)")
    add("--threads", type=_parse_positive_integer, default=DEFAULT_THREADS, help="of each worker")
    add("--rounds", type=_parse_positive_integer, default=3, help="(%(default)s)")
    add("--seconds", type=float, default=3.0, help="of each subject in a round (%(default)s)")
    add("--only", nargs="+", default=(), metavar="NAME", help="only these requests")
    add("--ckan", default="", metavar="URL", help="time this CKAN in turn too (http://host:port)")
    add("--ckan-resource", default="", metavar="ID", help="its resource")
    add("--out", type=Path, metavar="FILE.json", help="save the figures")
    return parser


def _parse_positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number from 1")
    return int(text)


def main() -> None:
    """Read the options, prepare Django, measure."""
    options = build_parser().parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from .run import run

    try:
        run(options)
    except BenchmarkError as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
