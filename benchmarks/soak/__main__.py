"""``python -m benchmarks.soak``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import django

from ..throwaway_postgres import ThrowawayServer


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=(
            "Start a portal and a PostgreSQL of its own, use them in eight ways at once, and kill"
            " a worker, the load worker and PostgreSQL in turn. The exit status is 1 if an answer"
            " was wrong, an acknowledged write is lost, or something is left over."
        ),
    )
    parser.add_argument("--minutes", type=float, default=30, help="duration (%(default)s)")
    parser.add_argument(
        "--quiet-seconds",
        type=float,
        default=60,
        help="time before, in which five records are requested and nothing else (%(default)s)",
    )
    parser.add_argument(
        "--fault-minutes",
        type=float,
        default=5,
        help="each process is killed once in this time (%(default)s)",
    )
    parser.add_argument("--rows", type=int, default=50_000, help="records (%(default)s)")
    return parser.parse_args(arguments)


def main() -> None:
    """Start PostgreSQL, prepare Django, and run; the exit status is 1 if the portal failed."""
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="soak_") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL does not run as root, and enters it as another user
        server = ThrowawayServer(folder / "postgres")
        os.environ.update(
            DJANGO_SETTINGS_MODULE="example_project.settings",
            DATABASE_URL=server.url,
            MEDIA_ROOT=str(folder / "media"),
            THROTTLE="0",
        )
        try:
            django.setup()
            from .run import run

            has_passed = run(options, server, folder)
        finally:
            server.stop_immediately()
    sys.exit(0 if has_passed else 1)


if __name__ == "__main__":
    main()
