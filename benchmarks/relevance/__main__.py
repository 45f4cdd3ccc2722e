"""
``python -m benchmarks.relevance``: what searches find, beside other engines.

The exit status is 1 if less is found than must be.
"""

from __future__ import annotations

import argparse
import os
import sys

import django
from django.core.management import call_command

#: Percent of the pairs whose query must find its text.
_MIN_FOUND_PERCENT = 97.0


def main() -> None:
    """Read the options, prepare Django and ask each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mrr", action="store_true", help="the order of results, by known items")
    parser.add_argument("--wrong", action="store_true", help="list the pairs that ours gets wrong")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    django.setup()
    from . import known_items, pairs

    call_command("migrate", verbosity=0)
    if options.mrr:
        print(known_items.build_table().as_text())
        return
    table, wrong, percent = pairs.build_table()
    print(table.as_text())
    for pair in wrong if options.wrong else ():
        print(*pair, sep="\t")
    if percent < _MIN_FOUND_PERCENT:
        sys.exit(f"Only {percent:.1f} % of what must be found is found.")


if __name__ == "__main__":
    main()
