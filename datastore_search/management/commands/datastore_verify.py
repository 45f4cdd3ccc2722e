"""Verify that no records are missing."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from datastore_search.loading.jobs.verification import RecordCount, verify_records


class Command(BaseCommand):
    """Count the records of every resource, and fail if a count is wrong."""

    help = (
        "Count the records of every resource, and list the resources that have more or fewer than"
        " they should, as after a restore that was not complete. Nothing is changed."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """
        Count the records, and print the resources whose count is wrong.

        Raises: ``CommandError`` if there are any.
        """
        count = wrong = 0
        for verified in verify_records():
            count += 1
            if not verified.is_complete:
                wrong += 1
                self.stdout.write(_format_difference(verified))
        if wrong:
            raise CommandError(f"Resources without their records: {wrong} of {count}.")
        self.stdout.write(f"Resources with all their records: {count}.")


def _format_difference(verified: RecordCount) -> str:
    named = f"Resource {verified.resource.pk} ({verified.resource.name})"
    if verified.found is None:
        return f"{named}: its table is not there."
    return f"{named}: {verified.found} records, not {verified.expected}."
