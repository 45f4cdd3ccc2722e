"""``python -m benchmarks.abuse``."""

from __future__ import annotations

import os
import sys

import django

from ..failures import BenchmarkError
from .options import read_options


def main() -> None:
    """Read the options, prepare Django, attack; the exit status is 1 if the portal failed."""
    options = read_options()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from .run import run

    try:
        sys.exit(0 if run(options) else 1)
    except BenchmarkError as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
