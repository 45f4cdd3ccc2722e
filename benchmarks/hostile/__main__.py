"""
``python -m benchmarks.hostile``: hostile requests by chance, to any address of the app.

The exit status is 1 if an answer was an error of the server, a leak, or later than the time limit.
"""

from __future__ import annotations

import argparse
import os
import sys

import django

from ..failures import BenchmarkError


def main() -> None:
    """Read the options, prepare Django and send the requests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rows", type=int, default=1_000, help="records of the public table")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    os.environ["THROTTLE"] = "0"
    django.setup()
    from .run import run

    try:
        passed = run(options.requests, options.clients, options.rows, options.seed)
    except BenchmarkError as failure:
        sys.exit(str(failure))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
