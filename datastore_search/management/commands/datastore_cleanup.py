"""Remove what is no longer needed: what interrupted loads have left, tables without a resource."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from ...database.findings import cleanups


class Command(BaseCommand):
    """Run every clean-up, and print what it reports."""

    help = "Mark interrupted loads as failed and drop the tables that no resource serves."

    def handle(self, *args: Any, **options: Any) -> None:
        """Clean up."""
        for clean_up in cleanups.values():
            for line in clean_up():
                self.stdout.write(line)
