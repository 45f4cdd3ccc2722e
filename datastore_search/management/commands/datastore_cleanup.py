"""Remove what interrupted loads have left behind."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from datastore_search.loading import cleanup


class Command(BaseCommand):
    """Mark loads whose process is gone as failed and drop tables that nothing serves."""

    help = _("Mark interrupted loads as failed and drop the tables that no resource serves.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Clean up and say how many tables were dropped."""
        count = cleanup()
        self.stdout.write(
            ngettext("%(count)s table dropped.", "%(count)s tables dropped.", count)
            % {"count": count}
        )
