"""``python -m benchmarks.abuse``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import django

from ..failures import BenchmarkError
from .attacks import ATTACKS
from .scenarios import SCENARIOS

_DESCRIPTION = (
    "Start a portal on this machine for each scenario and each attack, and ask it honest questions"
    " meanwhile. The exit status is 1 if too few are answered in time, if the workers use too much"
    " memory, or if one of them is replaced."
)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.abuse", description=_DESCRIPTION)
    rows = int(os.environ.get("ABUSE_ROWS", "100000"))
    parser.add_argument("--rows", type=int, default=rows, help="records (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="of honest questions, 5 each (%(default)s)"
    )
    for name, choices in (("scenario", SCENARIOS), ("attack", ATTACKS)):
        parser.add_argument(
            f"--{name}",
            action="append",
            choices=list(choices),
            metavar="NAME",
            help=f"only this {name}; repeatable ({', '.join(choices)})",
        )
    parser.add_argument("--nginx", action="store_true", help="with nginx before the portal")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, prepare Django, attack; the exit status is 1 if the portal failed."""
    options = build_parser().parse_args(arguments)
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.abuse.served_settings"
    django.setup()
    from .run import run

    try:
        has_passed = run(
            options.rows,
            options.seconds,
            scenarios=options.scenario or list(SCENARIOS),
            attacks=options.attack or list(ATTACKS),
            behind_nginx=options.nginx,
        )
    except BenchmarkError as failure:
        sys.exit(str(failure))
    sys.exit(0 if has_passed else 1)


if __name__ == "__main__":
    main()
