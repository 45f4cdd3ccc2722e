"""Verify that no records are missing."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from datastore_search.loading.jobs.verification import RecordCount, verify_records


class Command(BaseCommand):
    """Count the records of every resource, and fail if a count is wrong."""

    help = _(
        "Count the records of every resource, and list the resources that have more or fewer than"
        " they should, as after a restore that was not complete. Nothing is changed."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """
        Count the records, and print the resources whose count is wrong.

        Raises: ``CommandError`` if there are any.
        """
        count = 0
        wrong = []
        for verified in verify_records():
            count += 1
            if not verified.is_complete:
                wrong.append(verified)
                self.stdout.write(_format_difference(verified))
        if wrong:
            raise CommandError(
                ngettext(
                    "%(count)s resource does not have its records.",
                    "%(count)s resources do not have their records.",
                    len(wrong),
                )
                % {"count": len(wrong)}
            )
        self.stdout.write(
            ngettext(
                "%(count)s resource has all its records.",
                "%(count)s resources have all their records.",
                count,
            )
            % {"count": count}
        )


def _format_difference(verified: RecordCount) -> str:
    named = {
        "id": verified.resource.pk,
        "name": verified.resource.name,
        "expected": verified.expected,
        "found": verified.found,
    }
    if verified.found is None:
        return _("Resource %(id)s (%(name)s): its table is not there.") % named
    return _("Resource %(id)s (%(name)s): %(found)s records, not %(expected)s.") % named
