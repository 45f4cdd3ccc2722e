"""The reading requests, as tables: a group varies one parameter, or several, of a base."""

from __future__ import annotations

from . import filters, full_text, names, pages, records, requests
from .group import Group

GROUPS: tuple[Group, ...] = (
    *pages.GROUPS,
    *records.GROUPS,
    *filters.GROUPS,
    *names.GROUPS,
    *full_text.GROUPS,
    *requests.GROUPS,
)
