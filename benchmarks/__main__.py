"""``python -m benchmarks``."""

from __future__ import annotations

import os
import sys

import django

from .failures import BenchmarkError
from .options import read_options


def main() -> None:
    """Read the options, prepare Django, measure."""
    options = read_options()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from .run import run

    try:
        run(options)
    except BenchmarkError as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
